/* propagate.c - what the running command will propagate, and to whom.
 *
 * Rewrites are collected as copies in one buffer: the arguments of all replacement commands, one after the
 * other.
 *
 * Whether a unit has to be wrapped in MULTI and EXEC is known when its second command comes: the first is
 * held back as a copy until then, except when it is known to be the last. */
#include "command/propagate.h"

#include "base/assert.h"
#include "base/sds.h"
#include "base/zmalloc.h"
#include "data/db.h"

#define SINKS_MAX 4

static propagateSink *sinks[SINKS_MAX];
int propagate_sinks;
uint64_t propagate_commands;

struct rewrite {
    struct rewrite *next;
    int dbid, argc;
    struct str argv[]; /* followed by the bytes */
};
static struct rewrite *rewrites, **rewrites_tail = &rewrites;
static bool suppressed;

int propagate_depth;
bool propagate_open;
static struct rewrite *held; /* first command of the unit; NULL: none so far, or MULTI has gone out */
static int unit_dbid;        /* of its last command */

void propagateAddSink(propagateSink *fn) {
    serverAssert(propagate_sinks < SINKS_MAX);
    sinks[propagate_sinks++] = fn;
}

void propagateRemoveSink(propagateSink *fn) {
    for (int i = 0; i < propagate_sinks; i++) {
        if (sinks[i] != fn) continue;
        sinks[i] = sinks[--propagate_sinks];
        return;
    }
}

static struct rewrite *copyCommand(int dbid, int argc, const struct str *argv) {
    size_t bytes = 0;
    for (int i = 0; i < argc; i++) bytes += argv[i].len;
    struct rewrite *r = zmalloc(sizeof *r + (size_t)argc * sizeof(struct str) + bytes);
    *r = (struct rewrite){.dbid = dbid, .argc = argc};
    char *p = (char *)(r->argv + argc);
    for (int i = 0; i < argc; i++) {
        memcpy(p, argv[i].ptr, argv[i].len);
        r->argv[i] = strN(p, argv[i].len);
        p += argv[i].len;
    }
    return r;
}

static void toSinks(int dbid, int argc, const struct str *argv) {
    for (int i = 0; i < propagate_sinks; i++) sinks[i](dbid, argc, argv);
}

static void releaseHeld(void) {
    toSinks(held->dbid, held->argc, held->argv);
    zfree(held);
    held = NULL;
}

/* last: nothing more will come in this unit. */
static void emit(int dbid, int argc, const struct str *argv, bool last) {
    propagate_commands++;
    if (!propagate_open && !last) {
        held = copyCommand(dbid, argc, argv);
        propagate_open = true;
        return;
    }
    if (held) {
        toSinks(held->dbid, 1, &STR("MULTI"));
        releaseHeld();
    }
    toSinks(dbid, argc, argv);
    unit_dbid = dbid;
}

void propagateCloseUnit(void) {
    if (held)
        releaseHeld();
    else
        toSinks(unit_dbid, 1, &STR("EXEC"));
    propagate_open = false;
}

void propagateNow(int dbid, int argc, const struct str *argv) {
    if (propagateWanted()) emit(dbid, argc, argv, propagate_depth == 0);
}

void propagateRewrite(struct client *c, int argc, const struct str *argv) {
    if (!propagateWanted()) return;
    *rewrites_tail = copyCommand(c->db->id, argc, argv);
    rewrites_tail = &(*rewrites_tail)->next;
}

void propagateSuppress(struct client *c) {
    (void)c;
    suppressed = propagateWanted();
}

void propagateWhatRan(struct client *c, bool dirty) {
    bool last = propagate_depth == 1;
    if (!rewrites && !suppressed && dirty) emit(c->db->id, c->argc, c->argv, last);
    while (rewrites) {
        struct rewrite *r = rewrites;
        rewrites = r->next;
        if (!suppressed) emit(r->dbid, r->argc, r->argv, last && !rewrites);
        zfree(r);
    }
    rewrites_tail = &rewrites;
    suppressed = false;
    if (dirty) c->wrote_at = propagate_commands;
}
