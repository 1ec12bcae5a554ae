/* SPDX-License-Identifier: BSD-3-Clause */
/* metrics.h - the page /metrics: fields of INFO and statistics of commands, under the names of
 * redis_exporter, so that dashboards made for it work.
 *
 * Files: metrics.c (metrics with labels), metrics_fields.c (single fields of INFO),
 * exposition.h (the formats). */
#pragma once

#include <stdbool.h>

#include "base/sds.h"

struct exposition;
struct infoView;

struct metricsOptions {
    bool openmetrics;
    bool config;            /* with numbers of CONFIG GET, if the user may run that */
    uint64_t scrapes;       /* of /metrics, including this one */
    double last_scrape_sec; /* duration of the last scrape */
};

/* Returns the page, which the caller frees. O(commands and directives), independent of the data. */
sds metricsMakePage(const struct metricsOptions *wanted);

/* ---- For metrics_fields.c ---- */
void metricsWriteFields(struct exposition *e, struct infoView *info);
