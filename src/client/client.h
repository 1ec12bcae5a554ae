/* SPDX-License-Identifier: BSD-3-Clause */
/* client.h - a client: a connection (or a script, or a loader) with its protocol state, input and output.
 *
 *     line 0     the running command, and what every command uses
 *     line 1     output                \  all that a thread which reads, parses and writes for the client
 *     line 2-4   input                 /  may ever touch
 *     line 5, 6  counts, lists, and a pointer to each part that another module owns
 *
 * A module that keeps state for some clients keeps it in a part of its own: a struct that only the module
 * knows, allocated for those clients that need it, named here by a pointer. The module registers how it is
 * freed (clientOnFree), how much memory it takes (clientOnMemory), and its fields in the client's line
 * (client_info.h).
 *
 * Invariant: nothing of a client outlives it. When it is freed, every part has been freed, and no list of any
 * module holds it. Clients are freed only between turns (clientClose marks and queues), so a pointer stays
 * valid while a command runs.
 *
 * Input. During a turn, `in` points at this client's bytes: in the turn's shared arena when they came in one
 * read and nothing was left over before (the usual case), else in `querybuf`. When the turn ends, an
 * incomplete request moves to querybuf; an idle client has none. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/linked_list.h"
#include "base/sds.h"
#include "base/str.h"
#include "net/resp.h"

struct connection;
struct db;
struct serverCommand;
struct request;
struct turn;
struct replyBlock;

enum {
    /* lifetime (client.c) */
    CLIENT_CLOSE_ASAP = 1 << 0,        /* queued to be freed; runs no more commands */
    CLIENT_CLOSE_AFTER_REPLY = 1 << 1, /* freed when its output is sent */
    CLIENT_FAKE = 1 << 2,              /* no connection: loader, internal */
    CLIENT_UNIX_SOCKET = 1 << 3,

    /* replies (reply.c) */
    CLIENT_REPLY_OFF = 1 << 4,
    CLIENT_REPLY_SKIP = 1 << 5, /* no reply for the running command */
    CLIENT_REPLY_SKIP_NEXT = 1 << 6,
    CLIENT_PUSHING = 1 << 7, /* a push message is being written: not muted by REPLY OFF */
    CLIENT_ERROR = 1 << 8,   /* the running command replied an error */

    /* running its command (command/, script/) */
    CLIENT_EXECUTING = 1 << 9,      /* its command is running (nested turns skip it) */
    CLIENT_REEXECUTING = 1 << 10,   /* a blocked command is run again */
    CLIENT_DENY_BLOCKING = 1 << 11, /* blocking commands answer at once (scripts, EXEC) */
    CLIENT_SCRIPT = 1 << 12,        /* runs commands for a script; has no connection */

    /* waiting, with its input kept unparsed */
    CLIENT_BLOCKED = 1 << 13, /* blocking.h */
    CLIENT_PAUSED = 1 << 14,  /* its command waits for the end of a pause, or for its turn (throttle.h) */

    /* transaction (multi.c) */
    CLIENT_MULTI = 1 << 15,       /* in a transaction: commands are queued */
    CLIENT_DIRTY_CAS = 1 << 16,   /* a watched key has changed */
    CLIENT_DIRTY_EXEC = 1 << 17,  /* a command could not be queued */
    CLIENT_IN_EXEC = 1 << 18,     /* EXEC runs */
    CLIENT_MULTI_KNOWN = 1 << 19, /* it has used MULTI or WATCH on this connection */

    /* subscriptions */
    CLIENT_PUBSUB = 1 << 20,  /* has subscriptions (pubsub.c) */
    CLIENT_MONITOR = 1 << 21, /* gets every command (monitor.c) */

    /* session */
    CLIENT_AUTHENTICATED = 1 << 22, /* acl/ */
    CLIENT_NO_TOUCH = 1 << 23,
    CLIENT_NO_EVICT = 1 << 24,
    CLIENT_IMPORT_SOURCE = 1 << 25, /* copies data into this server (import_mode.h) */
    CLIENT_REDIRECTABLE = 1 << 26,  /* CLIENT CAPA REDIRECT: understands redirections of a replica */

    /* replication (repl/) */
    CLIENT_PRIMARY = 1 << 27,  /* the link to our primary: what it sends is applied, and not answered */
    CLIENT_REPLICA = 1 << 28,  /* a replica of ours */
    CLIENT_READONLY = 1 << 29, /* READONLY: reads from replicas without being redirected */

    CLIENT_OFFLOADED = 1 << 30, /* an I/O thread reads and sends for it (command/io_client.h) */
};
#define CLIENT_ASKING (1u << 31) /* ASKING: the next command may use a slot that is imported (cluster/) */

/* Errors in the reply to a module's call: they only count when the module passes them on. */
enum heldErrors { ERRORS_COUNT, ERRORS_HELD, ERRORS_HELD_SOME };

/* Output: a chain of blocks (reply_block.h); the first byte to send is at head + sent. Written by reply.c and
 * push.c, sent by client_output.c. */
struct clientOutput {
    struct replyBlock *head, *tail; /* both NULL: nothing to send */
    size_t bytes;                   /* in the chain */
    size_t mem;                     /* memory of the blocks */
    size_t sent;                    /* bytes of the head block that are sent */
    uint64_t reply_from;            /* output since it connected, when the running command started (push.h) */
    struct listNode write_node;     /* in the list of clients to write to */
};

