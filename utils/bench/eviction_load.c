/* eviction_load.c - the load of utils/bench/eviction: a cache that is asked for keys, and filled with those
 * that it does not have.
 *
 *   eviction_load PORT TRACE CACHE REQUESTS PIPELINE SEED        plays a trace, and prints its misses
 *   eviction_load PORT fill:TRACE CACHE 0 PIPELINE SEED          sets CACHE keys with values as in that trace
 *   eviction_load PORT refill:TRACE CACHE 0 PIPELINE SEED        and as many others
 *
 * CACHE is the number of keys that fit; traces are made for it, so that a smaller one with less requests is
 * like a larger one. A pipeline of GETs is sent, and then one of SETs for the keys that were absent. The
 * first quarter of the requests fills the cache, and is not counted. Traces depend only on SEED:
 *
 *     zipfA      independent requests for 10 x CACHE keys; the popularity of the n-th is 1 / n^A
 *     scan       zipf1.0, and now and then as many keys as fit, that are asked for once
 *     rescan     zipf1.0, and half of the time a scan of the same 4 x CACHE keys
 *     loopL      L x CACHE keys in order, again and again
 *     loopzipf   half zipf0.9, half a loop over CACHE keys
 *     burst      half zipf0.9, half keys that are popular for a short time
 *     once       zipf1.0, and 40% of the requests for keys that are never asked for again
 *     shift      zipf1.0, whose popular keys are others each 15 x CACHE requests
 *     replace    zipf1.0, whose keys are all others each 25 x CACHE requests
 *     drift      zipf1.0, whose popular keys change one by one
 *     newest     the newer a key, the more popular
 *     sizes      zipf0.9 with values of 20 to 5,000 bytes; all others have values of 100 bytes */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_PIPELINE = 256, VALUE_MAX = 5000, VALUE_SIZE = 100 };

static uint64_t state;
static uint32_t cache, requests, universe, pipeline;
static uint32_t *trace;
static double *popularity; /* sums, for `ranks` keys */
static uint32_t ranks;
static bool sizes_vary;
static int fd;
static char out[MAX_PIPELINE * (VALUE_MAX + 128)], in[1 << 16], value[VALUE_MAX];
static size_t in_at, in_size;

