/* SPDX-License-Identifier: BSD-3-Clause */
/* blocking.c - blocked clients, threads, timers, descriptors, jobs; for tests/unit/modules/blocking.tcl.
 * Callbacks are recorded in a log, which blocking.log returns and empties. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "valkeymodule.h"

#define COMMAND(name) static int name(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc)
#define WANT(n)                                                                                              \
    if (argc < (n)) return ValkeyModule_WrongArity(ctx)

static const char *blockingText(ValkeyModuleString *s) {
    return ValkeyModule_StringPtrLen(s, NULL);
}
static long long blockingNumber(ValkeyModuleString *s) {
    long long n = 0;
    ValkeyModule_StringToLongLong(s, &n);
    return n;
}
static int blockingReplyOk(ValkeyModuleCtx *ctx) {
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}
static const char *errorName(int e) {
    return e == 0         ? "-"
           : e == EINVAL  ? "EINVAL"
           : e == ENOTSUP ? "ENOTSUP"
           : e == EBUSY   ? "EBUSY"
           : e == ERANGE  ? "ERANGE"
                          : "other";
}
static int blockingReplyResult(ValkeyModuleCtx *ctx, int result) {
    const char *why = errorName(result ? errno : 0);
    ValkeyModule_ReplyWithArray(ctx, 2);
    ValkeyModule_ReplyWithLongLong(ctx, result);
    return ValkeyModule_ReplyWithCString(ctx, why);
}

/* ---- The log of the main thread ---- */

static char notes[100][80];
static int note_count;

static void blockingNote(const char *what, const char *more) {
    if (note_count < 100) snprintf(notes[note_count++], sizeof notes[0], "%s:%s", what, more ? more : "");
}

COMMAND(showLog) {
    (void)argv, (void)argc;
    ValkeyModule_ReplyWithArray(ctx, note_count);
    for (int i = 0; i < note_count; i++) ValkeyModule_ReplyWithCString(ctx, notes[i]);
    note_count = 0;
    return VALKEYMODULE_OK;
}

/* ---- Clients that wait, by names ---- */

static struct waiting {
    char name[32];
    ValkeyModuleBlockedClient *bc;
    int frees;
} waiting[100];
static int next_waiting;

static struct waiting *blockingFindWaiting(const char *name) {
    for (int i = 0; i < 100; i++) {
        if (waiting[i].bc && !strcmp(waiting[i].name, name)) return &waiting[i];
    }
    return NULL;
}

static void freeData(ValkeyModuleCtx *ctx, void *data) {
    char line[60];
    snprintf(line, sizeof line, "%s/gone=%d", (char *)data, ValkeyModule_BlockedClientDisconnected(ctx));
    blockingNote("free", line);
    ValkeyModule_Free(data);
}

static void kindOf(ValkeyModuleCtx *ctx) {
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_IsBlockedReplyRequest(ctx));
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_IsBlockedTimeoutRequest(ctx));
    const char *data = ValkeyModule_GetBlockedClientPrivateData(ctx);
    ValkeyModule_ReplyWithCString(ctx, data ? data : "");
}

COMMAND(replies) {
    (void)argc;
    blockingNote("reply", blockingText(argv[1]));
    ValkeyModule_ReplyWithArray(ctx, 6);
    ValkeyModule_ReplyWithCString(ctx, "reply");
    ValkeyModule_ReplyWithString(ctx, argv[1]);
    kindOf(ctx);
    struct waiting *w = blockingFindWaiting(blockingText(argv[1]));
    return ValkeyModule_ReplyWithLongLong(ctx, w && ValkeyModule_GetBlockedClientHandle(ctx) == w->bc);
}
COMMAND(timesOut) {
    (void)argc;
    blockingNote("timeout", blockingText(argv[1]));
    ValkeyModule_ReplyWithArray(ctx, 5);
    ValkeyModule_ReplyWithCString(ctx, "timeout");
    ValkeyModule_ReplyWithString(ctx, argv[1]);
    kindOf(ctx);
    return VALKEYMODULE_OK;
}
COMMAND(becomesReplica) {
    (void)argv, (void)argc;
    ValkeyModuleCallReply *reply = ValkeyModule_Call(ctx, "REPLICAOF", "cc", "127.0.0.1", "1");
    if (reply) ValkeyModule_FreeCallReply(reply);
    return blockingReplyOk(ctx);
}
COMMAND(blocksAgain) {
    (void)argv, (void)argc;
    ValkeyModuleBlockedClient *bc = ValkeyModule_BlockClient(ctx, NULL, NULL, NULL, 0);
    if (bc) ValkeyModule_AbortBlock(bc);
    return VALKEYMODULE_OK;
}
static void isGone(ValkeyModuleCtx *ctx, ValkeyModuleBlockedClient *bc) {
    (void)ctx;
    blockingNote("disconnect", ValkeyModule_BlockClientGetPrivateData(bc));
}

