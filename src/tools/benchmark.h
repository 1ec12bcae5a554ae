/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark.h - what the parts of valkey-benchmark share.
 *
 *     options -> suite or trailing command -> request -> run (threads, clients) -> report
 *                                                         \-> versus: rounds over several servers */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sds.h"
#include "tools/benchmark_draw.h"
#include "tools/benchmark_latencies.h"
#include "tools/benchmark_series.h"
#include "tools/tool_tls.h"

#define BENCH_MAX_SERVERS 16
#define BENCH_MAX_THREADS 256

struct benchServer {
    const char *label;
    const char *host; /* NULL: a unix socket */
    int port;
    const char *socket;
    bool replica; /* of a cluster: it is told that reads alone will come */
};

enum benchReadFrom { BENCH_FROM_PRIMARIES, BENCH_FROM_REPLICAS, BENCH_FROM_ALL };

struct benchOptions {
    struct benchServer servers[BENCH_MAX_SERVERS]; /* the first is the main one, the others come from --vs */
    int server_count;
    const char *user, *password;
    struct toolTls tls;
    int db;
    int threads; /* 0 until the nodes of a cluster are known */
    int clients, pipeline, data_size, rounds;
    int64_t requests;
    int64_t range;                /* of __rand_int__; -1: it stays as it is */
    struct benchDraw draw;        /* which of them how often */
    const char *mix;              /* "get:80,set:20"; NULL: one test after the other */
    const char *svg;              /* the file of the chart; NULL: none */
    int functions, function_keys; /* of the tests function_load and fcall */
    bool mptcp;
    uint64_t seed;
    bool quiet, csv, json, loop, show_errors;
    bool keepalive, tracking, resp3, idle, sequential;
    int warmup_s, duration_s; /* 0: none, and until `requests` are done */
    int64_t rps;              /* so many commands a second; 0: as many as can be */
    int precision;            /* decimals of milliseconds */
    bool last_from_stdin;
    bool cluster, fuzz;
    enum benchReadFrom read_from;
    struct benchCluster *nodes; /* --cluster: all of them, once they are known */
    const char *fuzz_level;     /* what --fuzz tells */
    const char *tests;          /* comma separated names, NULL: all */
    int argc;                   /* the command given, if any */
    char **argv;
};

/* Fills *o from the command line, or prints what is wrong and exits. */
void benchParseOptions(struct benchOptions *o, int argc, char **argv);

/* valkey://[user[:password]@]host[:port][/db], also redis://, valkeys:// and rediss:// (TLS); exits when it
 * is none. */
void benchParseUri(struct benchOptions *o, const char *uri);

/* ---- One synchronous connection, for handshakes and INFO ---- */

/* Connect, authenticate, select the database. The connection does not wait. NULL and *err. */
struct connection *benchConnect(const struct benchOptions *o, const struct benchServer *server, sds *err);
/* User and system CPU seconds that the server has used so far; false when it cannot be told. */
bool benchServerCpu(const struct benchOptions *o, const struct benchServer *server, double *seconds,
                    sds *err);

/* One command, once. False and *err: it was refused. */
bool benchServerDo(const struct benchOptions *o, const struct benchServer *server, int argc,
                   const char *const *argv, sds *err);

/* The text of the reply to one command, the caller's; NULL and *err. */
sds benchServerRequest(const struct benchOptions *o, const struct benchServer *server, int argc,
                       const char *const *argv, sds *err);

/* The value of a directive, or NULL when the server does not tell. */
sds benchServerConfig(const struct benchOptions *o, const struct benchServer *server, const char *name);

/* The pieces of such an exchange. A reply comes as its bytes, the caller's; NULL and *err: there is none.
 * Those that are pushed are passed over. */
bool benchSendBytes(struct connection *conn, struct str bytes);
bool benchSend(struct connection *conn, int argc, const char *const *argv);
sds benchReadReply(struct connection *conn, sds *err);

/* ---- --cluster ---- */

#define BENCH_TAG_SIZE 3 /* of what "tag" in "{tag}" becomes */

struct benchNode {
    struct benchServer server;
    char id[41];
    uint16_t *slots; /* of it, or of its primary */
    int slot_count;
};

struct benchTopology { /* at one moment; never changed */
    struct benchNode *nodes;
    int count; /* at least 1 */
    struct benchTopology *before;
};

/* Ask for the nodes and print them; there are as many threads, when nobody said how many. False: there are
 * none, which has been said. */
bool benchClusterStart(struct benchOptions *o);
void benchClusterEnd(struct benchOptions *o);
/* Good until the end; for any thread. */
const struct benchTopology *benchClusterNow(const struct benchCluster *c);
/* A node sent a client away, who had gone by this topology: ask again, unless somebody just did. */
void benchClusterChanged(const struct benchOptions *o, const struct benchTopology *seen);
/* BENCH_TAG_SIZE characters. */
const char *benchClusterTag(const struct benchCluster *c, int slot);
/* "primary", "replica" or "cluster": which nodes there are. */
const char *benchClusterKind(const struct benchOptions *o);

/* ---- --fuzz ---- */

/* A list of modes with commas. False: there is no such mode, which has been said. */
bool benchFuzzModes(const char *modes);
/* The exit status. */
int benchFuzz(const struct benchOptions *o);

/* ---- A command, ready to be sent many times ---- */

struct benchRequest {
    sds one;      /* the bytes of one command, or of a sequence */
    int commands; /* in it: so many replies come */
    struct benchSlot {
        uint32_t offset; /* of the digits */
        int shared;      /* 1..9: __rand_1st__ ... have one value in all of a command; 0: __rand_int__ */
    } * slots;
    int slot_count;
    uint32_t *tags; /* --cluster: offsets of the "tag" of each "{tag}" */
    int tag_count;
    struct benchPart *parts; /* of a mix: then `one` is the longest of theirs */
    int part_count;
    int64_t weights; /* of all parts */
};

