/* replication.c - the commands of replication; see replication.h.
 *
 * Whatever leaves a server that stands alone as it is succeeds: REPLICAOF NO ONE, the questions of REPLCONF,
 * WAIT (no replica will ever have what was written). What would need a second server is refused. WAITAOF
 * stands in persist/aof_wait.c. */
#include "repl/replication.h"

#include "base/num.h"
#include "command/command.h"
#include "commands/replication.h"
#include "command/blocking.h"
#include "client/reply.h"

#define PORT_MAX       65535
#define IP_ADDRESS_MAX 255 /* bytes of what a replica says of its address */

/* ---- REPLICAOF, FAILOVER ---- */

void replicaofCommand(struct client *c) {
    if (strIs(c->argv[1], "no") && strIs(c->argv[2], "one")) {
        replyOk(c);
        return;
    }
    int64_t port;
    if (!string2ll(c->argv[2], &port) || port < 0 || port > PORT_MAX)
        replyError(c, "ERR Invalid master port");
    else
        replyError(c, "ERR Replication is not supported yet: this server cannot follow another");
}

/* What follows a word of FAILOVER: -1 when it is not all there. */
static int failoverOperands(struct str word) {
    if (strIs(word, "to")) return 2;
    return strIs(word, "timeout") ? 1 : 0;
}

static bool failoverNumber(struct client *c, struct str word, struct str value) {
    int64_t v;
    bool timeout = strIs(word, "timeout");
    if (!argRange(c, value, INT32_MIN, INT32_MAX, &v, NULL)) return false;
    if (timeout && v <= 0) replyError(c, "ERR FAILOVER timeout must be greater than 0");
    return !timeout || v > 0;
}

void failoverCommand(struct client *c) {
    enum { TO, ABORT, TIMEOUT, FORCE, WORDS };
    static const char *const words[WORDS] = {"to", "abort", "timeout", "force"};
    unsigned seen = 0;
    for (int i = 1; i < c->argc; i++) {
        int k = 0, operands = failoverOperands(c->argv[i]);
        while (k < WORDS && !strIs(c->argv[i], words[k])) k++;
        if (k == WORDS || seen & 1u << k || i + operands >= c->argc) {
            replySyntaxError(c);
            return;
        }
        seen |= 1u << k;
        if (operands && !failoverNumber(c, c->argv[i], c->argv[i + operands])) return;
        i += operands;
    }
    if (!(seen & 1u << ABORT))
        replyError(c, "ERR FAILOVER requires connected replicas.");
    else if (c->argc == 2)
        replyError(c, "ERR No failover in progress.");
    else
        replySyntaxError(c);
}

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

/* ---- WAIT ---- */

static void replyNoReplicas(struct client *c) {
    replyLongLong(c, 0);
}

void waitCommand(struct client *c) {
    int64_t replicas, deadline_ms;
    if (!argLongLong(c, c->argv[1], &replicas, NULL)) return;
    if (!argTimeout(c, c->argv[2], true, &deadline_ms)) return;
    if (replicas <= 0 || c->flags & CLIENT_DENY_BLOCKING)
        replyNoReplicas(c);
    else
        blockForKeys(c, NULL, 0, 0, deadline_ms, replyNoReplicas, false);
}

void replicationInit(void) {
    commandRegister(commandsReplication);
}
