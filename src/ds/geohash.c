/* SPDX-License-Identifier: BSD-3-Clause */
/* geohash.c - see geohash.h.
 *
 * Covering. The shape's bounding box is cut into cells of the smallest size at which few enough of them cover
 * it; each cell is an interval, and touching intervals are joined. At the 180th meridian columns are counted
 * on and wrapped around.
 *
 * Order. COUNT n ANY, or a search without an order, returns places in the order in which Valkey finds them:
 * it visits the nine cells around the center whose size depends on the radius. So intervals are ranked by the
 * one of those nine in which they lie. Measured beside 9.1.2: equal in 19 of 20 searches; the others are
 * large, or near a pole. */
#include "ds/geohash.h"

#include <math.h>
#include <stdlib.h>

#include "base/assert.h"

#define EARTH_RADIUS_M  6372797.560856
#define AXIS_BITS       26
#define COVER_CELLS_MAX 9
#define SLACK           1.000001 /* against rounding, where a box is drawn around a shape */
#define HAIR_DEG        1e-9     /* the same for shapes that are a single point: a tenth of a millimetre */

_Static_assert(COVER_CELLS_MAX + 1 <= GEO_INTERVALS_MAX, "each cell and the edge may be an interval");

static double geohashRadians(double degrees) {
    return degrees * (M_PI / 180.0);
}
static double geohashDegrees(double radians) {
    return radians / (M_PI / 180.0);
}

/* ---- Encoding ---- */

bool geoValid(struct geoPoint p) {
    return p.lon >= -GEO_LONG_MAX && p.lon <= GEO_LONG_MAX && p.lat >= -GEO_LAT_MAX && p.lat <= GEO_LAT_MAX;
}

/* Moves the bits of v to the even positions. */
static uint64_t geohashSpread(uint32_t v) {
    uint64_t x = v;
    x = (x | x << 16) & 0x0000ffff0000ffffull;
    x = (x | x << 8) & 0x00ff00ff00ff00ffull;
    x = (x | x << 4) & 0x0f0f0f0f0f0f0f0full;
    x = (x | x << 2) & 0x3333333333333333ull;
    return (x | x << 1) & 0x5555555555555555ull;
}

static uint32_t geohashGather(uint64_t x) {
    x &= 0x5555555555555555ull;
    x = (x | x >> 1) & 0x3333333333333333ull;
    x = (x | x >> 2) & 0x0f0f0f0f0f0f0f0full;
    x = (x | x >> 4) & 0x00ff00ff00ff00ffull;
    x = (x | x >> 8) & 0x0000ffff0000ffffull;
    return (uint32_t)(x | x >> 16);
}

static uint64_t geohashInterleave(uint32_t lon, uint32_t lat) {
    return geohashSpread(lat) | geohashSpread(lon) << 1;
}

/* Returns the number of the part of [-max, max], cut into 2^26 equal parts, in which v lies. */
static uint32_t geohashPart(double v, double max) {
    double offset = (v + max) / (max + max) * (double)(1u << AXIS_BITS);
    return offset >= (double)(1u << AXIS_BITS) ? (1u << AXIS_BITS) : (uint32_t)offset;
}

static uint64_t geohashEncodeWith(struct geoPoint p, double lat_max) {
    return geohashInterleave(geohashPart(p.lon, GEO_LONG_MAX), geohashPart(p.lat, lat_max));
}

uint64_t geoEncode(struct geoPoint p) {
    debugAssert(geoValid(p));
    return geohashEncodeWith(p, GEO_LAT_MAX);
}

static double geohashMiddle(uint32_t i, double max) {
    double scale = max + max, parts = (double)(1u << AXIS_BITS);
    double low = -max + i * 1.0 / parts * scale, high = -max + (i + 1) * 1.0 / parts * scale;
    double mid = (low + high) / 2;
    return mid > max ? max : mid < -max ? -max : mid;
}

struct geoPoint geoDecode(uint64_t hash) {
    return (struct geoPoint){geohashMiddle(geohashGather(hash >> 1), GEO_LONG_MAX),
                             geohashMiddle(geohashGather(hash), GEO_LAT_MAX)};
}

