/* snapshot_load.c - the load of utils/bench/snapshot: latency before a BGSAVE and during it.
 *
 *   snapshot_load PORT SHAPE KEYS MEMBERS PIPELINE CONNECTIONS RATE WRITES_PERCENT IDLE_S SEED
 *
 * The shape is strings, zsets, hashes or bigset, with keys as utils/bench/snapshot makes them. Each
 * connection sends a pipeline of requests and waits for its replies. RATE 0: at once the next one. Otherwise
 * RATE requests a second are due at fixed moments, and latency counts from the moment that a request was due,
 * even if no connection was free then.
 *
 * After IDLE_S seconds another connection sends BGSAVE, and then INFO every 20 ms until
 * rdb_bgsave_in_progress is 0. A reply counts for the window in which it arrives. Prints lines as it goes on:
 * "begin", "bgsave", "done", and one of figures for each window. Times are of the monotonic clock in seconds;
 * latencies are in ms. "late" is how much later than intended this program itself sent a pipeline although a
 * connection was free: latency of the client's making. */
#define _GNU_SOURCE // ppoll
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_CONNECTIONS = 64,
    MAX_PIPELINE = 1024,
    REQUEST_MAX = 256,
    BUCKETS = 64 * 64,
    FIELDS = 10,
    VALUE_SIZE = 100
};
enum { WARMUP_MS = 500, POLL_MS = 20, READ_MS = 100 };

typedef struct {
    int fd;
    int outstanding;  // replies that are still to come
    uint64_t due_ns;  // when the pipeline was to be sent
    int64_t removed;  // the member of the large set that the next write puts back, or -1
    char in[1 << 16]; // the beginning of a reply that is not complete
    size_t in_size;
} LoadConnection;

typedef struct {
    uint64_t begin_ns, end_ns, count, worst_ns, late_ns;
    uint64_t histogram[BUCKETS];
} LoadWindow;

static struct {
    int port, pipeline, connections, writes_percent;
    const char *shape;
    uint64_t keys, members, seed;
    double rate, idle_s;
} options;

static LoadConnection connections[MAX_CONNECTIONS + 1]; // the last one is for BGSAVE and INFO
static LoadWindow windows[3], *window = windows;        // warm-up, idle, during
static char batch[MAX_PIPELINE * REQUEST_MAX], filler[4096];

/* ---- Helpers ---- */

static void loadFail(const char *what, const char *detail) {
    fprintf(stderr, "snapshot_load: %s: %s\n", what, detail);
    exit(1);
}

static uint64_t loadNow(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t loadRandom(uint64_t below) {
    options.seed ^= options.seed << 13;
    options.seed ^= options.seed >> 7;
    options.seed ^= options.seed << 17;
    return (options.seed >> 11) % below;
}

/* ---- Histogram: 64 buckets for each power of two, so values are exact to 1.6% ---- */

static int loadBucket(uint64_t ns) {
    if (ns < 64) return (int)ns;
    int shift = 63 - __builtin_clzll(ns) - 6;
    return (shift + 1) * 64 + (int)((ns >> shift) - 64);
}

static double loadBucketMs(int bucket) {
    if (bucket < 64) return bucket / 1e6;
    return (double)((uint64_t)(bucket % 64 + 64) << (bucket / 64 - 1)) / 1e6;
}

static double loadPercentile(const LoadWindow *w, double share) {
    uint64_t left = (uint64_t)((double)w->count * share);
    for (int i = 0; i < BUCKETS; i++) {
        if (w->histogram[i] > left) return loadBucketMs(i);
        left -= w->histogram[i];
    }
    return (double)w->worst_ns / 1e6;
}

static void loadRecord(uint64_t ns) {
    window->histogram[loadBucket(ns)]++;
    window->count++;
    if (ns > window->worst_ns) window->worst_ns = ns;
}

/* ---- Requests ---- */

/* Appends a command. Arguments are strings up to a NULL. */
static size_t loadAppend(char *to, ...) {
    const char *arguments[8];
    int count = 0;
    va_list list;
    va_start(list, to);
    while ((arguments[count] = va_arg(list, const char *)) != NULL) count++;
    va_end(list);
    size_t size = (size_t)sprintf(to, "*%d\r\n", count);
    for (int i = 0; i < count; i++)
        size += (size_t)sprintf(to + size, "$%zu\r\n%s\r\n", strlen(arguments[i]), arguments[i]);
    return size;
}

static void loadValue(char *to, size_t size) {
    memcpy(to, filler + loadRandom(sizeof(filler) - size), size);
    to[size] = '\0';
}

static size_t loadStrings(char *to, bool write) {
    char key[32], value[VALUE_SIZE + 1];
    sprintf(key, "key:%llu", (unsigned long long)loadRandom(options.keys));
    if (!write) return loadAppend(to, "GET", key, NULL);
    loadValue(value, VALUE_SIZE);
    return loadAppend(to, "SET", key, value, NULL);
}

static size_t loadZsets(char *to, bool write) {
    char key[32], member[32], score[32];
    sprintf(key, "zset:%llu", (unsigned long long)loadRandom(options.keys));
    sprintf(member, "member:%llu", (unsigned long long)loadRandom(options.members));
    if (!write) return loadAppend(to, "ZSCORE", key, member, NULL);
    sprintf(score, "%llu", (unsigned long long)loadRandom(1000));
    return loadAppend(to, "ZADD", key, score, member, NULL);
}

static size_t loadHashes(char *to, bool write) {
    char key[32], field[32], value[28];
    sprintf(key, "hash:%llu", (unsigned long long)loadRandom(options.keys));
    sprintf(field, "field:%llu", (unsigned long long)loadRandom(FIELDS));
    if (!write) return loadAppend(to, "HGET", key, field, NULL);
    loadValue(value, sizeof(value) - 1);
    return loadAppend(to, "HSET", key, field, value, NULL);
}

/* Each member that is removed is put back by the next write of the connection. */
static size_t loadBigSet(char *to, LoadConnection *c, bool write) {
    if (c->removed < 0 && loadRandom(2)) return loadStrings(to, write);
    bool put_back = write && c->removed >= 0;
    char member[32];
    sprintf(member, "member:%llu",
            put_back ? (unsigned long long)c->removed : (unsigned long long)loadRandom(options.members));
    if (!write) return loadAppend(to, "SISMEMBER", "big", member, NULL);
    c->removed = put_back ? -1 : atoll(member + strlen("member:"));
    return loadAppend(to, put_back ? "SADD" : "SREM", "big", member, NULL);
}

static size_t loadRequest(char *to, LoadConnection *c) {
    bool write = (int)loadRandom(100) < options.writes_percent;
    switch (options.shape[0]) {
    case 's': return loadStrings(to, write);
    case 'z': return loadZsets(to, write);
    case 'h': return loadHashes(to, write);
    default: return loadBigSet(to, c, write);
    }
}

/* ---- Connections ---- */

static void loadConnect(LoadConnection *c) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)options.port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int yes = 1;
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    c->removed = -1;
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        loadFail("connect", strerror(errno));
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
}

