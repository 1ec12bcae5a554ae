/* SPDX-License-Identifier: BSD-3-Clause */
/* admission.c - see admission.h. */
#include "command/admission.h"

#include "base/assert.h"
#include "base/log.h"
#include "base/sds.h"
#include "client/client_session.h"
#include "client/reply.h"
#include "command/command.h"
#include "commands/cmd_transactions.h"
#include "registry/cron.h"

#define HTTP_WARNING_MS  60000 /* an attack is logged at most this often */
#define UNKNOWN_ARGS_MAX 128   /* bytes of arguments quoted in the error about an unknown command */

/* clang-format off */
/* Y: the rule applies to requests of this origin. full: it only concerns requests that requestNeedsFullCheck
 * finds. Scripts have their own row for memory, since that was decided when they started, and check replicas
 * before files. Rules for modules' calls depend on the call (module/module_call.c), row by row
 * (admissionApplyRule). */
#define Y true
#define n false
static const struct rule {
    enum admissionRule id;
    bool applies[ORIGINS], full_check_only;
    const char *error;
} table[RULES] = {
    /*                   client exec script unblocked aof primary module debug   full; resumed: never */
    {RULE_FILTER,         { Y,   n,   Y,      n,       n,    Y,     n,     n },   n, "none: a module may change it (its own calls: before it makes them)"},
    {RULE_HTTP,           { Y,   n,   n,      n,       n,    n,     n,     n },   Y, "none: the connection ends"},
    {RULE_AUTH,           { Y,   n,   n,      n,       n,    n,     n,     n },   n, "NOAUTH Authentication required."},
    {RULE_UNKNOWN,        { Y,   n,   Y,      n,       Y,    Y,     n,     n },   Y, "ERR unknown command ..."},
    {RULE_ARITY,          { Y,   n,   Y,      n,       Y,    Y,     n,     n },   Y, "ERR wrong number of arguments ..."},
    {RULE_PROTECTED,      { Y,   n,   n,      n,       n,    n,     n,     n },   Y, "ERR DEBUG command not allowed ..."},
    {RULE_NO_MULTI,       { Y,   n,   n,      n,       n,    n,     n,     n },   Y, "ERR Command ... not allowed inside a transaction"},
    {RULE_NOSCRIPT,       { n,   n,   Y,      n,       n,    n,     n,     n },   Y, "ERR This Valkey command is not allowed from script"},
    {RULE_SCRIPT_OOM,     { n,   n,   Y,      n,       n,    n,     n,     n },   n, "OOM command not allowed ..."},
    {RULE_ACL,            { Y,   Y,   Y,      Y,       n,    n,     n,     n },   n, "NOPERM ..."},
    {RULE_CLUSTER,        { Y,   n,   Y,      Y,       n,    n,     n,     n },   n, "MOVED, ASK, CROSSSLOT, TRYAGAIN, CLUSTERDOWN"},
    {RULE_SCRIPT_READS,   { n,   n,   Y,      n,       n,    n,     n,     n },   n, "ERR Write commands are not allowed from read-only scripts."},
    {RULE_REDIRECT,       { Y,   n,   n,      Y,       n,    n,     n,     n },   n, "REDIRECT"},
    {RULE_EVICTED,        { Y,   n,   n,      n,       n,    n,     n,     n },   n, "none: the connection ends"},
    {RULE_OOM,            { Y,   n,   n,      Y,       n,    Y,     n,     n },   n, "OOM command not allowed ..."},
    {RULE_SCRIPT_REPLICAS,{ n,   n,   Y,      n,       n,    n,     n,     n },   n, "NOREPLICAS"},
    {RULE_SNAPSHOT_FAILS, { Y,   n,   Y,      Y,       n,    Y,     n,     n },   n, "MISCONF Valkey is configured to save RDB snapshots ..."},
    {RULE_AOF_FAILS,      { Y,   n,   Y,      Y,       n,    Y,     n,     n },   n, "MISCONF Errors writing to the AOF file ..."},
    {RULE_MIN_REPLICAS,   { Y,   n,   n,      Y,       n,    n,     n,     n },   n, "NOREPLICAS"},
    {RULE_READONLY,       { Y,   n,   Y,      Y,       n,    n,     n,     n },   n, "READONLY"},
    {RULE_PUBSUB,         { Y,   n,   n,      n,       n,    n,     n,     n },   n, "ERR Can't execute ...: only (P|S)SUBSCRIBE ..."},
    {RULE_STALE,          { Y,   n,   Y,      Y,       n,    n,     n,     n },   n, "MASTERDOWN"},
    {RULE_LOADING,        { Y,   Y,   Y,      n,       n,    n,     n,     n },   n, "LOADING"},
    {RULE_BUSY,           { Y,   n,   n,      n,       n,    n,     n,     n },   n, "BUSY"},
    {RULE_MONITOR,        { Y,   n,   n,      n,       n,    n,     n,     n },   n, "ERR Replica can't interact with the keyspace"},
    {RULE_PAUSED,         { Y,   n,   n,      n,       n,    n,     n,     n },   n, "none: it waits until the pause ends"},
    {RULE_THROTTLED,      { Y,   n,   n,      n,       n,    n,     n,     n },   n, "none: it waits for its turn"},
    {RULE_HELD,           { Y,   n,   n,      n,       n,    n,     n,     n },   n, "none: it waits until earlier replies have left"},
    {RULE_QUEUED,         { Y,   n,   n,      n,       n,    Y,     n,     n },   Y, "none: it waits for EXEC"},
};
#undef Y
#undef n
/* clang-format on */

