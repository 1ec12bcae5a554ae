/* SPDX-License-Identifier: BSD-3-Clause */
/* aof.c - libFuzzer target for append-only files: manifests, and files whose commands are run.
 *
 *     make fuzz-aof FUZZ_SECONDS=600
 *
 * An input is | flags | bytes |, the bits of flags being:
 *   1  a manifest, else an append-only file     16  the bytes are lines, each a command with its
 * arguments,
 *   2  sanitize-dump-payload                        and become requests (so that changing them makes
 * sense)
 *   4  zset-index btree                         32  at the end the data is rewritten as commands and
 * loaded,
 *   8  two files, each half of the bytes            else saved as RDB and loaded
 *                                               64  aof-load-truncated
 *
 * The files are real, in a folder in memory. */
#include <sys/stat.h>

#include "commands.h"
#include "persist/aof_private.h"

enum { MANIFEST = 1, SANITIZE = 2, BTREE = 4, TWO_FILES = 8, LINES = 16, REWRITE = 32, TRUNCATED = 64 };

static char folder[] = "/dev/shm/fuzz-aof-XXXXXX";

/* ---- Files ---- */

static void writeFile(const char *name, struct str bytes) {
    sds path = aofPath(folder, name);
    FILE *f = fopen(path, "wb");
    serverAssert(f);
    size_t n = fwrite(bytes.ptr, 1, bytes.len, f);
    serverAssert(n == bytes.len);
    fclose(f);
    sdsfree(path);
}

static void removeFolder(void) {
    static const char *const names[] = {"manifest", "a", "b"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        sds path = aofPath(folder, names[i]);
        unlink(path);
        sdsfree(path);
    }
    rmdir(folder);
}

/* ---- Running an input ---- */

/* Checks that a valid manifest is written so that reading it gives the same manifest. */
static void readManifestText(struct str text) {
    struct aofManifest m, again;
    sds error, path = aofPath(folder, "manifest");
    writeFile("manifest", text);
    bool ok = aofManifestRead(path, &m, &error);
    serverAssert(ok == !error);
    sdsfree(error);
    if (ok && m.count) { /* a manifest of comments only has no files, and is not written */
        sds written = aofManifestText(&m);
        writeFile("manifest", sdsview(written));
        ok = aofManifestRead(path, &again, &error);
        serverAssert(ok);
        sds rewritten = aofManifestText(&again);
        serverAssert(sdscmp(written, rewritten) == 0);
        serverAssert(aofManifestNextSeq(&m, 'b') > 0 && aofManifestNextSeq(&m, 'i') > 0);
        sdsfree(written);
        sdsfree(rewritten);
        aofManifestFree(&again);
    }
    aofManifestFree(&m);
    sdsfree(path);
}

static enum aofLoaded aofLoadFiles(int files) {
    aofManifestAdd(&aof.manifest, sdsnew("a"), 1, 'i');
    if (files > 1) aofManifestAdd(&aof.manifest, sdsnew("b"), 2, 'i');
    enum aofLoaded result = aofLoad();
    aofManifestFree(&aof.manifest);
    return result;
}

/* Asserts that rewriting the data as commands and loading them gives the same data. */
static void assertRewrites(void) {
    uint8_t before[20], after[20];
    sds path = aofPath(folder, "a");
    digestAll(before);
    bool ok = aofRewriteFile(path);
    serverAssert(ok);
    emptyServer();
    serverAssert(aofLoadFiles(1) != AOF_FAILED);
    digestAll(after);
    serverAssert(memcmp(before, after, sizeof before) == 0);
    sdsfree(path);
}

static void runCommands(struct str bytes, unsigned flags) {
    sds requests = flags & LINES ? requestsOfLines(bytes) : NULL;
    if (requests) bytes = sdsview(requests);
    size_t half = flags & TWO_FILES ? bytes.len / 2 : bytes.len;
    writeFile("a", strN(bytes.ptr, half));
    if (flags & TWO_FILES) writeFile("b", strN(bytes.ptr + half, bytes.len - half));
    aofLoadFiles(flags & TWO_FILES ? 2 : 1);
    sdsfree(requests);
    serverAssert(!script_run.name && !loadingActive());
    if (flags & REWRITE)
        assertRewrites();
    else
        assertComesBack();
    exerciseAll();
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    serverWithoutLoop();
    refuseCommands();
    if (!mkdtemp(folder)) { /* without that file system any other will do */
        strcpy(folder, "/tmp/fuzz-aof-XXXXXX");
        char *made = mkdtemp(folder);
        serverAssert(made);
    }
    atexit(removeFolder);
    sdsfree(aof_dir);
    aof_dir = sdsnew(folder);
    aof_use_rdb_preamble = false;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    unsigned flags = data[0];
    struct str bytes = strN((const char *)data + 1, size - 1);
    if (flags & MANIFEST) {
        readManifestText(bytes);
        return 0;
    }
    setDirective("sanitize-dump-payload", flags & SANITIZE ? STR("yes") : STR("no"));
    setDirective("zset-index", flags & BTREE ? STR("btree") : STR("skiplist"));
    aof_load_truncated = flags & TRUNCATED;
    runCommands(bytes, flags);
    emptyServer();
    return 0;
}
