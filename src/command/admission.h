/* SPDX-License-Identifier: BSD-3-Clause */
/* admission.h - who may object to a request before it runs: one ordered table, rule by origin.
 *
 * The table stands at the top of admission.c and is all there is: the order of its rows is the order in which
 * errors take precedence (that of Valkey 9.1, tests/unit/admission.tcl), a mark in a column says that
 * requests of this origin are asked, and each row names its error. A room fills the row that is its own with
 * a function; the order in which rooms start does not matter. A row that nobody has filled, or whose room
 * says that it has no objection to anything for now (most of the time), costs nothing. Neither do rows that
 * are only about odd requests, while a request is not.
 *
 * Invariant: whatever runs has passed every row of its origin that is filled, or could not have been stopped
 * by it: a row about odd requests has no objection to any other. */
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
                     RULE_QUEUED,
                     RULES
};

enum admission {
    ADMITTED,
    REFUSED,  /* an error has been replied */
    REPLACED, /* call_replacement (call.h) is asked about, and runs, instead */
    DEFERRED  /* neither: it will run later, and who has it then is the rule's affair; or its client goes */
};

/* c->argv and its kin mirror the request. */
typedef enum admission admissionCheck(struct client *c, struct request *r, enum requestOrigin origin);
/* Each rule once. */
void admissionFill(enum admissionRule rule, admissionCheck *fn);
/* A rule that has no objection to anything, most of the time, says so (it starts without): it is not asked
 * then. Not from within a check. */
void admissionIdle(enum admissionRule rule, bool idle);

/* Is there anything about the request itself, or its client's state, that rows for odd ones are about? */
static inline bool requestIsOdd(const struct client *c, const struct request *r) {
    const struct serverCommand *cmd = r->cmd;
    return !cmd || !commandArityOk(cmd, r->argc) || cmd->flags & (CMD_PROTECTED | CMD_NOSCRIPT) ||
           c->flags & CLIENT_MULTI;
}

/* For rules about what cannot be kept on disk: what is replayed (callReplays) runs all the same, or this
 * server ends if it came from our primary (replica-ignore-disk-write-errors). True: it is replayed. repl/
 * fills it in. */
extern bool (*admission_replay_writes)(const struct request *r);

/* The rows that are asked, by origin, in order; NULL behind the last. */
extern admissionCheck *admission_usual[ORIGINS][RULES + 1];
enum admission admissionAskAll(struct client *c, struct request *r, enum requestOrigin origin);
bool admissionOddRowsAgree(struct client *c, struct request *r, enum requestOrigin origin);
/* All rules for this origin, in order, up to the first that does not admit it. */
static inline enum admission admissionAsk(struct client *c, struct request *r, enum requestOrigin origin) {
    if (__builtin_expect(requestIsOdd(c, r), 0)) return admissionAskAll(c, r, origin);
    debugAssert(admissionOddRowsAgree(c, r, origin));
    for (admissionCheck **check = admission_usual[origin]; *check; check++) {
        enum admission verdict = (*check)(c, r, origin);
        if (verdict != ADMITTED) return verdict;
    }
    return ADMITTED;
}

/* One row, whether the table asks it of this origin or not. */
enum admission admissionAskRow(enum admissionRule rule, struct client *c, struct request *r,
                               enum requestOrigin origin);
/* What a module is told of a refusal beside the text, by rows that know several reasons. */
extern int admission_errno;

void admissionInit(void); /* the rows that no other room has */
