/* SPDX-License-Identifier: BSD-3-Clause */
/* parallel_read.c - see parallel_read.h. */
#include "command/parallel_read.h"

#include <pthread.h>

#include "base/assert.h"
#include "base/ticks.h"
#include "base/zmalloc.h"
#include "client/client_output.h"
#include "client/reply_block.h"
#include "client/reply_gate.h"
#include "command/admission.h"
#include "command/call.h"
#include "command/command.h"
#include "command/hotkeys.h"
#include "command/latency_histogram.h"
#include "command/parallel_policy.h"
#include "data/keyspace/db.h"
#include "data/lifetime/evict.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"

/* How long a thread waits for the main thread, at most, before it hands requests over: less each time that it
 * waits in vain, so with many writes it does not wait at all. */
#define PATIENCE_US      20
#define LONG_PATIENCE_US 3000 /* with parallel-reads-always, for tests */
#define CALLS            256  /* that a thread counts before it adds them to the server's statistics */

/* Flags of a client that do not matter to a read. */
#define FINE_FLAGS                                                                                           \
    (CLIENT_OFFLOADED | CLIENT_AUTHENTICATED | CLIENT_UNIX_SOCKET | CLIENT_NO_TOUCH | CLIENT_NO_EVICT |      \
     CLIENT_READONLY | CLIENT_REDIRECTABLE | CLIENT_MULTI_KNOWN | CLIENT_ERROR)

enum { PARALLEL_READS_NO, PARALLEL_READS_YES, PARALLEL_READS_AUTO };
static int parallel_reads;
static bool always;
static bool worth_it = true; /* as of the last review */
static _Atomic bool allowed;

struct parallelReader {
    struct readPhaseReader phase;
    /* Since they were last added to the server's. */
    struct readCounts {
        uint64_t net_in, net_out, reads, max_input, max_output, hits, misses, prefetches, prefetched_keys;
    } counts;
    unsigned call_count;
    struct countedCall {
        struct serverCommand *cmd;
        uint64_t ticks;
    } calls[CALLS];
    uint64_t input_ticks;      /* that the requests of the client's input have taken */
    uint64_t run, handed_over; /* requests, since the thread started */
    uint64_t took_long;        /* inputs, or pieces of one */
    uint64_t patience_ticks;
    struct parallelReader *next;
};

static struct parallelReader *readers; /* the main thread's list */
/* The counts of threads that have ended. */
static uint64_t ended_run, ended_handed_over, ended_took_long;
/* Held by a thread that changes the server's statistics in a phase. */
static pthread_mutex_t statistics = PTHREAD_MUTEX_INITIALIZER;

/* ---- Statistics ---- */

static void parallelReadAddUp(struct parallelReader *pr) {
    for (unsigned i = 0; i < pr->call_count; i++) {
        struct countedCall *call = &pr->calls[i];
        call->cmd->calls++;
        call->cmd->ticks += call->ticks;
        callstats.ticks += call->ticks;
        latencyRecord(&call->cmd->latency, call->ticks);
    }
    callstats.processed += pr->call_count;
    dbstats.hits += pr->counts.hits;
    dbstats.misses += pr->counts.misses;
    clientstats.net_in += pr->counts.net_in;
    clientstats.net_out += pr->counts.net_out;
    clientstats.reads += pr->counts.reads;
    clientstats.writes += pr->counts.reads;
    if (pr->counts.max_input > clientstats.max_input_buffer)
        clientstats.max_input_buffer = pr->counts.max_input;
    if (pr->counts.max_output > clientstats.max_output_buffer)
        clientstats.max_output_buffer = pr->counts.max_output;
    prefetch_stats.threaded_batches += pr->counts.prefetches;
    prefetch_stats.threaded_keys += pr->counts.prefetched_keys;
    prefetch_stats.keys += pr->counts.prefetched_keys;
    pr->call_count = 0;
    pr->counts = (struct readCounts){0};
}

