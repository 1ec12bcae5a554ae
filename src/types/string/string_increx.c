/* SPDX-License-Identifier: BSD-3-Clause */
/* string_increx.c - INCREX: adds to a number, within bounds, and sets the key's expiry in one step (part of
 * string_commands.h).
 *
 * What is added, the bounds and the result are all integers, or all long doubles as with INCRBYFLOAT. A
 * result that is out of range, or beyond a bound, leaves the key as it is; with SATURATE it becomes the
 * nearest number that is allowed. The reply is the number that the key then holds, and what was added to it.
 *
 * The command is propagated as a SET of the result, so that a server that knows no INCREX, or rounds in
 * another way, has the same value. */
#include <float.h>
#include <math.h>

#include "base/num.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/lookup.h"
#include "command/propagate.h"
#include "commands/cmd_string.h"
#include "data/keyspace/db.h"
#include "data/notify.h"
#include "types/expiry_options.h"
#include "types/string/string_commands.h"
#include "types/types.h"

struct increxInts {
    int64_t by, low, high;
    int64_t old, result, added;
};

struct increxFloats {
    long double by, low, high;
    long double old, result, added;
};

struct increxCall {
    struct client *c;
    bool nx, xx, enx, saturate, floats;
    int by, low, high, time; /* indexes of arguments; 0: not given */
    enum expiryKind ttl;     /* EXPIRY_NONE keeps the expiry */
    int64_t when_ms;
    union {
        struct increxInts i;
        struct increxFloats f;
    };
};

/* ---- Arguments ---- */

/* Returns where the index of the value that follows this word belongs; NULL: no value follows it, or the
 * option must not be given any more. */
static int *increxValueOption(struct increxCall *x, struct str word) {
    enum expiryKind ttl = expiryKindOf(word);
    if (ttl && (!x->ttl || x->ttl == ttl)) {
        x->ttl = ttl;
        return &x->time;
    }
    bool byfloat = strIs(word, "byfloat");
    if ((byfloat || strIs(word, "byint")) && !x->by) {
        x->floats = byfloat;
        return &x->by;
    }
    if (strIs(word, "lbound") && !x->low) return &x->low;
    if (strIs(word, "ubound") && !x->high) return &x->high;
    return NULL;
}

/* Parses a word that no value follows. Returns false when it is not allowed. */
static bool increxParseFlag(struct increxCall *x, struct str word) {
    if (strIs(word, "nx") && !x->xx) return x->nx = true;
    if (strIs(word, "xx") && !x->nx) return x->xx = true;
    if (strIs(word, "enx")) return x->enx = true;
    if (strIs(word, "saturate")) return x->saturate = true;
    if (!strIs(word, "persist") || (x->ttl && x->ttl != EXPIRY_PERSIST)) return false;
    x->ttl = EXPIRY_PERSIST;
    return true;
}

static bool increxParseOptions(struct increxCall *x) {
    struct client *c = x->c;
    for (int i = 2; i < c->argc; i++) {
        int *value = increxValueOption(x, c->argv[i]);
        if (value ? i + 1 == c->argc : !increxParseFlag(x, c->argv[i])) return replySyntaxError(c);
        if (value) *value = ++i;
    }
    if (x->enx && x->ttl == EXPIRY_PERSIST) return replySyntaxError(c);
    if (x->enx && x->ttl < EXPIRY_EX) return replyError(c, "ERR ENX flag requires an expiration");
    return true;
}

/* Parses argument `at`; 0: it was not given, and *v stays as it is. */
static bool increxParseInt(struct client *c, int at, const char *name, int64_t *v) {
    if (!at || string2ll(c->argv[at], v)) return true;
    return replyErrorFmt(c, "ERR %s is not an integer or out of range", name);
}

static bool increxParseFloat(struct client *c, int at, const char *name, long double *v) {
    if (!at || string2ld(c->argv[at], v)) return true;
    return replyErrorFmt(c, "ERR %s is not a valid float", name);
}

