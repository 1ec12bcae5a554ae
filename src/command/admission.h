/* admission.h - who may object to a request before it runs: one ordered table, rule by origin.
 *
 * The table stands at the top of admission.c and is all there is: the order of its rows is the order in which
 * errors take precedence (that of Valkey 9.1, tests/unit/admission.tcl), a mark in a column says that
 * requests of this origin are asked, and each row names its error. A room fills the row that is its own with
 * a function; a row that nobody has filled, or whose room says that it has no objection to anything for now
 * (most of the time), costs nothing. */
#pragma once

#include "command/request.h"

enum admissionRule {
    RULE_HTTP,    /* POST and Host: end the connection */
    RULE_UNKNOWN, /* no such command, or subcommand */
    RULE_ARITY,
    RULE_PROTECTED, /* DEBUG, MODULE: enable-debug-command, enable-module-command */
    RULE_NO_MULTI,  /* not allowed inside a transaction */
    RULE_AUTH,      /* NOAUTH */
    RULE_ACL,       /* NOPERM */
    RULE_CLUSTER,   /* MOVED, ASK, CROSSSLOT, CLUSTERDOWN ... */
    RULE_EVICTED,   /* the client goes: maxmemory-clients */
    RULE_OOM,
    RULE_MISCONF, /* snapshots or the append-only file fail */
    RULE_MIN_REPLICAS,
    RULE_READONLY, /* a replica */
    RULE_PUBSUB,   /* RESP2 with subscriptions */
    RULE_MONITOR,  /* a monitor asks for data */
    RULE_STALE,    /* MASTERDOWN */
    RULE_LOADING,
    RULE_BUSY, /* a script past its time */
    RULES
};

/* False: it has an objection, and has replied the error. c->argv and its kin mirror the request. */
typedef bool admissionCheck(struct client *c, struct request *r);
void admissionFill(enum admissionRule rule, admissionCheck *fn);
/* A rule that has no objection to anything, most of the time, says so: it is not asked then. Not from within
 * a check. */
void admissionIdle(enum admissionRule rule, bool idle);
/* All rules for this origin, in order. False: refused, an error has been replied. */
bool admissionAsk(struct client *c, struct request *r, enum requestOrigin origin);
