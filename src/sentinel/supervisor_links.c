/* supervisor_links.c - see supervisor.h. */
#include "sentinel/supervisor_private.h"

#include "base/assert.h"

void supervisorChannelUp(struct supervisor *s, struct peerLink *link, enum channel ch, int64_t now_ms) {
    serverPanic("not written yet");
}

void supervisorChannelDown(struct supervisor *s, struct peerLink *link, enum channel ch, const char *why,
                           int64_t now_ms) {
    serverPanic("not written yet");
}

void supervisorReply(struct supervisor *s, struct peerLink *link, const struct respReply *reply,
                     int64_t now_ms) {
    serverPanic("not written yet");
}

void supervisorMessage(struct supervisor *s, struct peerLink *link, const struct respReply *message,
                       int64_t now_ms) {
    serverPanic("not written yet");
}

void supervisorDropLinks(struct supervisor *s, struct instance *primary) {
    serverPanic("not written yet");
}

void supervisorDropSentinelLinks(struct supervisor *s) {
    serverPanic("not written yet");
}

struct str supervisorCommandName(const struct instance *primary, const char *command) {
    serverPanic("not written yet");
}

void linkTick(struct supervisor *s, struct instance *i) {
    serverPanic("not written yet");
}

void periodicTick(struct supervisor *s, struct instance *i) {
    serverPanic("not written yet");
}

struct peerLink *linkCreate(struct supervisor *s, struct instance *owner) {
    serverPanic("not written yet");
}

void linkAddOwner(struct peerLink *link, struct instance *owner) {
    serverPanic("not written yet");
}

void linkRelease(struct supervisor *s, struct peerLink *link, struct instance *owner) {
    serverPanic("not written yet");
}

void linkClose(struct supervisor *s, struct peerLink *link, enum channel ch) {
    serverPanic("not written yet");
}

void instanceSend(struct supervisor *s, struct instance *i, enum asked what, int argc,
                  const struct str *argv) {
    serverPanic("not written yet");
}

bool instanceMaySend(const struct instance *i) {
    serverPanic("not written yet");
}
