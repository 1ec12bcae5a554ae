/* client.h - a client: a connection (or a script, or a loader) with its protocol state, input and output.
 *
 * Input. While a round runs, `in` points at this client's bytes: in the round's shared arena when they came
 * in one read and nothing was left over before (the usual case), else in `querybuf`. When the round ends,
 * what is incomplete moves to querybuf; an idle client has none.
 *
 * Clients are freed only between rounds (clientClose marks and queues), so a pointer stays good while a
 * command runs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/sds.h"
#include "base/str.h"
#include "net/resp.h"

struct connection;
struct db;
struct serverCommand;
struct round;
struct replyBlock;
struct blockingState;
struct pubsubClient;
struct multiState;
struct aclUser;
struct trackingClient;

enum {
    CLIENT_CLOSE_ASAP = 1 << 0,        /* queued to be freed; runs no more commands */
    CLIENT_CLOSE_AFTER_REPLY = 1 << 1, /* freed when its output is sent */
    CLIENT_BLOCKED = 1 << 2,           /* waits (blocking.h); input is kept unparsed */
    CLIENT_SCRIPT = 1 << 3,            /* runs commands for a script; has no connection */
    CLIENT_FAKE = 1 << 4,              /* no connection: loader, internal */
    CLIENT_REPLY_OFF = 1 << 5,
    CLIENT_REPLY_SKIP = 1 << 6, /* no reply for the running command */
    CLIENT_REPLY_SKIP_NEXT = 1 << 7,
    CLIENT_UNIX_SOCKET = 1 << 8,
    CLIENT_EXECUTING = 1 << 9,      /* its command is running (nested rounds leave it alone) */
    CLIENT_DENY_BLOCKING = 1 << 10, /* blocking commands answer at once (scripts, EXEC) */
    CLIENT_AUTHENTICATED = 1 << 11,
    CLIENT_NO_TOUCH = 1 << 12,
    CLIENT_NO_EVICT = 1 << 13,
    CLIENT_MONITOR = 1 << 30,       /* is shown every command (monitor.c) */
    CLIENT_PAUSED = 1 << 27,        /* its command waits for the end of a pause (pause.h) */
    CLIENT_IMPORT_SOURCE = 1 << 29, /* copies data into this server (import_mode.h) */
    CLIENT_REDIRECTABLE = 1 << 28,  /* CLIENT CAPA REDIRECT: understands redirections of a replica */
    CLIENT_REEXECUTING = 1 << 14,   /* a blocked command is tried again */
    CLIENT_PUSHING = 1 << 15,       /* a push message is being written: not muted by REPLY OFF */
    CLIENT_ERROR = 1 << 16,         /* the running command replied an error (set by reply.c) */
    CLIENT_PUBSUB = 1 << 17,        /* has subscriptions (pubsub.c) */
    CLIENT_MULTI = 1 << 18,         /* in a transaction: commands are queued (multi.c) */
    CLIENT_DIRTY_CAS = 1 << 19,     /* a watched key has changed */
    CLIENT_DIRTY_EXEC = 1 << 20,    /* a command could not be queued */
    CLIENT_IN_EXEC = 1 << 21,       /* EXEC runs */
    CLIENT_MULTI_KNOWN = 1 << 22,   /* there has been a MULTI or WATCH on this connection */
};

struct client {
    uint64_t id;
    uint32_t flags;
    uint8_t resp; /* 2 or 3 */
    struct connection *conn;
    struct db *db;

    /* The running command. Views, valid until the handler returns. */
    struct str *argv;
    int argc;
    struct serverCommand *cmd, *lastcmd;
    struct respBigArg *big_args; /* arguments that own a buffer, see clientTakeArg */

    /* Input. */
    char *in;
    size_t in_len, in_pos; /* in_pos: first byte not parsed yet */
    sds querybuf;
    struct respParser parser;
    struct round *round;        /* the round that holds this client's input, NULL when it is set aside */
    struct listNode round_node; /* in the round's or the pending-input list */
    size_t parse_at; /* requests before this offset are whole; `parser` is about the one that starts here */
    bool requeue;    /* became runnable during its round: serve its input in the next */
    sds input_error; /* a protocol error was found at parse_at; NULL: none so far */