/* blocking.wait NAME TIMEOUT LETTERS: r reply, a blocks again in it, R this server becomes a replica in it, t
 * timeout, T the same as R at the timeout, f free, d disconnect, p data from the start. */
COMMAND(waits) {
    WANT(4);
    const char *how = blockingText(argv[3]);
    ValkeyModuleBlockedClient *bc =
        ValkeyModule_BlockClient(ctx,
                                 strchr(how, 'r')   ? replies
                                 : strchr(how, 'a') ? blocksAgain
                                 : strchr(how, 'R') ? becomesReplica
                                                    : NULL,
                                 strchr(how, 't')   ? timesOut
                                 : strchr(how, 'T') ? becomesReplica
                                                    : NULL,
                                 strchr(how, 'f') ? freeData : NULL, blockingNumber(argv[2]));
    if (!bc) return ValkeyModule_ReplyWithError(ctx, errorName(errno));
    if (strchr(how, 'd')) ValkeyModule_SetDisconnectCallback(bc, isGone);
    if (strchr(how, 'p')) ValkeyModule_BlockClientSetPrivateData(bc, ValkeyModule_Strdup("early"));
    struct waiting *w = &waiting[next_waiting++ % 100];
    snprintf(w->name, sizeof w->name, "%s", blockingText(argv[1]));
    w->bc = bc;
    w->frees = strchr(how, 'f') != NULL;
    return VALKEYMODULE_OK;
}

struct release {
    ValkeyModuleBlockedClient *bc;
    const char *data;
    int abort;
};
static void *blockingReleaseThread(void *arg) {
    struct release *r = arg;
    if (r->abort)
        ValkeyModule_AbortBlock(r->bc);
    else
        ValkeyModule_UnblockClient(r->bc, (void *)r->data);
    free(r);
    return NULL;
}
static void inThread(void *(*fn)(void *), void *arg) {
    pthread_t thread;
    pthread_create(&thread, NULL, fn, arg);
    pthread_detach(thread);
}

/* blocking.release NAME DATA main|thread|abort */
COMMAND(release) {
    WANT(4);
    struct waiting *w = blockingFindWaiting(blockingText(argv[1]));
    if (!w) return ValkeyModule_ReplyWithError(ctx, "ERR nobody");
    struct release *r = malloc(sizeof *r);
    *r = (struct release){.bc = w->bc, .abort = !strcmp(blockingText(argv[3]), "abort")};
    /* The earlier handle is dropped then. */
    ValkeyModule_Free(ValkeyModule_BlockClientGetPrivateData(w->bc));
    ValkeyModule_BlockClientSetPrivateData(w->bc, NULL);
    if (!r->abort) r->data = w->frees ? ValkeyModule_Strdup(blockingText(argv[2])) : "data";
    w->name[0] = 0;
    if (!strcmp(blockingText(argv[3]), "thread"))
        inThread(blockingReleaseThread, r);
    else
        blockingReleaseThread(r);
    return blockingReplyOk(ctx);
}

COMMAND(misuse) {
    (void)argv, (void)argc;
    errno = 0;
    return blockingReplyResult(ctx, ValkeyModule_UnblockClient(NULL, NULL));
}

