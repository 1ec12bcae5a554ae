/* SPDX-License-Identifier: BSD-3-Clause */
/* exposition.h - writing metrics in Prometheus' text format 0.0.4 or OpenMetrics 1.0.
 *
 *     # HELP redis_up ...
 *     # TYPE redis_up gauge
 *     redis_up 1
 *
 * The names are those of redis_exporter. OpenMetrics does not allow some of them: a counter whose name does
 * not end in _total, a summary whose quantiles are percentages. A scraper may request either format and must
 * find the same names, so in OpenMetrics such families are `unknown`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"

enum metricType { METRIC_GAUGE, METRIC_COUNTER, METRIC_SUMMARY, METRIC_HISTOGRAM };

struct exposition {
    sds text;
    bool openmetrics;
    const char *name; /* of the current family */
};

void expositionStart(struct exposition *e, bool openmetrics);
/* Returns the text, which the caller frees. */
sds expositionEnd(struct exposition *e);

/* Begins a family; its samples follow. Names get the prefix of the namespace. */
void metricFamily(struct exposition *e, const char *name, enum metricType type, const char *help);
/* Begins samples of a summary that are not quantiles: its sums or counts ("_sum", "_count"). In OpenMetrics
 * they are a family of their own, so all of one kind come together. */
void metricSummaryPart(struct exposition *e, const char *name, const char *suffix, const char *help);

/* A sample: its labels come between metricOpen and metricValue. suffix: "" or "_bucket", "_sum", "_count". */
void metricOpen(struct exposition *e, const char *suffix);
void metricLabel(struct exposition *e, const char *label, struct str value);
void metricValue(struct exposition *e, double value);
/* Ends a sample with a number in text, as INFO has it. */
void metricText(struct exposition *e, struct str number);
/* Writes a sample without labels. */
void metricPlain(struct exposition *e, double value);
