/* replicas.c - see replicas.h. */
#include "repl/replicas.h"

#include "base/num.h"
#include "client/client_output.h"
#include "client/reply.h"
#include "command/command.h"
#include "commands/replication.h"
#include "registry/config.h"
#include "registry/info.h"
#include "repl/full_sync.h"
#include "repl/history.h"
#include "repl/replication.h"

#define SET            CONFIG_MODIFIABLE
#define IP_ADDRESS_MAX 255 /* bytes of what a replica says of its address */

struct list replicas;
static int64_t backlog_ttl_s, ping_period_s;
static int64_t min_replicas, max_lag_s;

/* ---- What a replica says ---- */

static bool quoteBack(struct client *c, const char *what, struct str word) {
    sds s = sdscatstr(sdscat(sdsnew("ERR "), what), word);
    replyErrorStr(c, sdsview(s));
    sdsfree(s);
    return false;
}

/* major.minor.patch */
static bool isVersion(struct str v) {
    int dots = 0, digits = 0;
    for (size_t i = 0; i < v.len; i++) {
        if (v.ptr[i] == '.' && digits) {
            dots++;
            digits = 0;
        } else if (v.ptr[i] >= '0' && v.ptr[i] <= '9') {
            digits++;
        } else {
            return false;
        }
    }
    return dots == 2 && digits;
}

static bool replconfOption(struct client *c, struct str name, struct str value) {
    int64_t v;
    if (strIs(name, "listening-port")) return argRange(c, value, INT32_MIN, INT32_MAX, &v, NULL);
    if (strIs(name, "capa")) return true;
    if (strIs(name, "rdb-only") || strIs(name, "rdb-channel")) return argRange(c, value, 0, 1, &v, NULL);
    if (strIs(name, "ip-address")) {
        if (value.len <= IP_ADDRESS_MAX) return true;
        replyErrorFmt(c, "ERR REPLCONF ip-address provided by replica instance is too long: %zu bytes",
                      value.len);
        return false;
    }
    if (strIs(name, "rdb-filter-only")) {
        return !value.len || strIs(value, "functions") ||
               quoteBack(c, "Unsupported rdb-filter-only option: ", value);
    }
    if (strIs(name, "version"))
        return isVersion(value) || quoteBack(c, "Unrecognized version format: ", value);
    if (strIs(name, "set-rdb-client-id")) return quoteBack(c, "Unrecognized RDB client id ", value);
    if (strIs(name, "set-cluster-node-id")) {
        replyError(c, "ERR This instance has cluster support disabled");
        return false;
    }
    return quoteBack(c, "Unrecognized REPLCONF option: ", name);
}

/* Nobody waits for an answer to an acknowledgement. */
static bool hasNoAnswer(struct str name) {
    return strIs(name, "ack") || strIs(name, "getack");
}

void replconfCommand(struct client *c) {
    if (c->argc % 2 == 0) {
        replySyntaxError(c);
        return;
    }
    for (int i = 1; i < c->argc; i += 2) {
        if (hasNoAnswer(c->argv[i]) || !replconfOption(c, c->argv[i], c->argv[i + 1])) return;
    }
    replyOk(c);
}

void syncCommand(struct client *c) {
    replyError(c, "ERR Replication is not supported yet: this server sends no copy of its data");
}

void psyncCommand(struct client *c) {
    int64_t offset;
    if (argLongLong(c, c->argv[2], &offset, NULL)) syncCommand(c);
}

/* ---- Registration ---- */

static sds replicasInfo(sds s) {
    s = infoField(s, "connected_slaves:%zu", replicas.length);
    return infoField(s, "replicas_waiting_psync:0");
}

void replicasInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("min-replicas-max-lag", "min-slaves-max-lag", SET, &max_lag_s, 10, 0, INT32_MAX, NULL),
        CONFIG_INT("min-replicas-to-write", "min-slaves-to-write", SET, &min_replicas, 0, 0, INT32_MAX, NULL),
        CONFIG_INT("repl-backlog-ttl", NULL, SET, &backlog_ttl_s, 3600, 0, INT64_MAX, NULL),
        CONFIG_INT("repl-ping-replica-period", "repl-ping-slave-period", SET, &ping_period_s, 10, 1,
                   INT32_MAX, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    listInit(&replicas);
    infoRegister("replication", replicasInfo);
}
