/* supervisor_vote.c - see supervisor.h. */
#include "sentinel/supervisor_private.h"

#include "base/assert.h"

void voteFor(struct supervisor *s, struct instance *primary, uint64_t epoch, const char *run_id,
             char leader[RUN_ID_LEN + 1], uint64_t *leader_epoch) {
    serverPanic("not written yet");
}

bool voteWinner(struct supervisor *s, struct instance *primary, uint64_t epoch, char winner[RUN_ID_LEN + 1]) {
    serverPanic("not written yet");
}