void geoText(uint64_t hash, char out[12]) {
    static const char alphabet[] = "0123456789bcdefghjkmnpqrstuvwxyz";
    uint64_t standard = geohashEncodeWith(geoDecode(hash), 90);
    for (int i = 0; i < 10; i++) out[i] = alphabet[standard >> (GEO_BITS - 5 * (i + 1)) & 31];
    out[10] = alphabet[0]; /* 52 bits make ten characters and two bits; the last character is constant */
    out[11] = 0;
}

/* ---- Distance ---- */

double geoDistance(struct geoPoint a, struct geoPoint b) {
    double lon1 = geohashRadians(a.lon), lon2 = geohashRadians(b.lon), lat1 = geohashRadians(a.lat),
           lat2 = geohashRadians(b.lat);
    double v = sin((lon2 - lon1) / 2), u = sin((lat2 - lat1) / 2);
    if (v == 0) return EARTH_RADIUS_M * fabs(lat2 - lat1);
    double h = u * u + cos(lat1) * cos(lat2) * v * v;
    return 2 * EARTH_RADIUS_M * asin(sqrt(fmin(h, 1))); /* between antipodes rounding may pass 1 */
}

struct geoPoint geoMean(const struct geoPoint *points, size_t count) {
    double x = 0, y = 0, z = 0;
    debugAssert(count > 0);
    for (size_t i = 0; i < count; i++) {
        double lon = geohashRadians(points[i].lon), lat = geohashRadians(points[i].lat);
        x += cos(lat) * cos(lon);
        y += cos(lat) * sin(lon);
        z += sin(lat);
    }
    return (struct geoPoint){geohashDegrees(atan2(y, x)), geohashDegrees(atan2(z, sqrt(x * x + y * y)))};
}

/* Applies the even-odd rule along the parallel through p. */
static bool geohashInsidePolygon(const struct geoShape *s, struct geoPoint p) {
    bool inside = false;
    for (size_t i = 0, j = s->vertex_count - 1; i < s->vertex_count; j = i++) {
        struct geoPoint a = s->vertices[i], b = s->vertices[j];
        if ((a.lat > p.lat) == (b.lat > p.lat)) continue;
        if (p.lon < (b.lon - a.lon) * (p.lat - a.lat) / (b.lat - a.lat) + a.lon) inside = !inside;
    }
    return inside;
}

static bool geohashInsideBox(const struct geoShape *s, struct geoPoint p) {
    struct geoPoint below = {p.lon, s->center.lat}, beside = {s->center.lon, p.lat};
    return geoDistance(p, below) <= s->height_m / 2 && geoDistance(p, beside) <= s->width_m / 2;
}

bool geoContains(const struct geoShape *shape, struct geoPoint p, double *distance_m) {
    if (shape->kind == GEO_BOX && !geohashInsideBox(shape, p)) return false;
    if (shape->kind == GEO_POLYGON && !geohashInsidePolygon(shape, p)) return false;
    *distance_m = geoDistance(shape->center, p);
    return shape->kind != GEO_CIRCLE || *distance_m <= shape->radius_m;
}

/* ---- Covering ---- */

static struct geoBounds geohashEverywhere(void) {
    return (struct geoBounds){-GEO_LONG_MAX, GEO_LONG_MAX, -GEO_LAT_MAX, GEO_LAT_MAX};
}

static struct geoBounds geohashCircleBox(struct geoPoint center, double radius_m) {
    double angle = radius_m / EARTH_RADIUS_M * SLACK, lat = geohashRadians(center.lat);
    if (angle >= M_PI) return geohashEverywhere();
    struct geoBounds b = {0, 0, geohashDegrees(lat - angle), geohashDegrees(lat + angle)};
    /* A shape with a pole inside contains every longitude. Otherwise its widest parallel is not that of
     * its center. */
    double wide = sin(angle) / cos(lat);
    if (b.lat_min <= -90 || b.lat_max >= 90 || wide >= 1) {
        b.lon_min = -GEO_LONG_MAX;
        b.lon_max = GEO_LONG_MAX;
    } else {
        double dlon = geohashDegrees(asin(wide)) * SLACK;
        b.lon_min = center.lon - dlon;
        b.lon_max = center.lon + dlon;
    }
    return b;
}