const char admission_exec_refused[] = "EXECABORT Transaction discarded because of: ";

bool (*admission_replay_writes)(const struct request *r);

int admission_errno;

static admissionCheck *checks[RULES];
static bool idle_rules[RULES];
admissionCheck *admission_usual[ORIGINS][RULES + 1];
static admissionCheck *all[ORIGINS][RULES + 1];

/* ---- The lists ---- */

static void admissionListRules(enum requestOrigin origin) {
    int usual_count = 0, count = 0;
    for (int i = 0; i < RULES; i++) {
        if (!table[i].applies[origin] || !checks[i] || idle_rules[i]) continue;
        all[origin][count++] = checks[i];
        if (!table[i].full_check_only) admission_usual[origin][usual_count++] = checks[i];
    }
    admission_usual[origin][usual_count] = all[origin][count] = NULL;
}

static admissionReadCheck *read_checks[RULES], *active_read_checks[RULES + 1];
bool admission_reads_possible;

bool admissionNoRead(const struct client *c, const struct request *r) {
    (void)c, (void)r;
    return true;
}

static void admissionListReadChecks(void) {
    int count = 0;
    admission_reads_possible = true;
    for (int i = 0; i < RULES; i++) {
        if (!table[i].applies[ORIGIN_CLIENT] || table[i].full_check_only || !checks[i] || idle_rules[i])
            continue;
        if (!read_checks[i])
            admission_reads_possible = false;
        else if (read_checks[i] != admissionNoRead)
            active_read_checks[count++] = read_checks[i];
    }
    active_read_checks[count] = NULL;
}

bool admissionAdmitsRead(const struct client *c, const struct request *r) {
    for (admissionReadCheck **check = active_read_checks; *check; check++)
        if (!(*check)(c, r)) return false;
    return true;
}

static void admissionListAll(void) {
    admissionListReadChecks();
    for (int origin = 0; origin < ORIGINS; origin++) admissionListRules((enum requestOrigin)origin);
}

void admissionFill(enum admissionRule rule, admissionCheck *fn) {
    serverAssert(table[rule].id == rule && !checks[rule]);
    checks[rule] = fn;
    admissionListAll();
}

void admissionFillRead(enum admissionRule rule, admissionReadCheck *fn) {
    serverAssert(!read_checks[rule]);
    read_checks[rule] = fn;
    admissionListAll();
}

void admissionIdle(enum admissionRule rule, bool idle) {
    serverAssert(checks[rule]);
    if (idle_rules[rule] == idle) return;
    idle_rules[rule] = idle;
    admissionListAll();
}

static enum admission admissionRunList(struct client *c, struct request *r, enum requestOrigin origin) {
    for (admissionCheck **check = all[origin]; *check; check++) {
        enum admission verdict = (*check)(c, r, origin);
        if (verdict != ADMITTED) return verdict;
    }
    return ADMITTED;
}

enum admission admissionApplyAll(struct client *c, struct request *r, enum requestOrigin origin) {
    bool of_client = origin == ORIGIN_CLIENT; /* a script has no transaction that would end */
    if (!of_client || !r->cmd || r->cmd->spec->proc != execCommand) return admissionRunList(c, r, origin);
    reply_error_prefix = admission_exec_refused;
    enum admission verdict = admissionRunList(c, r, origin);
    reply_error_prefix = NULL;
    return verdict;
}

