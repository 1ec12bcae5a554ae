/* SPDX-License-Identifier: BSD-3-Clause */
/* geohash.h - places on the globe as 52-bit integers: longitude and latitude halved 26 times each, the bits
 * interleaved (Morton order), longitude in the odd bits. Near places mostly have near integers, and a square
 * cell of any of 26 sizes is one interval.
 *
 * Degrees; latitudes are limited to those of the Web Mercator projection (EPSG:3857). Distances are in metres
 * on a sphere (haversine). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GEO_LONG_MAX 180.0
#define GEO_LAT_MAX  85.05112878
#define GEO_BITS     52

struct geoPoint {
    double lon, lat;
};

struct geoBounds {
    double lon_min, lon_max, lat_min, lat_max; /* longitudes may pass 180 */
};

/* A region to search. */
struct geoShape {
    enum { GEO_CIRCLE, GEO_BOX, GEO_POLYGON } kind;
    struct geoPoint center; /* distances are measured from here */
    double radius_m, width_m, height_m;
    const struct geoPoint *vertices; /* borrowed */
    size_t vertex_count;
};

/* An interval of hashes, both ends included. */
struct geoInterval {
    uint64_t min, max;
    int rank; /* rank of its place around the center */
};
#define GEO_INTERVALS_MAX 16

bool geoValid(struct geoPoint p);
uint64_t geoEncode(struct geoPoint p);
struct geoPoint geoDecode(uint64_t hash); /* returns the middle of the hash's cell */
double geoDistance(struct geoPoint a, struct geoPoint b);
/* Returns the place below the mean of the points' vectors from the center of the globe. */
struct geoPoint geoMean(const struct geoPoint *points, size_t count);
/* Writes the 11 characters of the standard geohash (with latitudes to 90 degrees), and a NUL. */
void geoText(uint64_t hash, char out[12]);

bool geoContains(const struct geoShape *shape, struct geoPoint p, double *distance_m);
/* Finds disjoint intervals that together cover the shape, and returns how many. Those around the center
 * come first, in the order in which Valkey visits cells, so that a search for any few places returns the
 * same ones. */
int geoCover(const struct geoShape *shape, struct geoInterval out[GEO_INTERVALS_MAX]);
/* Returns the smallest box that contains the shape. Four comparisons with it exclude most other points
 * without sines. */
struct geoBounds geoBoundsOf(const struct geoShape *shape);
static inline bool geoInBounds(const struct geoBounds *b, struct geoPoint p) {
    if (p.lat < b->lat_min || p.lat > b->lat_max) return false;
    return (p.lon >= b->lon_min && p.lon <= b->lon_max) || p.lon + 360 <= b->lon_max ||
           p.lon - 360 >= b->lon_min;
}
