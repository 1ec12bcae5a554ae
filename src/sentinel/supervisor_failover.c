/* supervisor_failover.c - see supervisor.h. */
#include "sentinel/supervisor_private.h"

#include "base/assert.h"

enum manualFailover supervisorFailover(struct supervisor *s, struct instance *primary, bool coordinated,
                                       int64_t now_ms) {
    serverPanic("not written yet");
}

bool failoverStartIfNeeded(struct supervisor *s, struct instance *primary) {
    serverPanic("not written yet");
}

void failoverStart(struct supervisor *s, struct instance *primary) {
    serverPanic("not written yet");
}

void failoverTick(struct supervisor *s, struct instance *primary) {
    serverPanic("not written yet");
}

void failoverAbort(struct supervisor *s, struct instance *primary) {
    serverPanic("not written yet");
}

void failoverPromoted(struct supervisor *s, struct instance *replica) {
    serverPanic("not written yet");
}

struct instance *failoverSelectReplica(struct supervisor *s, struct instance *primary) {
    serverPanic("not written yet");
}

bool sendReplicaOf(struct supervisor *s, struct instance *i, const struct hostAddress *to) {
    serverPanic("not written yet");
}

void callReconfigScript(struct supervisor *s, struct instance *primary, const char *role,
                        const struct hostAddress *from, const struct hostAddress *to) {
    serverPanic("not written yet");
}