static struct geoBounds geohashPolygonBox(const struct geoShape *s) {
    serverAssert(s->vertex_count > 0);
    struct geoBounds b = {s->vertices[0].lon, s->vertices[0].lon, s->vertices[0].lat, s->vertices[0].lat};
    for (size_t i = 1; i < s->vertex_count; i++) {
        b.lon_min = fmin(b.lon_min, s->vertices[i].lon);
        b.lon_max = fmax(b.lon_max, s->vertices[i].lon);
        b.lat_min = fmin(b.lat_min, s->vertices[i].lat);
        b.lat_max = fmax(b.lat_max, s->vertices[i].lat);
    }
    return b;
}

static struct geoBounds geohashShapeBox(const struct geoShape *s) {
    struct geoBounds b;
    if (s->kind == GEO_POLYGON)
        b = geohashPolygonBox(s);
    else if (s->kind == GEO_BOX) /* no point of it is farther than the two half sides together */
        b = geohashCircleBox(s->center, (s->width_m + s->height_m) / 2);
    else
        b = geohashCircleBox(s->center, s->radius_m);
    b.lat_min = fmax(b.lat_min, -GEO_LAT_MAX);
    b.lat_max = fmin(b.lat_max, GEO_LAT_MAX);
    if (b.lon_max - b.lon_min >= 2 * GEO_LONG_MAX) {
        b.lon_min = -GEO_LONG_MAX;
        b.lon_max = GEO_LONG_MAX;
    }
    return b;
}

/* The sides of the box are the most degrees apart on the parallel that is nearer to a pole. */
static struct geoBounds geohashBoxBounds(const struct geoShape *s) {
    double half_lat = geohashDegrees(s->height_m / 2 / EARTH_RADIUS_M) * SLACK,
           half_width = s->width_m / 2 / EARTH_RADIUS_M;
    struct geoBounds b = geohashEverywhere();
    b.lat_min = s->center.lat - half_lat;
    b.lat_max = s->center.lat + half_lat;
    double far = geohashRadians(fmin(fmax(-b.lat_min, b.lat_max), 90)), wide = sin(half_width / 2) / cos(far);
    if (half_width >= M_PI || cos(far) <= 0 || wide >= 1) return b;
    double half_lon = geohashDegrees(2 * asin(wide)) * SLACK;
    b.lon_min = s->center.lon - half_lon;
    b.lon_max = s->center.lon + half_lon;
    return b;
}

struct geoBounds geoBoundsOf(const struct geoShape *shape) {
    struct geoBounds b = shape->kind == GEO_BOX      ? geohashBoxBounds(shape)
                         : shape->kind == GEO_CIRCLE ? geohashCircleBox(shape->center, shape->radius_m)
                                                     : geohashEverywhere();
    return (struct geoBounds){b.lon_min - HAIR_DEG, b.lon_max + HAIR_DEG, b.lat_min - HAIR_DEG,
                              b.lat_max + HAIR_DEG};
}

/* Returns the number of the row or column, of 2^bits, in which v lies; beyond the ends for longitudes past
 * 180. */
static int64_t geohashCellOf(double v, double max, int bits) {
    return (int64_t)floor((v + max) / (2 * max) * (double)(1ll << bits));
}

static int geohashCoverCells(const struct geoShape *shape, struct geoInterval out[GEO_INTERVALS_MAX]) {
    struct geoBounds b = geohashShapeBox(shape);
    int bits = AXIS_BITS;
    int64_t x0, x1, y0, y1;
    do {
        int64_t last = (1ll << bits) - 1;
        x0 = geohashCellOf(b.lon_min, GEO_LONG_MAX, bits);
        x1 = geohashCellOf(b.lon_max, GEO_LONG_MAX, bits);
        y0 = geohashCellOf(b.lat_min, GEO_LAT_MAX, bits);
        y1 = geohashCellOf(b.lat_max, GEO_LAT_MAX, bits);
        if (y0 < 0) y0 = 0;
        if (y1 > last) y1 = last;
        if (x1 - x0 > last) x1 = x0 + last;
        /* At 0 bits one cell covers all. */
    } while ((x1 - x0 + 1) * (y1 - y0 + 1) > COVER_CELLS_MAX && bits-- > 0);
    int n = 0;
    for (int64_t x = x0; x <= x1; x++) {
        for (int64_t y = y0; y <= y1; y++) {
            uint64_t cell = geohashInterleave((uint32_t)(x & ((1ll << bits) - 1)), (uint32_t)y);
            int shift = 2 * (AXIS_BITS - bits);
            out[n++] = (struct geoInterval){cell << shift, ((cell + 1) << shift) - 1, 0};
        }
    }
    /* A point exactly on the outermost meridian or parallel is in its own part, after the last one. */
    if (b.lon_min <= -GEO_LONG_MAX || b.lon_max >= GEO_LONG_MAX || b.lat_max >= GEO_LAT_MAX)
        out[n++] = (struct geoInterval){1ull << GEO_BITS, (1ull << (GEO_BITS + 2)) - 1, 0};
    return n;
}

