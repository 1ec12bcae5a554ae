/* role.h - is this server a primary, or somebody's replica? repl/ (or cluster/) says so, everybody may ask.
 *
 * A replica stays one while the link to its primary is down. */
#pragma once

#include <stdbool.h>

extern bool role_replica;
static inline bool roleIsReplica(void) {
    return role_replica;
}
/* Is the data of a replica out of date, and not to be shown (replica-serve-stale-data no)? repl/ knows. */
extern bool (*role_data_stale)(void);
static inline bool roleDataIsStale(void) {
    return role_replica && role_data_stale && role_data_stale();
}
extern const char err_masterdown[]; /* what is answered then */
/* For repl/ and cluster/. Those who have registered are told when it changes, in order. */
void roleSet(bool replica);
void roleOnChange(void (*fn)(bool replica));
