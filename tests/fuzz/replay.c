/* SPDX-License-Identifier: BSD-3-Clause */
/* replay.c - runs one fuzzer's corpus without libFuzzer, as a unit test: every input ever found must
 * stay harmless, in every build. Linked with tests/fuzz/NAME.c as NAME_replay. CORPUS is the folder with
 * the corpora, FUZZ_CORPUS another folder of inputs; FUZZ_VERBOSE prints the name of each input and the
 * server's log. */
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/sds.h"

int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static sds folder;
static const char *running; /* the input's name */

static void tellAborted(int signal) {
    (void)signal;
    print_message("harmful: %s/%s (FUZZ_VERBOSE=1 tells more)\n", folder, running ? running : "");
}

static sds readFile(const char *name) {
    char piece[4096];
    sds bytes = sdsempty(), path = sdscatprintf(sdsempty(), "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    if (!f) print_message("cannot open %s\n", path);
    assert_non_null(f);
    for (size_t n; (n = fread(piece, 1, sizeof piece, f)) > 0;) bytes = sdscatlen(bytes, piece, n);
    fclose(f);
    sdsfree(path);
    return bytes;
}

static void replayOfCorpusIsHarmless(void **state) {
    (void)state;
    DIR *dir = opendir(folder);
    if (!dir) print_message("no folder %s\n", folder);
    assert_non_null(dir);
    int files = 0;
    for (struct dirent *e; (e = readdir(dir)); files++) {
        if (e->d_name[0] == '.') continue;
        if (getenv("FUZZ_VERBOSE")) print_message("%s\n", e->d_name);
        sds bytes = readFile(e->d_name);
        running = e->d_name;
        LLVMFuzzerTestOneInput((const uint8_t *)bytes, sdslen(bytes));
        sdsfree(bytes);
    }
    closedir(dir);
    assert_true(files > 2);
}

/* Finds the corpus; the name of the fuzzer is the program's, without _replay. */
static void findFolder(const char *program) {
    const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program,
               *end = strstr(name, "_replay");
    size_t len = end ? (size_t)(end - name) : strlen(name);
    if (getenv("FUZZ_CORPUS"))
        folder = sdsnew(getenv("FUZZ_CORPUS"));
    else
        folder = sdscatprintf(sdsempty(), "%s/%.*s", CORPUS, (int)len, name);
}

int main(int argc, char **argv) {
    findFolder(argv[0]);
    signal(SIGABRT, tellAborted);
    if (LLVMFuzzerInitialize) LLVMFuzzerInitialize(&argc, &argv);
    const struct CMUnitTest tests[] = {cmocka_unit_test(replayOfCorpusIsHarmless)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sdsfree(folder);
    return failed;
}
