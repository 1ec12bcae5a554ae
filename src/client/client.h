/* SPDX-License-Identifier: BSD-3-Clause */
/* client.h - a client: a connection (or a script, or a loader) with its protocol state, input and output.
 *
 *     line 0     the running command, and what every command looks at
 *     line 1     output                \  all that a thread which reads, parses and writes for the client
 *     line 2-4   input                 /  may ever touch: nothing else of it
 *     line 5, 6  counts, lists, and a pointer to each part that another room owns
 *
 * A room that keeps something about some clients keeps it in a part of its own: a struct that only the room
 * knows, allocated for those clients that need it, named here by a pointer. The room registers how it is
 * given back (clientOnFree), how much memory it takes (clientOnMemory), and what the client's line says of it
 * (client_info.h).
 *
 * Invariant: nothing of a client outlives it. When it is freed, every part has been given back, and no list
 * of any room holds it. Clients are freed only between rounds (clientClose marks and queues), so a pointer
 * stays good while a command runs.
 *
 * Input. While a round runs, `in` points at this client's bytes: in the round's shared arena when they came
 * in one read and nothing was left over before (the usual case), else in `querybuf`. When the round ends,
 * what is incomplete moves to querybuf; an idle client has none. */
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
struct round;
struct replyBlock;

enum {
    /* its life (client.c) */
    CLIENT_CLOSE_ASAP = 1 << 0,        /* queued to be freed; runs no more commands */
    CLIENT_CLOSE_AFTER_REPLY = 1 << 1, /* freed when its output is sent */
    CLIENT_FAKE = 1 << 2,              /* no connection: loader, internal */
    CLIENT_UNIX_SOCKET = 1 << 3,

    /* its replies (reply.c) */
    CLIENT_REPLY_OFF = 1 << 4,
    CLIENT_REPLY_SKIP = 1 << 5, /* no reply for the running command */
    CLIENT_REPLY_SKIP_NEXT = 1 << 6,
    CLIENT_PUSHING = 1 << 7, /* a push message is being written: not muted by REPLY OFF */
    CLIENT_ERROR = 1 << 8,   /* the running command replied an error */

    /* how its command runs (command/, script/) */
    CLIENT_EXECUTING = 1 << 9,      /* its command is running (nested rounds leave it alone) */
    CLIENT_REEXECUTING = 1 << 10,   /* a blocked command is tried again */
    CLIENT_DENY_BLOCKING = 1 << 11, /* blocking commands answer at once (scripts, EXEC) */
    CLIENT_SCRIPT = 1 << 12,        /* runs commands for a script; has no connection */

    /* why it waits, its input kept unparsed */
    CLIENT_BLOCKED = 1 << 13, /* blocking.h */
    CLIENT_PAUSED = 1 << 14,  /* its command waits for the end of a pause (pause.h) */

    /* its transaction (multi.c) */
    CLIENT_MULTI = 1 << 15,       /* in a transaction: commands are queued */
    CLIENT_DIRTY_CAS = 1 << 16,   /* a watched key has changed */
    CLIENT_DIRTY_EXEC = 1 << 17,  /* a command could not be queued */
    CLIENT_IN_EXEC = 1 << 18,     /* EXEC runs */
    CLIENT_MULTI_KNOWN = 1 << 19, /* there has been a MULTI or WATCH on this connection */

    /* what it listens to */
    CLIENT_PUBSUB = 1 << 20,  /* has subscriptions (pubsub.c) */
    CLIENT_MONITOR = 1 << 21, /* is shown every command (monitor.c) */

    /* its session: who it is, and what it has asked for */
    CLIENT_AUTHENTICATED = 1 << 22, /* acl/ */
    CLIENT_NO_TOUCH = 1 << 23,
    CLIENT_NO_EVICT = 1 << 24,
    CLIENT_IMPORT_SOURCE = 1 << 25, /* copies data into this server (import_mode.h) */
    CLIENT_REDIRECTABLE = 1 << 26,  /* CLIENT CAPA REDIRECT: understands redirections of a replica */

    /* replication (repl/) */
    CLIENT_PRIMARY = 1 << 27,  /* the link to our primary: what it sends is applied, and not answered */
    CLIENT_REPLICA = 1 << 28,  /* it follows us */
    CLIENT_READONLY = 1 << 29, /* READONLY: it reads from replicas, and need not be redirected for that */

    CLIENT_OFFLOADED = 1 << 30, /* an I/O thread reads and sends for it (command/io_client.h) */
};
#define CLIENT_ASKING (1u << 31) /* ASKING: the next command may use a slot that is imported (cluster/) */

/* What a module's call replies is the module's: errors in it count when it passes them on. */
enum heldErrors { ERRORS_COUNT, ERRORS_HELD, ERRORS_HELD_SOME };