/* ---- Keys ---- */

/* The first element of a list that is ready; anything else is not what it waits for. */
COMMAND(serves) {
    (void)argv, (void)argc;
    ValkeyModuleString *name = ValkeyModule_GetBlockedClientReadyKey(ctx);
    ValkeyModuleKey *key = ValkeyModule_OpenKey(ctx, name, VALKEYMODULE_READ | VALKEYMODULE_WRITE);
    int type = ValkeyModule_KeyType(key);
    blockingNote("serve", blockingText(name));
    if (type != VALKEYMODULE_KEYTYPE_LIST &&
        (type != VALKEYMODULE_KEYTYPE_EMPTY || blockingText(argv[2])[0] != 'D')) {
        ValkeyModule_CloseKey(key);
        return VALKEYMODULE_ERR;
    }
    ValkeyModuleString *first = type ? ValkeyModule_ListPop(key, VALKEYMODULE_LIST_HEAD) : NULL;
    ValkeyModule_CloseKey(key);
    ValkeyModule_ReplyWithArray(ctx, 3);
    ValkeyModule_ReplyWithString(ctx, name);
    if (first)
        ValkeyModule_ReplyWithString(ctx, first);
    else
        ValkeyModule_ReplyWithNull(ctx);
    ValkeyModule_ReplyWithCString(ctx, ValkeyModule_GetBlockedClientPrivateData(ctx));
    if (first) ValkeyModule_FreeString(ctx, first);
    return VALKEYMODULE_OK;
}

static ValkeyModuleBlockedClient *last_on_keys;

/* blocking.keys TIMEOUT LETTERS KEY ...: D also when one is deleted (first letter), t timeout, d disconnect
 */
COMMAND(waitsForKeys) {
    WANT(4);
    const char *how = blockingText(argv[2]);
    ValkeyModuleBlockedClient *bc;
    char *data = ValkeyModule_Strdup("data");
    if (how[0] == 'D')
        bc = ValkeyModule_BlockClientOnKeysWithFlags(ctx, serves, strchr(how, 't') ? timesOut : NULL,
                                                     freeData, blockingNumber(argv[1]), argv + 3, argc - 3,
                                                     data, VALKEYMODULE_BLOCK_UNBLOCK_DELETED);
    else
        bc = ValkeyModule_BlockClientOnKeys(ctx, strchr(how, 'R') ? becomesReplica : serves,
                                            strchr(how, 't')   ? timesOut
                                            : strchr(how, 'T') ? becomesReplica
                                                               : NULL,
                                            freeData, blockingNumber(argv[1]), argv + 3, argc - 3, data);
    if (!bc) {
        ValkeyModule_Free(data);
        return ValkeyModule_ReplyWithError(ctx, errorName(errno));
    }
    if (strchr(how, 'd')) ValkeyModule_SetDisconnectCallback(bc, isGone);
    last_on_keys = bc;
    return VALKEYMODULE_OK;
}
COMMAND(releaseKeys) {
    (void)argv, (void)argc;
    errno = 0;
    return blockingReplyResult(ctx, ValkeyModule_UnblockClient(last_on_keys, NULL));
}
COMMAND(signalKey) {
    WANT(2);
    ValkeyModule_SignalKeyAsReady(ctx, argv[1]);
    return blockingReplyOk(ctx);
}

/* ---- Threads ---- */

struct work {
    ValkeyModuleBlockedClient *bc;
    ValkeyModuleCtx *ctx;
    char key[64], value[64];
    int count, ms;
};