static bool increxCheckBounds(struct client *c, bool in_order) {
    return in_order || replyError(c, "ERR LBOUND can't be greater than UBOUND");
}

static bool increxParseInts(struct increxCall *x) {
    struct increxInts *n = &x->i;
    *n = (struct increxInts){.by = 1, .low = INT64_MIN, .high = INT64_MAX};
    return increxParseInt(x->c, x->by, "Increment", &n->by) &&
           increxParseInt(x->c, x->low, "LBOUND", &n->low) &&
           increxParseInt(x->c, x->high, "UBOUND", &n->high) && increxCheckBounds(x->c, n->low <= n->high);
}

static bool increxParseFloats(struct increxCall *x) {
    struct increxFloats *n = &x->f;
    *n = (struct increxFloats){.low = -INFINITY, .high = INFINITY};
    if (!increxParseFloat(x->c, x->by, "Increment", &n->by)) return false;
    if (isinf(n->by)) return replyError(x->c, "ERR BYFLOAT increment cannot be Infinity");
    return increxParseFloat(x->c, x->low, "LBOUND", &n->low) &&
           increxParseFloat(x->c, x->high, "UBOUND", &n->high) && increxCheckBounds(x->c, n->low <= n->high);
}

static bool increxParse(struct increxCall *x) {
    if (!increxParseOptions(x) || !(x->floats ? increxParseFloats(x) : increxParseInts(x))) return false;
    return x->ttl < EXPIRY_EX || expiryParseTime(x->c, x->c->argv[x->time], x->ttl, 1, &x->when_ms);
}

/* ---- Adding ---- */

/* Reads the present number; a missing key is 0. */
static bool increxReadOld(struct increxCall *x, const struct object *o) {
    char buf[LONG_STR_SIZE];
    if (!o) return true; /* the parsers have set it to 0 */
    if (!x->floats) return stringIsInt(o, &x->i.old) || replyError(x->c, err_notint);
    if (!string2ld(stringView(o, buf), &x->f.old)) return replyError(x->c, err_notfloat);
    return !isinf(x->f.old) || replyError(x->c, "ERR value cannot be Infinity");
}

enum increxOutcome { INCREX_FAILED, INCREX_REFUSED, INCREX_ADDED }; /* FAILED: an error was replied */

static enum increxOutcome increxAddInts(struct client *c, struct increxInts *n, bool saturate) {
    bool over = __builtin_add_overflow(n->old, n->by, &n->result);
    if (over) n->result = n->by > 0 ? INT64_MAX : INT64_MIN;
    bool inside = !over && n->result >= n->low && n->result <= n->high;
    if (!inside && !saturate) return INCREX_REFUSED;
    if (n->result < n->low) n->result = n->low;
    if (n->result > n->high) n->result = n->high;
    if (!__builtin_sub_overflow(n->result, n->old, &n->added)) return INCREX_ADDED;
    replyError(c, "ERR applied increment would overflow");
    return INCREX_FAILED;
}

static enum increxOutcome increxAddFloats(struct client *c, struct increxFloats *n, bool saturate) {
    n->result = n->old + n->by;
    bool inside = !isinf(n->result) && n->result >= n->low && n->result <= n->high;
    if (!inside && !saturate) return INCREX_REFUSED;
    if (isinf(n->result)) n->result = n->result > 0 ? LDBL_MAX : -LDBL_MAX;
    if (n->result < n->low) n->result = n->low;
    if (n->result > n->high) n->result = n->high;
    n->added = n->result - n->old;
    if (!isinf(n->added)) return INCREX_ADDED; /* an infinite bound makes it infinite, too */
    replyError(c, "ERR applied increment would be Infinity");
    return INCREX_FAILED;
}

/* Makes the reply say that nothing was added. */
static void increxRefuse(struct increxCall *x) {
    if (x->floats)
        x->f.result = x->f.old, x->f.added = 0;
    else
        x->i.result = x->i.old, x->i.added = 0;
}

