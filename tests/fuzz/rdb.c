/* SPDX-License-Identifier: BSD-3-Clause */
/* rdb.c - libFuzzer target for whole RDB files.
 *
 *     make fuzz-rdb FUZZ_SECONDS=600
 *
 * An input is | flags | file |, the bits of flags being: sanitize-dump-payload, zset-index btree, how
 * the file is read (2 bits: from memory, from within a compressed frame, in small pieces), keep expired keys,
 * let later keys replace earlier ones, maxmemory-policy allkeys-lfu, rdb-version-check relaxed and
 * rdb-skip-unknown-types. Checksums are ignored. Loaded data is used, saved and loaded again; then every
 * value is changed until it is empty. */
#include "server.h"

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    serverWithoutLoop();
    return 0;
}

static sds compressFile(struct str file) {
    sds packed = sdsempty();
    struct rioWriter w;
    rioWriterInit(&w, rioSinkSds, &packed);
    rioWriterStartFrame(&w, STREAM_LZ4, STREAM_KIND_RDB, false);
    rioWriteStr(&w, file);
    rioWriterEndFrame(&w);
    rioWriterFree(&w);
    return packed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const size_t pieces[] = {0, 100, 1, 13};
    if (size < 1) return 0;
    unsigned flags = data[0];
    struct str file = strN((const char *)data + 1, size - 1);
    sds packed = (flags >> 2 & 3) == 1 ? compressFile(file) : NULL;
    struct rioPieces source = {packed ? sdsview(packed) : file, pieces[flags >> 2 & 3]};
    setDirective("sanitize-dump-payload", flags & 1 ? STR("yes") : STR("no"));
    setDirective("zset-index", flags & 2 ? STR("btree") : STR("skiplist"));
    setDirective("maxmemory-policy", flags & 64 ? STR("allkeys-lfu") : STR("noeviction"));
    setDirective("rdb-version-check", flags & 128 ? STR("relaxed") : STR("strict"));
    setDirective("rdb-skip-unknown-types", flags & 128 ? STR("yes") : STR("no"));
    struct rdbReader r = {0};
    if (source.piece)
        rioReaderInit(&r.io, rioReadPiece, &source, RIO_SIZE_UNKNOWN);
    else
        rioReaderInitMemory(&r.io, source.left);
    loadingStart(EVENT_LOADS_RDB, size);
    bool loaded =
        rdbLoadStream(&r, &(struct rdbLoadOptions){.keep_expired = flags & 16, .merge = flags & 32}, NULL);
    loadingStop(loaded);
    serverAssert(loaded == !rioFailed(&r.io));
    rdbReaderFree(&r);
    assertComesBack(); /* after a failure, the keys loaded before it */
    exerciseAll();
    emptyServer();
    sdsfree(packed);
    return 0;
}
