/* SPDX-License-Identifier: BSD-3-Clause */
/* cli.h - what the parts of valkey-cli share.
 *
 *     options -> main -> a mode (--stat, --scan ...) ----------------> link (bytes)
 *                  \---> one command | a script | lines of stdin | prompt (edit, hints, docs)
 *                              \-> exec (repeat, streams, state) -> link -> format (text) */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/sds.h"
#include "base/version.h"
#include "net/connection.h"
#include "net/resp.h"
#include "tools/cli_style.h"
#include "tools/tool_tls.h"

enum cliOutput { CLI_TTY, CLI_RAW, CLI_CSV, CLI_JSON, CLI_QUOTED_JSON };

#define CLI_HOT_KEYS_MAX 10000

enum cliMode {
    CLI_COMMANDS, /* what no other mode was asked for: a command, a script, lines, the prompt */
    CLI_PIPE,
    CLI_STAT,
    CLI_LATENCY,
    CLI_LATENCY_HISTORY,
    CLI_LATENCY_DIST,
    CLI_INTRINSIC_LATENCY,
    CLI_LRU_TEST,
    CLI_REPLICA,
    CLI_RDB,
    CLI_FUNCTIONS_RDB,
    CLI_BIGKEYS,
    CLI_MEMKEYS,
    CLI_HOTKEYS,
    CLI_SCAN,
    CLI_CLUSTER,
    CLI_TEST_HINT,
    CLI_TEST_HINT_FILE,
};

struct cliWords {
    int argc;
    char **argv; /* of the command line */
};

struct cliCluster { /* --cluster and its options */
    struct cliWords command, weights;
    const char *from, *to, *primary_id;        /* NULL: not given, */
    sds from_user, from_password;              /* as these */
    int replicas, slots, timeout_ms, pipeline; /* 0: not given */
    double threshold;                          /* percent */
    bool yes, simulate, replace, copy, atomic, use_empty, search_owners, fix_with_unreachable;
    bool replica, only_primaries, only_replicas, ask_from_password;
};

struct cliLink {
    int fd; /* to wait for; -1: not connected */
    struct connection *conn;
    sds in; /* bytes read; the reply handed out last is `used` bytes from `at` on */
    size_t at, used;
    sds out; /* requests queued */
};

struct cli {
    /* Where to, and who. */
    sds host, socket; /* socket NULL: TCP */
    int port;
    struct netOptions way;
    sds user, password;
    int db; /* selected, and to be selected again after a reconnect */
    int connect_timeout_ms;
    struct toolTls tls;
    int resp;          /* 2, 3, or 0: as the server starts */
    bool resp_is_wish; /* a server that has no RESP3 is fine */
    bool cluster;      /* follow redirections */

    /* How. */
    enum cliMode mode;
    enum cliOutput output;
    sds delimiter, terminator; /* of raw output: between elements, after a reply */
    int64_t repeat;            /* -1: for ever */
    int64_t interval_us;
    bool error_exit, verbose, no_auth_warning, ask_password, quoted_input, last_from_stdin;
    sds stdin_tag;
    sds eval_file;
    bool debug, debug_sync; /* run it under the debugger: on a copy of the data, or in the server itself */

    /* Of the modes. */
    sds pattern;            /* NULL: all keys */
    int64_t scan_count;     /* 0: as the server likes */
    int64_t hot_keys;       /* how many --hotkeys shall show */
    int64_t memory_samples; /* -1: as the server likes */
    int64_t pipe_timeout_s; /* 0: wait for ever */
    int64_t intrinsic_s;    /* how long to measure */
    int64_t lru_keys;       /* size of the simulated key space */
    sds file;      /* of --rdb and --functions-rdb, where "-" is standard output; of --test_hint_file */
    sds hint_line; /* of --test_hint */

    struct cliCluster cluster_manager;

    /* The conversation. */
    struct cliLink link;
    bool interactive, in_multi, show_pushes;
    bool by_line; /* commands come as lines, so that redirections are told */
    bool hints;

    /* At a terminal. */
    bool terminal; /* standard output is one, and replies are for people */
    enum cliWhen colour_when;
    bool colour, tables, pager;
    bool quiet;            /* a failed connection is not told */
    int reply_timeout_ms;  /* 0: a reply is waited for */
    bool debug_again;      /* at the prompt behind a session the user asked for another */
    bool docs_tried;       /* on this connection, as this user */
    int64_t subscriptions; /* that the server confirmed on this connection */
    int64_t answered_us;   /* when the last reply was there; 0: none yet */
};

extern volatile sig_atomic_t cli_interrupted; /* Ctrl-C, in an interactive session */

/* ---- Options ---- */

/* Fills *c; returns the index of the first word of the command. Exits on bad usage. */
int cliParseOptions(struct cli *c, int argc, char **argv);
void cliPrintUsage(FILE *f);
/* valkey://, redis://, with an s before the colon for TLS, and unix:// addresses; exits when it is none. */
void cliParseUri(struct cli *c, const char *uri);
/* Prints the message, which has one %s, and exits. */
void cliFail(const char *format, const char *what) __attribute__((noreturn));
/* Frees what the field held. */
void cliSetText(sds *field, sds value);
/* "a\x41" in quotes is read as at the prompt; other words stay as they are. NULL: bad quotes. */
sds cliUnquote(const char *word);

/* ---- Connection ---- */

