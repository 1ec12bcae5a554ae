/* SPDX-License-Identifier: BSD-3-Clause */
/* io_reads.c - see io_reads.h. */
#include "command/io_reads.h"

#include <stdint.h>
#include <string.h>

#include "base/zmalloc.h"
#include "client/client.h"
#include "client/reply_block.h"
#include "command/io_client_state.h"
#include "command/parallel_read.h"

/* Requests that are prefetched together, and run before the next look at the phase. */
#define PREFETCH_AHEAD   24
#define LONG_READS_FIRST 8

/* ---- What is kept ---- */

void ioReadsInit(struct ioReads *rs) {
    *rs = (struct ioReads){.reader = parallelReaderNew()};
}

void ioReadsFree(struct ioReads *rs) {
    parallelReaderFree(rs->reader);
    zfree(rs->long_reads);
}

static uint16_t ioReadsFirstCommand(const struct ioInput *in) {
    return (uint16_t)(in->requests[0].cmd->id + 1);
}

static void ioReadsKeepLong(struct ioReads *rs, struct ioClient *p, struct ioInput *in) {
    if (rs->long_count == rs->long_cap) {
        rs->long_cap = rs->long_cap ? 2 * rs->long_cap : LONG_READS_FIRST;
        rs->long_reads = zrealloc(rs->long_reads, (size_t)rs->long_cap * sizeof *rs->long_reads);
    }
    rs->long_reads[rs->long_count++] = (struct ioRead){.client = p, .in = in};
}

static bool ioReadsAreAll(const struct ioInput *in) {
    int count = parallelReadsAlways() && in->count > 1 ? 1 : in->count; /* that have to be reads */
    for (int i = 0; i < count; i++)
        if (!parallelReadIsOne(&in->requests[i])) return false;
    return count > 0;
}

bool ioReadsKeep(struct ioReads *rs, struct ioClient *p, struct ioInput *in) {
    if (!parallelReadsAllowed() || !ioReadsAreAll(in)) return false;
    if (__builtin_expect(p->long_command == ioReadsFirstCommand(in), 0)) {
        ioReadsKeepLong(rs, p, in);
        return true;
    }
    if (rs->count == IO_READS_AT_ONCE) return false;
    rs->kept[rs->count++] = (struct ioRead){.client = p, .in = in};
    return true;
}

int ioReadsTake(struct ioReads *rs, struct ioRead batch[IO_READS_AT_ONCE]) {
    int count = rs->count;
    memcpy(batch, rs->kept, (size_t)count * sizeof *batch);
    rs->count = 0;
    return count;
}

struct ioRead ioReadsTakeLong(struct ioReads *rs, const struct ioClient *p) {
    int at = 0;
    while (p && at < rs->long_count && rs->long_reads[at].client != p) at++;
    if (at == rs->long_count) return (struct ioRead){0};
    struct ioRead taken = rs->long_reads[at];
    memmove(rs->long_reads + at, rs->long_reads + at + 1,
            (size_t)(--rs->long_count - at) * sizeof *rs->long_reads);
    return taken;
}

/* ---- Running ---- */

static int ioReadsEndOfSlice(const struct ioInput *in) {
    return in->count - in->next > PREFETCH_AHEAD ? in->next + PREFETCH_AHEAD : in->count;
}

static void ioReadsAddToPrefetch(struct ioReads *rs, const struct client *c, const struct ioInput *in) {
    for (int i = in->next, end = ioReadsEndOfSlice(in); i < end; i++)
        prefetchAdd(&rs->prefetch, &c->db->keyspace, &in->requests[i]);
}

static void ioReadsPrefetch(struct ioReads *rs) {
    parallelReadPrefetch(rs->reader, &rs->prefetch);
    prefetchBegin(&rs->prefetch);
}

/* Runs the requests of an input, of which the first slice is prefetched, up to the first that has to run on
 * the main thread, or until that waits, or until they have taken long. */
