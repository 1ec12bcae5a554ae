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
#include "tools/cli/cli_style.h"
#include "tools/tool_tls.h"

enum cliOutput { CLI_TTY, CLI_RAW, CLI_CSV, CLI_JSON, CLI_QUOTED_JSON };

#define CLI_HOT_KEYS_MAX 10000

enum cliMode {
    CLI_COMMANDS, /* the default: a command, a script, lines, or the prompt */
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
    CLI_DOCTOR,
    CLI_CLUSTER,
    CLI_TEST_HINT,
    CLI_TEST_HINT_FILE,
};

struct cliWords {
    int argc;
    char **argv; /* the program's arguments */
};

struct cliCluster { /* --cluster and its options */
    struct cliWords command, weights;
    const char *from, *to, *primary_id;        /* NULL if not given */
    sds from_user, from_password;              /* NULL if not given */
    int replicas, slots, timeout_ms, pipeline; /* 0 if not given */
    double threshold;                          /* percent */
    bool yes, simulate, replace, copy, atomic, use_empty, search_owners, fix_with_unreachable;
    bool replica, only_primaries, only_replicas, ask_from_password;
};

struct cliLink {
    int fd; /* descriptor to poll; -1 if not connected */
    struct connection *conn;
    sds in; /* bytes read; the last reply returned is `used` bytes from `at` on */
    size_t at, used;
    sds out; /* requests queued */
};

struct cli {
    /* The server, and the user. */
    sds host, socket; /* socket is NULL for TCP */
    int port;
    struct netOptions way;
    sds user, password;
    int db; /* selected, also after a reconnect */
    int connect_timeout_ms;
    struct toolTls tls;
    int resp;              /* 2 or 3; 0: the protocol in which the server starts */
    bool resp_is_optional; /* RESP3 is optional: a server without it is accepted */
    bool cluster;          /* follow redirections */

    /* The mode, and the form of its output. */
    enum cliMode mode;
    enum cliOutput output;
    sds delimiter, terminator; /* raw output: between elements; after a reply */
    int64_t repeat;            /* -1: without end */
    int64_t interval_us;
    bool error_exit, verbose, no_auth_warning, ask_password, quoted_input, last_from_stdin;
    sds stdin_tag;
    sds eval_file;
    bool debug, debug_sync; /* run the script under the debugger: on a copy of the data, or synchronously */

    /* Options of modes. */
    sds pattern;            /* NULL for all keys */
    int64_t scan_count;     /* 0 for the server's default */
    int64_t hot_keys;       /* number of keys that --hotkeys shows */
    int64_t memory_samples; /* -1 for the server's default */
    int64_t pipe_timeout_s; /* 0: no limit */
    int64_t intrinsic_s;    /* duration of the measurement */
    int64_t lru_keys;       /* size of the simulated key space */
    sds file;      /* file of --rdb and --functions-rdb ("-" is standard output), or of --test_hint_file */
    sds hint_line; /* line of --test_hint */

    struct cliCluster cluster_manager;

    /* The connection. */
    struct cliLink link;
    bool interactive, in_multi, show_pushes;
    bool by_line; /* commands come as lines, so redirections are reported */
    bool hints;

    /* The terminal. */
    bool terminal; /* standard output is a terminal, and replies are for people */
    enum cliWhen colour_when;
    bool colour, tables, pager;
    bool table_hint;       /* the next table is followed by a hint how to get the reply itself */
    bool quiet;            /* a failed connection is not reported */
    int reply_timeout_ms;  /* 0: no time limit */
    bool debug_again;      /* at the prompt after a session, the user asked for another one */
    bool docs_tried;       /* the documentation was requested on this connection, as this user */
    int64_t subscriptions; /* subscriptions that the server confirmed on this connection */
    int64_t answered_us;   /* when the last reply arrived; 0: none yet */
};

extern volatile sig_atomic_t cli_interrupted; /* set by Ctrl-C in an interactive session */

/* ---- Options ---- */

/* Fills *c; returns the index of the first word of the command. Exits on bad usage. */
int cliParseOptions(struct cli *c, int argc, char **argv);
void cliPrintUsage(FILE *f);
/* Reads a valkey://, redis://, valkeys://, rediss:// (TLS) or unix:// address; exits for any other. */
void cliParseUri(struct cli *c, const char *uri);
/* Prints the message, which has one %s, and exits. */
void cliFail(const char *format, const char *what) __attribute__((noreturn));
/* Replaces the text of a field and frees the old one. */
void cliSetText(sds *field, sds value);
/* Reads a word in quotes as the prompt does ("a\x41"); other words stay unchanged. Returns NULL for bad
 * quotes. */
sds cliUnquote(const char *word);

/* ---- Connection ---- */

