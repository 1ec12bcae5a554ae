/* aof.c - libFuzzer target for append-only files: manifests, and commands that are run for what they say.
 *
 *     make fuzz-aof FUZZ_SECONDS=600
 *
 * An input is | flags | bytes |, the bits of flags being:
 *   1  a manifest, else an append-only file     16  the bytes are lines, each a command with its arguments,
 *   2  sanitize-dump-payload                        and become requests (so that changing them makes sense)
 *   4  zset-index btree                         32  at the end the data is rewritten as commands and loaded,
 *   8  two files, each half of the bytes            else saved as RDB and loaded
 *                                               64  aof-load-truncated
 *
 * The files are real, in a folder in memory. Commands that end the server, fork, sleep, reach outside of it,
 * or leave something behind that emptyServer does not know are refused; so are requests for a billion
 * elements. */
#include <sys/stat.h>

#include "server.h"
#include "client/reply.h"
#include "commands/hash.h"
#include "commands/set.h"
#include "commands/sorted_set.h"
#include "persist/aof_private.h"

#define ELEMENTS_MAX 1000

enum { MANIFEST = 1, SANITIZE = 2, BTREE = 4, TWO_FILES = 8, LINES = 16, REWRITE = 32, TRUNCATED = 64 };

static char folder[] = "/dev/shm/fuzz-aof-XXXXXX";

/* ---- Commands that are left out ---- */

static const char *const refused_names[] = {
    "shutdown",     "save",           "bgsave",      "bgrewriteaof", "debug",    "migrate",
    "config|set",   "config|rewrite", "acl|setuser", "acl|deluser",  "acl|load", "acl|save",
    "script|debug", "replicaof",      "slaveof",     "failover",     "sync",     "psync",
    "module|load",  "module|loadex",  "pfselftest",
};
/* Their third word is how many elements the reply has, repeated ones if negative. */
static const char *const counted_names[] = {"srandmember", "hrandfield", "zrandmember"};

static void refuse(struct client *c) {
    replyError(c, "ERR not while fuzzing");
}

static void countedCommand(struct client *c) {
    int64_t n;
    if (c->argc > 2 && string2ll(c->argv[2], &n) && n < -ELEMENTS_MAX)
        refuse(c);
    else if (strIs(c->argv[0], "srandmember"))
        srandmemberCommand(c);
    else if (strIs(c->argv[0], "hrandfield"))
        hrandfieldCommand(c);
    else
        zrandmemberCommand(c);
}

/* Those that do not exist are no matter. */
static void replace(const char *name, commandProc *proc) {
    struct serverCommand *cmd = commandLookupName(strOf(name));
    if (!cmd) return;
    struct commandSpec *spec = zmalloc(sizeof *spec);
    *spec = *cmd->spec;
    spec->proc = proc;
    cmd->spec = spec;
}

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

/* Lines to requests. One that is not well quoted is left as it is. */
static sds requestsOfLines(struct str text) {
    sds out = sdsempty();
    while (text.len) {
        const char *end = memchr(text.ptr, '\n', text.len);
        size_t len = end ? (size_t)(end - text.ptr) : text.len;
        sds line = sdsnewlen(text.ptr, len);
        int argc;
        sds *argv = sdssplitargs(line, len, &argc);
        if (argv) {
            if (argc) out = sdscatprintf(out, "*%d\r\n", argc);
            for (int i = 0; i < argc; i++) {
                out = sdscatprintf(out, "$%zu\r\n", sdslen(argv[i]));
                out = sdscatlen(out, argv[i], sdslen(argv[i]));
                out = sdscat(out, "\r\n");
            }
            sdsfreesplitres(argv, argc);
        } else {
            out = sdscatlen(out, text.ptr, len);
        }
        sdsfree(line);
        len += end != NULL;
        text = strN(text.ptr + len, text.len - len);
    }
    return out;
}

/* ---- What is done with an input ---- */

/* A manifest that was understood is written down so that it is understood as the same. */
static void readManifestText(struct str text) {
    struct aofManifest m, again;
    sds error, path = aofPath(folder, "manifest");
    writeFile("manifest", text);
    bool ok = aofManifestRead(path, &m, &error);
    serverAssert(ok == !error);
    sdsfree(error);
    if (ok && m.count) { /* remarks alone are a manifest without files, and those are not written */
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

static enum aofLoaded load(int files) {
    aofManifestAdd(&aof.manifest, sdsnew("a"), 1, 'i');
    if (files > 1) aofManifestAdd(&aof.manifest, sdsnew("b"), 2, 'i');
    enum aofLoaded result = aofLoad();
    aofManifestFree(&aof.manifest);
    return result;
}

/* What is rewritten as commands and loaded again is the same. */
static void assertRewrites(void) {
    uint8_t before[20], after[20];
    sds path = aofPath(folder, "a");
    digestAll(before);
    bool ok = aofRewriteFile(path, NULL);
    serverAssert(ok);
    emptyServer();
    serverAssert(load(1) != AOF_FAILED);
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
    load(flags & TWO_FILES ? 2 : 1);
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
    for (size_t i = 0; i < sizeof refused_names / sizeof *refused_names; i++)
        replace(refused_names[i], refuse);
    for (size_t i = 0; i < sizeof counted_names / sizeof *counted_names; i++)
        replace(counted_names[i], countedCommand);
    if (!mkdtemp(folder)) { /* no such file system: anywhere will do */
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
    set("sanitize-dump-payload", flags & SANITIZE ? STR("yes") : STR("no"));
    set("zset-index", flags & BTREE ? STR("btree") : STR("skiplist"));
    aof_load_truncated = flags & TRUNCATED;
    runCommands(bytes, flags);
    emptyServer();
    return 0;
}