static enum increxOutcome increxAdd(struct increxCall *x, const struct object *o) {
    if (!increxReadOld(x, o)) return INCREX_FAILED;
    enum increxOutcome outcome = INCREX_REFUSED;
    bool allowed = !(x->nx && o) && !(x->xx && !o);
    if (allowed && x->floats)
        outcome = increxAddFloats(x->c, &x->f, x->saturate);
    else if (allowed)
        outcome = increxAddInts(x->c, &x->i, x->saturate);
    if (outcome == INCREX_REFUSED) increxRefuse(x);
    return outcome;
}

/* ---- Storing ---- */

static void increxPropagate(const struct increxCall *x, struct str text, bool keeps, int64_t expire_ms) {
    if (!propagateWanted()) return;
    char ms[LONG_STR_SIZE];
    struct str argv[] = {STR("SET"), x->c->argv[1], text, keeps ? STR("KEEPTTL") : STR("PXAT"),
                         strN(ms, ll2string(ms, expire_ms))};
    int argc = keeps ? 4 : expire_ms == OBJ_NO_EXPIRE ? 3 : 5;
    propagateRewrite(x->c, argc, argv);
}

/* Stores the result and its expiry, or deletes the key when that time is over. */
static void increxStore(const struct increxCall *x, struct object *o, struct str text) {
    struct client *c = x->c;
    struct str key = c->argv[1];
    int64_t old_ms = o ? objectExpire(o) : OBJ_NO_EXPIRE;
    bool expires = x->ttl >= EXPIRY_EX && !(x->enx && old_ms != OBJ_NO_EXPIRE);
    bool keeps = !expires && x->ttl != EXPIRY_PERSIST;
    if (expires && dbTimeHasExpired(x->when_ms)) {
        if (o) stringDelete(c, key);
        return;
    }
    char scratch[8];
    int64_t expire_ms = expires ? x->when_ms : keeps ? old_ms : OBJ_NO_EXPIRE;
    dbUpdate(c->db, key, o, stringValue(text, scratch), expire_ms);
    increxPropagate(x, text, keeps, expire_ms);
    keyChanged(c, c->db, key, NOTIFY_STRING, x->floats ? "incrbyfloat" : "incrby", 1);
    if (expires) keyEvent(NOTIFY_GENERIC, "expire", key, c->db);
    if (x->ttl == EXPIRY_PERSIST && old_ms != OBJ_NO_EXPIRE) keyEvent(NOTIFY_GENERIC, "persist", key, c->db);
}

/* ---- The command ---- */

/* Replies a number with all its digits: a double in RESP3, a bulk string in RESP2. */
static void increxReplyFloat(struct client *c, struct str text) {
    if (c->resp < 3) {
        replyBulk(c, text);
        return;
    }
    replyLiteral(c, ",");
    replyRaw(c, text.ptr, text.len);
    replyLiteral(c, "\r\n");
}

static void increxFinish(const struct increxCall *x, struct object *o, bool store) {
    char text[LONG_DOUBLE_STR_SIZE];
    replyArrayLen(x->c, 2);
    if (x->floats) {
        struct str result = strN(text, ld2string(text, sizeof text, x->f.result));
        if (store) increxStore(x, o, result);
        increxReplyFloat(x->c, result);
        increxReplyFloat(x->c, strN(text, ld2string(text, sizeof text, x->f.added)));
    } else {
        struct str result = strN(text, ll2string(text, x->i.result));
        if (store) increxStore(x, o, result);
        replyLongLong(x->c, x->i.result);
        replyLongLong(x->c, x->i.added);
    }
}

void increxCommand(struct client *c) {
    struct increxCall x = {.c = c};
    struct object *o;
    if (!increxParse(&x) || !lookupKeyWriteType(c, c->argv[1], OBJ_STRING, &o)) return;
    enum increxOutcome outcome = increxAdd(&x, o);
    if (outcome != INCREX_FAILED) increxFinish(&x, o, outcome == INCREX_ADDED);
}
