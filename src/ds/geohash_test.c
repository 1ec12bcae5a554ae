/* SPDX-License-Identifier: BSD-3-Clause */
/* geohash_test.c - places to integers and back, and covers against brute force: whatever a shape contains
 * must lie in one of its intervals, also across the 180th meridian and around the poles. */
#include "ds/geohash.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/model_ops.h"

#define SHAPES           4000
#define POINTS_PER_SHAPE 400
#define METRES_PER_DEG   111226.0 /* of a meridian */

static double geohashTestUniform(double low, double high) {
    return low + (high - low) * drand48();
}

static struct geoPoint geohashTestAnywhere(void) {
    return (struct geoPoint){geohashTestUniform(-GEO_LONG_MAX, GEO_LONG_MAX),
                             geohashTestUniform(-GEO_LAT_MAX, GEO_LAT_MAX)};
}

/* ---- Encoding ---- */

static void geohashTestKnown(void **state) {
    (void)state;
    struct geoPoint palermo = {13.361389, 38.115556}, catania = {15.087269, 37.502669};
    char text[12];
    assert_int_equal(geoEncode(palermo), 3479099956230698);
    assert_int_equal(geoEncode(catania), 3479447370796909);
    geoText(geoEncode(palermo), text);
    assert_string_equal(text, "sqc8b49rny0");
    assert_int_equal(geoEncode((struct geoPoint){-180, -GEO_LAT_MAX}), 0);
    assert_true(fabs(geoDistance(geoDecode(geoEncode(palermo)), geoDecode(geoEncode(catania))) -
                     166274.1516) < 0.0001);
}

static void testRoundTrip(void **state) {
    (void)state;
    const double cell_lon = 360.0 / (1 << 26), cell_lat = 2 * GEO_LAT_MAX / (1 << 26);
    for (uint64_t i = modelShare(200000); i; i--) {
        struct geoPoint p = geohashTestAnywhere();
        uint64_t hash = geoEncode(p);
        struct geoPoint back = geoDecode(hash);
        assert_true(hash < 1ull << GEO_BITS);
        assert_true(fabs(back.lon - p.lon) <= cell_lon / 2 * 1.0001);
        assert_true(fabs(back.lat - p.lat) <= cell_lat / 2 * 1.0001);
        assert_int_equal(geoEncode(back), hash);
    }
}

static void testEveryHashHasAPlace(void **state) {
    (void)state;
    for (uint64_t i = modelShare(100000); i; i--) {
        uint64_t hash = (uint64_t)mrand48() << 32 ^ (uint64_t)mrand48();
        assert_true(geoValid(geoDecode(hash)));
    }
    assert_true(geoValid(geoDecode(UINT64_MAX)));
}

static void testValid(void **state) {
    (void)state;
    assert_true(geoValid((struct geoPoint){180, GEO_LAT_MAX}));
    assert_true(geoValid((struct geoPoint){-180, -GEO_LAT_MAX}));
    assert_false(geoValid((struct geoPoint){180.0001, 0}));
    assert_false(geoValid((struct geoPoint){0, -85.06}));
    assert_false(geoValid((struct geoPoint){NAN, 0}));
    assert_false(geoValid((struct geoPoint){0, INFINITY}));
}

/* ---- Distance and containment ---- */

/* Computes the distance by the angle between two vectors: another formula than that of geohash.c. */
static double angleDistance(struct geoPoint a, struct geoPoint b) {
    double r = M_PI / 180, v[2][3];
    const struct geoPoint *p[2] = {&a, &b};
    for (int i = 0; i < 2; i++) {
        v[i][0] = cos(p[i]->lat * r) * cos(p[i]->lon * r);
        v[i][1] = cos(p[i]->lat * r) * sin(p[i]->lon * r);
        v[i][2] = sin(p[i]->lat * r);
    }
    double x = v[0][1] * v[1][2] - v[0][2] * v[1][1], y = v[0][2] * v[1][0] - v[0][0] * v[1][2],
           z = v[0][0] * v[1][1] - v[0][1] * v[1][0];
    double dot = v[0][0] * v[1][0] + v[0][1] * v[1][1] + v[0][2] * v[1][2];
    return 6372797.560856 * atan2(sqrt(x * x + y * y + z * z), dot);
}

static void testDistance(void **state) {
    (void)state;
    for (uint64_t i = modelShare(100000); i; i--) {
        struct geoPoint a = geohashTestAnywhere(), b = geohashTestAnywhere();
        assert_true(fabs(geoDistance(a, b) - angleDistance(a, b)) < 0.5);
        assert_true(fabs(geoDistance(a, b) - geoDistance(b, a)) < 1e-6);
        assert_true(geoDistance(a, a) == 0);
    }
}

