/* SPDX-License-Identifier: BSD-3-Clause */
/* hyperloglog_commands.c - see hyperloglog_commands.h. The string is changed in place when it has a buffer
 * of its own. */
#include "types/string/hyperloglog_commands.h"

#include <math.h>
#include <stdlib.h>

#include "base/num.h"
#include "base/read_phase.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/lookup.h"
#include "commands/cmd_hyperloglog.h"
#include "data/keyspace/db.h"
#include "data/notify.h"
#include "ds/hyperloglog.h"
#include "registry/config.h"
#include "types/string/string_commands.h"
#include "types/types.h"

static int64_t sparse_max_bytes;

static const char err_corrupt[] = "INVALIDOBJ Corrupted HLL object detected";

/* Finds the HyperLogLog at key; *o is NULL when there is none. Returns false when an error was replied. */
static bool pfCommandFindHll(struct client *c, struct str key, bool reads, struct object **o) {
    if (!(reads ? lookupKeyReadType : lookupKeyWriteType)(c, key, OBJ_STRING, o)) return false;
    char buf[LONG_STR_SIZE];
    if (!*o || hllIsValid(stringView(*o, buf))) return true;
    return replyError(c, "WRONGTYPE Key is not a valid HyperLogLog string value.");
}

static void pfCommandChanged(struct client *c, struct str key, uint64_t changes) {
    keyChanged(c, c->db, key, NOTIFY_STRING, "pfadd", changes);
}

static bool pfCommandAddElements(struct client *c, sds *hll, uint64_t *changes) {
    for (int i = 2; i < c->argc; i++) {
        bool grew;
        if (!hllAdd(hll, c->argv[i], (size_t)sparse_max_bytes, &grew)) return false;
        *changes += grew;
    }
    return true;
}

/* A corrupt value may take some elements before the error is found; then it is restored. */
static bool hyperloglogAddAll(struct client *c, sds *hll, uint64_t *changes) {
    sds before = c->argc > 3 && !hllIsWhole(sdsview(*hll)) ? sdsdup(*hll) : NULL;
    bool ok = pfCommandAddElements(c, hll, changes);
    if (!ok && before) {
        sds partly = *hll;
        *hll = before;
        before = partly;
        *changes = 0;
    }
    sdsfree(before);
    return ok;
}

void pfaddCommand(struct client *c) {
    struct str key = c->argv[1];
    struct object *o;
    if (!pfCommandFindHll(c, key, false, &o)) return;
    uint64_t changes = !o;
    sds hll = o ? stringEditBegin(o) : hllNew();
    bool ok = hyperloglogAddAll(c, &hll, &changes);
    stringEditEnd(c->db, key, o, hll);
    if (changes) pfCommandChanged(c, key, changes);
    if (ok)
        replyLongLong(c, changes > 0);
    else
        replyError(c, err_corrupt);
}

/* Merges the registers of all keys from argv[first] on. Returns false when an error was replied. */
static bool pfCommandMergeKeys(struct client *c, int first, uint8_t *registers, bool *dense) {
    for (int i = first; i < c->argc; i++) {
        struct object *o;
        if (!lookupKeyReadType(c, c->argv[i], OBJ_STRING, &o)) return false;
        if (!o) continue;
        char buf[LONG_STR_SIZE];
        struct str s = stringView(o, buf);
        if (!hllIsValid(s)) return replyError(c, "WRONGTYPE Key is not a valid HyperLogLog string value.");
        if (!hllIsSparse(s)) *dense = true;
        if (!hllMergeInto(registers, s)) return replyError(c, err_corrupt);
    }
    return true;
}

static void pfCommandCountMany(struct client *c) {
    bool dense = false;
    uint8_t *registers = zcalloc(HLL_REGISTERS, 1);
    if (pfCommandMergeKeys(c, 1, registers, &dense)) replyLongLong(c, (int64_t)hllCountRegisters(registers));
    zfree(registers);
}

void pfcountCommand(struct client *c) {
    struct str key = c->argv[1];
    if (c->argc > 2) {
        pfCommandCountMany(c);
        return;
    }
    struct object *o;
    if (!pfCommandFindHll(c, key, true, &o)) return;
    if (!o) {
        replyLongLong(c, 0);
        return;
    }
    char buf[LONG_STR_SIZE];
    uint64_t count;
    if (hllCountIsCached(stringView(o, buf), &count)) {
        replyLongLong(c, (int64_t)count);
        return;
    }
    if (readRefuses()) return;
    keyspaceObjectWillChange(&c->db->keyspace, o); /* it was looked up for reading */
    sds hll = stringEditBegin(o);
    bool ok = hllCount(hll, &count);
    stringEditEnd(c->db, key, o, hll);
    if (!ok) {
        replyError(c, err_corrupt);
        return;
    }
    replyLongLong(c, (int64_t)count);
    /* The count is cached in the value: its bytes change, though not their meaning. */
    keyChanged(c, c->db, key, NOTIFY_STRING, NULL, 1);
}

