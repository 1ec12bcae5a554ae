/* SPDX-License-Identifier: BSD-3-Clause */
/* event_backend.c - see event_backend.h.
 *
 * auto: io_uring if the kernel allows it and it is not slower. That is measured, because it depends on the
 * kernel, its mitigations and the hypervisor: a trial runs turns of a server with many clients and small
 * requests, over socket pairs, with both backends.
 *
 *     peers write a request each | turn: read them all | send as many replies | peers read them
 *
 * Only the CPU time of this thread in the turns counts. Turns come in pairs, one with each backend
 * immediately after the other. What else the machine does (a busy sibling of the core, a lower clock)
 * makes both turns of a pair more expensive, so the result is which one of a pair was more expensive, and
 * not by how much. On a busy machine even that may be wrong; then the cheapest turn of all may show what
 * io_uring can do. */
#include "server/event_backend.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "net/ae.h"
#include "net/connection.h"
#include "registry/config.h"
#include "registry/info.h"

enum { BACKEND_AUTO, BACKEND_EPOLL, BACKEND_URING };

#define TRIAL_CLIENTS 32
#define TRIAL_WARMUP  4    /* pairs of turns that are not counted */
#define TRIAL_US      6000 /* CPU time of the trial with all preparations */
#define TRIAL_FDS     1024 /* size of the trial's event loops */
#define TRIAL_BYTES   36   /* bytes of a request and of a reply */

static int backend;

/* ---- The trial ---- */

struct eventBackendTrial {
    struct aeEventLoop *el;
    struct connection *conns[TRIAL_CLIENTS];
    int peers[TRIAL_CLIENTS];
    struct connWrite writes[TRIAL_CLIENTS];
    int request_count;
};

static void eventBackendTrialRead(struct connection *conn) {
    static char reply[TRIAL_BYTES];
    static const struct iovec iov = {reply, sizeof reply};
    struct eventBackendTrial *t = conn->data;
    char request[4 * TRIAL_BYTES];
    if (connRead(conn, request, sizeof request) > 0)
        t->writes[t->request_count++] = (struct connWrite){conn, &iov, 1, 0, 0};
}

static void eventBackendTrialEnd(struct eventBackendTrial *t) {
    for (int i = 0; i < TRIAL_CLIENTS; i++) {
        if (!t->conns[i]) continue;
        connClose(t->conns[i]);
        close(t->peers[i]);
    }
    if (t->el) aeDelete(t->el);
}

static bool eventBackendTrialStart(struct eventBackendTrial *t, enum aeBackend with) {
    *t = (struct eventBackendTrial){0};
    aeSetBackend(with);
    t->el = aeCreate(TRIAL_FDS);
    if (!t->el || aeBackendOf(t->el) != with) return false;
    for (int i = 0; i < TRIAL_CLIENTS; i++) {
        int fds[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) < 0) return false;
        t->peers[i] = fds[1];
        t->conns[i] = connCreateUnix(t->el, fds[0]);
        t->conns[i]->data = t;
        connSetReadHandler(t->conns[i], eventBackendTrialRead);
    }
    return true;
}

static int64_t eventBackendThreadCpuNs(void) {
    return (int64_t)cpuTimeNs(CLOCK_THREAD_CPUTIME_ID);
}

/* Returns the CPU time in ns of a turn that serves all clients, or -1 on failure. */
static int64_t eventBackendTrialTurn(struct eventBackendTrial *t) {
    char bytes[TRIAL_BYTES] = {0};
    for (int i = 0; i < TRIAL_CLIENTS; i++)
        if (write(t->peers[i], bytes, sizeof bytes) != sizeof bytes) return -1;
    int64_t start_ns = eventBackendThreadCpuNs();
    t->request_count = 0;
    for (int tries = 0; t->request_count < TRIAL_CLIENTS && tries < TRIAL_CLIENTS; tries++)
        aeProcessEvents(t->el, AE_FILE_EVENTS | AE_DONT_WAIT);
    connWriteMany(t->writes, t->request_count);
    int64_t cpu_ns = eventBackendThreadCpuNs() - start_ns;
    for (int i = 0; i < TRIAL_CLIENTS; i++)
        if (read(t->peers[i], bytes, sizeof bytes) != sizeof bytes) return -1;
    return cpu_ns;
}

