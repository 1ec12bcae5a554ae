/* supervisor_hello.c - see supervisor.h. */
#include "sentinel/supervisor_private.h"

#include "base/assert.h"

void supervisorHello(struct supervisor *s, struct str hello, int64_t now_ms) {
    serverPanic("not written yet");
}

bool helloSend(struct supervisor *s, struct instance *i) {
    serverPanic("not written yet");
}

void helloForceUpdate(struct supervisor *s, struct instance *primary) {
    serverPanic("not written yet");
}