/* ---- The order of covering ---- */

/* Returns half of the largest extent of the shape. */
static double geohashShapeRadius(const struct geoShape *s) {
    if (s->kind == GEO_CIRCLE) return s->radius_m;
    if (s->kind == GEO_BOX) return hypot(s->width_m / 2, s->height_m / 2);
    double radius_m = 0;
    for (size_t i = 0; i < s->vertex_count; i++)
        radius_m = fmax(radius_m, geoDistance(s->center, s->vertices[i]));
    return radius_m;
}

/* Returns the bits of rows and columns whose cells are two to four radii wide at the equator. Cells are
 * narrower towards the poles, so larger ones are used there. */
static int geohashNeighbourBits(const struct geoShape *s) {
    double half_way_m = M_PI * EARTH_RADIUS_M, lat = fabs(s->center.lat);
    double radius_m = fmin(fmax(geohashShapeRadius(s), 1e-3), half_way_m); /* it may be infinite */
    int bits = (int)ceil(log2(half_way_m / radius_m)) - 1;
    bits -= (lat > 66) + (lat > 80);
    return bits < 1 ? 1 : bits > AXIS_BITS ? AXIS_BITS : bits;
}

/* Returns the rank of a cell in the order of search around the center: the center's cell, north, south,
 * east, west, then the corners. */
enum { FAR = 9 };
static int geohashRankOf(const struct geoInterval *cell, uint64_t center, int bits) {
    static const int ranks[3][3] = {{8, 2, 7}, {4, 0, 3}, {6, 1, 5}}; /* [south to north][west to east] */
    if (cell->min <= center && center <= cell->max) return 0;
    uint32_t columns = (1u << bits) - 1, shift = (uint32_t)(AXIS_BITS - bits);
    uint32_t dx =
        ((geohashGather(cell->min >> 1) >> shift) - (geohashGather(center >> 1) >> shift) + 1) & columns;
    uint32_t dy = (geohashGather(cell->min) >> shift) - (geohashGather(center) >> shift) + 1;
    return dx > 2 || dy > 2 ? FAR : ranks[dy][dx];
}

static int geohashInOrder(const void *a, const void *b) {
    const struct geoInterval *x = a, *y = b;
    if (x->rank != y->rank) return x->rank - y->rank;
    return x->min < y->min ? -1 : x->min > y->min;
}

/* Ranks all cells; returns false if the covering has cells beyond the neighbours of the center's cell. */
static bool geohashRankAll(const struct geoShape *shape, int bits, struct geoInterval *cells, int n) {
    uint64_t center = geoEncode(shape->center);
    bool near = true;
    for (int i = 0; i < n; i++) {
        cells[i].rank = geohashRankOf(&cells[i], center, bits);
        near = near && cells[i].rank < FAR;
    }
    return near;
}

int geoCover(const struct geoShape *shape, struct geoInterval out[GEO_INTERVALS_MAX]) {
    int n = geohashCoverCells(shape, out), bits = geohashNeighbourBits(shape), last = 0;
    if (!geohashRankAll(shape, bits, out, n)) geohashRankAll(shape, bits > 1 ? bits - 1 : 1, out, n);
    qsort(out, (size_t)n, sizeof *out, geohashInOrder);
    for (int i = 1; i < n; i++) {
        if (out[i].rank == out[last].rank && out[i].min == out[last].max + 1)
            out[last].max = out[i].max;
        else
            out[++last] = out[i];
    }
    return n ? last + 1 : 0;
}
