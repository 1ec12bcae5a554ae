/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_exec.c - runs commands: replies, repeats, endless streams, and the effects of replies on the
 * client.
 *
 * Some replies change the session: SELECT the database, AUTH the credentials for the next connection,
 * MULTI begins a transaction. After SUBSCRIBE and MONITOR the server sends without requests, until
 * Ctrl-C ends that connection. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "tools/cli/cli.h"

#define SLOW_US       500000 /* the prompt shows the duration of a command from here on */
#define MAX_REDIRECTS 16

enum cliOutcome { DONE, ERROR_REPLY, LOST, INTERRUPTED, MOVED };

static bool cliExecIs(const sds word, const char *name) {
    return strcasecmp(word, name) == 0;
}

static bool cliExecIsStream(const sds *argv) {
    return cliExecIs(argv[0], "subscribe") || cliExecIs(argv[0], "psubscribe") ||
           cliExecIs(argv[0], "ssubscribe") || cliExecIs(argv[0], "monitor");
}

/* Returns whether the command starts a snapshot and an endless stream of commands instead of a reply. */
static bool cliExecIsSync(const sds *argv) {
    return cliExecIs(argv[0], "sync") || cliExecIs(argv[0], "psync");
}

static bool cliExecIsUnsubscribe(const sds *argv) {
    return cliExecIs(argv[0], "unsubscribe") || cliExecIs(argv[0], "punsubscribe") ||
           cliExecIs(argv[0], "sunsubscribe");
}

static void cliExecApplyReset(struct cli *c) {
    c->in_multi = false;
    c->subscriptions = 0;
    c->db = 0;
    c->resp = 2;
    cliSetText(&c->user, NULL);
    cliSetText(&c->password, NULL);
}

/* Records the effects of a successful command on the prompt and the next connection. */
static void cliExecApplyEffects(struct cli *c, int argc, const sds *argv, const struct respReply *reply) {
    if (cliExecIs(argv[0], "exec") || cliExecIs(argv[0], "discard")) c->in_multi = false;
    if (reply->type == RESP_T_ERROR || (reply->type == RESP_T_STATUS && strIs(reply->str, "QUEUED"))) return;
    int64_t n;
    if (cliExecIs(argv[0], "multi")) {
        c->in_multi = true;
    } else if (cliExecIs(argv[0], "select") && argc == 2 && string2ll(sdsview(argv[1]), &n)) {
        c->db = (int)n;
    } else if (cliExecIs(argv[0], "hello") && argc > 1 && string2ll(sdsview(argv[1]), &n)) {
        c->resp = (int)n;
    } else if (cliExecIs(argv[0], "auth") && (argc == 2 || argc == 3)) {
        cliSetText(&c->user, argc == 3 ? sdsdup(argv[1]) : NULL);
        cliSetText(&c->password, sdsdup(argv[argc - 1]));
        c->docs_tried = false; /* another user may have access */
    } else if (cliExecIs(argv[0], "reset")) {
        cliExecApplyReset(c);
    }
}

static void cliExecPrintReply(const struct cli *c, const struct respReply *reply) {
    sds text = cliFormatReply(c, reply, false);
    fwrite(text, 1, sdslen(text), stdout);
    fflush(stdout);
    sdsfree(text);
}

/* Prints the reply to a command in the form for that command. */
static void cliExecShowReply(struct cli *c, int argc, const sds *argv, const struct respReply *reply) {
    if (reply->type == RESP_T_ERROR && c->error_exit) {
        fprintf(stderr, "%.*s\n", (int)reply->str.len, reply->str.ptr);
        return;
    }
    sds text = cliViewReply(c, argc, argv, reply);
    if (!text) text = cliFormatReply(c, reply, cliIsPlain(argc, argv));
    cliShow(c, text);
    fflush(stdout);
    sdsfree(text);
}

