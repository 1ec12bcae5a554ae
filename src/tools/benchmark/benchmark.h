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
#include "tools/benchmark/benchmark_draw.h"
#include "tools/benchmark/benchmark_latencies.h"
#include "tools/benchmark/benchmark_series.h"
#include "tools/tool_tls.h"

#define BENCH_MAX_SERVERS 16
#define BENCH_MAX_THREADS 256

struct benchServer {
    const char *label;
    const char *host; /* NULL for a unix socket */
    int port;
    const char *socket;
    bool replica; /* a replica of a cluster, which gets READONLY first */
};

enum benchReadFrom { BENCH_FROM_PRIMARIES, BENCH_FROM_REPLICAS, BENCH_FROM_ALL };

struct benchOptions {
    struct benchServer servers[BENCH_MAX_SERVERS]; /* the first is the main one, --vs adds the others */
    int server_count;
    const char *user, *password;
    struct toolTls tls;
    int db;
    int threads; /* 0 until the nodes of a cluster are known */
    int clients, pipeline, data_size, rounds;
    int64_t requests;
    int64_t range;                /* range of __rand_int__; -1: it is not replaced */
    struct benchDraw draw;        /* the distribution of the numbers */
    const char *mix;              /* "get:80,set:20"; NULL: one test after the other */
    const char *svg;              /* the file of the chart; NULL: none */
    int functions, function_keys; /* for the tests function_load and fcall */
    bool mptcp;
    uint64_t seed;
    bool quiet, csv, json, loop, show_errors;
    bool keepalive, tracking, resp3, idle, sequential;
    int warmup_s, duration_s; /* 0: no warm-up; the run ends after `requests` commands */
    int64_t rps;              /* commands per second; 0: no limit */
    int precision;            /* decimals of milliseconds */
    bool last_from_stdin;
    bool cluster, fuzz;
    enum benchReadFrom read_from;
    struct benchCluster *nodes; /* --cluster: the nodes, once they are known */
    const char *fuzz_level;     /* the argument of --fuzz */
    const char *tests;          /* comma separated names, NULL: all */
    int argc;                   /* the command given, if any */
    char **argv;
};

/* Fills *o from the command line, or prints what is wrong and exits. */
void benchParseOptions(struct benchOptions *o, int argc, char **argv);

/* Reads valkey://[user[:password]@]host[:port][/db] into *o, also redis://, and valkeys:// or rediss://
 * for TLS. Exits when `uri` has another form. */
void benchParseUri(struct benchOptions *o, const char *uri);

/* ---- One synchronous connection, for handshakes and INFO ---- */

/* Connects, authenticates and selects the database. Returns a non-blocking connection, or NULL and *err. */
struct connection *benchConnect(const struct benchOptions *o, const struct benchServer *server, sds *err);
/* Reports the user and system CPU seconds that the server has used so far; false when they cannot be
 * read. */
bool benchServerCpu(const struct benchOptions *o, const struct benchServer *server, double *seconds,
                    sds *err);

/* Runs one command; false and *err when the server refuses it. */
bool benchServerRun(const struct benchOptions *o, const struct benchServer *server, int argc,
                    const char *const *argv, sds *err);

/* Returns the text of the reply to one command, owned by the caller; NULL and *err on failure. */
sds benchServerRequest(const struct benchOptions *o, const struct benchServer *server, int argc,
                       const char *const *argv, sds *err);

/* Returns the value of a directive, or NULL when the server does not show it. */
sds benchServerConfig(const struct benchOptions *o, const struct benchServer *server, const char *name);

/* The two halves of such an exchange. benchReadReply returns the bytes of the reply, owned by the
 * caller, or NULL and *err. It skips push messages. */
bool benchSendBytes(struct connection *conn, struct str bytes);
bool benchSend(struct connection *conn, int argc, const char *const *argv);
sds benchReadReply(struct connection *conn, sds *err);

/* ---- --cluster ---- */

#define BENCH_TAG_SIZE 3 /* bytes that replace "tag" in "{tag}" */