enum admission admissionApplyRule(enum admissionRule rule, struct client *c, struct request *r,
                                  enum requestOrigin origin) {
    return checks[rule] && !idle_rules[rule] ? checks[rule](c, r, origin) : ADMITTED;
}

/* For assertions: returns whether the rules that admissionApply skips would have admitted the request. */
bool admissionSkippedRulesAdmit(struct client *c, struct request *r, enum requestOrigin origin) {
    for (int i = 0; i < RULES; i++) {
        if (!table[i].full_check_only || !table[i].applies[origin] || !checks[i]) continue;
        if (checks[i](c, r, origin) != ADMITTED) return false;
    }
    return true;
}

/* ---- Rows about the request alone ---- */

/* Closes the connection on HTTP headers: a browser can be tricked into posting a page with commands here, and
 * the headers come first. */
static enum admission admissionCheckHttp(struct client *c, struct request *r, enum requestOrigin origin) {
    (void)origin;
    static int64_t told_ms;
    if (r->cmd || !c->conn || (!strIs(r->argv[0], "post") && !strIs(r->argv[0], "host:"))) return ADMITTED;
    if (cmd_time_ms - told_ms >= HTTP_WARNING_MS) {
        serverLog(
            LL_WARNING,
            "A client sends an HTTP request (POST or Host:). Web pages of attackers make browsers do that, "
            "to give commands to servers inside a network. The connection from %s is closed.",
            clientPeerName(c));
        told_ms = cmd_time_ms;
    }
    clientClose(c);
    return DEFERRED;
}

/* Length of an argument in an error: up to its first NUL. */
static size_t admissionQuotedLen(struct str arg, size_t max) {
    return strnlen(arg.ptr, arg.len < max ? arg.len : max);
}

static void admissionReplyUnknownSubcommand(struct client *c, const struct serverCommand *container) {
    sds name = sdsnew(container->called);
    sdstoupper(name);
    int len = (int)admissionQuotedLen(c->argv[1], UNKNOWN_ARGS_MAX);
    replyErrorFmt(c, "ERR unknown subcommand '%.*s'. Try %s HELP.", len, c->argv[1].ptr, name);
    sdsfree(name);
}

static void admissionReplyUnknown(struct client *c) {
    const struct serverCommand *container = commandLookup(c->argv, 1);
    if (container) {
        admissionReplyUnknownSubcommand(c, container);
        return;
    }
    sds args = sdsempty();
    for (int i = 1; i < c->argc && sdslen(args) < UNKNOWN_ARGS_MAX; i++) {
        size_t len = admissionQuotedLen(c->argv[i], UNKNOWN_ARGS_MAX - sdslen(args));
        args = sdscatlen(args, "'", 1);
        args = sdscatlen(args, c->argv[i].ptr, len);
        args = sdscatlen(args, "' ", 2);
    }
    sds name = sdsnewlen(c->argv[0].ptr, admissionQuotedLen(c->argv[0], UNKNOWN_ARGS_MAX));
    sds msg = sdsnew("ERR unknown command '");
    msg = sdscatstr(msg, sdsview(name));
    msg = sdscat(msg, "', with args beginning with: ");
    msg = sdscatstr(msg, sdsview(args));
    replyErrorStr(c, sdsview(msg));
    sdsfree(msg);
    sdsfree(name);
    sdsfree(args);
}

/* Scripts get a shorter text, except about subcommands. A module may have added the command since. */
static enum admission admissionCheckUnknown(struct client *c, struct request *r, enum requestOrigin origin) {
    if (!r->cmd) c->cmd = r->cmd = commandLookup(r->argv, r->argc);
    if (r->cmd) return ADMITTED;
    if (origin == ORIGIN_SCRIPT && !commandLookup(r->argv, 1))
        replyError(c, "ERR Unknown command called from script");
    else
        admissionReplyUnknown(c);
    return REFUSED;
}

static enum admission admissionCheckArity(struct client *c, struct request *r, enum requestOrigin origin) {
    if (commandArityOk(r->cmd, r->argc)) return ADMITTED;
    if (origin == ORIGIN_SCRIPT)
        replyError(c, "ERR Wrong number of args calling command from script");
    else
        replyErrorFmt(c, "ERR wrong number of arguments for '%s' command", r->cmd->fullname);
    return REFUSED;
}

void admissionInit(void) {
    for (int i = 0; i < RULES; i++) serverAssert((int)table[i].id == i);
    admissionFill(RULE_HTTP, admissionCheckHttp);
    admissionFill(RULE_UNKNOWN, admissionCheckUnknown);
    admissionFill(RULE_ARITY, admissionCheckArity);
}
