/* SPDX-License-Identifier: BSD-3-Clause */
/* exposition_test.c - tests of both formats of metrics, of JSON, and of parsing INFO. */
#include "web/exposition.h"

#include <math.h>

#include "web/info_view.h"
#include "web/json.h"

/* cmocka needs these before its own header. */
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static sds expositionTestPage(bool openmetrics) {
    struct exposition e;
    expositionStart(&e, openmetrics);
    metricFamily(&e, "up", METRIC_GAUGE, "A gauge.");
    metricPlain(&e, 1);
    metricFamily(&e, "commands_total", METRIC_COUNTER, "A counter.");
    metricOpen(&e, "");
    metricLabel(&e, "cmd", STR("a\"b\\c\nd"));
    metricLabel(&e, "db", STR(""));
    metricValue(&e, 1e15 + 1);
    metricFamily(&e, "total_reads", METRIC_COUNTER, "One of a name that is no counter's.");
    metricPlain(&e, 0.25);
    metricFamily(&e, "percentiles", METRIC_SUMMARY, "A summary.");
    metricOpen(&e, "");
    metricLabel(&e, "quantile", STR("99"));
    metricText(&e, STR("3.141"));
    metricSummaryPart(&e, "percentiles", "_sum", "Its sum.");
    metricOpen(&e, "_sum");
    metricValue(&e, -INFINITY);
    metricFamily(&e, "latencies", METRIC_HISTOGRAM, "A histogram.");
    metricOpen(&e, "_bucket");
    metricLabel(&e, "le", STR("+Inf"));
    metricValue(&e, NAN);
    return expositionEnd(&e);
}

static void expositionTestPrometheus(void **state) {
    (void)state;
    sds text = expositionTestPage(false);
    assert_string_equal(text, "# HELP redis_up A gauge.\n# TYPE redis_up gauge\nredis_up 1\n"
                              "# HELP redis_commands_total A counter.\n# TYPE redis_commands_total counter\n"
                              "redis_commands_total{cmd=\"a\\\"b\\\\c\\nd\",db=\"\"} 1000000000000001\n"
                              "# HELP redis_total_reads One of a name that is no counter's.\n"
                              "# TYPE redis_total_reads counter\nredis_total_reads 0.25\n"
                              "# HELP redis_percentiles A summary.\n# TYPE redis_percentiles summary\n"
                              "redis_percentiles{quantile=\"99\"} 3.141\nredis_percentiles_sum -Inf\n"
                              "# HELP redis_latencies A histogram.\n# TYPE redis_latencies histogram\n"
                              "redis_latencies_bucket{le=\"+Inf\"} NaN\n");
    sdsfree(text);
}

static void expositionTestOpenMetrics(void **state) {
    (void)state;
    sds text = expositionTestPage(true);
    assert_string_equal(text, "# HELP redis_up A gauge.\n# TYPE redis_up gauge\nredis_up 1\n"
                              "# HELP redis_commands A counter.\n# TYPE redis_commands counter\n"
                              "redis_commands_total{cmd=\"a\\\"b\\\\c\\nd\",db=\"\"} 1000000000000001\n"
                              "# HELP redis_total_reads One of a name that is no counter's.\n"
                              "# TYPE redis_total_reads unknown\nredis_total_reads 0.25\n"
                              "# HELP redis_percentiles A summary.\n# TYPE redis_percentiles unknown\n"
                              "redis_percentiles{quantile=\"99\"} 3.141\n"
                              "# HELP redis_percentiles_sum Its sum.\n# TYPE redis_percentiles_sum unknown\n"
                              "redis_percentiles_sum -Inf\n"
                              "# HELP redis_latencies A histogram.\n# TYPE redis_latencies histogram\n"
                              "redis_latencies_bucket{le=\"+Inf\"} NaN\n# EOF\n");
    sdsfree(text);
}

static void expositionTestInfo(void **state) {
    (void)state;
    struct infoView v;
    infoViewOpen(
        &v,
        sdsnew(
            "# Server\r\nos:Linux: x\r\nport:6379\r\n\r\n# Memory\r\nperc:12.5%\r\nempty:\r\n#\r\nno colon\r\n"
            "db0:keys=4,expires=1\r\n"));
    assert_int_equal(v.count, 5);
    assert_true(strEq(infoViewGet(&v, "perc"), STR("12.5%")));
    assert_true(strEq(infoViewGet(&v, "os"), STR("Linux: x"))); /* the search wraps around */
    assert_true(strEq(v.lines[2].section, STR("Memory")));
    assert_null(infoViewGet(&v, "por").ptr);
    assert_true(infoViewNumber(&v, "port") == 6379);
    assert_true(infoViewNumber(&v, "perc") == 12.5);
    assert_true(infoViewNumber(&v, "os") == 0);
    assert_true(infoViewNumber(&v, "nothing") == 0);
    struct str db = infoViewGet(&v, "db0"), empty = infoViewGet(&v, "empty");
    assert_true(strEq(infoViewPart(db, "keys"), STR("4")));
    assert_true(strEq(infoViewPart(db, "expires"), STR("1")));
    assert_null(infoViewPart(db, "key").ptr);
    assert_null(infoViewPart(empty, "key").ptr);
    infoViewClose(&v);
}

static void expositionTestJson(void **state) {
    (void)state;
    sds s = jsonOpen(sdsempty(), '{');
    s = jsonNameNumber(s, "a", 1.5);
    s = jsonNameString(s, "b", strN("\0\x1f\"\\\x7f/", 6));
    s = jsonOpen(jsonName(s, STR("c")), '[');
    s = jsonNumber(jsonNumber(s, NAN), 1e300);
    s = jsonBool(jsonBool(s, true), false);
    s = jsonClose(jsonOpen(jsonOpen(s, '['), '{'), '}');
    s = jsonClose(jsonClose(s, ']'), ']');
    s = jsonClose(s, '}');
    assert_string_equal(
        s, "{\"a\":1.5,\"b\":\"\\u0000\\u001f\\\"\\\\\x7f/\",\"c\":[null,1e+300,true,false,[{}]]}");
    sdsfree(s);
}

static void expositionTestUtf8(void **state) {
    (void)state;
    static const struct {
        const char *bytes, *json;
    } rows[] = {
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {"a\xff(", "\"a\\\\xff(\""},
        {"\xc3", "\"\\\\xc3\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sds s = jsonString(sdsempty(), strOf(rows[i].bytes));
        assert_string_equal(s, rows[i].json);
        sdsfree(s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expositionTestPrometheus), cmocka_unit_test(expositionTestOpenMetrics),
        cmocka_unit_test(expositionTestInfo), cmocka_unit_test(expositionTestJson),
        cmocka_unit_test(expositionTestUtf8)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