/* "127.0.0.1:6379", or the path of the socket. */
sds cliAddress(const struct cli *c);
/* Connect (again), authenticate, select, switch protocol. What fails is printed; false when there is no
 * connection. */
bool cliConnect(struct cli *c);
void cliDisconnect(struct cli *c);

enum cliRead {
    CLI_READ_OK,
    CLI_READ_LOST,
    CLI_READ_INTERRUPTED,
    CLI_READ_KEY, /* a key was pressed */
    CLI_READ_GARBLED
};
bool cliSend(struct cli *c, int argc, const sds *argv);
bool cliSendWords(struct cli *c, int argc, const struct str *argv);
/* Goes out with the next request that is sent, or when a reply is waited for: many in one write. */
void cliQueueWords(struct cli *c, int argc, const struct str *argv);
/* Bytes as they are; false when the connection broke. */
bool cliSendBytes(struct cli *c, const char *p, size_t len);
/* The next reply, whatever it is. It is valid until the next call; free its children with respReplyFree. */
enum cliRead cliRead(struct cli *c, struct respReply *reply);
/* The same, but a key pressed on standard input ends the wait. */
enum cliRead cliReadOrKey(struct cli *c, struct respReply *reply);
/* cliRead without pushes, for the modes: what goes wrong, and error replies,
 * end the program with a message. */
void cliExpect(struct cli *c, struct respReply *reply);
void cliExpectAny(struct cli *c, struct respReply *reply); /* error replies are the caller's */
/* Without waiting, for the modes that read bytes: take what the socket has into link.in behind what is there
 * (false: the peer has closed), and write what it takes (-1: the connection broke). */
bool cliReadSome(struct cli *c);
int64_t cliWriteSome(struct cli *c, const char *p, size_t len);
/* Send and read, without pushes and without a word to the user; for handshakes and help. */
bool cliCall(struct cli *c, struct respReply *reply, int argc, const char *const *argv);

/* ---- Text ---- */

/* How a reply looks, with its line end. `plain`: the command's replies are texts for people (INFO). */
sds cliFormatReply(const struct cli *c, const struct respReply *reply, bool plain);
sds cliFormatPush(const struct respReply *reply);
bool cliIsPlain(int argc, const sds *argv);
/* The reply as a terminal shows it, in colours: a table where it is one. NULL: as cliFormatReply has it. */
sds cliViewReply(const struct cli *c, int argc, const sds *argv, const struct respReply *reply);
/* Print a text, at the prompt by the pager when it does not fit the screen. */
void cliShow(const struct cli *c, const sds text);

/* ---- Commands ---- */

/* Run a command `repeat` times and print the replies. False when the connection was lost or could not be
 * had, or on an error reply under -e. */
bool cliRun(struct cli *c, int argc, const sds *argv, int64_t repeat);
/* Run a line typed or read: words, quotes, built-ins, a leading repeat count. False:
 * the user wants to leave. */
bool cliRunLine(struct cli *c, const char *line, size_t len);

/* ---- Modes, each in a file of its own; the exit status. The connection is there, except for
 * cliIntrinsicLatency. ---- */

int cliPipe(struct cli *c);
int cliStat(struct cli *c);
int cliLatency(struct cli *c); /* with and without history */
int cliLatencySpectrum(struct cli *c);
int cliIntrinsicLatency(struct cli *c);
int cliLruTest(struct cli *c);
int cliReplica(struct cli *c);
int cliTransfer(struct cli *c);   /* --rdb, --functions-rdb */
int cliSampleKeys(struct cli *c); /* --bigkeys, --memkeys, --hotkeys */
int cliScan(struct cli *c);
/* --test_hint, --test_hint_file: what hints the prompt would show. */
int cliTestHint(struct cli *c);
int cliTestHintFile(struct cli *c);
int cliCluster(struct cli *c); /* makes connections of its own */

/* A session of the debugger: argv is the EVAL. The connection is of no use afterwards. */
enum cliDebugEnd { CLI_DEBUG_DONE, CLI_DEBUG_QUIT, CLI_DEBUG_RESTART, CLI_DEBUG_FAILED };
enum cliDebugEnd cliDebug(struct cli *c, int argc, const sds *argv);

/* One step of SCAN over the keys that the options ask for: asked for with what goes out next, and taken when
 * all that was asked before has been read. *cursor starts as "0" and is "0" again after the last step.
 * Returns the keys of this step, *count of them; free them with sdsfreesplitres. */
void cliScanRequest(struct cli *c, const sds cursor);
sds *cliScanTake(struct cli *c, sds *cursor, int *count);
/* The pause of -i. */
void cliPause(const struct cli *c);
/* A number from INFO, or from a part of it; 0 when it is not there. */
int64_t cliInfoNumber(struct str info, const char *field);
/* The keys of all databases. */
int64_t cliInfoKeys(const char *info);

/* ---- Prompt and help ---- */

/* The documentation of the server's commands, asked for when it has not been yet; perhaps there is none. */
struct cliDocs;
const struct cliDocs *cliDocsOf(struct cli *c);

void cliPrompt(struct cli *c); /* until the end of input or exit */
void cliHelp(struct cli *c, int argc, const sds *argv);
/* ":set hints" and the like, from the prompt or from the preferences file. */
void cliPreference(struct cli *c, int argc, const sds *argv);
void cliLoadPreferences(struct cli *c);
/* Names that may follow ":set"; NULL behind the last one. */
const char *cliPreferenceName(int at);