/* A pipeline is shorter than the socket's buffers, and the former one has been answered: it is written as a
 * whole. */
static void loadWrite(LoadConnection *c, size_t size) {
    if (write(c->fd, batch, size) != (ssize_t)size) loadFail("write", strerror(errno));
}

static void loadSend(LoadConnection *c, uint64_t due_ns) {
    size_t size = 0;
    for (int i = 0; i < options.pipeline; i++) size += loadRequest(batch + size, c);
    c->due_ns = due_ns;
    c->outstanding = options.pipeline;
    loadWrite(c, size);
}

/* Returns the size of the reply at p, or 0 if it is not complete. */
static size_t loadReplySize(const char *p, size_t size) {
    const char *end = memchr(p, '\n', size);
    if (!end) return 0;
    if (*p == '-') loadFail("error reply", p);
    size_t line = (size_t)(end - p) + 1;
    if (*p != '$' || p[1] == '-') return line;
    size_t all = line + strtoull(p + 1, NULL, 10) + 2;
    return all <= size ? all : 0;
}

static void loadReceive(LoadConnection *c) {
    ssize_t got = read(c->fd, c->in + c->in_size, sizeof(c->in) - c->in_size - 1);
    if (got <= 0) {
        if (got < 0 && errno == EAGAIN) return;
        loadFail("read", got ? strerror(errno) : "the server has closed the connection");
    }
    c->in_size += (size_t)got;
    c->in[c->in_size] = '\0';
}

/* Takes the replies that have arrived from the connection. */
static void loadTakeReplies(LoadConnection *c) {
    loadReceive(c);
    uint64_t now = loadNow();
    size_t at = 0, size;
    while ((size = loadReplySize(c->in + at, c->in_size - at)) != 0) {
        at += size;
        c->outstanding--;
        loadRecord(now - c->due_ns);
    }
    memmove(c->in, c->in + at, c->in_size - at);
    c->in_size -= at;
}

/* ---- Windows ---- */

static void loadEnter(int next, uint64_t now) {
    window->end_ns = now;
    window = &windows[next];
    window->begin_ns = now;
}

static void loadSay(const char *what, uint64_t now) {
    printf("%s %.6f\n", what, (double)now / 1e9);
    fflush(stdout);
}

static void loadAsk(LoadConnection *control, const char *command, const char *argument) {
    loadWrite(control, loadAppend(batch, command, argument, NULL));
    control->outstanding = 1;
}

/* Sends BGSAVE after the idle window, and INFO from then on. "bgsave" is said READ_MS before the window ends:
 * who reads it looks at the server's figures before BGSAVE changes them. */
static void loadControl(LoadConnection *control, uint64_t now) {
    static uint64_t next_poll_ns;
    static bool said;
    uint64_t idle_ns = (uint64_t)(options.idle_s * 1e9);
    if (window == &windows[0] && now - window->begin_ns > WARMUP_MS * 1000000ull) {
        loadEnter(1, now);
        loadSay("begin", now);
    } else if (window == &windows[1] && !said && now - window->begin_ns + READ_MS * 1000000ull > idle_ns) {
        said = true;
        loadSay("bgsave", now);
    } else if (window == &windows[1] && now - window->begin_ns > idle_ns) {
        loadEnter(2, now);
        loadAsk(control, "BGSAVE", NULL);
        next_poll_ns = now + POLL_MS * 1000000ull;
    } else if (window == &windows[2] && !control->outstanding && now >= next_poll_ns) {
        loadAsk(control, "INFO", "persistence");
        next_poll_ns = now + POLL_MS * 1000000ull;
    }
}