struct benchNode {
    struct benchServer server;
    char id[41];
    uint16_t *slots; /* the slots of the node or of its primary */
    int slot_count;
};

struct benchTopology { /* a snapshot, which never changes */
    struct benchNode *nodes;
    int count; /* at least 1 */
    struct benchTopology *before;
};

/* Asks for the nodes and prints them. Unless --threads is given, there are as many threads as nodes.
 * Returns false after it has printed why there are no nodes. */
bool benchClusterStart(struct benchOptions *o);
void benchClusterEnd(struct benchOptions *o);
/* Returns the current topology; valid until the program ends; may be called by any thread. */
const struct benchTopology *benchClusterNow(const struct benchCluster *c);
/* Reports that a node redirected a client that used the topology `seen`. The nodes are asked again,
 * unless another thread has just done so. */
void benchClusterChanged(const struct benchOptions *o, const struct benchTopology *seen);
/* Returns a tag of BENCH_TAG_SIZE characters whose slot is `slot`. */
const char *benchClusterTag(const struct benchCluster *c, int slot);
/* Returns "primary", "replica" or "cluster", depending on which nodes are used. */
const char *benchClusterKind(const struct benchOptions *o);

/* ---- --fuzz ---- */

/* Checks a comma-separated list of modes; prints a message and returns false for an unknown one. */
bool benchFuzzModes(const char *modes);
/* Runs --fuzz; returns the exit status. */
int benchFuzz(const struct benchOptions *o);

/* ---- A command, ready to be sent many times ---- */

struct benchRequest {
    sds one;      /* the bytes of one command, or of a sequence */
    int commands; /* number of commands in `one`, which is the number of replies */
    struct benchSlot {
        uint32_t offset; /* where the digits begin */
        int shared; /* 1 to 9: __rand_1st__ and so on, which have one value within a command; 0: __rand_int__
                     */
    } * slots;
    int slot_count;
    uint32_t *tags; /* --cluster: offsets of the "tag" of each "{tag}" */
    int tag_count;
    struct benchPart *parts; /* parts of a mix; `one` is then the longest command of them */
    int part_count;
    int64_t weights; /* sum of the weights of all parts */
};

#define BENCH_PARTS_MAX 32

struct benchPart {
    sds title;
    struct benchRequest *request;
    int64_t up_to; /* sum of the weights of this part and those before it */
};

#define BENCH_DIGITS 12 /* digits of a random number */

#define BENCH_SHARED 10 /* __rand_1st__ to __rand_9th__, and 0 */

/* The source of numbers: drawn at random from 0 to range-1, or counted up. */
struct benchNumbers {
    int64_t range;
    struct benchDraw draw;
    unsigned digits;       /* how many of the BENCH_DIGITS digits vary */
    _Atomic int64_t *next; /* BENCH_SHARED counters, shared by all threads; NULL: random numbers */
};

/* Makes a request of arguments, which may contain __rand_int__, __rand_1st__ ... and __data__. An
 * argument ";" ends a command and begins the next one; a number before a command says how often it is
 * sent. Returns NULL and *why for an empty command or a sequence that is too long. */
struct benchRequest *benchRequestCreateSequence(const struct benchOptions *o, int argc,
                                                const char *const *argv, const char **why);
struct benchRequest *benchRequestCreate(const struct benchOptions *o, int argc, const char *const *argv);
struct benchRequest *benchRequestInline(const char *line);
void benchRequestFree(struct benchRequest *r);
/* Returns `count` copies of the command, one after the other. */
sds benchRequestRepeat(const struct benchRequest *r, int count);
/* Writes `count` commands of a mix, each drawn by weight, with their own numbers and tags. Returns the
 * length; sent[i] becomes the number of commands of part i. */
size_t benchMixFill(const struct benchRequest *mix, char *buf, int count, const struct benchNumbers *numbers,
                    const struct benchCluster *cluster, const struct benchNode *node, int *sent);
