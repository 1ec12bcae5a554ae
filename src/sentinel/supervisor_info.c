/* supervisor_info.c - see supervisor.h. */
#include "sentinel/supervisor_private.h"

#include "base/assert.h"

void infoReceived(struct supervisor *s, struct instance *i, struct str text) {
    serverPanic("not written yet");
}

bool primaryLooksSane(const struct supervisor *s, const struct instance *primary) {
    serverPanic("not written yet");
}