struct eventBackendResult {
    int64_t least_ns[2]; /* cheapest turn of each backend */
    int seen, pairs;     /* pairs: those that are counted */
    int won;             /* pairs in which io_uring was not more expensive */
    int64_t cost_ns;
};

static bool eventBackendTrialPair(struct eventBackendTrial trials[2], struct eventBackendResult *o) {
    int64_t ns[2];
    bool counts = o->seen++ >= TRIAL_WARMUP;
    for (int i = 0; i < 2; i++) {
        int which = (o->seen + i) % 2; /* both come first equally often */
        ns[which] = eventBackendTrialTurn(&trials[which]);
        if (ns[which] < 0) return false;
        if (counts && (!o->least_ns[which] || ns[which] < o->least_ns[which])) o->least_ns[which] = ns[which];
    }
    o->pairs += counts;
    o->won += counts && ns[AE_URING] <= ns[AE_EPOLL];
    return true;
}

/* Returns false if io_uring is not available. */
static bool eventBackendMeasure(struct eventBackendResult *o) {
    struct eventBackendTrial trials[2];
    int64_t start_ns = eventBackendThreadCpuNs();
    *o = (struct eventBackendResult){0};
    bool ok = eventBackendTrialStart(&trials[AE_URING], AE_URING);
    int problem = errno;
    ok &= eventBackendTrialStart(&trials[AE_EPOLL], AE_EPOLL);
    while (ok && o->cost_ns < TRIAL_US * 1000) {
        ok = eventBackendTrialPair(trials, o);
        o->cost_ns = eventBackendThreadCpuNs() - start_ns;
    }
    for (int i = 0; i < 2; i++) eventBackendTrialEnd(&trials[i]);
    errno = problem;
    return ok;
}

/* ---- The choice ---- */

static bool eventBackendChooseByMeasure(void) {
    struct eventBackendResult o;
    if (!eventBackendMeasure(&o)) {
        serverLog(LL_VERBOSE, "io_uring is not available (%s), so the event loop uses epoll",
                  strerror(errno));
        return false;
    }
    bool better = o.least_ns[AE_URING] <= o.least_ns[AE_EPOLL] || 2 * o.won >= o.pairs;
    serverLog(
        LL_VERBOSE,
        "A request costs %.2f us with io_uring and %.2f us with epoll, which was dearer in %d of %d turns "
        "(measured in %.1f ms), so the event loop uses %s",
        (double)o.least_ns[AE_URING] / 1000 / TRIAL_CLIENTS,
        (double)o.least_ns[AE_EPOLL] / 1000 / TRIAL_CLIENTS, o.won, o.pairs, (double)o.cost_ns / 1e6,
        better ? "io_uring" : "epoll");
    return better;
}

static bool eventBackendAvailable(void) {
    aeSetBackend(AE_URING);
    struct aeEventLoop *el = aeCreate(1);
    int problem = errno;
    bool uring = el && aeBackendOf(el) == AE_URING;
    if (el) aeDelete(el);
    errno = problem;
    return uring;
}

void eventBackendChoose(void) {
    bool uring = backend == BACKEND_AUTO ? eventBackendChooseByMeasure() : backend == BACKEND_URING;
    if (backend == BACKEND_URING && !eventBackendAvailable()) {
        serverLog(
            LL_WARNING,
            "WARNING: event-backend is io_uring, which is not available (%s), so the event loop uses epoll.",
            strerror(errno));
        uring = false;
    }
    aeSetBackend(uring ? AE_URING : AE_EPOLL);
}

static sds eventBackendInfo(sds s) {
    return infoField(s, "multiplexing_api:%s", aeBackendOf(server_el) == AE_URING ? "io_uring" : "epoll");
}

void eventBackendRegister(void) {
    static const struct configEnum names[] = {
        {"auto", BACKEND_AUTO}, {"epoll", BACKEND_EPOLL}, {"io_uring", BACKEND_URING}, {NULL, 0}};
    static struct configDirective directives[] = {
        CONFIG_ENUM("event-backend", NULL, 0, &backend, BACKEND_AUTO, names, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    infoRegister("server", eventBackendInfo);
}
