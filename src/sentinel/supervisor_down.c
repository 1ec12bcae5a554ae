/* supervisor_down.c - see supervisor.h. */
#include "sentinel/supervisor_private.h"

#include "base/assert.h"

struct downAnswer supervisorAnswerDown(struct supervisor *s, const char *ip, int port, uint64_t epoch,
                                       const char *run_id, int64_t now_ms) {
    serverPanic("not written yet");
}

void downTick(struct supervisor *s, struct instance *i) {
    serverPanic("not written yet");
}

void downForAllTick(struct supervisor *s, struct instance *primary) {
    serverPanic("not written yet");
}

void downAsk(struct supervisor *s, struct instance *primary, bool force) {
    serverPanic("not written yet");
}

void downAnswered(struct supervisor *s, struct instance *sentinel, const struct respReply *reply) {
    serverPanic("not written yet");
}
