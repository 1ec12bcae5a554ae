/* SPDX-License-Identifier: BSD-3-Clause */
/* replconf.c - libFuzzer target for the commands of replicas: REPLCONF, PSYNC, SYNC.
 *
 *     make fuzz-replconf FUZZ_SECONDS=600
 *
 * An input is | flags | lines |. Each line is a command with its arguments; the first character says
 * which of four connections sends it, `!` closes the connection. The arguments @id and @offset stand for
 * those of the current history. Commands other than those of replicas, and some that write, are left
 * out. Flags: repl-diskless-sync, dual channel, a small backlog, no primary but a replica.
 *
 * There are no child processes: a snapshot to disk fails at once, and one to sockets waits for further
 * replicas. */
#include "acl/client_auth.h"
#include "data/server_state/role.h"
#include "repl/history.h"
#include "repl/link.h"
#include "repl/replicas.h"
#include "turns.h"

#define CONNECTIONS 4

enum { DISKLESS = 1, DUAL_CHANNEL = 2, SMALL = 4, REPLICA = 8 };

static int ends[CONNECTIONS]; /* our ends of the sockets; -1: none */

pid_t fork(void) {
    errno = EAGAIN;
    return -1;
}

static bool isAllowed(const char *name) {
    static const char *const names[] = {"replconf", "psync", "sync",    "ping",   "set",  "incr",
                                        "multi",    "exec",  "discard", "select", "info", "role",
                                        "wait",     "echo",  "get",     "client", "del",  "hello"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcasecmp(name, names[i])) return true;
    return false;
}

static void openEnd(int i) {
    struct connection *conn;
    ends[i] = socketTo(&conn);
    authNewClient(clientCreate(conn));
}

static void closeEnd(int i) {
    if (ends[i] >= 0) close(ends[i]);
    ends[i] = -1;
    turnLoop();
}

static sds replconfSubstituteWord(sds word) {
    if (strcmp(word, "@id") && strcmp(word, "@offset")) return word;
    bool is_id = word[1] == 'i';
    sdsfree(word);
    return is_id ? sdsnew(history.id) : sdscatprintf(sdsempty(), "%llu", (unsigned long long)historyOffset());
}

static void sendWords(int i, sds *argv, int argc) {
    sds out = sdscatprintf(sdsempty(), "*%d\r\n", argc);
    for (int n = 0; n < argc; n++) {
        argv[n] = replconfSubstituteWord(argv[n]);
        out = sdscatprintf(out, "$%zu\r\n", sdslen(argv[n]));
        out = sdscatstr(out, sdsview(argv[n]));
        out = sdscat(out, "\r\n");
    }
    if (ends[i] < 0) openEnd(i);
    if (!turnSend(ends[i], sdsview(out))) closeEnd(i);
    sdsfree(out);
}

static void runLine(struct str line) {
    if (line.len < 2) return;
    int argc, i = line.ptr[0] & (CONNECTIONS - 1);
    if (line.ptr[0] == '!') {
        closeEnd(line.ptr[1] & (CONNECTIONS - 1));
        return;
    }
    sds text = sdsnewlen(line.ptr + 1, line.len - 1);
    sds *argv = sdssplitargs(text, sdslen(text), &argc);
    if (argv && argc > 0 && isAllowed(argv[0])) sendWords(i, argv, argc);
    if (argv) sdsfreesplitres(argv, argc);
    sdsfree(text);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    serverWithoutLoop();
    setDirective("repl-diskless-sync-delay", STR("1000000"));
    replaceCommand("client|pause", refusedCommand);
    for (int i = 0; i < CONNECTIONS; i++) ends[i] = -1;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    unsigned flags = data[0];
    setDirective("repl-diskless-sync", flags & DISKLESS ? STR("yes") : STR("no"));
    setDirective("dual-channel-replication-enabled", flags & DUAL_CHANNEL ? STR("yes") : STR("no"));
    setDirective("repl-backlog-size", flags & SMALL ? STR("16384") : STR("1mb"));
    if (!primary_link.host)
        primary_link.host = sdsnew("primary"); /* a replica has one until it becomes a primary */
    roleSet(flags & REPLICA);
    if (size & 1 && !history.backlog) historyCreateBacklog(false);
    struct str rest = strN((const char *)data + 1, size - 1);
    while (rest.len) {
        const char *end = memchr(rest.ptr, '\n', rest.len);
        size_t len = end ? (size_t)(end - rest.ptr) : rest.len;
        runLine(strN(rest.ptr, len));
        len += end != NULL;
        rest = strN(rest.ptr + len, rest.len - len);
    }
    for (int i = 0; i < CONNECTIONS; i++) closeEnd(i);
    turnLoop();
    serverAssert(!replicas.length);
    if (history.backlog) historyFreeBacklog();
    serverAssert(!history.chain.blocks);
    assertComesBack();
    exerciseAll();
    emptyServer();
    return 0;
}