static enum cliOutcome cliExecLost(struct cli *c, enum cliRead why, const sds *argv) {
    fflush(stdout);
    cliDisconnect(c);
    if (why == CLI_READ_INTERRUPTED) return INTERRUPTED;
    if (why == CLI_READ_LOST && cliExecIs(argv[0], "shutdown")) return DONE;
    fprintf(stderr, "Error: %s\n",
            why == CLI_READ_LOST ? "Server closed the connection" : "Protocol error in the reply");
    return LOST;
}

/* Reads the reply to the command; earlier push messages are shown to people only. */
static enum cliRead cliExecReadAnswer(struct cli *c, struct respReply *reply, bool push_is_answer) {
    for (;;) {
        enum cliRead read = cliRead(c, reply);
        if (read != CLI_READ_OK || reply->type != RESP_T_PUSH || push_is_answer) return read;
        if (c->show_pushes) {
            sds text = cliFormatPush(reply);
            fwrite(text, 1, sdslen(text), stdout);
            sdsfree(text);
        }
        respReplyFree(reply);
    }
}

/* Follows a redirection such as "MOVED 3999 127.0.0.1:6381". */
static bool cliExecRedirect(struct cli *c, const struct respReply *reply, bool *asking) {
    if (!c->cluster || reply->type != RESP_T_ERROR) return false;
    char kind[8], where[256];
    int slot;
    sds text = sdsnewstr(reply->str);
    int fields = sscanf(text, "%7s %d %255s", kind, &slot, where);
    sdsfree(text);
    *asking = fields == 3 && strcmp(kind, "ASK") == 0;
    char *colon = fields == 3 ? strrchr(where, ':') : NULL;
    int64_t port;
    if (!colon || (!*asking && strcmp(kind, "MOVED") != 0) || !string2ll(strOf(colon + 1), &port))
        return false;
    *colon = '\0';
    if (where[0]) cliSetText(&c->host, sdsnew(where)); /* empty: the same host */
    c->port = (int)port;
    if (c->by_line) printf("-> Redirected to slot [%d] located at %s:%d\n", slot, c->host, c->port);
    return true;
}

/* ---- Streams: messages without requests ---- */

/* Switches the terminal so that a key is read at once, without Enter and echo. */
static void cliExecSetKeyMode(bool on) {
    static struct termios before;
    static bool is_on;
    if (on == is_on || (on && tcgetattr(STDIN_FILENO, &before) != 0)) return;
    struct termios mode = before;
    mode.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, on ? &mode : &before);
    is_on = on;
}

/* A stream of messages. Confirmations have the number of subscriptions; shard channels are counted
 * separately. */
struct outputStream {
    int64_t plain, shards; /* numbers of subscriptions */
    int64_t missing;       /* missing replies to the last command: one, or a confirmation for each name */
};

static bool cliExecIsConfirmation(const struct respReply *r, bool *shard) {
    bool list = r->type == RESP_T_ARRAY || r->type == RESP_T_PUSH;
    if (!list || r->elements != 3 || r->element[2].type != RESP_T_INTEGER) return false;
    struct str kind = r->element[0].str;
    *shard = strIs(kind, "ssubscribe") || strIs(kind, "sunsubscribe");
    return *shard || strIs(kind, "subscribe") || strIs(kind, "unsubscribe") || strIs(kind, "psubscribe") ||
           strIs(kind, "punsubscribe");
}

static bool cliExecIsMessage(const struct respReply *r) {
    bool list = r->type == RESP_T_ARRAY || r->type == RESP_T_PUSH;
    return list && r->elements >= 3 &&
           (strIs(r->element[0].str, "message") || strIs(r->element[0].str, "pmessage") ||
            strIs(r->element[0].str, "smessage"));
}

static void cliExecCountConfirmation(struct cli *c, struct outputStream *s, const struct respReply *r) {
    bool shard;
    if (!cliExecIsMessage(r)) s->missing--;
    if (!cliExecIsConfirmation(r, &shard)) return;
    *(shard ? &s->shards : &s->plain) = r->element[2].integer;
    c->subscriptions = s->plain + s->shards;
}

