/* SPDX-License-Identifier: BSD-3-Clause */
/* exposition.c - see exposition.h. The first label of a sample opens the brace, the value closes it. */
#include "web/exposition.h"

#include <math.h>

#include "base/num.h"

#define NAMESPACE    "redis_"
#define USUAL_LENGTH (48 * 1024)

void expositionStart(struct exposition *e, bool openmetrics) {
    *e = (struct exposition){.openmetrics = openmetrics};
    e->text = sdsMakeRoomFor(sdsempty(), USUAL_LENGTH);
}

sds expositionEnd(struct exposition *e) {
    return e->openmetrics ? sdscat(e->text, "# EOF\n") : e->text;
}

static const char *expositionTypeName(enum metricType type) {
    switch (type) {
    case METRIC_COUNTER: return "counter";
    case METRIC_SUMMARY: return "summary";
    case METRIC_HISTOGRAM: return "histogram";
    case METRIC_GAUGE: break;
    }
    return "gauge";
}

static bool expositionEndsWith(const char *name, const char *end) {
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

static void expositionHead(struct exposition *e, struct str name, const char *type, const char *help) {
    e->text = sdscat(sdscatstr(sdscat(e->text, "# HELP " NAMESPACE), name), " ");
    e->text = sdscat(sdscat(e->text, help), "\n");
    e->text = sdscat(sdscatstr(sdscat(e->text, "# TYPE " NAMESPACE), name), " ");
    e->text = sdscat(sdscat(e->text, type), "\n");
}

void metricFamily(struct exposition *e, const char *name, enum metricType type, const char *help) {
    struct str family = strOf(name);
    const char *type_name = expositionTypeName(type);
    e->name = name;
    if (e->openmetrics && type == METRIC_COUNTER && expositionEndsWith(name, "_total"))
        family.len -= strlen("_total");
    else if (e->openmetrics && (type == METRIC_COUNTER || type == METRIC_SUMMARY))
        type_name = "unknown";
    expositionHead(e, family, type_name, help);
}

void metricSummaryPart(struct exposition *e, const char *name, const char *suffix, const char *help) {
    e->name = name;
    if (!e->openmetrics) return;
    sds whole = sdscat(sdsnew(name), suffix);
    expositionHead(e, sdsview(whole), "unknown", help);
    sdsfree(whole);
}

void metricOpen(struct exposition *e, const char *suffix) {
    e->text = sdscat(sdscat(sdscat(e->text, NAMESPACE), e->name), suffix);
}

static sds expositionAppendEscaped(sds s, struct str value) {
    for (size_t i = 0; i < value.len; i++) {
        char c = value.ptr[i];
        if (c == '\n')
            s = sdscat(s, "\\n");
        else if (c == '"' || c == '\\')
            s = sdscatlen(s, (char[]){'\\', c}, 2);
        else
            s = sdscatlen(s, &c, 1);
    }
    return s;
}

void metricLabel(struct exposition *e, const char *label, struct str value) {
    char last = e->text[sdslen(e->text) - 1]; /* of the name, or of the last label */
    e->text = sdscat(e->text, last == '"' ? "," : "{");
    e->text = sdscat(sdscat(e->text, label), "=\"");
    e->text = sdscat(expositionAppendEscaped(e->text, value), "\"");
}

void metricText(struct exposition *e, struct str number) {
    char last = e->text[sdslen(e->text) - 1];
    e->text = sdscat(e->text, last == '"' ? "} " : " ");
    e->text = sdscat(sdscatstr(e->text, number), "\n");
}

void metricValue(struct exposition *e, double value) {
    char number[DOUBLE_STR_SIZE];
    if (isfinite(value))
        metricText(e, strN(number, d2string(number, value)));
    else
        metricText(e, isnan(value) ? STR("NaN") : value > 0 ? STR("+Inf") : STR("-Inf"));
}

void metricPlain(struct exposition *e, double value) {
    metricOpen(e, "");
    metricValue(e, value);
}
