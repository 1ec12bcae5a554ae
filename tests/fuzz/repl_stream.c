/* SPDX-License-Identifier: BSD-3-Clause */
/* repl_stream.c - libFuzzer target for the stream that a replica receives after the snapshot.
 *
 *     make fuzz-repl_stream FUZZ_SECONDS=600
 *
 * An input is | flags | seed | bytes |, the bits of flags being:
 *   1  the bytes are lines, each a command with its arguments, and become requests
 *   2  sanitize-dump-payload      4  zset-index btree      8  the primary understands no
 * acknowledgements
 *
 * The seed says in which pieces the stream arrives. The number of bytes applied must not depend on that;
 * and these bytes are what our own replicas would be sent. */
#include "data/server_state/role.h"
#include "repl/history.h"
#include "repl/link.h"
#include "repl/link_stream.h"
#include "turns.h"

enum { LINES = 1, SANITIZE = 2, BTREE = 4, NO_ACKS = 8 };

static struct client *primary; /* NULL if the server has closed it */

static void streamPrimaryClosed(struct client *c) {
    if (c != primary) return;
    linkStreamClose(c);
    primary = NULL;
}

/* Checks that the backlog holds exactly the bytes applied, in order. Empty lines and empty requests are
 * skipped. */
static void checkBacklog(struct str sent) {
    struct chainReader r = {0};
    struct iovec piece;
    uint64_t kept = 0;
    bool there = chainReaderStart(&r, &history.chain, 0);
    serverAssert(there);
    while (chainReaderView(&r, &history.chain, &piece, 1)) {
        const char *p = piece.iov_base;
        for (size_t i = 0; i < piece.iov_len; i++, sent = strN(sent.ptr + 1, sent.len - 1)) {
            while (sent.len && sent.ptr[0] != p[i]) sent = strN(sent.ptr + 1, sent.len - 1);
            serverAssert(sent.len);
        }
        kept += piece.iov_len;
        chainReaderAdvance(&r, &history.chain, piece.iov_len);
    }
    chainReaderStop(&r);
    serverAssert(kept == historyOffset());
}

static uint32_t nextRandom(uint32_t *seed) {
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* Returns how many bytes were applied. */
static uint64_t streamApply(struct str sent, uint32_t seed, unsigned flags) {
    static const char id[] = "0123456789abcdef0123456789abcdef01234567";
    struct connection *conn;
    historyAdopt(id, 0);
    int fd = socketTo(&conn);
    primary = linkStreamOpen(conn, 0, STR(""), !(flags & NO_ACKS));
    for (struct str rest = sent; rest.len;) {
        size_t n = seed ? 1 + nextRandom(&seed) % 200 : rest.len;
        if (n > rest.len) n = rest.len;
        if (!turnSend(fd, strN(rest.ptr, n))) break;
        rest = strN(rest.ptr + n, rest.len - n);
    }
    turnLoop();
    if (primary) linkStreamClose(primary);
    primary = NULL;
    turnLoop();
    close(fd);
    checkBacklog(sent);
    return historyOffset();
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    serverWithoutLoop();
    primary_link.host = sdsnew("primary"); /* a replica has one */
    refuseCommands();
    replaceCommand("client|pause", refusedCommand); /* no command would end the pause */
    clientOnFree(streamPrimaryClosed);
    roleSet(true);
    historyCreateBacklog(true);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    unsigned flags = data[0];
    struct str bytes = strN((const char *)data + 2, size - 2);
    sds requests = flags & LINES ? requestsOfLines(bytes) : sdsnewstr(bytes);
    setDirective("sanitize-dump-payload", flags & SANITIZE ? STR("yes") : STR("no"));
    setDirective("zset-index", flags & BTREE ? STR("btree") : STR("skiplist"));
    uint64_t whole = streamApply(sdsview(requests), 0, flags);
    emptyServer();
    uint64_t split = streamApply(sdsview(requests), data[1] * 0x9e3779b1u | 1, flags);
    serverAssert(whole == split);
    serverAssert(!script_run.name && !loadingActive());
    assertComesBack();
    exerciseAll();
    emptyServer();
    sdsfree(requests);
    return 0;
}
