/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of spill_file: what is put is read back, in any order, while it is being written and after the file
 * has failed; nothing is left in the folder. */
#include "data/forkless/spill_file.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/zmalloc.h"

#define CHUNKS 2000
#define LIMIT  (1024 * 1024) /* of the file's size, in tests of failures */

static struct spillFile *file;
static struct spillExtent extents[CHUNKS];
static char folder[] = "/tmp/spill-test-XXXXXX";

static sds spillTestChunk(int i) {
    size_t size = 1 + (size_t)(i * 7919) % 5000;
    sds s = sdsnewlen(NULL, size);
    for (size_t n = 0; n < size; n++) s[n] = (char)(i + (int)n * 31);
    return s;
}

static void spillTestWait(bool (*until)(void)) {
    for (int i = 0; i < 10000 && !until(); i++) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_true(until());
}
static bool spillTestIsWritten(void) {
    return spillFileWaiting(file) == 0;
}
static bool spillTestHasFailed(void) {
    return spillFileError(file) != 0;
}

static bool spillTestReads(int i) {
    sds wanted = spillTestChunk(i);
    char got[8192];
    size_t n = 0, m = 1;
    int error;
    for (; m && n < sdslen(wanted); n += m)
        m = spillFileRead(file, extents[i].offset + n, got + n, sdslen(wanted) - n, &error);
    bool same = n == sdslen(wanted) && n == extents[i].bytes && !memcmp(got, wanted, n);
    sdsfree(wanted);
    return same;
}

static void *spillTestReader(void *arg) {
    intptr_t wrong = 0;
    (void)arg;
    zmallocThreadStart();
    for (int i = 0; i < CHUNKS; i++) wrong += !spillTestReads(i);
    for (int i = 0; i < CHUNKS; i++) wrong += !spillTestReads((int)((unsigned)i * 7927u % CHUNKS));
    zmallocThreadExit();
    return (void *)wrong;
}

/* Puts all chunks while a thread reads them, as soon as they are known to it. */
static void spillTestPutAndRead(bool slowly) {
    pthread_t thread;
    void *wrong;
    uint64_t offset = 0;
    for (int i = 0; i < CHUNKS; i++) {
        sds bytes = spillTestChunk(i);
        extents[i] = (struct spillExtent){offset, sdslen(bytes)};
        offset += sdslen(bytes);
        sdsfree(bytes);
    }
    assert_int_equal(pthread_create(&thread, NULL, spillTestReader, NULL), 0);
    for (int i = 0; i < CHUNKS; i++) {
        struct spillExtent at;
        assert_true(spillFilePut(file, spillTestChunk(i), &at));
        assert_memory_equal(&at, &extents[i], sizeof at);
        if (slowly && i % 100 == 0) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    assert_int_equal(spillFileTaken(file), offset);
    pthread_join(thread, &wrong);
    assert_null(wrong);
}

static void spillTestWrites(void **state) {
    (void)state;
    for (int slowly = 0; slowly < 2; slowly++) {
        file = spillFileCreate();
        spillTestPutAndRead(slowly);
        spillTestWait(spillTestIsWritten);
        assert_int_equal(spillFileError(file), 0);
        assert_int_equal(rmdir(folder), 0); /* the file has no name */
        assert_int_equal(mkdir(folder, 0700), 0);
        assert_int_equal(chdir(folder), 0);
        spillFileFree(file);
    }
}

/* The disk is full in the middle of a chunk: what was taken stays readable, nothing more is taken. */
static void spillTestFails(void **state) {
    (void)state;
    struct rlimit before, limit;
    int taken = 0;
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = LIMIT + 1;
    setrlimit(RLIMIT_FSIZE, &limit);
    file = spillFileCreate();
    for (; taken < CHUNKS; taken++) {
        sds bytes = spillTestChunk(taken);
        if (spillFilePut(file, bytes, &extents[taken])) continue;
        sdsfree(bytes);
        break;
    }
    spillTestWait(spillTestHasFailed);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(spillFileError(file), EFBIG);
    assert_in_range(spillFileWaiting(file), spillFileTaken(file) - LIMIT,
                    spillFileTaken(file) - LIMIT + 5000);
    for (int i = 0; i < taken; i++) assert_true(spillTestReads(i));
    for (int i = taken; i-- > 0;) assert_true(spillTestReads(i));
    struct spillExtent at;
    sds bytes = sdsnew("more");
    assert_false(spillFilePut(file, bytes, &at));
    sdsfree(bytes);
    spillFileFree(file);
}

static void spillTestHasNoFile(void **state) {
    (void)state;
    int error;
    char c;
    file = spillFileCreate();
    assert_int_equal(rmdir(folder), 0);
    assert_true(spillFilePut(file, sdsnew("x"), &extents[0]));
    assert_int_equal(spillFileRead(file, 0, &c, 1, &error), 1);
    assert_int_equal(c, 'x');
    assert_int_equal(spillFileError(file), ENOENT);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(chdir(folder), 0);
    spillFileFree(file);
}

static _Atomic(bool) read_nothing;

static void *spillTestReadNothing(void *arg) {
    char c;
    (void)arg;
    int error = 0;
    size_t n = spillFileRead(file, 0, &c, 1, &error);
    read_nothing = true;
    return (void *)(intptr_t)(n ? -1 : error);
}
static bool spillTestHasReadNothing(void) {
    return read_nothing;
}

static void spillTestCancels(void **state) {
    (void)state;
    pthread_t thread;
    void *error;
    file = spillFileCreate();
    assert_int_equal(pthread_create(&thread, NULL, spillTestReadNothing, NULL), 0);
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    assert_false(read_nothing);
    spillFileCancel(file);
    spillTestWait(spillTestHasReadNothing);
    pthread_join(thread, &error);
    assert_int_equal((intptr_t)error, ECANCELED);
    spillFileFree(file);
    file = spillFileCreate();
    for (int i = 0; i < CHUNKS; i++) assert_true(spillFilePut(file, spillTestChunk(i), &extents[i]));
    spillFileFree(file); /* with what has not been written */
}

static int spillTestSetUp(void **state) {
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int spillTestTearDown(void **state) {
    (void)state;
    return chdir("/") == 0 ? rmdir(folder) : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spillTestWrites),
        cmocka_unit_test(spillTestFails),
        cmocka_unit_test(spillTestHasNoFile),
        cmocka_unit_test(spillTestCancels),
    };
    return cmocka_run_group_tests(tests, spillTestSetUp, spillTestTearDown);
}
