/* cli.h - what the parts of valkey-cli share.
 *
 *     options -> main -> one command | a script | lines of stdin | prompt
 *                              \-> exec (repeat, streams, state) -> link (bytes) -> format (text) */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/version.h"
#include "base/sds.h"
#include "net/resp.h"

enum cliOutput { CLI_TTY, CLI_RAW, CLI_CSV, CLI_JSON, CLI_QUOTED_JSON };

struct cliLink {
    int fd; /* -1: not connected */
    sds in; /* bytes read; the reply handed out last is at its start */
    size_t used;
};

struct cli {
    /* Where to, and who. */
    sds host, socket; /* socket NULL: TCP */
    int port;
    sds user, password;
    int db; /* selected, and to be selected again after a reconnect */
    int connect_timeout_ms;
    int resp;          /* 2, 3, or 0: as the server starts */
    bool resp_is_wish; /* a server that has no RESP3 is fine */
    bool cluster;      /* follow redirections */

    /* How. */
    enum cliOutput output;
    sds delimiter, terminator; /* of raw output: between elements, after a reply */
    int64_t repeat;            /* -1: for ever */
    int64_t interval_us;
    bool error_exit, verbose, no_auth_warning, ask_password, quoted_input, last_from_stdin;
    sds stdin_tag;
    sds eval_file;

    /* The conversation. */
    struct cliLink link;
    bool interactive, in_multi, show_pushes;
};

extern volatile sig_atomic_t cli_interrupted; /* Ctrl-C while a reply is awaited at the prompt */

/* ---- Options ---- */

/* Fills *c; returns the index of the first word of the command. Exits on bad usage. */
int cliParseOptions(struct cli *c, int argc, char **argv);

/* ---- Connection ---- */

/* "127.0.0.1:6379", or the path of the socket. */
sds cliAddress(const struct cli *c);
/* Connect (again), authenticate, select, switch protocol. What fails is printed; false when there is no
 * connection. */
bool cliConnect(struct cli *c);
void cliDisconnect(struct cli *c);

enum cliRead { CLI_READ_OK, CLI_READ_LOST, CLI_READ_INTERRUPTED, CLI_READ_GARBLED };
bool cliSend(struct cli *c, int argc, const sds *argv);
/* The next reply, whatever it is. It is valid until the next call; free its children with respReplyFree. */
enum cliRead cliRead(struct cli *c, struct respReply *reply);
/* Send and read, without pushes and without a word to the user; for handshakes and help. */
bool cliCall(struct cli *c, struct respReply *reply, int argc, const char *const *argv);

/* ---- Text ---- */

/* How a reply looks, with its line end. `plain`: the command's replies are texts for people (INFO). */
sds cliFormatReply(const struct cli *c, const struct respReply *reply, bool plain);
sds cliFormatPush(const struct respReply *reply);
bool cliIsPlain(int argc, const sds *argv);

/* ---- Commands ---- */

/* Run a command `repeat` times and print the replies. False when the connection was lost or could not be
 * had, or on an error reply under -e. */
bool cliRun(struct cli *c, int argc, const sds *argv, int64_t repeat);
/* Run a line typed or read: words, quotes, built-ins, a leading repeat count. False: the user wants to leave.
 */
bool cliRunLine(struct cli *c, const char *line, size_t len);

/* ---- Prompt and help ---- */

void cliPrompt(struct cli *c); /* until the end of input or exit */
void cliHelp(struct cli *c, int argc, const sds *argv);
/* Command names that begin with `prefix` (any case): the n-th, or NULL. Asks the server once. */
const char *cliCommandName(struct cli *c, const char *prefix, int n);