/* Replies without the lock, of all kinds. */
static void *blockingReplyThread(void *arg) {
    struct work *w = arg;
    ValkeyModuleCtx *ctx = ValkeyModule_GetThreadSafeContext(w->bc);
    ValkeyModule_BlockedClientMeasureTimeStart(w->bc);
    usleep((useconds_t)w->ms * 1000);
    ValkeyModule_BlockedClientMeasureTimeEnd(w->bc);
    ValkeyModule_ReplyWithArray(ctx, VALKEYMODULE_POSTPONED_LEN);
    ValkeyModule_ReplyWithLongLong(ctx, 1);
    ValkeyModule_ReplyWithMap(ctx, 1);
    ValkeyModule_ReplyWithSimpleString(ctx, "k");
    ValkeyModule_ReplyWithDouble(ctx, 1.5);
    ValkeyModule_ReplyWithCString(ctx, w->value);
    ValkeyModule_ReplyWithBool(ctx, 1);
    ValkeyModule_ReplyWithError(ctx, "ERR of a thread");
    ValkeyModule_ReplySetArrayLength(ctx, 5);
    ValkeyModule_Log(ctx, "notice", "from a thread");
    ValkeyModule_FreeThreadSafeContext(ctx);
    ValkeyModule_UnblockClient(w->bc, NULL);
    free(w);
    return NULL;
}
/* blocking.talk VALUE MS */
COMMAND(talk) {
    WANT(3);
    struct work *w = calloc(1, sizeof *w);
    w->bc = ValkeyModule_BlockClient(ctx, NULL, NULL, NULL, 0);
    snprintf(w->value, sizeof w->value, "%s", blockingText(argv[1]));
    w->ms = (int)blockingNumber(argv[2]);
    inThread(blockingReplyThread, w);
    return VALKEYMODULE_OK;
}

static void blockingPush(ValkeyModuleCtx *ctx, const char *name, const char *value) {
    ValkeyModuleString *key_name = ValkeyModule_CreateString(ctx, name, strlen(name));
    ValkeyModuleString *element = ValkeyModule_CreateString(ctx, value, strlen(value));
    ValkeyModuleKey *key = ValkeyModule_OpenKey(ctx, key_name, VALKEYMODULE_READ | VALKEYMODULE_WRITE);
    ValkeyModule_ListPush(key, VALKEYMODULE_LIST_TAIL, element);
    ValkeyModule_CloseKey(key);
    ValkeyModule_FreeString(ctx, element);
    ValkeyModule_FreeString(ctx, key_name);
}

/* Pushes with the lock, one by one; then replies how many there are. */
static void *blockingPushThread(void *arg) {
    struct work *w = arg;
    ValkeyModuleCtx *ctx = ValkeyModule_GetThreadSafeContext(w->bc);
    ValkeyModule_AutoMemory(ctx);
    for (int i = 0; i < w->count; i++) {
        if (i % 2) {
            ValkeyModule_ThreadSafeContextLock(ctx);
        } else {
            while (ValkeyModule_ThreadSafeContextTryLock(ctx) == VALKEYMODULE_ERR) usleep(100);
        }
        blockingPush(ctx, w->key, w->value);
        ValkeyModule_ThreadSafeContextUnlock(ctx);
    }
    ValkeyModule_ThreadSafeContextLock(ctx);
    ValkeyModule_ReplyWithArray(ctx, 2);
    ValkeyModule_ReplyWithLongLong(ctx, w->count);
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_GetSelectedDb(ctx));
    ValkeyModule_ThreadSafeContextUnlock(ctx);
    ValkeyModule_FreeThreadSafeContext(ctx);
    ValkeyModule_UnblockClient(w->bc, NULL);
    free(w);
    return NULL;
}
/* blocking.push KEY VALUE COUNT: [count, database] */
COMMAND(pushInThread) {
    WANT(4);
    struct work *w = calloc(1, sizeof *w);
    w->bc = ValkeyModule_BlockClient(ctx, NULL, NULL, NULL, 0);
    snprintf(w->key, sizeof w->key, "%s", blockingText(argv[1]));
    snprintf(w->value, sizeof w->value, "%s", blockingText(argv[2]));
    w->count = (int)blockingNumber(argv[3]);
    inThread(blockingPushThread, w);
    return VALKEYMODULE_OK;
}