static void parallelReadCount(struct parallelReader *pr, struct serverCommand *cmd, uint64_t ticks) {
    pr->calls[pr->call_count++] = (struct countedCall){cmd, ticks};
    if (pr->call_count < CALLS) return;
    pthread_mutex_lock(&statistics);
    parallelReadAddUp(pr);
    pthread_mutex_unlock(&statistics);
}

/* ---- The main thread ---- */

/* Whether nothing in the server has to see each request, or to order it among others, and no reply has to
 * wait (reply_gate.h). Rules of admission say so for maxmemory-clients, while a dataset is loaded, and while
 * a script runs for long: its changes are half done, and the main thread may have turns in between, if a
 * module's thread runs it. Windows of hot keys have no hook but for their samples. */
static bool parallelReadsPossible(void) {
    bool safe = !replyGateIsActive() || replyGateIsOpen();
    if (!safe) return false;
    return admission_reads_possible && !call_points && !hotkeysAreCounted();
}

void parallelReadsOpen(void) {
    if (!readers) return;
    bool wanted = parallel_reads == PARALLEL_READS_YES || (parallel_reads == PARALLEL_READS_AUTO && worth_it);
    bool now = wanted && parallelReadsPossible();
    if (now != atomic_load_explicit(&allowed, memory_order_relaxed))
        atomic_store_explicit(&allowed, now, memory_order_relaxed);
    if (!now) return;
    debugAssert(!db_loading && !call_running); /* nothing is half done */
    readPhaseOpen();
}

bool parallelReadsClose(void) {
    if (!readPhaseClose()) return false;
    for (struct parallelReader *pr = readers; pr; pr = pr->next) parallelReadAddUp(pr);
    return true;
}

struct parallelReader *parallelReaderNew(void) {
    struct parallelReader *pr = zmallocAligned(64, sizeof *pr);
    *pr = (struct parallelReader){.next = readers};
    readers = pr;
    readPhaseRegister(&pr->phase);
    return pr;
}

void parallelReaderFree(struct parallelReader *pr) {
    struct parallelReader **at = &readers;
    while (*at != pr) at = &(*at)->next;
    *at = pr->next;
    ended_run += pr->run;
    ended_handed_over += pr->handed_over;
    ended_took_long += pr->took_long;
    readPhaseUnregister(&pr->phase);
    zfree(pr);
}

/* Adds up what threads have counted since they started. */
static struct parallelTotals {
    uint64_t run, handed_over, took_long, phases, refused;
} parallelReadTotals(void) {
    struct parallelTotals t = {ended_run, ended_handed_over, ended_took_long, 0, 0};
    for (const struct parallelReader *pr = readers; pr; pr = pr->next) {
        t.run += pr->run;
        t.handed_over += pr->handed_over;
        t.took_long += pr->took_long;
        t.phases += pr->phase.phases;
        t.refused += pr->phase.refused;
    }
    return t;
}

static uint64_t parallelReadWaitUs(void) {
    return read_phase_stats.wait_ticks / ticks_per_us;
}

static uint64_t parallelReadGrowth(uint64_t now, uint64_t before) {
    return now < before ? 0 : now - before;
}

static struct parallelPolicy policy;

/* After a change of parallel-reads, reads in threads are tried at once. */
static bool parallelReadsChanged(const char **error) {
    (void)error;
    policy = (struct parallelPolicy){0};
    worth_it = true;
    return true;
}

void parallelReadsReview(void) {
    static struct parallelLoad before;
    struct parallelTotals t = parallelReadTotals();
    struct parallelLoad now = {t.run, parallelReadWaitUs()};
    /* After CONFIG RESETSTAT the totals are smaller. */
    struct parallelLoad load = {parallelReadGrowth(now.reads, before.reads),
                                parallelReadGrowth(now.wait_us, before.wait_us)};
    before = now;
    if (load.reads) evictNow();
    worth_it = parallelPolicyReview(&policy, load);
}