/* Returns "127.0.0.1:6379", or the path of the socket. */
sds cliAddress(const struct cli *c);
/* Connects (again), authenticates, selects the database and switches the protocol. Prints failures;
 * returns false when there is no connection. */
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
/* Queues a request, which is sent with the next one or when a reply is waited for: one write for many. */
void cliQueueWords(struct cli *c, int argc, const struct str *argv);
/* Sends bytes unchanged; false when the connection broke. */
bool cliSendBytes(struct cli *c, const char *p, size_t len);
/* Reads the next reply of any kind. It is valid until the next call; free its children with
 * respReplyFree. */
enum cliRead cliRead(struct cli *c, struct respReply *reply);
/* Like cliRead, but a key pressed on standard input ends the wait. */
enum cliRead cliReadOrKey(struct cli *c, struct respReply *reply);
/* Like cliRead without push messages, for modes: failures and error replies end the program with a
 * message. */
void cliExpect(struct cli *c, struct respReply *reply);
void cliExpectAny(struct cli *c, struct respReply *reply); /* returns error replies, too */
/* Non-blocking I/O for modes that work on bytes. cliReadSome appends what the socket has to link.in;
 * false: the peer has closed. cliWriteSome writes what the socket takes; -1: the connection broke. */
bool cliReadSome(struct cli *c);
int64_t cliWriteSome(struct cli *c, const char *p, size_t len);
/* Sends a request and reads its reply, without push messages and output; for handshakes and help. */
bool cliCall(struct cli *c, struct respReply *reply, int argc, const char *const *argv);

/* ---- Text ---- */

/* Returns a reply as text with its line end. `plain`: the command's replies are texts for people (INFO). */
sds cliFormatReply(const struct cli *c, const struct respReply *reply, bool plain);
sds cliFormatPush(const struct respReply *reply);
bool cliIsPlain(int argc, const sds *argv);
/* Returns the reply for a terminal, in colours, as a table if it is one. NULL: cliFormatReply is to be
 * used. */
sds cliViewReply(struct cli *c, int argc, const sds *argv, const struct respReply *reply);
/* Prints a text; at the prompt the pager shows it if it does not fit the screen. */
void cliShow(const struct cli *c, const sds text);

/* ---- Commands ---- */

/* Runs a command `repeat` times and prints the replies. Returns false when the connection failed, or for
 * an error reply under -e. */
bool cliRun(struct cli *c, int argc, const sds *argv, int64_t repeat);
/* Runs a line: words, quotes, built-in commands, a leading repeat count. Returns false when the user
 * wants to leave. */
bool cliRunLine(struct cli *c, const char *line, size_t len);

/* ---- Modes, each in its own file. They return the exit status and need a connection, except for
 * cliIntrinsicLatency. ---- */

int cliPipe(struct cli *c);
int cliStat(struct cli *c);
int cliLatency(struct cli *c); /* --latency, --latency-history */
int cliLatencySpectrum(struct cli *c);
int cliIntrinsicLatency(struct cli *c);
int cliLruTest(struct cli *c);
int cliReplica(struct cli *c);
int cliTransfer(struct cli *c);   /* --rdb, --functions-rdb */
int cliSampleKeys(struct cli *c); /* --bigkeys, --memkeys, --hotkeys */
int cliScan(struct cli *c);
int cliDoctor(struct cli *c);
/* --test_hint, --test_hint_file: print the hints that the prompt would show. */
int cliTestHint(struct cli *c);
int cliTestHintFile(struct cli *c);
int cliCluster(struct cli *c); /* makes its own connections */

/* Runs a session of the debugger; argv is the EVAL. The connection cannot be used afterwards. */
enum cliDebugEnd { CLI_DEBUG_DONE, CLI_DEBUG_QUIT, CLI_DEBUG_RESTART, CLI_DEBUG_FAILED };
enum cliDebugEnd cliDebug(struct cli *c, int argc, const sds *argv);

/* One step of SCAN over the keys that the options name. cliScanRequest queues it, and cliScanReadStep reads
 * it after all earlier replies. *cursor starts as "0" and is "0" again after the last step. Returns the
 * keys of this step, *count of them; free them with sdsfreesplitres. */
void cliScanRequest(struct cli *c, const sds cursor);
sds *cliScanReadStep(struct cli *c, sds *cursor, int *count);
/* Pauses as -i says. */
void cliPause(const struct cli *c);
/* Returns a number from INFO or a part of it; 0 if it is missing. */
int64_t cliInfoNumber(struct str info, const char *field);
/* Returns the number of keys in all databases. */
int64_t cliInfoKeys(const char *info);

/* ---- Prompt and help ---- */

/* Returns the documentation of the server's commands and requests it first if necessary. It may be
 * empty. */
struct cliDocs;
const struct cliDocs *cliLoadDocs(struct cli *c);

void cliPrompt(struct cli *c); /* runs until the end of input or exit */
void cliHelp(struct cli *c, int argc, const sds *argv);
/* Runs ":set hints" and the like, from the prompt or the preferences file. */
void cliPreference(struct cli *c, int argc, const sds *argv);
void cliLoadPreferences(struct cli *c);
/* Returns the name number `at` that may follow ":set"; NULL after the last one. */
const char *cliPreferenceName(int at);