/* A thread without a client, with a context that keeps the module. */
static void *pushesDetached(void *arg) {
    struct work *w = arg;
    ValkeyModule_ThreadSafeContextLock(w->ctx);
    blockingPush(w->ctx, w->key, w->value);
    ValkeyModule_ThreadSafeContextUnlock(w->ctx);
    ValkeyModule_FreeThreadSafeContext(w->ctx);
    ValkeyModuleCtx *nobodys = ValkeyModule_GetThreadSafeContext(NULL);
    ValkeyModule_ReplyWithLongLong(nobodys, 1);
    ValkeyModule_FreeThreadSafeContext(nobodys);
    free(w);
    return NULL;
}
COMMAND(pushDetached) {
    WANT(3);
    struct work *w = calloc(1, sizeof *w);
    w->ctx = ValkeyModule_GetDetachedThreadSafeContext(ctx);
    snprintf(w->key, sizeof w->key, "%s", blockingText(argv[1]));
    snprintf(w->value, sizeof w->value, "%s", blockingText(argv[2]));
    inThread(pushesDetached, w);
    return blockingReplyOk(ctx);
}

/* While a command runs, no other thread can have the lock. */
static void *blockingTryLockThread(void *arg) {
    errno = 0;
    *(int *)arg = ValkeyModule_ThreadSafeContextTryLock(NULL) == VALKEYMODULE_ERR ? errno : -1;
    return NULL;
}
COMMAND(tryLock) {
    (void)argv, (void)argc;
    int why = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, blockingTryLockThread, &why);
    pthread_join(thread, NULL);
    return ValkeyModule_ReplyWithCString(ctx, errorName(why));
}

COMMAND(measure) {
    (void)argv, (void)argc;
    ValkeyModuleBlockedClient *bc = ValkeyModule_BlockClient(ctx, replies, NULL, NULL, 0);
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_BlockedClientMeasureTimeEnd(bc));
    ValkeyModule_AbortBlock(bc);
    return VALKEYMODULE_OK;
}

/* ---- Timers ---- */

static ValkeyModuleTimerID ids[10];
static int stops_itself;

static void blockingOnTimer(ValkeyModuleCtx *ctx, void *data) {
    blockingNote("timer", data);
    blockingPush(ctx, "timer", data);
    for (int i = 0; i < 10 && stops_itself; i++) {
        void *found = NULL;
        if (ValkeyModule_StopTimer(ctx, ids[i], &found) == VALKEYMODULE_OK && found == data)
            blockingNote("stopped", data);
    }
    ValkeyModule_Free(data);
}
/* blocking.timer create N MS VALUE | stop N | info N | own 0|1 (it stops itself) */
COMMAND(timer) {
    WANT(3);
    int n = (int)blockingNumber(argv[2]);
    void *data = NULL;
    uint64_t left = 0;
    switch (blockingText(argv[1])[0]) {
    case 'c':
        WANT(5);
        ids[n] = ValkeyModule_CreateTimer(ctx, blockingNumber(argv[3]), blockingOnTimer,
                                          ValkeyModule_Strdup(blockingText(argv[4])));
        return blockingReplyOk(ctx);
    case 's':
        if (ValkeyModule_StopTimer(ctx, ids[n], &data)) return ValkeyModule_ReplyWithError(ctx, "ERR none");
        ValkeyModule_ReplyWithCString(ctx, data);
        ValkeyModule_Free(data);
        return VALKEYMODULE_OK;
    case 'i':
        if (ValkeyModule_GetTimerInfo(ctx, ids[n], &left, &data))
            return ValkeyModule_ReplyWithError(ctx, "ERR none");
        ValkeyModule_ReplyWithArray(ctx, 2);
        ValkeyModule_ReplyWithLongLong(ctx, (long long)left);
        return ValkeyModule_ReplyWithCString(ctx, data);
    default: stops_itself = n;
    }
    return blockingReplyOk(ctx);
}

/* ---- Descriptors, functions that are called once ---- */

static int ends[2];
static char got[1000];

