/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_table_test.c - tables on terminals of several widths, and the widths and escapes of texts. */
#include "tools/cli/cli_table.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void cliTableTestPut(struct cliTable *t, const char *column, const char *cell) {
    cliTablePut(t, strOf(column), sdsnew(cell));
}

static void cliTableTestFill(struct cliTable *t) {
    cliTableOrder(t, "id name");
    cliTableAddRow(t);
    cliTableTestPut(t, "id", "7");
    cliTableTestPut(t, "name", "");
    cliTableTestPut(t, "command", "set key value");
    cliTableAddRow(t);
    cliTableTestPut(t, "command", "get");
    cliTableTestPut(t, "id", "12");
}

static void cliTableTestExpectText(const struct cliTable *t, size_t width, bool colour, const char *want) {
    sds text = cliTableText(t, width, colour);
    assert_string_equal(text, want);
    sdsfree(text);
}

static void testTheWholeTable(void **state) {
    (void)state;
    struct cliTable t = {0};
    cliTableTestFill(&t);
    cliTableTestExpectText(&t, 80, false,
                           "id  name  command\n"
                           "--  ----  -------------\n"
                           " 7        set key value\n"
                           "12        get\n");
    cliTableFree(&t);
}

static void testColours(void **state) {
    (void)state;
    struct cliTable t = {0};
    cliTableAddRow(&t);
    cliTableTestPut(&t, "n", "1");
    cliTableTestPut(&t, "what", "(nil)");
    cliTableTestExpectText(&t, 80, true,
                           "\033[1mn\033[0m  \033[1mwhat\033[0m\n\033[36m1\033[0m  \033[35m(nil)\033[0m\n");
    cliTableFree(&t);
}

/* Empty columns go first, then the last ones; none is cut below 16. */
static void testNarrowTerminals(void **state) {
    (void)state;
    struct cliTable t = {0};
    cliTableTestFill(&t);
    cliTableTestExpectText(&t, 18, false,
                           "id  command\n"
                           "--  -------------\n"
                           " 7  set key value\n"
                           "12  get\n"
                           "(1 empty: name)\n");
    cliTableTestExpectText(&t, 10, false,
                           "id\n"
                           "--\n"
                           " 7\n"
                           "12\n"
                           "(1 more:\n command)\n"
                           "(1 empty:\n name)\n");
    cliTableFree(&t);
}

static void testCutCells(void **state) {
    (void)state;
    struct cliTable t = {0};
    cliTableAddRow(&t);
    cliTableTestPut(&t, "long", "abcdefghij lmnopqrstuvwxyz");
    cliTableTestPut(&t, "id", "0123456789012345678901234567890123456789");
    cliTableTestPut(&t, "n", "5");
    sds text = cliTableText(&t, 65, false);
    assert_non_null(strstr(text, "\nabcdefghij lmnopqrs"));
    assert_null(strstr(text, "tuvwxyz"));
    assert_non_null(strstr(text, "  0123456789012345678901234567890123456789  5\n"));
    for (const char *line = text; strchr(line, '\n') && line[0] != '('; line = strchr(line, '\n') + 1)
        assert_true(cliColumns(strN(line, strcspn(line, "\n"))) <= 65);
    sdsfree(text);
    cliTableFree(&t);
}

static void testAnOpenEnd(void **state) {
    (void)state;
    struct cliTable t = {.open_end = true};
    cliTableAddRow(&t);
    cliTableTestPut(&t, "name", "save");
    cliTableTestPut(&t, "value", "abcdefghijklmnopqrstuvwxyz");
    cliTableTestExpectText(&t, 22, false,
                           "name  value\n----  ----------------\nsave  abcdefghijklmnopqrstuvwxyz\n");
    cliTableFree(&t);
}

/* ---- Texts ---- */

static void expectReadable(struct str text, bool quotes, const char *want) {
    sds out = cliCatReadable(sdsempty(), text, quotes);
    assert_string_equal(out, want);
    sdsfree(out);
}

static void expectWord(const char *word, const char *want) {
    sds out = cliCatWord(sdsempty(), strOf(word));
    assert_string_equal(out, want);
    sdsfree(out);
}

static void testWords(void **state) {
    (void)state;
    expectWord("plain:1*", "plain:1*");
    expectWord("", "\"\"");
    expectWord("two words", "\"two words\"");
    expectWord("a\"b", "\"a\\\"b\"");
    expectWord("it's", "\"it's\"");
    expectWord("back\\slash", "\"back\\\\slash\"");
    expectReadable(strN("a\0b\n", 4), false, "a\\x00b\\n");
    expectReadable(STR("\xff\xc3"), true, "\"\\xff\\xc3\"");
    expectReadable(STR("\033[31m"), true, "\"\\x1b[31m\"");
}

static void cliTableTestUtf8(void **state) {
    (void)state;
    if (!setlocale(LC_CTYPE, "C.UTF-8")) {
        print_message("skipped: there is no locale C.UTF-8\n");
        skip();
    }
    assert_int_equal(cliColumns(STR("\u00e9t\u00e9")), 3);
    assert_int_equal(cliColumns(STR("\u65e5\u672c")), 4);
    assert_int_equal(cliColumns(STR("\033[31mred\033[0m")), 3);
    assert_int_equal(cliFit(STR("\u65e5\u672c"), 3), 3);
    assert_int_equal(cliRows(STR("\u65e5\u672c\n\nabc\n"), 2), 5);
    expectReadable(STR("\u00e9\xff"), true, "\"\u00e9\\xff\"");
    expectReadable(STR("\u202eabc"), false, "\\xe2\\x80\\xaeabc"); /* it would reverse the text */
    expectWord("\u65e5", "\u65e5");
    setlocale(LC_CTYPE, "C");
    expectReadable(STR("\u00e9"), true, "\"\\xc3\\xa9\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testTheWholeTable),   cmocka_unit_test(testColours),
        cmocka_unit_test(testNarrowTerminals), cmocka_unit_test(testCutCells),
        cmocka_unit_test(testAnOpenEnd),       cmocka_unit_test(testWords),
        cmocka_unit_test(cliTableTestUtf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
