/* SPDX-License-Identifier: BSD-3-Clause */
/* readiness.c - see readiness.h. Each row is a field of INFO and its required value; a missing field
 * is no reason. */
#include "web/readiness.h"

#include "registry/info.h"
#include "web/info_view.h"

static const struct {
    const char *field, *good, *reason;
} rows[] = {
    {"loading", "0", "loading: the dataset is being read from a file"},
    {"master_link_status", "up", "replication: the link to the primary is down"},
    {"cluster_state", "ok", "cluster: this node does not serve, as some slots have no owner that is well"},
    {"aof_last_write_status", "ok", "aof: the last write to the append-only file has failed"},
    {"rdb_last_bgsave_status", "ok", "rdb: the last snapshot has failed"},
};

sds readinessListReasons(void) {
    struct infoView info;
    sds reasons = sdsempty();
    static const struct str sections[] = {{"persistence", 11}, {"replication", 11}, {"cluster_info", 12}};
    infoViewOpen(&info, infoText(sections, sizeof sections / sizeof *sections));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct str value = infoViewGet(&info, rows[i].field);
        if (!value.ptr || strIs(value, rows[i].good)) continue;
        reasons = sdscat(sdscat(reasons, rows[i].reason), "\n");
    }
    infoViewClose(&info);
    return reasons;
}