/* Output: a chain of blocks (reply_block.h), of which the first byte to send is at head + sent. Written by
 * reply.c and push.c, sent by client_output.c. */
struct clientOutput {
    struct replyBlock *head, *tail; /* both NULL: nothing to send */
    size_t bytes;                   /* in the chain */
    size_t mem;                     /* of the blocks */
    size_t sent;                    /* of the head block */
    uint64_t reply_from;            /* output of its life when the running command started (push.h) */
    struct listNode write_node;     /* among those who are to be sent something */
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
    uint8_t resp;         /* 2 or 3 */
    bool requeue : 1;     /* became runnable during its round: serve its input in the next */
    bool bulk_sender : 1; /* it sends data by the gigabyte: read in large pieces */
    bool input_held : 1;  /* nothing is read from it: it cannot run, and enough has come (turn.c) */
    uint8_t errors_held;  /* of a call: enum heldErrors */

    struct clientOutput out;

    /* Input (turn.c). */
    struct {
        char *in;
        size_t in_len, in_pos; /* in_pos: first byte not parsed yet */
        size_t parse_at;       /* requests before this offset are whole; `parser` is about what starts here */
        sds querybuf;
        struct respParser parser;
        sds input_error;           /* a protocol error was found at parse_at; NULL: none so far */
        struct round *round;       /* the round that holds this client's input, NULL when it is set aside */
        struct listNode turn_node; /* in the round's or the pending-input list */
    };

    uint64_t id;
    uint64_t commands, net_in, net_out; /* of its life */
    int64_t created_ms, last_active_ms;
    struct serverCommand *lastcmd;
    uint64_t wrote_at; /* propagateOffset() behind the last command of its that changed data */

    struct listNode node;         /* all clients */
    struct listNode paused_node;  /* CLIENT_PAUSED (pause.c) */
    struct client *next_to_close; /* CLIENT_CLOSE_ASAP */

    /* Parts of other rooms; NULL: there is nothing to say. */
    struct clientSession *session;   /* client_session.c: how it is called */
    struct clientLimits *limits;     /* client_evict.c: how near it is to a limit */
    struct aclUser *user;            /* acl/; NULL: the server itself, which may do everything */
    struct multiState *multi;        /* multi.c: MULTI, or watched keys */
    struct pubsubClient *pubsub;     /* pubsub.c: subscriptions */
    struct trackingClient *tracking; /* tracking.c: tracks keys */
    struct replicaClient *replica;   /* repl/: what it has said as a replica of ours, or to become one */
    void *script;                    /* script/: the run that it works for */
};

/* ---- Life ---- */
struct client *clientCreate(struct connection *conn); /* does not read yet; NULL conn: a fake client */
/* What is run when bytes have come for a client, or may have (turn.c). */
void clientSetReadHandler(void (*fn)(struct connection *conn));
void clientReadOn(struct client *c); /* has its connection call that */
void clientClose(struct client *c);  /* frees it after the round; idempotent */
void clientCloseAfterReply(struct client *c);
void clientFreeClosed(void);            /* before sleep */
void clientFreeNow(struct client *c);   /* fake clients, shutdown */
struct client *clientById(uint64_t id); /* NULL: none; O(1) */
extern struct list clients;             /* of struct client by node, in order of connection */
/* Runs fn for every client; fn may close it. */
void clientForEach(void (*fn)(void *priv, struct client *c), void *priv);

/* ---- Parts ---- */
/* A room gives back its part of a client that is freed, and takes the client out of its lists. The last room
 * that was registered is asked first. */
void clientOnFree(void (*fn)(struct client *c));
/* The memory of a room's part, in O(1); 0 when there is none. */
void clientOnMemory(size_t (*fn)(const struct client *c));
size_t clientMemory(const struct client *c); /* all of it; O(1) */

/* ---- Classes, with limits of their own ---- */
enum clientClass { CLIENT_CLASS_NORMAL, CLIENT_CLASS_REPLICA, CLIENT_CLASS_PUBSUB, CLIENT_CLASSES };
static inline enum clientClass clientClassOf(const struct client *c) {
    if (c->flags & CLIENT_REPLICA) return CLIENT_CLASS_REPLICA;
    return c->flags & CLIENT_PUBSUB ? CLIENT_CLASS_PUBSUB : CLIENT_CLASS_NORMAL;
}

/* ---- Counts of all clients ---- */
struct clientStats {
    uint64_t connections, rejected, net_in, net_out, reads, writes;
    size_t max_input_buffer, max_output_buffer; /* of the present second */
    uint64_t query_limit_disconnects, output_limit_disconnects;
};
extern struct clientStats clientstats;

void clientCoreInit(void); /* lists, directive, INFO fields */
