/* SPDX-License-Identifier: BSD-3-Clause */
/* geo.h - the geo commands: sorted sets whose scores are 52-bit geohashes (ds/geohash.h). Everything but
 * geoInit is private to the files geo*.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/client.h"
#include "ds/geohash.h"
#include "types/zset/zset.h"

void geoInit(void); /* commands */

/* ---- Arguments. Errors are replied. ---- */
bool geoArgPoint(struct client *c, const struct str *lonlat, struct geoPoint *p); /* lonlat: two arguments */
bool geoArgUnit(struct client *c, struct str arg, double *metres);

/* ---- Members ---- */
/* Returns the hash that a score stands for; every score has one, even if it was not made from a place. */
uint64_t geoScoreHash(double score);
/* Returns false when there is no such key or member. */
bool geoFind(const struct object *o, struct str member, uint64_t *hash);

/* ---- Replies ---- */
void geoReplyPoint(struct client *c, struct geoPoint p);
void geoReplyDistance(struct client *c, double distance);