/* A triangle contains the points on the same side of all its edges. */
static void testTriangle(void **state) {
    (void)state;
    int inside = 0;
    for (uint64_t i = modelShare(100000); i; i--) {
        struct geoPoint v[3] = {geohashTestAnywhere(), geohashTestAnywhere(), geohashTestAnywhere()},
                        p = geohashTestAnywhere();
        struct geoShape s = {.kind = GEO_POLYGON, .vertices = v, .vertex_count = 3};
        int sides = 0;
        for (int k = 0; k < 3; k++) {
            struct geoPoint a = v[k], b = v[(k + 1) % 3];
            sides += (b.lon - a.lon) * (p.lat - a.lat) > (b.lat - a.lat) * (p.lon - a.lon) ? 1 : -1;
        }
        double distance;
        assert_int_equal(geoContains(&s, p, &distance), abs(sides) == 3);
        inside += abs(sides) == 3;
    }
    assert_in_range(inside, modelShare(1000), modelShare(50000));
}

/* A star-like polygon with a bay does not contain the bay. */
static void testConcave(void **state) {
    (void)state;
    struct geoPoint v[] = {{0, 0}, {10, 0}, {10, 10}, {5, 2}, {0, 10}};
    struct geoShape s = {.kind = GEO_POLYGON, .center = {5, 4.4}, .vertices = v, .vertex_count = 5};
    double distance;
    assert_true(geoContains(&s, (struct geoPoint){5, 1}, &distance));
    assert_true(fabs(distance - geoDistance(s.center, (struct geoPoint){5, 1})) < 1e-9);
    assert_true(geoContains(&s, (struct geoPoint){1, 7}, &distance));
    assert_true(geoContains(&s, (struct geoPoint){9, 7}, &distance));
    assert_false(geoContains(&s, (struct geoPoint){5, 5}, &distance));
    assert_false(geoContains(&s, (struct geoPoint){-1, 1}, &distance));
    assert_false(geoContains(&s, (struct geoPoint){5, -1}, &distance));
}

/* ---- Covers ---- */

static bool geohashTestCovered(const struct geoInterval *iv, int n, uint64_t hash) {
    for (int i = 0; i < n; i++)
        if (hash >= iv[i].min && hash <= iv[i].max) return true;
    return false;
}

/* Returns a point, most often near the shape: at every scale, across the meridian and up to the last
 * latitudes. */
static struct geoPoint pointFor(const struct geoShape *s, double size_m) {
    if (drand48() < 0.1) return geohashTestAnywhere();
    double reach = size_m / METRES_PER_DEG * pow(10, geohashTestUniform(-3, 0.3));
    struct geoPoint p = {s->center.lon, s->center.lat + geohashTestUniform(-reach, reach)};
    double widest = fmax(cos(p.lat * M_PI / 180), 0.05);
    p.lon += geohashTestUniform(-reach, reach) / widest;
    p.lon -= 360 * floor((p.lon + 180) / 360);
    p.lat = fmax(fmin(p.lat, GEO_LAT_MAX), -GEO_LAT_MAX);
    if (drand48() < 0.02) p.lon = drand48() < 0.5 ? -180 : 180;
    return p;
}

static struct geoPoint centerFor(int i) {
    struct geoPoint p = geohashTestAnywhere();
    switch (i % 5) {
    case 0: p.lon = (i & 8 ? 180 : -180) * geohashTestUniform(0.999, 1); break;
    case 1: p.lat = (i & 8 ? GEO_LAT_MAX : -GEO_LAT_MAX) * geohashTestUniform(0.95, 1); break;
    case 2: p = (struct geoPoint){i & 8 ? 180 : -180, i & 16 ? GEO_LAT_MAX : -GEO_LAT_MAX}; break;
    default: break;
    }
    return p;
}

static int in_bounds;

/* Returns how many of the points were inside. */
static int checkCover(const struct geoShape *s, double size_m) {
    struct geoInterval iv[GEO_INTERVALS_MAX];
    struct geoBounds bounds = geoBoundsOf(s);
    int n = geoCover(s, iv), inside = 0;
    assert_in_range(n, 0, GEO_INTERVALS_MAX);
    for (int i = 0; i < n; i++) {
        assert_true(iv[i].min <= iv[i].max);
        for (int j = 0; j < i; j++) assert_true(iv[i].min > iv[j].max || iv[i].max < iv[j].min);
        if (i)
            assert_true(iv[i].rank > iv[i - 1].rank ||
                        (iv[i].rank == iv[i - 1].rank && iv[i].min > iv[i - 1].max + 1));
    }
    /* The first intervals are those of the center's cell. */
    int own = 0;
    while (own < n && iv[own].rank == iv[0].rank) own++;
    bool at_edge = fabs(s->center.lon) == GEO_LONG_MAX || fabs(s->center.lat) == GEO_LAT_MAX;
    if (s->kind != GEO_POLYGON && !at_edge) assert_true(geohashTestCovered(iv, own, geoEncode(s->center)));
    for (int k = 0; k < POINTS_PER_SHAPE; k++) {
        uint64_t hash = geoEncode(pointFor(s, size_m));
        double distance;
        in_bounds += geoInBounds(&bounds, geoDecode(hash));
        if (!geoContains(s, geoDecode(hash), &distance)) continue;
        inside++;
        assert_true(geohashTestCovered(iv, n, hash));
        assert_true(geoInBounds(&bounds, geoDecode(hash)));
    }
    return inside;
}