/* ---- An I/O thread ---- */

bool parallelReadsAllowed(void) {
    return atomic_load_explicit(&allowed, memory_order_relaxed);
}

bool parallelReadsAlways(void) {
    return always;
}

bool parallelReadBegin(struct parallelReader *pr) {
    if (__builtin_expect(always, 0)) pr->patience_ticks = LONG_PATIENCE_US * ticks_per_us;
    if (!readPhaseEnter(&pr->phase, pr->patience_ticks)) {
        atomic_fetch_add_explicit(&pr->phase.refused, 1, memory_order_relaxed);
        pr->patience_ticks /= 2;
        return false;
    }
    uint64_t most = PATIENCE_US * ticks_per_us;
    if (pr->patience_ticks < most) pr->patience_ticks += most / 8;
    read_context.reads = true;
    clockRefresh();
    return true;
}

void parallelReadEnd(struct parallelReader *pr) {
    pr->counts.hits += read_context.hits;
    pr->counts.misses += read_context.misses;
    read_context = (struct readContext){0};
    readPhaseLeave(&pr->phase);
}

bool parallelReadGoOn(struct parallelReader *pr) {
    if (__builtin_expect(!readPhaseIsClosed(), 1)) return true;
    parallelReadEnd(pr);
    return parallelReadBegin(pr);
}

/* A client with stashed input has requests that come first. Between turns nobody takes part in one, all
 * output has been passed on, and errors that are held or input that is kept back belong to other flags. */
bool parallelReadFits(const struct client *c) {
    bool fits = !(c->flags & ~(uint32_t)FINE_FLAGS) && !c->querybuf;
    debugAssert(!c->turn && !(fits && (c->input_error || c->out.head || c->errors_held || c->input_held)));
    return fits;
}

void parallelReadNoteInput(struct parallelReader *pr, struct client *c, size_t bytes) {
    c->last_active_ms = cmd_time_ms;
    c->net_in += bytes;
    pr->counts.net_in += bytes;
    pr->counts.reads++;
    if (bytes > pr->counts.max_input) pr->counts.max_input = bytes;
}

void parallelReadPrefetch(struct parallelReader *pr, struct prefetchBatch *b) {
    if (b->count < 2) return; /* nothing to overlap */
    prefetchRun(b);
    pr->counts.prefetches++;
    pr->counts.prefetched_keys += (uint64_t)b->count;
}

/* Takes back what the request has replied. */
static void parallelReadTakeBack(struct client *c, struct clientOutput before, size_t used) {
    replyBlocksFree(before.tail->next);
    before.tail->next = NULL;
    before.tail->used = used;
    c->out = before;
}

static void parallelReadMirror(struct client *c, struct request *r) {
    c->request = r;
    c->argv = r ? r->argv : NULL;
    c->argc = r ? r->argc : 0;
    if (r) c->cmd = r->cmd;
    dbSetKeyHashes(r ? r->key_hashes : NULL, r ? r->key_hash_count : 0);
}

