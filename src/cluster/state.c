/* state.c - see state.h. */
#include "cluster/state.h"

#include "base/clock.h"

struct engine cluster_engine;
struct clusterSettings cluster_settings;

int64_t clusterNow(void) {
    return mstime();
}