static void blockingOnReadable(int fd, void *data, int mask) {
    char bytes[100];
    ssize_t n = read(fd, bytes, sizeof bytes - 1);
    bytes[n > 0 ? n : 0] = 0;
    snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s/%d ", (char *)data, bytes, mask);
}
static void blockingOnWritable(int fd, void *data, int mask) {
    ssize_t n = write(fd, "x", 1);
    snprintf(got + strlen(got), sizeof got - strlen(got), "%sw%zd/%d ", (char *)data, n, mask);
    ValkeyModule_EventLoopDel(fd, VALKEYMODULE_EVENTLOOP_WRITABLE);
}
/* blocking.pipe open | read | write | text TEXT | got | stop | close | bad */
COMMAND(pipes) {
    WANT(2);
    const char *what = blockingText(argv[1]);
    errno = 0;
    if (!strcmp(what, "open")) return blockingReplyResult(ctx, pipe(ends));
    if (!strcmp(what, "read"))
        return blockingReplyResult(ctx, ValkeyModule_EventLoopAdd(ends[0], VALKEYMODULE_EVENTLOOP_READABLE,
                                                                  blockingOnReadable, "r"));
    if (!strcmp(what, "write"))
        return blockingReplyResult(ctx, ValkeyModule_EventLoopAdd(ends[1], VALKEYMODULE_EVENTLOOP_WRITABLE,
                                                                  blockingOnWritable, "w"));
    if (!strcmp(what, "stop"))
        return blockingReplyResult(ctx, ValkeyModule_EventLoopDel(ends[0], VALKEYMODULE_EVENTLOOP_READABLE));
    if (!strcmp(what, "text")) {
        WANT(3);
        return ValkeyModule_ReplyWithLongLong(
            ctx, write(ends[1], blockingText(argv[2]), strlen(blockingText(argv[2]))));
    }
    if (!strcmp(what, "close")) return blockingReplyResult(ctx, close(ends[0]) | close(ends[1]));
    if (!strcmp(what, "bad")) {
        ValkeyModule_ReplyWithArray(ctx, 5);
        blockingReplyResult(
            ctx, ValkeyModule_EventLoopAdd(-1, VALKEYMODULE_EVENTLOOP_READABLE, blockingOnReadable, ""));
        blockingReplyResult(
            ctx, ValkeyModule_EventLoopAdd(1 << 24, VALKEYMODULE_EVENTLOOP_READABLE, blockingOnReadable, ""));
        blockingReplyResult(ctx, ValkeyModule_EventLoopAdd(ends[0], 4, blockingOnReadable, ""));
        blockingReplyResult(ctx, ValkeyModule_EventLoopDel(1 << 24, VALKEYMODULE_EVENTLOOP_READABLE));
        errno = 0;
        return blockingReplyResult(ctx, ValkeyModule_EventLoopAddOneShot(NULL, NULL));
    }
    ValkeyModule_ReplyWithCString(ctx, got);
    got[0] = 0;
    return VALKEYMODULE_OK;
}

static void isCalled(void *data) {
    blockingNote("once", data);
    ValkeyModule_Free(data);
}
static void *blockingOneShotThread(void *data) {
    ValkeyModule_EventLoopAddOneShot(isCalled, data);
    return NULL;
}
/* blocking.once TEXT main|thread */
COMMAND(once) {
    WANT(3);
    char *data = ValkeyModule_Strdup(blockingText(argv[1]));
    if (blockingText(argv[2])[0] == 't')
        inThread(blockingOneShotThread, data);
    else
        blockingOneShotThread(data);
    return blockingReplyOk(ctx);
}

/* ---- Jobs ---- */

static int more_jobs;

static void freeJob(void *data) {
    blockingNote("freed", data);
    ValkeyModule_Free(data);
}
static void blockingRunJob(ValkeyModuleCtx *ctx, void *data) {
    blockingNote("job", data);
    blockingPush(ctx, "jobs", data);
    if (more_jobs-- > 0)
        ValkeyModule_AddPostNotificationJob(ctx, blockingRunJob, ValkeyModule_Strdup("another"), freeJob);
}
/* blocking.job TEXT MORE: the list as it is when the command ends */
COMMAND(addJob) {
    WANT(3);
    more_jobs = (int)blockingNumber(argv[2]);
    char *data = ValkeyModule_Strdup(blockingText(argv[1]));
    if (ValkeyModule_AddPostNotificationJob(ctx, blockingRunJob, data, freeJob) == VALKEYMODULE_ERR) {
        ValkeyModule_Free(data);
        return ValkeyModule_ReplyWithError(ctx, "ERR not now");
    }
    blockingNote("command", blockingText(argv[1]));
    return blockingReplyOk(ctx);
}