static enum parallelReadResult parallelReadCall(struct parallelReader *pr, struct client *c,
                                                struct request *r) {
    struct clientOutput before = c->out;
    struct readContext context = read_context;
    size_t used = c->out.tail->used;
    parallelReadMirror(c, r);
    c->flags &= ~(uint32_t)CLIENT_ERROR;
    read_context.refused = false;
    uint64_t start = ticksNow();
    r->cmd->spec->proc(c);
    uint64_t ticks = ticksNow() - start;
    if (__builtin_expect(client_output_limited, 0)) clientCheckOutput(c, 0);
    int64_t reply_bytes = (int64_t)(c->out.bytes - before.bytes);
    if (__builtin_expect(read_context.refused, 0)) {
        read_context.hits = context.hits;
        read_context.misses = context.misses;
        c->flags &= ~(uint32_t)CLIENT_REPLY_SKIP;
        parallelReadTakeBack(c, before, used);
    } else {
        c->commands++;
        c->lastcmd = r->cmd;
        parallelReadCount(pr, r->cmd, ticks);
        if (__builtin_expect(callMayBeUnusual(r, ticks, reply_bytes), 0)) {
            pthread_mutex_lock(&statistics);
            callNoteUnusual(c, ticks, reply_bytes);
            pthread_mutex_unlock(&statistics);
        }
    }
    parallelReadMirror(c, NULL);
    if (__builtin_expect(read_context.refused, 0)) return PARALLEL_READ_REFUSED;
    pr->run++;
    pr->input_ticks += ticks;
    if (__builtin_expect(pr->input_ticks <= PARALLEL_READ_LONG_US * ticks_per_us, 1))
        return PARALLEL_READ_RUN;
    pr->took_long++;
    clockRefresh();
    return PARALLEL_READ_RUN_LONG;
}

enum parallelReadResult parallelReadRun(struct parallelReader *pr, struct client *c, struct request *r) {
    bool may = parallelReadIsOne(r) && !requestNeedsFullCheck(c, r) && admissionAdmitsRead(c, r);
    enum parallelReadResult result = may ? parallelReadCall(pr, c, r) : PARALLEL_READ_REFUSED;
    if (result == PARALLEL_READ_REFUSED) pr->handed_over++;
    return result;
}

struct replyBlock *parallelReadTakeOutput(struct parallelReader *pr, struct client *c, size_t *bytes) {
    struct replyBlock *blocks = c->out.head;
    *bytes = c->out.bytes;
    pr->input_ticks = 0;
    c->net_out += c->out.bytes;
    pr->counts.net_out += c->out.bytes;
    if (c->out.bytes > pr->counts.max_output) pr->counts.max_output = c->out.bytes;
    c->out.head = c->out.tail = NULL;
    c->out.bytes = c->out.mem = 0;
    return blocks;
}

/* ---- Registration ---- */

static sds parallelReadInfo(sds s) {
    struct parallelTotals t = parallelReadTotals();
    s = infoField(s, "parallel_reads_processed:%llu", (unsigned long long)t.run);
    s = infoField(s, "parallel_reads_handed_over:%llu", (unsigned long long)t.handed_over);
    s = infoField(s, "parallel_reads_long:%llu", (unsigned long long)t.took_long);
    s = infoField(s, "parallel_read_phases:%llu", (unsigned long long)t.phases);
    s = infoField(s, "parallel_read_phases_refused:%llu", (unsigned long long)t.refused);
    s = infoField(s, "parallel_read_waits:%llu", (unsigned long long)read_phase_stats.waits);
    return infoField(s, "parallel_read_wait_usec:%llu", (unsigned long long)parallelReadWaitUs());
}

static void parallelReadResetStats(void) {
    ended_run = ended_handed_over = ended_took_long = 0;
    for (struct parallelReader *pr = readers; pr; pr = pr->next) {
        pr->run = pr->handed_over = pr->took_long = pr->phase.phases = 0;
        pr->phase.refused = 0;
    }
    read_phase_stats = (struct readPhaseStats){0};
}

void parallelReadInit(void) {
    static const struct configEnum modes[] = {
        {"no", PARALLEL_READS_NO}, {"yes", PARALLEL_READS_YES}, {"auto", PARALLEL_READS_AUTO}, {NULL, 0}};
    static struct configDirective directives[] = {
        CONFIG_BOOL("parallel-reads-always", NULL, CONFIG_HIDDEN, &always, false, NULL),
        CONFIG_ENUM("parallel-reads", NULL, CONFIG_MODIFIABLE, &parallel_reads, PARALLEL_READS_NO, modes,
                    parallelReadsChanged),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    infoRegister("stats", parallelReadInfo);
    configOnResetStat(parallelReadResetStats);
}