void pfmergeCommand(struct client *c) {
    struct str key = c->argv[1];
    struct object *o;
    bool dense = false;
    uint8_t *registers = zcalloc(HLL_REGISTERS, 1);
    if (pfCommandMergeKeys(c, 1, registers, &dense) && pfCommandFindHll(c, key, false, &o)) {
        sds hll = o ? stringEditBegin(o) : hllNew();
        bool ok = hllRaise(&hll, registers, dense, (size_t)sparse_max_bytes);
        stringEditEnd(c->db, key, o, hll);
        if (ok) {
            pfCommandChanged(c, key, 1);
            replyOk(c);
        } else {
            replyError(c, err_corrupt);
        }
    }
    zfree(registers);
}

/* ---- PFDEBUG, PFSELFTEST ---- */

static void pfCommandReplyRegisters(struct client *c, sds hll) {
    uint8_t *registers = zcalloc(HLL_REGISTERS, 1);
    if (hllMergeInto(registers, sdsview(hll))) {
        replyArrayLen(c, HLL_REGISTERS);
        for (int i = 0; i < HLL_REGISTERS; i++) replyLongLong(c, registers[i]);
    } else {
        replyError(c, err_corrupt);
    }
    zfree(registers);
}

/* GETREG and TODENSE leave the value dense. Returns false when it is corrupt; an error was replied. */
static bool pfCommandMakeDense(struct client *c, sds *hll, bool *converted) {
    *converted = hllIsSparse(sdsview(*hll));
    if (!hllToDense(hll)) return replyError(c, err_corrupt);
    if (*converted) pfCommandChanged(c, c->argv[2], 1);
    return true;
}

static void pfCommandReplyRuns(struct client *c, sds hll) {
    if (!hllIsSparse(sdsview(hll))) {
        replyError(c, "ERR HLL encoding is not sparse");
        return;
    }
    sds text = hllDescribe(sdsempty(), sdsview(hll));
    replyBulk(c, sdsview(sdstrim(text, " ")));
    sdsfree(text);
}

void pfdebugCommand(struct client *c) {
    struct object *o;
    if (!pfCommandFindHll(c, c->argv[2], false, &o)) return;
    if (!o) {
        replyError(c, "ERR The specified key does not exist");
        return;
    }
    bool converted;
    sds hll = stringEditBegin(o);
    if (strIs(c->argv[1], "getreg")) {
        if (pfCommandMakeDense(c, &hll, &converted)) pfCommandReplyRegisters(c, hll);
    } else if (strIs(c->argv[1], "decode")) {
        pfCommandReplyRuns(c, hll);
    } else if (strIs(c->argv[1], "encoding")) {
        replyStatus(c, hllIsSparse(sdsview(hll)) ? "sparse" : "dense");
    } else if (strIs(c->argv[1], "todense")) {
        if (pfCommandMakeDense(c, &hll, &converted)) replyLongLong(c, converted);
    } else {
        replyErrorFmt(c, "ERR Unknown PFDEBUG subcommand '%.*s'", (int)c->argv[1].len, c->argv[1].ptr);
    }
    stringEditEnd(c->db, c->argv[2], o, hll);
}

/* Adds growing numbers of elements, and compares the estimate with the true count and the sparse registers
 * with the dense ones. */
void pfselftestCommand(struct client *c) {
    const int64_t total = 1000000;
    sds sparse = hllNew(), dense = hllNew();
    hllToDense(&dense);
    const char *failed = NULL;
    for (int64_t i = 1, check = 1; i <= total && !failed; i++) {
        char text[LONG_STR_SIZE];
        struct str element = strN(text, ll2string(text, i * 2654435761ll));
        bool a, b;
        hllAdd(&sparse, element, (size_t)sparse_max_bytes, &a);
        hllAdd(&dense, element, 0, &b);
        if (a != b) failed = "TESTFAILED sparse and dense registers differ";
        if (i != check) continue;
        check *= 10;
        uint64_t x = 0, y = 0;
        hllCount(sparse, &x);
        hllCount(dense, &y);
        /* The standard error is 1.04 / sqrt(16384) = 0.81%; the limit is four times that, plus one for
         * the smallest counts. */
        double error = fabs((double)y - (double)i) / (double)i;
        if (x != y || (error > 0.0325 && llabs((int64_t)y - i) > 1))
            failed = "TESTFAILED the error of the estimate is too large";
    }
    sdsfree(sparse);
    sdsfree(dense);
    if (failed)
        replyError(c, failed);
    else
        replyOk(c);
}

void hyperloglogInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("hll-sparse-max-bytes", NULL, CONFIG_MODIFIABLE | CONFIG_MEMORY, &sparse_max_bytes, 3000,
                   0, INT64_MAX, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    commandRegister(commandsHyperloglog);
}
