/* event_backend.c - see event_backend.h.
 *
 * auto: io_uring, where the kernel allows it and is not slower with it. That is measured, as it depends on
 * the kernel, its mitigations and the hypervisor under it: a few turns of a server with many clients that ask
 * for little, over socket pairs, with each backend in turn.
 *
 *     peers write a request each | turn: read them all | send as many replies | peers read them
 *
 * What counts is the CPU time of this thread in the turns alone, the least of several rounds: whatever else
 * the machine does only adds to it. */
#include "server/event_backend.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "net/ae.h"
#include "net/connection.h"
#include "registry/config.h"
#include "registry/info.h"

enum { BACKEND_AUTO, BACKEND_EPOLL, BACKEND_URING };

#define TRIAL_CLIENTS 32
#define TRIAL_ROUNDS  12   /* of each backend */
#define TRIAL_TURNS   4    /* of a round */
#define TRIAL_FDS     1024 /* below which the trial's sockets are */
#define TRIAL_BYTES   36   /* of a request, and of a reply */

static int backend;

/* ---- The trial ---- */

struct trial {
    struct aeEventLoop *el;
    struct connection *conns[TRIAL_CLIENTS];
    int peers[TRIAL_CLIENTS];
    struct connWrite writes[TRIAL_CLIENTS];
    int asked;
};

static void trialRead(struct connection *conn) {
    static char reply[TRIAL_BYTES];
    static const struct iovec iov = {reply, sizeof reply};
    struct trial *t = conn->data;
    char request[4 * TRIAL_BYTES];
    if (connRead(conn, request, sizeof request) > 0)
        t->writes[t->asked++] = (struct connWrite){conn, &iov, 1, 0, 0};
}

static void trialEnd(struct trial *t) {
    for (int i = 0; i < TRIAL_CLIENTS; i++) {
        if (!t->conns[i]) continue;
        connClose(t->conns[i]);
        close(t->peers[i]);
    }
    if (t->el) aeDelete(t->el);
}

static bool trialStart(struct trial *t, enum aeBackend with) {
    *t = (struct trial){0};
    aeSetBackend(with);
    t->el = aeCreate(TRIAL_FDS);
    if (!t->el || aeBackendOf(t->el) != with) return false;
    for (int i = 0; i < TRIAL_CLIENTS; i++) {
        int fds[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) < 0) return false;
        t->peers[i] = fds[1];
        t->conns[i] = connCreateUnix(t->el, fds[0]);
        t->conns[i]->data = t;
        connSetReadHandler(t->conns[i], trialRead);
    }
    return true;
}

static int64_t threadCpuNs(void) {
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* CPU time in ns of the turns in which all are served; -1: somebody was not. */
static int64_t trialRound(struct trial *t) {
    char bytes[TRIAL_BYTES] = {0};
    int64_t cpu_ns = 0;
    for (int turn = 0; turn < TRIAL_TURNS; turn++) {
        for (int i = 0; i < TRIAL_CLIENTS; i++)
            if (write(t->peers[i], bytes, sizeof bytes) != sizeof bytes) return -1;
        int64_t start_ns = threadCpuNs();
        t->asked = 0;
        for (int tries = 0; t->asked < TRIAL_CLIENTS && tries < TRIAL_CLIENTS; tries++)
            aeProcessEvents(t->el, AE_FILE_EVENTS | AE_DONT_WAIT);
        connWriteMany(t->writes, t->asked);
        cpu_ns += threadCpuNs() - start_ns;
        for (int i = 0; i < TRIAL_CLIENTS; i++)
            if (read(t->peers[i], bytes, sizeof bytes) != sizeof bytes) return -1;
    }
    return cpu_ns;
}

/* False: io_uring is not to be had. Else the CPU time of a request with each backend. */
static bool measure(double us[2]) {
    struct trial trials[2];
    int64_t least_ns[2] = {INT64_MAX, INT64_MAX};
    bool ok = trialStart(&trials[AE_URING], AE_URING);
    int problem = errno;
    ok &= trialStart(&trials[AE_EPOLL], AE_EPOLL);
    for (int round = 0; ok && round < TRIAL_ROUNDS * 2; round++) {
        int64_t ns = trialRound(&trials[round % 2]);
        ok = ns >= 0;
        if (ns < least_ns[round % 2]) least_ns[round % 2] = ns;
    }
    for (int i = 0; i < 2; i++) {
        trialEnd(&trials[i]);
        us[i] = (double)least_ns[i] / 1000 / (TRIAL_TURNS * TRIAL_CLIENTS);
    }
    errno = problem;
    return ok;
}

/* ---- The choice ---- */

static bool chooseByMeasure(void) {
    double us[2];
    int64_t start_ns = threadCpuNs();
    if (!measure(us)) {
        serverLog(LL_VERBOSE, "io_uring is not to be had here (%s): the event loop works with epoll",
                  strerror(errno));
        return false;
    }
    bool better = us[AE_URING] <= us[AE_EPOLL];
    serverLog(LL_VERBOSE,
              "A request costs %.2f us with io_uring and %.2f us with epoll (measured in %.1f ms): the event "
              "loop works with %s",
              us[AE_URING], us[AE_EPOLL], (double)(threadCpuNs() - start_ns) / 1e6,
              better ? "io_uring" : "epoll");
    return better;
}

static bool available(void) {
    aeSetBackend(AE_URING);
    struct aeEventLoop *el = aeCreate(1);
    int problem = errno;
    bool uring = el && aeBackendOf(el) == AE_URING;
    if (el) aeDelete(el);
    errno = problem;
    return uring;
}

void eventBackendChoose(void) {
    bool uring = backend == BACKEND_AUTO ? chooseByMeasure() : backend == BACKEND_URING;
    if (backend == BACKEND_URING && !available()) {
        serverLog(LL_WARNING,
                  "WARNING: event-backend is io_uring, which is not to be had here (%s): epoll it is.",
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
