/* SPDX-License-Identifier: BSD-3-Clause */
/* io_reads.h - the inputs of an I/O thread's clients that it runs itself, because they consist of reads.
 *
 *     ioReadsKeep ─┬─▶ short ─▶ ioReadsTake ─────┬─▶ ioReadsRun ─▶ output, and how it has ended:
 *                  └─▶ long ──▶ ioReadsTakeLong ─┘     DONE  all has run
 *                       ▲                              REST  for the main thread
 *                       └───────────────────────────── LONG
 *
 * Short ones of up to IO_READS_AT_ONCE clients run together, in one phase (parallel_read.h) and prefetched
 * together. An input is long if requests of it have taken PARALLEL_READ_LONG_US, or if it begins with the
 * command by which the client's last long one began. Long ones run one at a time, when the others have been
 * answered.
 *
 * An input with anything else in it goes to the main thread as it came: its reads in front of that would be
 * sent apart, and a call of the kernel costs more than they do. With parallel-reads-always these run here all
 * the same, so that tests whose pipelines end with something else test reads in threads.
 *
 * A client has one input at most (io_client.h), so it is here once at most. */
#pragma once

#include <stdbool.h>

#include "command/prefetch.h"

struct ioClient;
struct ioInput;
struct parallelReader;
struct replyBlock;

#define IO_READS_AT_ONCE 64 /* inputs that run in one phase */

struct ioRead {
    struct ioClient *client;
    struct ioInput *in;
    /* The results of ioReadsRun. */
    struct replyBlock *output; /* to be sent; NULL: none */
    enum ioReadEnd {
        IO_READ_REST, /* the main thread gets what is left */
        IO_READ_DONE,
        IO_READ_LONG, /* is kept again, among the long ones */
    } end;
};

/* Each thread has one. */
struct ioReads {
    struct ioRead kept[IO_READS_AT_ONCE];
    int count;
    struct ioRead *long_reads; /* allocated */
    int long_count, long_cap;
    struct parallelReader *reader;
    struct prefetchBatch prefetch;
};

/* Called in the main thread, before the thread starts and when it has ended. */
void ioReadsInit(struct ioReads *rs);
void ioReadsFree(struct ioReads *rs);

/* False: the input does not consist of reads, none may run in the thread now, or there is no place for it. */
bool ioReadsKeep(struct ioReads *rs, struct ioClient *p, struct ioInput *in);
/* Removes the short ones, in order of arrival. Returns how many. */
int ioReadsTake(struct ioReads *rs, struct ioRead batch[IO_READS_AT_ONCE]);
/* Removes the long one of the client, or of any client (NULL) the first. `in` is NULL if there is none. */
struct ioRead ioReadsTakeLong(struct ioReads *rs, const struct ioClient *p);
/* Runs inputs, as far as the main thread lets it. */
void ioReadsRun(struct ioReads *rs, struct ioRead *batch, int count);