static enum ioReadEnd ioReadsRunRequests(struct ioReads *rs, struct client *c, struct ioInput *in) {
    for (;;) {
        for (int end = ioReadsEndOfSlice(in); in->next < end; in->next++) {
            enum parallelReadResult result = parallelReadRun(rs->reader, c, &in->requests[in->next]);
            if (__builtin_expect(result == PARALLEL_READ_RUN, 1)) continue;
            if (result == PARALLEL_READ_REFUSED) return IO_READ_REST;
            in->next++;
            return IO_READ_LONG;
        }
        if (in->next == in->count) return IO_READ_DONE;
        if (readPhaseIsClosed()) return IO_READ_REST;
        ioReadsAddToPrefetch(rs, c, in);
        ioReadsPrefetch(rs);
    }
}

/* Remembers by which command the client's inputs take long; a short one with the same command forgets it. */
static void ioReadsNoteLong(struct ioClient *p, const struct ioInput *in, bool is_long) {
    if (is_long)
        p->long_command = ioReadsFirstCommand(in);
    else if (p->long_command == ioReadsFirstCommand(in))
        p->long_command = 0;
}

static struct replyBlock *ioReadsTakeOutput(struct ioReads *rs, struct ioClient *p) {
    size_t bytes;
    struct replyBlock *blocks = parallelReadTakeOutput(rs->reader, p->client, &bytes);
    if (!bytes) {
        replyBlocksFree(blocks);
        return NULL;
    }
    p->given += bytes;
    io_client_counts[p->thread_number].writes++;
    return blocks;
}

static enum ioReadEnd ioReadsRunInput(struct ioReads *rs, struct ioRead *read) {
    struct ioClient *p = read->client;
    struct ioInput *in = read->in;
    struct client *c = p->client;
    if (!c || p->recall_requested || !parallelReadFits(c)) return IO_READ_REST;
    bool begins = !in->next;
    c->out.head = c->out.tail = replyBlockNew(REPLY_BLOCK_ROOM);
    c->out.mem = sizeof *c->out.head + c->out.head->cap;
    if (in->read) parallelReadNoteInput(rs->reader, c, in->read);
    if (begins) io_client_counts[p->thread_number].reads++;
    enum ioReadEnd end = ioReadsRunRequests(rs, c, in);
    read->output = ioReadsTakeOutput(rs, p);
    if (end == IO_READ_LONG || (p->long_command && begins)) ioReadsNoteLong(p, in, end == IO_READ_LONG);
    /* The main thread gets what is left, of which no bytes are to be counted. */
    in->read = 0;
    in->short_request.argc = 0;
    if (in->next < in->count) return end;
    if (in->error || in->over_limit) return IO_READ_REST;
    p->partial_bytes = ioClientClampCount(in->partial_bytes);
    p->kept = ioClientClampCount(in->kept);
    return IO_READ_DONE;
}

/* Runs inputs from batch[0] on that are prefetched together. Returns how many. */
static int ioReadsRunSome(struct ioReads *rs, struct ioRead *batch, int count) {
    int some = 0;
    for (; some < count && rs->prefetch.count < PREFETCH_AHEAD; some++)
        if (batch[some].client->client) ioReadsAddToPrefetch(rs, batch[some].client->client, batch[some].in);
    ioReadsPrefetch(rs);
    for (int i = 0; i < some; i++) batch[i].end = ioReadsRunInput(rs, &batch[i]);
    return some;
}

void ioReadsRun(struct ioReads *rs, struct ioRead *batch, int count) {
    int run = 0;
    bool reads = parallelReadBegin(rs->reader);
    for (; run < count && reads; reads = parallelReadGoOn(rs->reader))
        run += ioReadsRunSome(rs, batch + run, count - run);
    if (reads) parallelReadEnd(rs->reader);
    for (int i = 0; i < run; i++)
        if (batch[i].end == IO_READ_LONG) ioReadsKeepLong(rs, batch[i].client, batch[i].in);
}
