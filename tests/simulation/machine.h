/* SPDX-License-Identifier: BSD-3-Clause */
/* machine.h - the memory that machine.c shares with simulated.py. Python reads and writes the same fields by their
 * order: eight bytes each. */
#pragma once

#include <stdint.h>

#define SLOTS          128
#define HOSTS          16
#define JOURNAL_OFFSET 65536

enum { REASON_STEP = 1, REASON_KILL, REASON_STUCK };

enum slotState {
    SLOT_FREE,
    SLOT_READY,
    SLOT_POLLING, /* in epoll_wait or poll, until `deadline` */
    SLOT_SLEEPING,
    SLOT_COND,  /* in pthread_cond_*wait at `address`, until `deadline` */
    SLOT_MUTEX, /* for the mutex at `address` */
    SLOT_JOIN,  /* for the end of the slot `address` */
    SLOT_EXITED,
};

/* A thread, of the server or of its child. */
struct slot {
    uint64_t state, address, deadline, seen;
    int64_t real_pid, pid;
    uint64_t process; /* the slot of its main thread */
    uint64_t signal;  /* to be raised when it runs next; 0: none */
    uint64_t status;  /* of a process that has ended, as waitpid says it */
    uint64_t thread;  /* its pthread_t */
    uint64_t turn;    /* futex: 1 when it may run */
    uint64_t host;    /* the machine that it runs on */
};

struct machine {
    /* What the driver sets. */
    uint64_t random;         /* state of the generator: the seed */
    uint64_t kill_at;        /* the call before which the driver is told REASON_KILL */
    uint64_t yield_permille; /* how often a call lets another thread run first */
    uint64_t sync_least_us, sync_most_us, slow_sync_permille, slow_sync_us;
    uint64_t write_faults, sync_faults, name_faults, fork_faults; /* per ten thousand calls */
    uint64_t first_pid;
    uint64_t journal_size;
    uint64_t driver_due; /* when the driver wants to be called, in virtual us */
    uint64_t driver_sent;
    /* State. */
    uint64_t reason;
    uint64_t now_us;
    uint64_t calls;
    uint64_t hash;     /* over all calls, their results and who made them */
    uint64_t activity; /* counts what may make a descriptor ready */
    uint64_t driver_seen;
    uint64_t journal_used;
    uint64_t pids;
    uint64_t longest_sync_us;
    uint64_t faults;   /* injected so far */
    uint64_t switches; /* from one thread to another */
    uint64_t hosts;
    uint64_t frozen; /* a bit for each host that stands still; set by the driver */
    uint64_t sound;  /* a bit for each host whose disk has no errors; set by the driver */
    uint64_t caller; /* the slot that has called the driver */
    int64_t clock_us[HOSTS]; /* how far the wall clocks are ahead; set by the driver */
    struct slot slots[SLOTS];
};

/* What happened to files, in order. Data follows, padded to eight bytes. */
enum { J_CREATE = 1, J_WRITE, J_CUT, J_SYNC_BEGIN, J_SYNC_END, J_RENAME, J_UNLINK, J_MKDIR, J_LINK, J_SYNC_FAIL };

struct journalEntry {
    uint64_t kind, inode, offset, slot, len; /* slot: with the host in the upper 32 bits */
    /* path (J_CREATE: empty for a file without a name, J_LINK, J_UNLINK, J_MKDIR), two of them with a zero between (J_RENAME), bytes (J_WRITE), or
     * the folder's path (J_SYNC_*, inode 0) */
};
