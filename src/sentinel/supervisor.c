/* supervisor.c - see supervisor.h. */
#include "sentinel/supervisor_private.h"

#include "base/assert.h"

void supervisorInit(struct supervisor *s, const struct supervisorWorld *world, void *w, int64_t now_ms) {
    serverPanic("not written yet");
}

void supervisorBegin(struct supervisor *s, int64_t now_ms) {
    serverPanic("not written yet");
}

void supervisorDestroy(struct supervisor *s) {
    serverPanic("not written yet");
}

void supervisorTick(struct supervisor *s, int64_t now_ms) {
    serverPanic("not written yet");
}

struct instance *supervisorFind(struct supervisor *s, const char *name) {
    serverPanic("not written yet");
}

struct instance *supervisorMonitor(struct supervisor *s, const char *name, const char *host, int port,
                                   int quorum, const char **err) {
    serverPanic("not written yet");
}

void supervisorRemove(struct supervisor *s, struct instance *primary) {
    serverPanic("not written yet");
}

void supervisorReset(struct supervisor *s, struct instance *primary, bool announce) {
    serverPanic("not written yet");
}

int supervisorResetMatching(struct supervisor *s, struct str pattern, int64_t now_ms) {
    serverPanic("not written yet");
}

struct quorumCheck supervisorCheckQuorum(const struct instance *primary) {
    serverPanic("not written yet");
}

const struct hostAddress *supervisorCurrentAddress(const struct instance *primary) {
    serverPanic("not written yet");
}

void supervisorSpreadDownAfter(struct instance *primary) {
    serverPanic("not written yet");
}

bool supervisorSave(struct supervisor *s) {
    serverPanic("not written yet");
}

void supervisorEvent(struct supervisor *s, enum eventLevel level, const char *name, const struct instance *i,
                     const char *tail, ...) {
    serverPanic("not written yet");
}

void supervisorLog(struct supervisor *s, int level, const char *fmt, ...) {
    serverPanic("not written yet");
}

void supervisorTakeEpoch(struct supervisor *s, uint64_t epoch) {
    serverPanic("not written yet");
}

void primarySwitchAddress(struct supervisor *s, struct instance *primary, const struct hostAddress *to) {
    serverPanic("not written yet");
}