static void evictionLoadFail(const char *what) {
    fprintf(stderr, "eviction_load: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* ---- Traces ---- */

static uint64_t evictionLoadRandom(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static double evictionLoadShare(void) {
    return (double)(evictionLoadRandom() >> 11) * 0x1p-53;
}

static void evictionLoadZipf(uint32_t keys, double exponent) {
    ranks = keys;
    popularity = malloc(keys * sizeof *popularity);
    double sum = 0;
    for (uint32_t i = 0; i < keys; i++) popularity[i] = sum += pow(i + 1, -exponent);
}

/* Returns 0 for the most popular key. */
static uint32_t evictionLoadRank(void) {
    double at = evictionLoadShare() * popularity[ranks - 1];
    uint32_t low = 0, high = ranks - 1;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (popularity[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static double evictionLoadExponent(const char *name) {
    if (strncmp(name, "zipf", 4) == 0) return atof(name + 4);
    const char *milder[] = {"loopzipf", "burst", "sizes"};
    for (int i = 0; i < 3; i++)
        if (strcmp(name, milder[i]) == 0) return 0.9;
    return 1.0;
}

/* Returns the key of request i. */
static uint32_t evictionLoadTraceKey(const char *name, uint32_t i) {
    static uint32_t fresh, at;
    uint32_t others = 4 * universe;
    if (strncmp(name, "zipf", 4) == 0 || strcmp(name, "sizes") == 0) return evictionLoadRank();
    if (strcmp(name, "scan") == 0)
        return i % (5 * cache) >= 4 * cache ? others + fresh++ : evictionLoadRank();
    if (strcmp(name, "rescan") == 0)
        return i / (2 * cache) % 2 ? others + at++ % (4 * cache) : evictionLoadRank();
    if (strcmp(name, "loopzipf") == 0)
        return evictionLoadRandom() & 1 ? others + at++ % cache : evictionLoadRank();
    if (strncmp(name, "loop", 4) == 0) return i % (uint32_t)(atof(name + 4) * cache);
    if (strcmp(name, "burst") == 0)
        return evictionLoadRandom() & 1 ? others + i / 16 + (uint32_t)(evictionLoadRandom() % (cache / 64))
                                        : evictionLoadRank();
    if (strcmp(name, "once") == 0) return evictionLoadShare() < 0.4 ? others + fresh++ : evictionLoadRank();
    if (strcmp(name, "shift") == 0)
        return (uint32_t)((evictionLoadRank() * 2654435761u + i / (15 * cache) * 102947ull) % universe);
    if (strcmp(name, "replace") == 0)
        return evictionLoadRank() % (universe / 2) + i / (25 * cache) * (universe / 2);
    if (strcmp(name, "drift") == 0) return evictionLoadRank() + i / 20;
    if (strcmp(name, "newest") == 0) return universe + i / 4 - evictionLoadRank();
    errno = EINVAL;
    evictionLoadFail(name);
    return 0;
}

static size_t evictionLoadValueSize(uint32_t key) {
    if (!sizes_vary) return VALUE_SIZE;
    double share = (double)(key * 2654435761u) * 0x1p-32;
    return (size_t)(20 * pow(250, share));
}

/* ---- The connection ---- */

static void evictionLoadConnect(int port) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int yes = 1;
    fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof a) < 0) evictionLoadFail("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

static void evictionLoadSend(size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, out + done, size - done);
        if (n <= 0) evictionLoadFail("write");
        done += (size_t)n;
    }
}

static int evictionLoadByte(void) {
    if (in_at == in_size) {
        ssize_t n = read(fd, in, sizeof in);
        if (n <= 0) evictionLoadFail("read");
        in_size = (size_t)n, in_at = 0;
    }
    return in[in_at++];
}

/* Reads a reply. Returns false when it is the absence of a value. */
static bool evictionLoadReply(void) {
    char line[256];
    size_t n = 0;
    for (int c; (c = evictionLoadByte()) != '\n';)
        if (n < sizeof line - 1) line[n++] = (char)c;
    line[n] = '\0';
    if (line[0] == '-') {
        fprintf(stderr, "eviction_load: %s\n", line);
        exit(1);
    }
    if (line[0] != '$') return true;
    long len = atol(line + 1);
    for (long i = 0; i < len + 2 && len >= 0; i++) evictionLoadByte();
    return len >= 0;
}

static size_t evictionLoadAppendKey(size_t at, const char *command, uint32_t key) {
    return at + (size_t)sprintf(out + at, "%s$14\r\nkey:%010u\r\n", command, key);
}

static size_t evictionLoadAppendSet(size_t at, uint32_t key) {
    size_t size = evictionLoadValueSize(key);
    at = evictionLoadAppendKey(at, "*3\r\n$3\r\nSET\r\n", key);
    at += (size_t)sprintf(out + at, "$%zu\r\n", size);
    memcpy(out + at, value, size);
    return at + size + (size_t)sprintf(out + at + size, "\r\n");
}

static void evictionLoadSet(const uint32_t *keys, uint32_t n) {
    size_t size = 0;
    for (uint32_t i = 0; i < n; i++) size = evictionLoadAppendSet(size, keys[i]);
    evictionLoadSend(size);
    for (uint32_t i = 0; i < n; i++) evictionLoadReply();
}

/* Requests the keys. Returns how many were absent, which are put into `absent`. */
static uint32_t evictionLoadGet(const uint32_t *keys, uint32_t n, uint32_t *absent) {
    size_t size = 0;
    uint32_t misses = 0;
    for (uint32_t i = 0; i < n; i++) size = evictionLoadAppendKey(size, "*2\r\n$3\r\nGET\r\n", keys[i]);
    evictionLoadSend(size);
    for (uint32_t i = 0; i < n; i++)
        if (!evictionLoadReply()) absent[misses++] = keys[i];
    return misses;
}

/* ---- The program ---- */

static void evictionLoadFill(uint32_t done, uint32_t end) {
    uint32_t keys[MAX_PIPELINE];
    while (done < end) {
        uint32_t n = end - done < pipeline ? end - done : pipeline;
        for (uint32_t i = 0; i < n; i++) keys[i] = done + i;
        evictionLoadSet(keys, n);
        done += n;
    }
}

static void evictionLoadPlay(const char *name) {
    uint32_t absent[MAX_PIPELINE], counted = 0, misses = 0;
    trace = malloc(requests * sizeof *trace);
    for (uint32_t i = 0; i < requests; i++) trace[i] = evictionLoadTraceKey(name, i);
    for (uint32_t i = 0; i < requests; i += pipeline) {
        uint32_t n = requests - i < pipeline ? requests - i : pipeline,
                 m = evictionLoadGet(trace + i, n, absent);
        if (m) evictionLoadSet(absent, m);
        if (i >= requests / 4) counted += n, misses += m;
    }
    printf("%u %u\n", counted, misses);
}

int main(int argc, char **argv) {
    if (argc != 7) return 1;
    const char *colon = strchr(argv[2], ':'), *name = colon ? colon + 1 : argv[2];
    cache = (uint32_t)atol(argv[3]), requests = (uint32_t)atol(argv[4]), pipeline = (uint32_t)atol(argv[5]);
    state = strtoull(argv[6], NULL, 10) * 2654435761u + 88172645463325252u;
    if (!pipeline || pipeline > MAX_PIPELINE || cache < 64) return 1;
    universe = 10 * cache;
    sizes_vary = strcmp(name, "sizes") == 0;
    memset(value, 'x', sizeof value);
    evictionLoadConnect(atoi(argv[1]));
    if (colon) {
        bool others = argv[2][0] == 'r';
        evictionLoadFill(others * cache, (1 + others) * cache);
        return 0;
    }
    evictionLoadZipf(universe, evictionLoadExponent(name));
    evictionLoadPlay(name);
    return 0;
}