/* Prints whatever arrives, until the user or the server ends the stream, or the last subscription is
 * gone. At the prompt a key returns to the prompt, and subscriptions stay. When commands come as lines,
 * the next line or the end of input ends it, once all replies have arrived. MOVED: the shard's channels
 * are on another node. */
static enum cliOutcome cliExecFollow(struct cli *c, int argc, const sds *argv, bool *asking) {
    static struct outputStream stream; /* kept from command to command */
    bool monitor = cliExecIs(argv[0], "monitor"), keys = c->interactive && !monitor;
    if (c->subscriptions == 0) stream = (struct outputStream){0};
    stream.missing = (cliExecIsStream(argv) || cliExecIsUnsubscribe(argv)) && argc > 1 ? argc - 1 : 1;
    if (c->output != CLI_RAW && !monitor && isatty(STDOUT_FILENO))
        printf("Reading messages... (press Ctrl-C to quit%s)\n", keys ? " or any key to type command" : "");
    fflush(stdout);
    for (;;) {
        struct respReply reply;
        cliExecSetKeyMode(keys);
        bool or_key = keys || (c->by_line && !monitor && stream.missing <= 0);
        enum cliRead read = or_key ? cliReadOrKey(c, &reply) : cliRead(c, &reply);
        cliExecSetKeyMode(false);
        if (read == CLI_READ_KEY) return DONE;
        if (read != CLI_READ_OK) return cliExecLost(c, read, argv);
        if (c->subscriptions == 0 && cliExecRedirect(c, &reply, asking)) {
            respReplyFree(&reply);
            return MOVED;
        }
        cliExecPrintReply(c, &reply);
        cliExecCountConfirmation(c, &stream, &reply);
        bool refused = reply.type == RESP_T_ERROR;
        bool reset = reply.type == RESP_T_STATUS && strIs(reply.str, "RESET");
        respReplyFree(&reply);
        if (reset) cliExecApplyReset(c);
        if (monitor && !refused && !reset) continue;
        if (c->subscriptions == 0 && (stream.missing <= 0 || refused || reset))
            return refused ? ERROR_REPLY : DONE;
    }
}

/* Connects to the node of the slot; with ASK, for the next command only. */
static bool cliExecConnectToNode(struct cli *c, bool asking) {
    if (!cliConnect(c)) return false;
    if (!asking) return true;
    const char *command[] = {"ASKING"};
    struct respReply reply;
    if (!cliCall(c, &reply, 1, command)) return false;
    respReplyFree(&reply);
    return true;
}

/* Handles the reply to a command that has one. MOVED, with nothing printed: the command has to go to
 * another node. */
static enum cliOutcome cliExecAnswer(struct cli *c, int argc, const sds *argv, bool *asking) {
    struct respReply reply;
    enum cliRead read = cliExecReadAnswer(c, &reply, cliExecIsUnsubscribe(argv));
    c->answered_us = monotonicUs();
    if (read != CLI_READ_OK) return cliExecLost(c, read, argv);
    enum cliOutcome outcome = reply.type == RESP_T_ERROR ? ERROR_REPLY : DONE;
    if (cliExecRedirect(c, &reply, asking)) {
        outcome = MOVED;
    } else {
        cliExecApplyEffects(c, argc, argv, &reply);
        cliExecShowReply(c, argc, argv, &reply);
    }
    respReplyFree(&reply);
    return outcome;
}

static enum cliOutcome cliExecOnce(struct cli *c, int argc, const sds *argv) {
    for (int hops = 0; hops <= MAX_REDIRECTS; hops++) {
        bool asking = false;
        if (cliExecIsSync(argv)) return cliReplica(c) == 0 ? DONE : LOST;
        /* The reply is read even if sending failed: it may say why the server closed the connection. */
        cliSend(c, argc, argv);
        bool stream = (cliExecIsStream(argv) && !c->in_multi) || c->subscriptions;
        enum cliOutcome outcome =
            stream ? cliExecFollow(c, argc, argv, &asking) : cliExecAnswer(c, argc, argv, &asking);
        if (outcome != MOVED) return outcome;
        if (!cliExecConnectToNode(c, asking)) return LOST;
    }
    fprintf(stderr, "Error: %d redirections in a row\n", MAX_REDIRECTS);
    return ERROR_REPLY;
}

