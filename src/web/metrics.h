/* SPDX-License-Identifier: BSD-3-Clause */
/* metrics.h - the page /metrics: what INFO and the statistics of commands tell, under the names that
 * redis_exporter has given them, so that dashboards made for it work.
 *
 * Files: metrics.c (what is a family of its own), metrics_fields.c (fields of INFO that are a number each),
 * exposition.h (the two formats). */
#pragma once

#include <stdbool.h>

#include "base/sds.h"

struct exposition;
struct infoView;

struct metricsWanted {
    bool openmetrics;
    bool config;            /* numbers of CONFIG GET, too: for who may run that */
    uint64_t scrapes;       /* of /metrics so far, this one included */
    double last_scrape_sec; /* how long the last one took */
};

/* The page; the caller's. O(commands and directives), whatever the data. */
sds metricsText(const struct metricsWanted *wanted);

/* ---- For metrics_fields.c ---- */
void metricsFields(struct exposition *e, struct infoView *info);
