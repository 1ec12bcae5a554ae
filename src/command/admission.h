/* SPDX-License-Identifier: BSD-3-Clause */
/* admission.h - decides whether a request may run: one ordered table of rules, with a column for each origin.
 *
 * The table stands at the top of admission.c. The order of its rows is the order in which errors take
 * precedence (Valkey 9.1's, tests/unit/admission.tcl). A mark in a column says that the rule applies to
 * requests of this origin, and each row names its error. A module fills its own row with a function; the
 * order in which modules start does not matter. A row costs nothing while it is empty or its module has
 * declared it idle, which is the usual state. Rows that only concern requests with something unusual about
 * them (requestNeedsFullCheck) cost nothing for all other requests.
 *
 * Invariant: a request that runs has passed every row of its origin that is filled, or could not have been
 * refused by it: rows that only concern unusual requests admit all others. */
#pragma once

#include <stdbool.h>

#include "base/assert.h"
#include "command/command.h"
#include "command/request.h"
#include "commands/cmd_spec.h"

enum admissionRule { /* in the order of the table */
                     RULE_FILTER,
                     RULE_HTTP,
                     RULE_AUTH,
                     RULE_UNKNOWN,
                     RULE_ARITY,
                     RULE_PROTECTED,
                     RULE_NO_MULTI,
                     RULE_NOSCRIPT,
                     RULE_SCRIPT_OOM,
                     RULE_ACL,
                     RULE_CLUSTER,
                     RULE_SCRIPT_READS,
                     RULE_REDIRECT,
                     RULE_EVICTED,
                     RULE_OOM,
                     RULE_SCRIPT_REPLICAS,
                     RULE_SNAPSHOT_FAILS,
                     RULE_AOF_FAILS,
                     RULE_MIN_REPLICAS,
                     RULE_READONLY,
                     RULE_PUBSUB,
                     RULE_STALE,
                     RULE_LOADING,
                     RULE_BUSY,
                     RULE_MONITOR,
                     RULE_PAUSED,
                     RULE_THROTTLED,
                     RULE_HELD,
                     RULE_QUEUED,
                     RULES
};

enum admission {
    ADMITTED,
    REFUSED,  /* an error has been replied */
    REPLACED, /* another request, call_replacement (call.h), is checked and runs instead */
    /* It runs later, and the rule keeps it until then; or its client is being closed. */
    DEFERRED
};

/* A rule's check. c->argv, c->argc and c->cmd mirror the request. */
typedef enum admission admissionCheck(struct client *c, struct request *r, enum requestOrigin origin);
/* Sets the check of a rule. Each rule is filled once. */
void admissionFill(enum admissionRule rule, admissionCheck *fn);
/* Says whether a rule currently has nothing to refuse; its check is not called then. Rules start idle. Must
 * not be called from within a check. */
void admissionIdle(enum admissionRule rule, bool idle);

/* A rule's answer to reads that run in other threads (parallel_read.h): true if it surely admits the request.
 * Such a check may be called by several threads at once, and writes nothing. */
typedef bool admissionReadCheck(const struct client *c, const struct request *r);
/* Sets it. A rule that has none must be idle for reads to run in other threads. */
void admissionFillRead(enum admissionRule rule, admissionReadCheck *fn);
bool admissionNoRead(const struct client *c, const struct request *r); /* for rules that only refuse writes */
/* Whether all rules that are not idle have such checks; changed by the main thread. */
extern bool admission_reads_possible;
/* Whether all rules surely admit this request, which does not need the full check. */
bool admissionAdmitsRead(const struct client *c, const struct request *r);

/* Returns whether the rows for unusual requests may concern this one, because of the request itself or of its
 * client's state. */
static inline bool requestNeedsFullCheck(const struct client *c, const struct request *r) {
    const struct serverCommand *cmd = r->cmd;
    return !cmd || !commandArityOk(cmd, r->argc) || cmd->flags & (CMD_PROTECTED | CMD_NOSCRIPT) ||
           c->flags & CLIENT_MULTI;
}

/* For rules about failures to write to disk: returns true when the request is replayed (callReplays). A
 * replayed request runs all the same, or, when it came from our primary, ends this server
 * (replica-ignore-disk-write-errors). repl/ fills it in. */
extern bool (*admission_replay_writes)(const struct request *r);

/* The checks that are called for usual requests, by origin, in order, each list ended by NULL. */
extern admissionCheck *admission_usual[ORIGINS][RULES + 1];
/* The start of an error that refuses EXEC itself, which ends the transaction. */
extern const char admission_exec_refused[];
enum admission admissionApplyAll(struct client *c, struct request *r, enum requestOrigin origin);
bool admissionSkippedRulesAdmit(struct client *c, struct request *r, enum requestOrigin origin);
/* Applies all rules for this origin in order, up to the first that does not admit the request. */
static inline enum admission admissionApply(struct client *c, struct request *r, enum requestOrigin origin) {
    if (__builtin_expect(requestNeedsFullCheck(c, r), 0)) return admissionApplyAll(c, r, origin);
    debugAssert(admissionSkippedRulesAdmit(c, r, origin));
    for (admissionCheck **check = admission_usual[origin]; *check; check++) {
        enum admission verdict = (*check)(c, r, origin);
        if (verdict != ADMITTED) return verdict;
    }
    return ADMITTED;
}

/* Applies one rule, whether or not the table applies it to this origin. */
enum admission admissionApplyRule(enum admissionRule rule, struct client *c, struct request *r,
                                  enum requestOrigin origin);
/* The errno that a module gets with a refusal, from rules that know several reasons. */
extern int admission_errno;

void admissionInit(void); /* the rules that no other module owns */