static void cliExecPrintDuration(const struct cli *c, int64_t us) {
    if (c->verbose)
        fprintf(stderr, "(%.3fms)\n", (double)us / 1e3);
    else if (c->interactive && us >= SLOW_US)
        printf("(%.2fs)\n", (double)us / 1e6);
}

/* Ends the line after Ctrl-C, which was echoed unless keys were awaited. */
static bool cliExecEndInterrupted(struct cli *c, const sds *argv) {
    if (!c->interactive) return false;
    if (!cliExecIsStream(argv) || cliExecIs(argv[0], "monitor")) printf("\n");
    return cliConnect(c);
}

bool cliRun(struct cli *c, int argc, const sds *argv, int64_t repeat) {
    cli_interrupted = 0;
    for (int64_t i = 0; repeat < 0 || i < repeat; i++) {
        if (i && c->interval_us) usleep((useconds_t)c->interval_us);
        if (cli_interrupted) break; /* between two runs */
        if (c->link.fd == -1 && !cliConnect(c)) return false;
        int64_t start_us = monotonicUs();
        c->answered_us = 0;
        enum cliOutcome outcome = cliExecOnce(c, argc, argv);
        cliExecPrintDuration(c, (c->answered_us ? c->answered_us : monotonicUs()) - start_us);
        if (outcome == LOST) return false;
        if (outcome == INTERRUPTED) return cliExecEndInterrupted(c, argv);
        if (outcome == ERROR_REPLY && c->error_exit) return false;
    }
    if (cli_interrupted && c->interactive) printf("\n"); /* as in cliExecEndInterrupted */
    return true;
}

/* ---- Lines ---- */

/* Runs CONNECT host port, a command of the client. */
static void cliExecConnectTo(struct cli *c, const sds *argv) {
    int64_t port;
    if (!string2ll(sdsview(argv[2]), &port) || port < 1 || port > 65535) {
        printf("Invalid port number\n");
        return;
    }
    cliSetText(&c->host, sdsdup(argv[1]));
    cliSetText(&c->socket, NULL);
    c->port = (int)port;
    cliConnect(c);
}

/* Runs commands of the client itself. */
static bool cliExecRunBuiltin(struct cli *c, int argc, const sds *argv, bool *leave) {
    *leave = cliExecIs(argv[0], "quit") || cliExecIs(argv[0], "exit");
    c->debug_again = (c->debug || c->debug_sync) && argc == 1 && cliExecIs(argv[0], "restart");
    *leave = *leave || c->debug_again;
    if (*leave) return true;
    if (argv[0][0] == ':')
        cliPreference(c, argc, argv);
    else if (cliExecIs(argv[0], "help") || cliExecIs(argv[0], "?"))
        cliHelp(c, argc - 1, argv + 1);
    else if (cliExecIs(argv[0], "clear") && argc == 1)
        printf("\033[H\033[2J");
    else if (cliExecIs(argv[0], "connect") && argc == 3)
        cliExecConnectTo(c, argv);
    else
        return false;
    fflush(stdout);
    return true;
}

bool cliRunLine(struct cli *c, const char *line, size_t len) {
    int argc;
    sds *argv = sdssplitargs(line, len, &argc);
    if (!argv) printf("Invalid argument(s)\n");
    bool leave = false;
    int64_t repeat = 1;
    int skip = argc > 1 && string2ll(sdsview(argv[0]), &repeat);
    if (skip && repeat <= 0)
        printf("Invalid valkey-cli repeat command option value.\n");
    else if (argc > 0 && !cliExecRunBuiltin(c, argc - skip, argv + skip, &leave))
        cliRun(c, argc - skip, argv + skip, repeat);
    if (argv) sdsfreesplitres(argv, argc);
    return !leave;
}