/* ---- Yield ---- */

static void yieldFor(ValkeyModuleCtx *ctx, long long ms, int flags, const char *busy) {
    uint64_t end = ValkeyModule_MonotonicMicroseconds() + (uint64_t)ms * 1000;
    while (ValkeyModule_MonotonicMicroseconds() < end) {
        ValkeyModule_Yield(ctx, flags, busy);
        usleep(1000);
    }
}
/* blocking.yield MS FLAGS [TEXT] */
COMMAND(yield) {
    WANT(3);
    yieldFor(ctx, blockingNumber(argv[1]), (int)blockingNumber(argv[2]),
             argc > 3 ? blockingText(argv[3]) : NULL);
    return blockingReplyOk(ctx);
}
static void *blockingYieldThread(void *arg) {
    struct work *w = arg;
    ValkeyModuleCtx *ctx = ValkeyModule_GetThreadSafeContext(w->bc);
    ValkeyModule_ThreadSafeContextLock(ctx);
    yieldFor(ctx, w->ms, VALKEYMODULE_YIELD_FLAG_CLIENTS, "a thread is");
    ValkeyModule_ThreadSafeContextUnlock(ctx);
    ValkeyModule_ReplyWithSimpleString(ctx, "OK");
    ValkeyModule_FreeThreadSafeContext(ctx);
    ValkeyModule_UnblockClient(w->bc, NULL);
    free(w);
    return NULL;
}
COMMAND(yieldInThread) {
    WANT(2);
    struct work *w = calloc(1, sizeof *w);
    w->bc = ValkeyModule_BlockClient(ctx, NULL, NULL, NULL, 0);
    w->ms = (int)blockingNumber(argv[1]);
    inThread(blockingYieldThread, w);
    return VALKEYMODULE_OK;
}
COMMAND(allowed) {
    (void)argv, (void)argc;
    blockingPush(ctx, "allowed", "x");
    return blockingReplyOk(ctx);
}

int ValkeyModule_OnLoad(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    (void)argv, (void)argc;
    static const struct {
        const char *name;
        ValkeyModuleCmdFunc fn;
        const char *flags;
        int key;
    } commands[] = {
        {"blocking.log", showLog, "allow-busy", 0},
        {"blocking.wait", waits, "", 0},
        {"blocking.release", release, "", 0},
        {"blocking.misuse", misuse, "", 0},
        {"blocking.keys", waitsForKeys, "write", 3},
        {"blocking.releasekeys", releaseKeys, "", 0},
        {"blocking.signal", signalKey, "", 0},
        {"blocking.talk", talk, "", 0},
        {"blocking.push", pushInThread, "", 0},
        {"blocking.detached", pushDetached, "", 0},
        {"blocking.trylock", tryLock, "", 0},
        {"blocking.measure", measure, "", 0},
        {"blocking.timer", timer, "", 0},
        {"blocking.pipe", pipes, "", 0},
        {"blocking.once", once, "", 0},
        {"blocking.job", addJob, "", 0},
        {"blocking.yield", yield, "", 0},
        {"blocking.yieldthread", yieldInThread, "", 0},
        {"blocking.allowed", allowed, "allow-busy write", 0},
    };
    if (ValkeyModule_Init(ctx, "blocking", 1, VALKEYMODULE_APIVER_1)) return VALKEYMODULE_ERR;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (ValkeyModule_CreateCommand(ctx, commands[i].name, commands[i].fn, commands[i].flags,
                                       commands[i].key, commands[i].key ? -1 : 0, commands[i].key ? 1 : 0))
            return VALKEYMODULE_ERR;
    }
    return VALKEYMODULE_OK;
}