    /* Output: chain of blocks, first byte to send at head + sent. */
    struct replyBlock *out_head, *out_tail;
    size_t out_bytes; /* in the chain */
    size_t out_mem;   /* of the blocks */
    size_t out_sent;  /* of the head block */
    struct listNode write_node;
    int64_t out_soft_since_s; /* when the soft limit was passed; 0: output is below it */
    uint64_t reply_from;      /* output of its life when the running command started (push.c) */

    /* Blocking. */
    struct blockingState *blocked;

    struct pubsubClient *pubsub;     /* NULL: no subscription so far */
    struct multiState *multi;        /* NULL: neither in MULTI nor watching keys (multi.c) */
    struct trackingClient *tracking; /* NULL: does not track keys (tracking.c) */

    /* Who it is. */
    sds name, lib_name, lib_ver; /* NULL when not set */
    struct aclUser *user;        /* acl.h; NULL: the server itself, which may do everything */
    int64_t created_ms, last_active_ms;
    uint64_t commands, net_in, net_out;
    uint64_t wrote_at;    /* propagateOffset() behind the last command of its that changed data */
    int64_t dirty_before; /* dbstats.dirty when the running command started */

    struct listNode node;        /* all clients */
    struct listNode close_node;  /* to be freed */
    struct listNode paused_node; /* CLIENT_PAUSED (pause.c) */
    struct listNode
        weight_node; /* among clients of about its size, while they are weighed (client_evict.c) */
    size_t weight;   /* the memory that was counted for it there */
    void *script;    /* script run that this client works for (script/) */
    sds peer, sock;  /* names, made on demand */
};

/* ---- Life ---- */
struct client *clientCreate(struct connection *conn); /* NULL conn: a fake client */
void clientClose(struct client *c);                   /* frees it after the round; idempotent */
void clientCloseAfterReply(struct client *c);
void clientFreeClosed(void);            /* before sleep */
void clientFreeNow(struct client *c);   /* fake clients, shutdown */
struct client *clientById(uint64_t id); /* NULL: none; O(1) */
extern struct list clients;             /* of struct client by node, in order of connection */
extern struct client *current_client;   /* whose command runs (the outermost), or NULL */

/* ---- Arguments ---- */
/* Takes the buffer of a big argument (>= RESP_BIG_ARG) out of the request: an sds to own, without copying;
 * otherwise a copy is made. argv[i] stays readable. */
sds clientTakeArg(struct client *c, int i);
/* Is there a buffer to take at i? */
bool clientArgIsBig(const struct client *c, int i);

/* ---- Output ---- */
/* Sends what it can of every client that has output, once each; arms the write event for the rest. */
void clientsWritePending(void);
void clientWriteLater(struct client *c); /* called by reply.c at the first byte */
/* Closes the client when what it has not read, and `more` bytes, are beyond client-output-buffer-limit. */
void clientCheckOutput(struct client *c, size_t more);
/* Classes of clients, with limits of their own. */
enum clientClass { CLIENT_CLASS_NORMAL, CLIENT_CLASS_REPLICA, CLIENT_CLASS_PUBSUB, CLIENT_CLASSES };
enum clientClass clientClassOf(const struct client *c);

/* ---- Description ---- */
sds clientPeerName(struct client *c); /* cached; owned by the client */
sds clientSockName(struct client *c);
sds clientInfoLine(struct client *c, sds s); /* one line of CLIENT LIST, without newline (client_list.c) */
size_t clientMemory(const struct client *c); /* O(1) */
void clientSetName(struct client *c, struct str name);

struct clientStats {
    uint64_t connections, rejected, net_in, net_out, reads, writes;
    size_t max_input_buffer, max_output_buffer; /* of the present second */
    uint64_t query_limit_disconnects, output_limit_disconnects;
};
extern struct clientStats clientstats;

/* Other rooms drop what they hold of a client when it is freed. */
void clientOnFree(void (*fn)(struct client *c));
/* Runs fn for every client; fn may close it. */
void clientForEach(void (*fn)(void *priv, struct client *c), void *priv);

void clientCoreInit(void); /* INFO fields and lists; client.c */
void clientInit(void);     /* CLIENT, HELLO, AUTH, ... commands, directives and INFO fields */