#define BENCH_PARTS_MAX 32

struct benchPart {
    sds title;
    struct benchRequest *request;
    int64_t up_to; /* its weight and those of the parts before it */
};

#define BENCH_DIGITS 12 /* of a random number */

#define BENCH_SHARED 10 /* __rand_1st__ to __rand_9th__, and 0 */

/* Where numbers come from: drawn at random from 0 to range-1, or counted up. */
struct benchNumbers {
    int64_t range;
    struct benchDraw draw;
    unsigned digits;       /* how many of the 12 vary */
    _Atomic int64_t *next; /* BENCH_SHARED counters that all threads share; NULL: random */
};

/* Arguments may contain __rand_int__, __rand_1st__ ... and __data__. An argument ";" ends a command and
 * begins the next one, which is sent N times if a number stands in front. NULL and *why: an empty or endless
 * one. */
struct benchRequest *benchRequestCreateSequence(const struct benchOptions *o, int argc,
                                                const char *const *argv, const char **why);
struct benchRequest *benchRequestCreate(const struct benchOptions *o, int argc, const char *const *argv);
struct benchRequest *benchRequestInline(const char *line);
void benchRequestFree(struct benchRequest *r);
/* `count` copies of the command one after the other. */
sds benchRequestRepeat(const struct benchRequest *r, int count);
/* A mix: puts `count` commands together, each drawn by weight, with numbers and tags of their own. Returns
 * the length; sent[i]: how many are of part i. */
size_t benchMixFill(const struct benchRequest *mix, char *buf, int count, const struct benchNumbers *numbers,
                    const struct benchCluster *cluster, const struct benchNode *node, int *sent);
void benchPartsFree(struct benchRequest *mix);
/* New numbers in the first `count` commands of such a buffer. */
void benchRequestPatch(const struct benchRequest *r, char *buf, int count,
                       const struct benchNumbers *numbers);
/* Tags for slots out of these, one for each of the first `count` commands. */
void benchRequestTag(const struct benchRequest *r, char *buf, int count, const struct benchCluster *c,
                     const struct benchNode *node);

/* ---- One run against one server ---- */

struct benchResult {
    struct latencies *latency;
    struct latencies **parts; /* of a mix: of each part. A batch counts for every command in it. */
    int part_count;
    struct series *series; /* --svg; else NULL */
    int64_t replies;
    int64_t error_replies;
    double seconds;
    sds failure; /* why the run ended early, or the first error reply; NULL when all went well */
};

/* Send o->requests commands. False when the run did not come to its end; result->failure tells why. */
bool benchRun(const struct benchOptions *o, const struct benchServer *server,
              const struct benchRequest *request, const char *title, struct benchResult *result);
/* As many open files as that many clients take, when the system allows it. */
void benchRaiseFileLimit(int clients);
void benchResultFree(struct benchResult *result);
static inline double benchRps(const struct benchResult *r) {
    return r->seconds > 0 ? (double)r->replies / r->seconds : 0;
}

/* ---- The tests ---- */

struct benchTest {
    sds title;
    struct benchRequest *request;
    sds library; /* of functions, that the server has to load before; NULL: none */
};
/* What the test needs to be there. False and *err when the server refuses. */
bool benchPrepare(const struct benchOptions *o, const struct benchServer *server,
                  const struct benchTest *test, sds *err);
/* The tests that the options ask for; exits when a name is unknown. */
struct benchTest *benchTestsCreate(const struct benchOptions *o, int *count);
/* The one test of that name. False: there is none, or there are several. */
bool benchSuiteTest(const struct benchOptions *o, const char *name, struct benchTest *test);
/* --mix; exits when it is wrong. */
struct benchTest benchMixCreate(const struct benchOptions *o);
void benchTestsFree(struct benchTest *tests, int count);

/* ---- Output ---- */

bool benchProgressWanted(const struct benchOptions *o);
struct benchProgress {           /* since the start, or since the last time */
    int64_t replies, latency_us; /* latencies summed up */
    double seconds;
};
void benchPrintProgress(const char *title, const struct benchProgress *now,
                        const struct benchProgress *before);
void benchPrintCsvHeader(void);
void benchPrintResult(const struct benchOptions *o, const struct benchTest *test,
                      const struct benchResult *r);
void benchPrintFailure(const struct benchOptions *o, const char *title, const struct benchResult *r);
/* "..." with quotes doubled. */
void benchPrintCsvString(const char *s);
/* Leaves the progress line behind, if there is one. */
void benchEndProgress(const struct benchOptions *o);

/* --json: one object; the tests are elements of its array "tests", written as they end. */
void benchJsonStart(const struct benchOptions *o);
void benchJsonResult(const struct benchOptions *o, const char *title, const struct benchRequest *request,
                     const struct benchResult *r);
void benchJsonFailure(const char *title, const char *why);
struct benchRow { /* of a server in a comparison: medians over the rounds, and extremes */
    double rps, rps_min, rps_max, cpu, p99_ms;
};
void benchJsonComparison(const struct benchOptions *o, const char *title, const struct benchRow *rows);
void benchJsonEnd(void);

/* --svg: adds a chart of latency and rate over the time of a run to the file. False and errno. */
bool benchSvgAdd(const struct benchOptions *o, const char *title, const struct series *series);

/* Compare all servers on all tests and print the tables; the exit status. */
int benchVersus(const struct benchOptions *o, struct benchTest *tests, int count);