struct client {
    /* The running command. Views, valid until the handler returns. */
    struct str *argv;
    int argc;
    uint32_t flags;
    struct serverCommand *cmd;
    struct db *db;
    struct request *request; /* argv, argc and cmd mirror it (command/call.h); NULL: none runs */
    struct connection *conn; /* NULL: it has none */
    struct blockingState *blocked;
    uint8_t resp;           /* 2 or 3 */
    bool requeue : 1;       /* it can run again since its turn began: serve its input in the next */
    bool bulk_sender : 1;   /* it sends very much data: read in large pieces */
    bool priority : 1;      /* from one of priority-subnets (server/priority_clients.h) */
    bool throttled : 1;     /* CLIENT_PAUSED in the list of throttle.c */
    bool throttle_turn : 1; /* throttle.c has woken it: its next command need not wait again */
    bool gated : 1;         /* CLIENT_PAUSED by held_clients.c */
    bool asks_data : 1;     /* it has sent a command whose reply may tell about the data (held_clients.c) */
    bool input_held : 1;    /* nothing is read from it: it cannot run, and has sent enough (turn.c) */
    uint8_t errors_held;    /* in a module's call: enum heldErrors */

    struct clientOutput out;

    /* Input (turn.c). */
    struct {
        char *in;
        size_t in_len, in_pos; /* in_pos: first byte not parsed yet */
        size_t parse_at;       /* requests before this offset are whole; `parser` is for what starts here */
        sds querybuf;
        struct respParser parser;
        sds input_error;           /* a protocol error at parse_at; NULL: none so far */
        struct turn *turn;         /* the turn that holds its input; NULL: the input is stashed */
        struct listNode turn_node; /* in the turn's list or in that of stashed input */
    };

    uint64_t id;
    uint64_t commands, net_in, net_out; /* since it connected */
    int64_t created_ms, last_active_ms;
    struct serverCommand *lastcmd;
    /* propagateOffset() after its last command that changed data. */
    uint64_t wrote_at;

    struct listNode node;         /* all clients */
    struct listNode paused_node;  /* CLIENT_PAUSED (pause.c, throttle.c) */
    struct client *next_to_close; /* CLIENT_CLOSE_ASAP */

    /* Parts of other modules; NULL: none. */
    struct clientSession *session;   /* client_session.c: names and addresses */
    struct clientLimits *limits;     /* client_evict.c: how near it is to a limit */
    struct aclUser *user;            /* acl/; NULL: the server itself, which may do everything */
    struct multiState *multi;        /* multi.c: MULTI, or watched keys */
    struct pubsubClient *pubsub;     /* pubsub.c: subscriptions */
    struct trackingClient *tracking; /* tracking.c: tracks keys */
    struct replicaClient *replica;   /* repl/: its state as a replica of ours */
    void *script;                    /* script/: the run that it belongs to */
};

/* ---- Life ---- */
struct client *clientCreate(struct connection *conn); /* does not read yet; NULL conn: a fake client */
/* Sets what is called when a connection may have bytes to read (turn.c). */
void clientSetReadHandler(void (*fn)(struct connection *conn));
void clientResumeReading(struct client *c); /* calls that from the connection's next event */
void clientClose(struct client *c);         /* frees it after the turn; idempotent */
void clientCloseAfterReply(struct client *c);
void clientFreeClosed(void);            /* before sleep */
void clientFreeNow(struct client *c);   /* fake clients, shutdown */
struct client *clientById(uint64_t id); /* NULL: none; O(1) */
extern struct list clients;             /* all clients by `node`, in order of connection */
/* Calls fn for every client; fn may close it. */
void clientForEach(void (*fn)(void *priv, struct client *c), void *priv);

/* ---- Parts ---- */
/* Adds a function that frees a module's part of a client and takes the client out of the module's lists. The
 * functions are called in reverse order of registration. */
void clientOnFree(void (*fn)(struct client *c));
/* Adds a function that returns the memory of a module's part, in O(1); 0 when there is none. */
void clientOnMemory(size_t (*fn)(const struct client *c));
size_t clientMemory(const struct client *c); /* all its memory; O(1) */

/* ---- Classes, which have their own limits ---- */
enum clientClass { CLIENT_CLASS_NORMAL, CLIENT_CLASS_REPLICA, CLIENT_CLASS_PUBSUB, CLIENT_CLASSES };
static inline enum clientClass clientClassOf(const struct client *c) {
    if (c->flags & CLIENT_REPLICA) return CLIENT_CLASS_REPLICA;
    return c->flags & CLIENT_PUBSUB ? CLIENT_CLASS_PUBSUB : CLIENT_CLASS_NORMAL;
}

/* ---- Counts of all clients ---- */
struct clientStats {
    uint64_t connections, rejected, net_in, net_out, reads, writes;
    size_t max_input_buffer, max_output_buffer; /* in the current second */
    uint64_t query_limit_disconnects, output_limit_disconnects;
};
extern struct clientStats clientstats;

void clientCoreInit(void); /* lists, directive, INFO fields */
