/* SPDX-License-Identifier: BSD-3-Clause */
/* absent_features.c - see absent_features.h.
 *
 * A directive here has a value that nothing reads. When its feature is built, it moves to the module
 * of the feature.
 *
 * Such a directive is correct at its default. Any other value is kept, shown and rewritten like others, and
 * is reported at start, in one block of the log for all of them. CONFIG SET accepts values that have no
 * effect in Valkey either, and refuses those that promise something (rdma-port). */
#include "server/absent_features.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "registry/config.h"

/* ---- Checks ---- */

static sds rdma_bind;
static int64_t rdma_port;

static bool absentFeaturesNoRdma(const char **err) {
    if (rdma_port == 0 && sdslen(rdma_bind) == 0) return true;
    *err = "No RDMA building support.";
    return false;
}

/* ---- Directives ---- */

/* Directives without a variable get one in absentFeaturesRegister. */
#define SET CONFIG_MODIFIABLE

static struct configDirective avoiding_copies[] = {
    CONFIG_INT("min-io-threads-avoid-copy-reply", NULL, SET | CONFIG_HIDDEN, NULL, 7, 0, INT32_MAX, NULL),
    CONFIG_INT("min-string-size-avoid-copy-reply-threaded", NULL, SET | CONFIG_HIDDEN, NULL, 65536, 0,
               INT32_MAX, NULL),
};

static struct configDirective transports[] = {
    CONFIG_STRING("rdma-bind", NULL, SET, &rdma_bind, "", NULL, absentFeaturesNoRdma),
    CONFIG_INT("rdma-completion-vector", NULL, 0, NULL, -1, -1, 1024, NULL),
    CONFIG_INT("rdma-port", NULL, SET, &rdma_port, 0, 0, 65535, absentFeaturesNoRdma),
    CONFIG_INT("rdma-rx-size", NULL, 0, NULL, 1 << 20, 64 << 10, 16 << 20, NULL),
};

static struct configDirective redis8[] = {
    CONFIG_INT("cluster-compatibility-sample-ratio", NULL, SET, NULL, 0, 0, 100, NULL),
    CONFIG_INT("cluster-slot-migration-handoff-max-lag-bytes", NULL, SET | CONFIG_MEMORY, NULL, 1 << 20, 0,
               INT64_MAX, NULL),
    CONFIG_INT("cluster-slot-migration-write-pause-timeout", NULL, SET, NULL, 10000, 0, INT64_MAX, NULL),
    CONFIG_INT("lookahead", NULL, SET, NULL, 16, 1, INT32_MAX, NULL),
    CONFIG_BOOL("vset-force-single-threaded-execution", NULL, SET, NULL, false, NULL),
};

static struct configDirective others[] = {
    CONFIG_BOOL("aof-disable-auto-gc", NULL, SET | CONFIG_HIDDEN, NULL, false, NULL),
    CONFIG_BOOL("enable-debug-assert", NULL, CONFIG_HIDDEN, NULL, false, NULL),
    CONFIG_STRING("hash-seed", NULL, CONFIG_EMPTY_IS_NULL, NULL, NULL, NULL, NULL),
    CONFIG_STRING("ignore-warnings", NULL, SET, NULL, "", NULL, NULL),
    CONFIG_BOOL("lua-enable-deprecated-api", NULL, SET | CONFIG_HIDDEN | CONFIG_PROTECTED, NULL, false, NULL),
    CONFIG_BOOL("lua-enable-insecure-api", NULL, SET | CONFIG_HIDDEN | CONFIG_PROTECTED, NULL, false, NULL),
};

#define COUNT(array) (sizeof(array) / sizeof *(array))
static const struct feature {
    const char *name;
    struct configDirective *directives;
    size_t count;
} features[] = {
    {"replies without copies", avoiding_copies, COUNT(avoiding_copies)},
    {"Redis 8", redis8, COUNT(redis8)},
    {"the network", transports, COUNT(transports)},
    {"others", others, COUNT(others)},
};

/* ---- The report ---- */

/* Returns what an operator has to know, if it is more than "no effect". */
static const char *absentFeaturesConsequence(const char *directive) {
    static const struct {
        const char *directive, *text;
    } known[] = {
        {"cluster-slot-migration-handoff-max-lag-bytes", "see slot-migration-max-failover-repl-bytes"},
        {"lookahead", "see prefetch-batch-max-size"},
        {"lua-enable-insecure-api", "scripts still cannot call what is insecure"},
    };
    for (size_t i = 0; i < COUNT(known); i++) {
        if (strcmp(known[i].directive, directive) == 0) return known[i].text;
    }
    return "no effect";
}

static void absentFeaturesReportDirective(const struct feature *feature, const struct configDirective *d) {
    sds value = d->flags & CONFIG_SENSITIVE ? sdsnew("(a secret)") : configGet(d->name);
    serverLog(LL_WARNING, "  %s %s (%s): %s", d->name, value, feature->name,
              absentFeaturesConsequence(d->name));
    sdsfree(value);
}

static int absentFeaturesIsRequested(const struct configDirective *d) {
    return !(d->flags & CONFIG_LINES) && !configIsDefault(d);
}

void absentFeaturesReport(void) {
    int count = 0;
    for (size_t i = 0; i < COUNT(features); i++) {
        for (size_t j = 0; j < features[i].count; j++)
            count += absentFeaturesIsRequested(&features[i].directives[j]);
    }
    if (!count) return;
    serverLog(LL_WARNING,
              "WARNING What this version does not have yet, but the configuration asks for (%d):", count);
    for (size_t i = 0; i < COUNT(features); i++) {
        for (size_t j = 0; j < features[i].count; j++) {
            if (absentFeaturesIsRequested(&features[i].directives[j]))
                absentFeaturesReportDirective(&features[i], &features[i].directives[j]);
        }
    }
}

void absentFeaturesRegister(void) {
    union absentValue {
        bool b;
        int64_t i;
        sds s;
        int e;
    };
    for (size_t i = 0; i < COUNT(features); i++) {
        for (size_t j = 0; j < features[i].count; j++) {
            struct configDirective *d = &features[i].directives[j];
            if (d->type != CONFIG_TYPE_SPECIAL && !d->var.b) d->var.b = zcalloc(1, sizeof(union absentValue));
        }
        configRegister(features[i].directives, features[i].count);
    }
}
