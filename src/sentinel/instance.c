/* instance.c - see instance.h. */
#include "sentinel/supervisor_private.h"

#include "base/assert.h"

const char *failoverStateText(enum failoverState state) {
    serverPanic("not written yet");
}

struct instance *instanceCreate(struct supervisor *s, enum instanceKind kind, const char *name,
                                const struct hostAddress *address, struct instance *primary) {
    serverPanic("not written yet");
}

void instanceRemove(struct supervisor *s, struct instance *i) {
    serverPanic("not written yet");
}

struct instance *instancesFindName(const struct instances *all, const char *name) {
    serverPanic("not written yet");
}

struct instance *instancesFindAddress(const struct instances *all, const struct hostAddress *address) {
    serverPanic("not written yet");
}

struct instance *instancesFindSentinel(const struct instances *all, const struct hostAddress *address,
                                       const char *run_id) {
    serverPanic("not written yet");
}

bool instanceDisconnected(const struct instance *i) {
    serverPanic("not written yet");
}

sds instanceFlagsText(const struct instance *i) {
    serverPanic("not written yet");
}

bool hostAddressInit(struct supervisor *s, struct hostAddress *a, const char *host, int port,
                     bool accept_unresolved) {
    serverPanic("not written yet");
}

void hostAddressCopy(struct hostAddress *to, const struct hostAddress *from) {
    serverPanic("not written yet");
}

void hostAddressFree(struct hostAddress *a) {
    serverPanic("not written yet");
}

bool hostAddressSame(const struct hostAddress *a, const struct hostAddress *b) {
    serverPanic("not written yet");
}

const char *hostAddressText(const struct supervisor *s, const struct hostAddress *a) {
    serverPanic("not written yet");
}