/* Most points within the bounds of their circles and boxes are also inside these. */
static void assertBoundsTight(int inside) {
    assert_true(inside > in_bounds * 3 / 5);
    in_bounds = 0;
}

static void testCoverCircles(void **state) {
    (void)state;
    int inside = 0;
    for (int i = 0; i < SHAPES; i++) {
        struct geoShape s = {
            .kind = GEO_CIRCLE, .center = centerFor(i), .radius_m = pow(10, geohashTestUniform(-1, 7.5))};
        inside += checkCover(&s, s.radius_m);
    }
    assert_true(inside > SHAPES * POINTS_PER_SHAPE / 5);
    assertBoundsTight(inside);
}

static void testCoverBoxes(void **state) {
    (void)state;
    int inside = 0;
    for (int i = 0; i < SHAPES; i++) {
        struct geoShape s = {
            .kind = GEO_BOX, .center = centerFor(i), .width_m = pow(10, geohashTestUniform(-1, 7.5))};
        s.height_m = s.width_m * pow(10, geohashTestUniform(-2, 2));
        inside += checkCover(&s, fmin(s.width_m, s.height_m));
    }
    assert_true(inside > SHAPES * POINTS_PER_SHAPE / 5);
    assertBoundsTight(inside);
}

static void testCoverPolygons(void **state) {
    (void)state;
    int inside = 0;
    for (int i = 0; i < SHAPES; i++) {
        struct geoPoint v[8];
        struct geoPoint c = centerFor(i);
        double size = pow(10, geohashTestUniform(-4, 1.5));
        for (int k = 0; k < 8; k++) {
            v[k].lon = fmax(fmin(c.lon + geohashTestUniform(-size, size), 180), -180);
            v[k].lat = fmax(fmin(c.lat + geohashTestUniform(-size, size), GEO_LAT_MAX), -GEO_LAT_MAX);
        }
        struct geoShape s = {
            .kind = GEO_POLYGON, .center = c, .vertices = v, .vertex_count = (size_t)(3 + i % 6)};
        inside += checkCover(&s, size * METRES_PER_DEG);
    }
    assert_true(inside > SHAPES * POINTS_PER_SHAPE / 20);
}

/* The whole sphere is in a circle of half its circumference, and in larger ones. */
static void testCoverEverything(void **state) {
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct geoShape s = {
            .kind = GEO_CIRCLE, .center = centerFor(i), .radius_m = i % 2 ? 2.1e7 : INFINITY};
        struct geoInterval iv[GEO_INTERVALS_MAX];
        int n = geoCover(&s, iv);
        for (int k = 0; k < 1000; k++)
            assert_true(geohashTestCovered(iv, n, geoEncode(geohashTestAnywhere())));
        assert_true(geohashTestCovered(iv, n, geoEncode((struct geoPoint){180, GEO_LAT_MAX})));
    }
}

/* A cover that is too large is right, but slow. */
static void testCoverIsTight(void **state) {
    (void)state;
    for (uint64_t i = modelShare(20000); i; i--) {
        struct geoShape s = {.kind = GEO_CIRCLE,
                             .center = {geohashTestUniform(-170, 170), geohashTestUniform(-60, 60)},
                             .radius_m = pow(10, geohashTestUniform(1, 5.5))};
        struct geoInterval iv[GEO_INTERVALS_MAX];
        int n = geoCover(&s, iv);
        double cells = 0, side = s.radius_m * 2 / METRES_PER_DEG;
        for (int k = 0; k < n; k++) cells += (double)(iv[k].max - iv[k].min + 1);
        double square = side / 360 * side / (2 * GEO_LAT_MAX) / cos(s.center.lat * M_PI / 180);
        assert_true(cells / 0x1p52 < 40 * square);
    }
}

/* A circle without extent is the place itself, however its latitude is rounded on the way. */
static void testPointInItsOwnBounds(void **state) {
    (void)state;
    for (uint64_t i = modelShare(100000); i; i--) {
        struct geoPoint p = geoDecode(geoEncode(geohashTestAnywhere()));
        struct geoShape circle = {.kind = GEO_CIRCLE, .center = p}, box = {.kind = GEO_BOX, .center = p};
        struct geoBounds in_circle = geoBoundsOf(&circle), in_box = geoBoundsOf(&box);
        assert_true(geoInBounds(&in_circle, p) && geoInBounds(&in_box, p));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(geohashTestKnown),
        cmocka_unit_test(testRoundTrip),
        cmocka_unit_test(testEveryHashHasAPlace),
        cmocka_unit_test(testValid),
        cmocka_unit_test(testDistance),
        cmocka_unit_test(testTriangle),
        cmocka_unit_test(testConcave),
        cmocka_unit_test(testCoverCircles),
        cmocka_unit_test(testCoverBoxes),
        cmocka_unit_test(testCoverPolygons),
        cmocka_unit_test(testCoverEverything),
        cmocka_unit_test(testCoverIsTight),
        cmocka_unit_test(testPointInItsOwnBounds),
    };
    srand48(20);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
