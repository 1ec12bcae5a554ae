/* supervisor_config.c - see supervisor.h. */
#include "sentinel/supervisor_private.h"

#include "base/assert.h"

enum configPass supervisorConfigPass(struct str word) {
    serverPanic("not written yet");
}

const char *supervisorConfigLine(struct supervisor *s, int argc, const struct str *argv) {
    serverPanic("not written yet");
}

sds supervisorConfigLines(const struct supervisor *s, bool (*present)(void *priv, struct str word),
                          void *priv) {
    serverPanic("not written yet");
}