void benchPartsFree(struct benchRequest *mix);
/* Writes new numbers into the first `count` commands of a buffer made by benchRequestRepeat. */
void benchRequestPatch(const struct benchRequest *r, char *buf, int count,
                       const struct benchNumbers *numbers);
/* Writes tags of random slots out of `slots` into the first `count` commands. */
void benchRequestTag(const struct benchRequest *r, char *buf, int count, const struct benchCluster *c,
                     const struct benchNode *node);

/* ---- One run against one server ---- */

struct benchResult {
    struct latencies *latency;
    struct latencies **parts; /* latencies of each part of a mix; a batch counts for every command in it */
    int part_count;
    struct series *series; /* --svg; else NULL */
    int64_t replies;
    int64_t error_replies;
    double seconds;
    sds failure; /* why the run ended early, or the first error reply; NULL if there was neither */
};

/* Sends o->requests commands. Returns false when the run ended early; result->failure says why. */
bool benchRun(const struct benchOptions *o, const struct benchServer *server,
              const struct benchRequest *request, const char *title, struct benchResult *result);
/* Raises the limit of open files for that many clients, as far as the system allows. */
void benchRaiseFileLimit(int clients);
void benchResultFree(struct benchResult *result);
static inline double benchRps(const struct benchResult *r) {
    return r->seconds > 0 ? (double)r->replies / r->seconds : 0;
}

/* ---- The tests ---- */

struct benchTest {
    sds title;
    struct benchRequest *request;
    sds library; /* library of functions that the server has to load before; NULL: none */
};
/* Creates what the test needs on the server. Returns false and *err when the server refuses. */
bool benchPrepare(const struct benchOptions *o, const struct benchServer *server,
                  const struct benchTest *test, sds *err);
/* Returns the tests that the options name; exits when a name is unknown. */
struct benchTest *benchTestsCreate(const struct benchOptions *o, int *count);
/* Finds the only test of that name. Returns false when there is none, or more than one. */
bool benchSuiteTest(const struct benchOptions *o, const char *name, struct benchTest *test);
/* Returns the test that --mix describes; exits when the description is wrong. */
struct benchTest benchMixCreate(const struct benchOptions *o);
void benchTestsFree(struct benchTest *tests, int count);

/* ---- Output ---- */

bool benchProgressWanted(const struct benchOptions *o);
struct benchProgress {           /* counts since the start, or since the last time */
    int64_t replies, latency_us; /* latencies summed up */
    double seconds;
    double share; /* of the run that is done, 0 to 1; below 0: the warm-up */
};
void benchPrintProgress(const char *title, const struct benchProgress *now,
                        const struct benchProgress *before);
void benchPrintCsvHeader(void);
void benchPrintResult(const struct benchOptions *o, const struct benchTest *test,
                      const struct benchResult *r);
void benchPrintFailure(const struct benchOptions *o, const char *title, const struct benchResult *r);
/* Prints the string in quotes, with quotes within it doubled. */
void benchPrintCsvString(const char *s);
/* Ends the progress line, if there is one. */
void benchEndProgress(const struct benchOptions *o);

/* --json prints one object; its array "tests" gets an element whenever a test ends. */
void benchJsonStart(const struct benchOptions *o);
void benchJsonResult(const struct benchOptions *o, const char *title, const struct benchRequest *request,
                     const struct benchResult *r);
void benchJsonFailure(const char *title, const char *why);
struct benchRow { /* one server of a comparison: medians over the rounds, and extremes */
    double rps, rps_min, rps_max, cpu, p99_ms;
};
void benchJsonComparison(const struct benchOptions *o, const char *title, const struct benchRow *rows);
void benchJsonEnd(void);

/* --svg: adds a chart of latency and rate over the time of a run to the file. Returns false and sets
 * errno on failure. */
bool benchSvgAdd(const struct benchOptions *o, const char *title, const struct series *series);

/* Compares all servers on all tests and prints the tables; returns the exit status. */
int benchVersus(const struct benchOptions *o, struct benchTest *tests, int count);
