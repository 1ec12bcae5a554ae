/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_hints.c - --test_hint and --test_hint_file: the hints of the prompt, for scripts that check them.
 * Part of cli.h.
 *
 * Each line of the file has two words, in quotes if they contain blanks: the text typed, and the
 * expected hint. Empty lines and lines that begin with # are skipped. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli/cli.h"
#include "tools/cli/cli_docs.h"

#define STATUS_BAD_FILE 255

static sds cliHintsOf(struct cli *c, const char *line) {
    sds hint = cliHint(cliLoadDocs(c), line);
    return hint ? hint : sdsempty();
}

int cliTestHint(struct cli *c) {
    sds hint = cliHintsOf(c, c->hint_line);
    printf("%s\n", hint);
    sdsfree(hint);
    return 0;
}

struct hintCount {
    int lines, passed;
};

/* Tests the hint of one line; returns false if the line is malformed. */
static bool cliHintsTestLine(struct cli *c, struct hintCount *count, const char *line, size_t len) {
    int words;
    sds *word = sdssplitargs(line, len, &words);
    bool skip = word && (words == 0 || word[0][0] == '#'), ok = skip || (word && words > 1);
    if (!word)
        fprintf(stderr, "Quotes are not balanced: %s\n", line);
    else if (!ok)
        fprintf(stderr, "Missing expected hint for input '%s'\n", word[0]);
    if (ok && !skip) {
        sds hint = cliHintsOf(c, word[0]);
        bool same = strcmp(hint, word[1]) == 0;
        if (!same)
            fprintf(stderr, "Test case '%s' FAILED: expected '%s', got '%s'\n", word[0], word[1], hint);
        count->lines++;
        count->passed += same;
        sdsfree(hint);
    }
    if (word) sdsfreesplitres(word, words);
    return ok;
}

int cliTestHintFile(struct cli *c) {
    FILE *f = fopen(c->file, "re");
    if (!f) {
        fprintf(stderr, "Can't open file '%s': %s\n", c->file, strerror(errno));
        return STATUS_BAD_FILE;
    }
    struct hintCount count = {0};
    char *line = NULL;
    size_t cap = 0;
    bool ok = true;
    for (ssize_t n; ok && (n = getline(&line, &cap, f)) > 0;)
        ok = cliHintsTestLine(c, &count, line, (size_t)n);
    free(line);
    fclose(f);
    if (!ok) return STATUS_BAD_FILE;
    int failed = count.lines - count.passed;
    printf("%s: %d/%d passed\n", failed ? "FAILURE" : "SUCCESS", count.passed, count.lines);
    return failed;
}
