/* SPDX-License-Identifier: BSD-3-Clause */
/* exec_conditions.c - EXEC's conditions: what has to be true of keys for the queued commands to run.
 *
 *     EXEC IFEQ stock 7 NX order:12        the queue runs if `stock` is 7 and there is no `order:12`
 *
 * Conditions are checked from left to right, in the database that is selected before the queue runs; the
 * first that does not hold ends the transaction. Nothing is checked unless the syntax of all is right. */
#include "types/keys/exec_conditions.h"

#include "base/num.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/lookup.h"
#include "command/multi.h"
#include "commands/cmd_transactions.h"
#include "types/string/string_commands.h"
#include "types/types.h"

struct execCondition {
    const char *name;
    int words;          /* with the name and the key */
    bool wants_present; /* NX, XX: whether the key has to be there */
    bool wants_equal;   /* IFEQ, IFNE: whether its value has to be the given one */
};

static const struct execCondition *execConditionAt(const struct str *argv, int argc, int i) {
    static const struct execCondition conditions[] = {
        {.name = "nx", .words = 2},
        {.name = "xx", .words = 2, .wants_present = true},
        {.name = "ifeq", .words = 3, .wants_equal = true},
        {.name = "ifne", .words = 3},
    };
    for (size_t n = 0; n < sizeof conditions / sizeof *conditions; n++) {
        const struct execCondition *condition = &conditions[n];
        if (strIs(argv[i], condition->name)) return i + condition->words <= argc ? condition : NULL;
    }
    return NULL;
}

int execGetKeys(const struct serverCommand *cmd, const struct str *argv, int argc, struct keyRef **keys) {
    (void)cmd;
    const struct execCondition *condition;
    int count = 0;
    for (int i = 1; i < argc; i += condition->words) {
        condition = execConditionAt(argv, argc, i);
        if (!condition) {
            zfree(*keys);
            *keys = NULL;
            return -1;
        }
        count = keyRefsAdd(keys, count, i + 1, i + 1, 1, KEY_RO | KEY_ACCESS);
    }
    return count;
}

/* A missing key is equal to no value. Returns false also after an error about its type. */
static bool execConditionHoldsForValue(struct client *c, const struct execCondition *condition, int i,
                                       bool *wrong_type) {
    struct object *o;
    char buf[LONG_STR_SIZE];
    *wrong_type = !lookupKeyReadType(c, c->argv[i + 1], OBJ_STRING, &o);
    bool equal = o && strEq(stringView(o, buf), c->argv[i + 2]);
    return !*wrong_type && equal == condition->wants_equal;
}

/* Replies a null array, or an error, if the condition at c->argv[i] does not hold. */
static bool execConditionHolds(struct client *c, const struct execCondition *condition, int i) {
    bool wrong_type = false, holds;
    if (condition->words == 2)
        holds = (lookupKey(c->db, c->argv[i + 1], LOOKUP_NOTOUCH) != NULL) == condition->wants_present;
    else
        holds = execConditionHoldsForValue(c, condition, i, &wrong_type);
    if (!holds && !wrong_type) replyNullArray(c);
    return holds;
}

static bool execConditionsHold(struct client *c) {
    const struct execCondition *condition;
    for (int i = 1; i < c->argc; i += condition->words) {
        condition = execConditionAt(c->argv, c->argc, i);
        if (!condition) return replySyntaxError(c);
    }
    for (int i = 1; i < c->argc; i += condition->words) {
        condition = execConditionAt(c->argv, c->argc, i);
        if (!execConditionHolds(c, condition, i)) return false;
    }
    return true;
}

void execConditionsInit(void) {
    multi_conditions_hold = execConditionsHold;
}
