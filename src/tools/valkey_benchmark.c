/* SPDX-License-Identifier: BSD-3-Clause */
/* valkey_benchmark.c - the program valkey-benchmark, which runs the tests asked for and reports on each.
 *
 * The parts: benchmark_options.c reads the command line, benchmark_uri.c a server given as a URI,
 * benchmark_suite.c has the tests, benchmark_request.c turns a command into bytes, benchmark_run.c puts
 * the load on a server, benchmark_scan.c counts replies, benchmark_latencies.c counts latencies,
 * benchmark_cluster.c keeps the nodes of a cluster, benchmark_report.c prints, benchmark_versus.c
 * compares servers, benchmark_fuzz.c sends random commands (made by benchmark_fuzz_grammar.c). */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/zmalloc.h"
#include "net/connection.h"
#include "tools/benchmark/benchmark.h"

/* Runs one test; a failed test does not prevent the others. `label` names it in the progress line. */
static bool valkeyBenchmarkRunTest(const struct benchOptions *o, const struct benchTest *test,
                                   const char *label) {
    struct benchResult result;
    sds err = NULL;
    if (!benchPrepare(o, &o->servers[0], test, &err)) {
        if (o->json) benchJsonFailure(test->title, err);
        fprintf(stderr, "%s: %s\n", test->title, err);
        sdsfree(err);
        return false;
    }
    bool ended = benchRun(o, &o->servers[0], test->request, label, &result);
    if (ended)
        benchPrintResult(o, test, &result);
    else
        benchPrintFailure(o, test->title, &result);
    bool ok = ended && result.error_replies == 0;
    if (ended && o->svg && !benchSvgAdd(o, test->title, result.series)) {
        fprintf(stderr, "%s: %s\n", o->svg, strerror(errno));
        ok = false;
    }
    benchResultFree(&result);
    return ok;
}

static int valkeyBenchmarkRunTests(const struct benchOptions *o, const struct benchTest *tests, int count) {
    int status = 0;
    if (o->csv) benchPrintCsvHeader();
    if (o->json) benchJsonStart(o);
    do {
        for (int i = 0; i < count; i++) {
            sds label = count > 1 ? sdscatprintf(sdsempty(), "[%d/%d] %s", i + 1, count, tests[i].title)
                                  : sdsnew(tests[i].title);
            if (!valkeyBenchmarkRunTest(o, &tests[i], label)) status = 1;
            sdsfree(label);
        }
    } while (o->loop && status == 0);
    if (o->json) benchJsonEnd();
    return status;
}

/* Checks the servers first, so that a missing server is reported once instead of once per test. */
static bool valkeyBenchmarkCheckServers(const struct benchOptions *o) {
    for (int i = 0; i < o->server_count; i++) {
        sds err = NULL;
        struct connection *conn = benchConnect(o, &o->servers[i], &err);
        if (conn) {
            connClose(conn);
            continue;
        }
        fprintf(stderr, "%s\n", err);
        sdsfree(err);
        return false;
    }
    return true;
}

/* Returns the first connection that has data to read or is closed. */
static struct connection *valkeyBenchmarkFindReadable(struct connection **conns, int count) {
    struct pollfd *fds = zcalloc((size_t)count, sizeof *fds);
    for (int i = 0; i < count; i++) fds[i] = (struct pollfd){.fd = conns[i]->fd, .events = POLLIN};
    while (poll(fds, (nfds_t)count, -1) < 0 && errno == EINTR) {
    }
    int first = 0;
    while (first < count - 1 && !fds[first].revents) first++;
    zfree(fds);
    return conns[first];
}

/* Waits forever, unless the server ends a connection: above maxclients it sends the reason, and then
 * closes. */
static void valkeyBenchmarkStayConnected(struct connection **conns, int count) {
    sds err = NULL, reply = benchReadReply(valkeyBenchmarkFindReadable(conns, count), &err);
    if (reply && reply[0] == '-')
        fprintf(stderr, "Error from server: %.*s\n", (int)strcspn(reply + 1, "\r\n"), reply + 1);
    else
        fprintf(stderr, "A connection has ended: %s\n", err ? err : "the server sent an unexpected message");
    sdsfree(reply);
    sdsfree(err);
}

/* -I: opens idle connections. */
static int valkeyBenchmarkStayIdle(const struct benchOptions *o) {
    printf("Creating %d idle connections and waiting forever (Ctrl+C when done)\n", o->clients);
    benchRaiseFileLimit(o->clients);
    struct connection **conns = zcalloc((size_t)o->clients, sizeof *conns);
    for (int i = 0; i < o->clients; i++) {
        sds err = NULL;
        conns[i] = benchConnect(o, &o->servers[0], &err);
        if (conns[i]) continue;
        fprintf(stderr, "%s\n", err);
        return 1;
    }
    printf("clients: %d\n", o->clients);
    fflush(stdout);
    valkeyBenchmarkStayConnected(conns, o->clients);
    for (int i = 0; i < o->clients; i++) connClose(conns[i]);
    zfree(conns);
    return 1;
}

int main(int argc, char **argv) {
    static struct benchOptions options;
    signal(SIGPIPE, SIG_IGN);
    benchParseOptions(&options, argc, argv);
    int count;
    struct benchTest *tests = benchTestsCreate(&options, &count);
    int status = 1;
    if (options.idle)
        status = valkeyBenchmarkStayIdle(&options);
    else if (options.fuzz)
        status = benchFuzz(&options);
    else if (valkeyBenchmarkCheckServers(&options) && (!options.cluster || benchClusterStart(&options)))
        status = options.server_count > 1 ? benchVersus(&options, tests, count)
                                          : valkeyBenchmarkRunTests(&options, tests, count);
    benchTestsFree(tests, count);
    benchClusterEnd(&options);
    return status;
}
