/* role.h - is this server a primary, or somebody's replica? repl/ (or cluster/) says so, everybody may ask.
 *
 * A replica stays one while the link to its primary is down. */
#pragma once

#include <stdbool.h>

extern bool role_replica;
static inline bool roleIsReplica(void) {
    return role_replica;
}
/* For repl/ and cluster/. Those who have registered are told when it changes, in order. */
void roleSet(bool replica);
void roleOnChange(void (*fn)(bool replica));
