/* SPDX-License-Identifier: BSD-3-Clause */
/* geo.h - the geo commands: sorted sets whose scores are 52-bit geohashes (ds/geohash.h). Everything but
 * geoInit is private to the files t_geo*.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/client.h"
#include "ds/geohash.h"
#include "types/zset/zset.h"

void geoInit(void); /* commands */

/* ---- Arguments. Errors are replied. ---- */
bool geoArgPoint(struct client *c, const struct str *lonlat, struct geoPoint *p); /* two of them */
bool geoArgUnit(struct client *c, struct str arg, double *metres);

/* ---- Members ---- */
/* Any score can be asked for its place: those that are no hash have one, too. */
uint64_t geoScoreHash(double score);
/* False: no such key or member. */
bool geoFind(const struct object *o, struct str member, uint64_t *hash);

/* ---- Replies ---- */
void geoReplyPoint(struct client *c, struct geoPoint p);
void geoReplyDistance(struct client *c, double distance);
