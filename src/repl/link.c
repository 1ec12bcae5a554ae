/* link.c - see link.h. */
#include "repl/link.h"

#include "base/num.h"
#include "client/reply.h"
#include "commands/replication.h"
#include "commands/server.h"
#include "data/role.h"
#include "registry/config.h"
#include "registry/info.h"
#include "repl/history.h"
#include "repl/receive.h"
#include "repl/replicas.h"
#include "repl/replication.h"

#define SET      CONFIG_MODIFIABLE
#define PORT_MAX 65535

struct primaryLink primary_link;
static sds auth_user, auth_password, announce_ip, source_address;
static int64_t announce_port, priority;
static bool announced, use_tls, use_mptcp;

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

void roleCommand(struct client *c) {
    replicasReplyRole(c);
}

/* ---- replicaof host port ---- */

static sds primary; /* "host port", NULL: none */

static bool setPrimary(const struct configDirective *d, int argc, const struct str *argv, const char **err) {
    (void)d;
    int64_t port;
    bool empty = argc == 1 && argv[0].len == 0; /* as a rewrite writes that there is none */
    if (argc != 2 && !empty) {
        *err = "wrong number of arguments";
        return false;
    }
    bool none = empty || (strIs(argv[0], "no") && strIs(argv[1], "one"));
    if (!none && (!string2ll(argv[1], &port) || port < 0 || port > 65535)) {
        *err = "Invalid primary port";
        return false;
    }
    sdsfree(primary);
    primary = none ? NULL : sdscatstr(sdscat(sdsnewstr(argv[0]), " "), argv[1]);
    return true;
}

static sds getPrimary(const struct configDirective *d) {
    (void)d;
    return primary ? sdsdup(primary) : sdsempty();
}

/* ---- Registration ---- */

static sds linkInfo(sds s) {
    return infoField(s, "role:%s", roleIsReplica() ? "slave" : "master");
}

void linkInit(void) {
    static struct configDirective directives[] = {
        CONFIG_SPECIAL("replicaof", "slaveof", CONFIG_MULTI_ARG, setPrimary, getPrimary, NULL),
        CONFIG_STRING("primaryauth", "masterauth", SET | CONFIG_SENSITIVE | CONFIG_EMPTY_IS_NULL,
                      &auth_password, NULL, NULL, NULL),
        CONFIG_STRING("primaryuser", "masteruser", SET | CONFIG_SENSITIVE | CONFIG_EMPTY_IS_NULL, &auth_user,
                      NULL, NULL, NULL),
        CONFIG_STRING("bind-source-addr", NULL, SET | CONFIG_EMPTY_IS_NULL, &source_address, NULL, NULL,
                      NULL),
        CONFIG_BOOL("repl-mptcp", NULL, 0, &use_mptcp, false, NULL),
        CONFIG_STRING("replica-announce-ip", "slave-announce-ip", SET | CONFIG_EMPTY_IS_NULL, &announce_ip,
                      NULL, NULL, NULL),
        CONFIG_INT("replica-announce-port", "slave-announce-port", SET, &announce_port, 0, 0, PORT_MAX, NULL),
        CONFIG_BOOL("replica-announced", NULL, SET, &announced, true, NULL),
        CONFIG_INT("replica-priority", "slave-priority", SET, &priority, 100, 0, INT32_MAX, NULL),
        CONFIG_BOOL("tls-replication", NULL, SET, &use_tls, false, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    infoRegister("replication", linkInfo);
}

void linkStart(void) {}