/* Takes a reply on the connection for BGSAVE and INFO. Returns true if it says that the snapshot is complete.
 */
static bool loadTakeControl(LoadConnection *control) {
    loadReceive(control);
    size_t size = loadReplySize(control->in, control->in_size);
    if (!size) return false;
    control->outstanding = 0;
    control->in_size = 0;
    return strstr(control->in, "rdb_bgsave_in_progress:0") != NULL;
}

static void loadPrintWindow(const char *name, const LoadWindow *w) {
    double seconds = (double)(w->end_ns - w->begin_ns) / 1e9;
    printf("%s %.3f %.0f %.4f %.4f %.4f %.4f %.4f\n", name, seconds, (double)w->count / seconds,
           loadPercentile(w, 0.5), loadPercentile(w, 0.99), loadPercentile(w, 0.999),
           (double)w->worst_ns / 1e6, (double)w->late_ns / 1e6);
}

/* ---- The loop ---- */

/* Sends pipelines on the connections that are free, as many as are due. Returns the moment at which the next
 * one is due. */
static uint64_t loadSendDue(uint64_t next_ns, uint64_t free_since_ns) {
    double step_ns = options.rate ? 1e9 * options.pipeline / options.rate : 0;
    for (int i = 0; i < options.connections; i++) {
        LoadConnection *c = &connections[i];
        if (c->outstanding) continue;
        uint64_t now = loadNow();
        if (!options.rate) {
            loadSend(c, now);
            continue;
        }
        if (next_ns > now) break;
        uint64_t able_ns = next_ns > free_since_ns ? next_ns : free_since_ns;
        if (now - able_ns > window->late_ns) window->late_ns = now - able_ns;
        loadSend(c, next_ns);
        next_ns += (uint64_t)step_ns;
    }
    return next_ns;
}

static bool loadIsFree(void) {
    for (int i = 0; i < options.connections; i++)
        if (!connections[i].outstanding) return true;
    return false;
}

/* Waits for replies, and until the next pipeline is due if a connection is free for it. */
static void loadWait(struct pollfd *polled, uint64_t next_ns) {
    uint64_t now = loadNow(), wait_ns = 5000000;
    if (loadIsFree() && next_ns < now + wait_ns) wait_ns = next_ns > now ? next_ns - now : 0;
    struct timespec t = {.tv_sec = 0, .tv_nsec = (long)wait_ns};
    ppoll(polled, (nfds_t)options.connections + 1, &t, NULL);
}

static void loadRun(void) {
    struct pollfd polled[MAX_CONNECTIONS + 1];
    LoadConnection *control = &connections[options.connections];
    for (int i = 0; i <= options.connections; i++) {
        loadConnect(&connections[i]);
        polled[i] = (struct pollfd){.fd = connections[i].fd, .events = POLLIN};
    }
    uint64_t next_ns = loadNow(), free_since_ns = next_ns;
    window->begin_ns = next_ns;
    bool done = false;
    while (!done) {
        next_ns = loadSendDue(next_ns, free_since_ns);
        loadWait(polled, next_ns);
        bool was_full = !loadIsFree();
        for (int i = 0; i < options.connections; i++)
            if (polled[i].revents) loadTakeReplies(&connections[i]);
        if (was_full) free_since_ns = loadNow();
        if (polled[options.connections].revents) done = loadTakeControl(control);
        if (!done) loadControl(control, loadNow());
    }
    uint64_t now = loadNow();
    window->end_ns = now;
    loadSay("done", now);
}

int main(int argc, char **argv) {
    if (argc != 11)
        loadFail("arguments", "PORT SHAPE KEYS MEMBERS PIPELINE CONNECTIONS RATE WRITES_PERCENT IDLE_S SEED");
    options.port = atoi(argv[1]);
    options.shape = argv[2];
    options.keys = strtoull(argv[3], NULL, 10);
    options.members = strtoull(argv[4], NULL, 10);
    options.pipeline = atoi(argv[5]);
    options.connections = atoi(argv[6]);
    options.rate = atof(argv[7]);
    options.writes_percent = atoi(argv[8]);
    options.idle_s = atof(argv[9]);
    options.seed = strtoull(argv[10], NULL, 10) * 0x9e3779b97f4a7c15u | 1;
    if (options.pipeline < 1 || options.pipeline > MAX_PIPELINE || options.connections < 1 ||
        options.connections > MAX_CONNECTIONS)
        loadFail("arguments", "out of range");
    for (size_t i = 0; i < sizeof(filler); i++) filler[i] = (char)('a' + loadRandom(26));
    loadRun();
    loadPrintWindow("idle", &windows[1]);
    loadPrintWindow("during", &windows[2]);
    return 0;
}
