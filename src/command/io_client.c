/* SPDX-License-Identifier: BSD-3-Clause */
/* io_client.c - see io_client.h.
 *
 *     main thread             message               I/O thread
 *     ioClientOffload                IO_CLIENT_TAKE ──▶         attach, read
 *     receiver->part       ◀── IO_CLIENT_PART            bytes that do not make a request whole
 *     receiver->input      ◀── IO_CLIENT_INPUT           requests that are whole
 *     send, flush             IO_CLIENT_GO_ON ──▶        blocks to send; an input given back: read on
 *                          ◀── IO_CLIENT_BLOCKS          sent, and not the thread's to free
 *     who waits for it     ◀── IO_CLIENT_HANDSHAKE_DONE          the handshake is over, well or not
 *     receiver->gone       ◀── IO_CLIENT_BROKEN          the other side has gone: nothing is read or sent any more
 *     clientClose          ◀── IO_CLIENT_SENT            all is sent, of one that closes then
 *     ioClientRequestRecall             IO_CLIENT_RECALL ──▶      detach
 *     receiver->home       ◀── IO_CLIENT_RECALLED
 *     ioClientsTrim               IO_CLIENT_TRIM ──▶         what was not needed for a while is given back
 *     the client is freed     IO_CLIENT_CLOSE ──▶        close
 *     free                 ◀── IO_CLIENT_CLOSED          with what was not sent
 *
 * A thread sends once a turn: what many ports were given goes out together, as the main thread's own turn
 * does at home (client_output.c). */
#include "command/io_client.h"

#include <errno.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/zmalloc.h"
#include "client/client_offload.h"
#include "client/client_output.h"
#include "client/write_turn.h"

enum { IO_CLIENT_TAKE, IO_CLIENT_GO_ON, IO_CLIENT_RECALL, IO_CLIENT_CLOSE, IO_CLIENT_TRIM }; /* to a thread */
enum {
    IO_CLIENT_PART,
    IO_CLIENT_INPUT,
    IO_CLIENT_BLOCKS,
    IO_CLIENT_BROKEN,
    IO_CLIENT_SENT,
    IO_CLIENT_RECALLED,
    IO_CLIENT_CLOSED,
    IO_CLIENT_HANDSHAKE_DONE
}; /* to the main thread */
enum { GO_ON_AUTHENTICATED = 1 << 0, GO_ON_REPORT_WHEN_SENT = 1 << 1, GO_ON_HANDSHAKE_DONE = 1 << 2 };

#define FREE_INPUTS_MAX 512 /* that a thread keeps */
#define SPARES_MAX      512
#define KEPT_AT_REST    (64 * 1024) /* bytes for which a thread need not be woken */

struct ioClientStats io_client_stats;

/* ==== The I/O thread ==== */

struct ioClientThread {
    struct ioThread *thread;
    struct ioInput *free_inputs;
    int free_input_count, least_free_inputs; /* since the last IO_CLIENT_TRIM */
    struct replyBlock *spares;               /* sent blocks of the standard size */
    int spare_count, least_spares;
    struct replyBlock *foreign; /* sent blocks that the main thread must free */
    unsigned freed;             /* blocks and inputs, in this turn */
    struct ioClient *to_write, **to_write_end;
    struct writeTurn turn;
};

/* What threads keep to be used again, by their numbers; as it was at the end of a turn. */
static _Atomic size_t memory[IO_THREADS_MAX + 1];

static struct ioClientThread *ioClientStateOf(const struct ioClient *p) {
    return ioThreadState(p->thread);
}

static void ioClientTell(struct ioClient *p, uint32_t what, void *a) {
    ioThreadPost(p->thread, (struct ioMessage){.what = what, .port = p, .a = a});
}

/* ---- Sending ---- */

static void ioClientBlockSent(struct ioClientThread *pt, struct replyBlock *b) {
    if (!replyBlockIsPlain(b)) {
        b->next = pt->foreign;
        pt->foreign = b;
    } else if (b->cap == REPLY_BLOCK_ROOM && pt->spare_count < SPARES_MAX) {
        b->next = pt->spares;
        pt->spares = b;
        pt->spare_count++;
    } else {
        replyBlockFreePlain(b);
        pt->freed++;
    }
}

static void ioClientPortBroken(struct ioClient *p, int error) {
    if (p->broken) return;
    p->broken = true;
    connSetReadHandler(p->conn, NULL);
    connSetWriteHandler(p->conn, NULL);
    ioClientTell(p, IO_CLIENT_BROKEN, (void *)(intptr_t)error);
}

static void ioClientNoteSent(struct ioClient *p, size_t n) {
    struct ioClientThread *pt = ioClientStateOf(p);
    atomic_store_explicit(&p->sent, atomic_load_explicit(&p->sent, memory_order_relaxed) + n,
                          memory_order_release);
    for (n += p->sent_of_head; p->head && n >= p->head->used;) {
        struct replyBlock *b = p->head;
        n -= b->used;
        p->head = b->next;
        ioClientBlockSent(pt, b);
    }
    p->sent_of_head = n;
    if (!p->head) p->tail = NULL;
}

static void ioClientPortWritable(struct connection *conn);

/* A write of its first pieces has ended so. */
static void ioClientWrote(const struct connWrite *w) {
    struct ioClient *p = w->conn->data;
    if (w->result >= 0) ioClientNoteSent(p, (size_t)w->result);
    if (w->result < 0 && w->error != EAGAIN && w->error != EINTR) {
        ioClientPortBroken(p, w->error);
        return;
    }
    connSetWriteHandler(p->conn, p->head ? ioClientPortWritable : NULL);
    if (!p->head && p->report_when_sent) {
        p->report_when_sent = false;
        ioClientTell(p, IO_CLIENT_SENT, NULL);
    }
}

/* Sends for all ports that were given something. What does not fit into one write goes when the socket can
 * take more, which the loop says at once where that is so. */
static void ioClientWriteAll(struct ioClientThread *pt) {
    while (pt->to_write) {
        struct ioClient *p = pt->to_write;
        pt->to_write = p->next_to_write;
        p->to_write = false;
        if (!p->broken && p->head) writeTurnAdd(&pt->turn, p->conn, p->head, p->sent_of_head, ioClientWrote);
    }
    pt->to_write_end = &pt->to_write;
    writeTurnSend(&pt->turn, ioClientWrote);
}

static void ioClientWriteLater(struct ioClient *p) {
    struct ioClientThread *pt = ioClientStateOf(p);
    if (p->to_write || p->broken || p->conn->write_handler) return;
    p->to_write = true;
    p->next_to_write = NULL;
    *pt->to_write_end = p;
    pt->to_write_end = &p->next_to_write;
}

static void ioClientPortWritable(struct connection *conn) {
    struct ioClient *p = conn->data;
    struct iovec iov[WRITE_IOV_MAX];
    struct connWrite w = {conn, iov, replyBlocksPieces(p->head, p->sent_of_head, iov, WRITE_IOV_MAX), 0, 0};
    connWriteMany(&w, 1);
    ioClientWrote(&w);
}

/* ---- Reading ---- */

static struct ioInput *ioClientTakeInput(struct ioClientThread *pt) {
    struct ioInput *in = pt->free_inputs;
    if (!in) return ioInputNew();
    pt->free_inputs = in->next_free;
    if (--pt->free_input_count < pt->least_free_inputs) pt->least_free_inputs = pt->free_input_count;
    return in;
}

static void ioClientRecycle(struct ioClientThread *pt, struct ioInput *in) {
    if (pt->free_input_count == FREE_INPUTS_MAX) {
        ioInputFree(in);
        pt->freed++;
        return;
    }
    pt->freed += (unsigned)ioInputClear(in);
    in->next_free = pt->free_inputs;
    pt->free_inputs = in;
    pt->free_input_count++;
}

static void ioClientPassOn(struct ioClient *p, struct ioInput *in) {
    struct ioClientThread *pt = ioClientStateOf(p);
    struct replyBlock *spare = pt->spares;
    if (spare) {
        pt->spares = spare->next;
        if (--pt->spare_count < pt->least_spares) pt->least_spares = pt->spare_count;
    }
    p->input_with_main = true;
    ioThreadPost(p->thread, (struct ioMessage){.what = IO_CLIENT_INPUT, .port = p, .a = in, .b = spare});
}

static void ioClientTook(struct ioClient *p, struct ioInput *in, const char *dst, size_t n) {
    if (ioReaderTake(&p->reader, in, dst, n)) {
        ioClientPassOn(p, in);
        return;
    }
    ioThreadPost(p->thread, (struct ioMessage){
                                .what = IO_CLIENT_PART, .port = p, .a = (void *)n, .b = (void *)in->kept});
    ioClientRecycle(ioClientStateOf(p), in);
}

static void ioClientPortReadable(struct connection *conn) {
    struct ioClient *p = conn->data;
    if (p->input_with_main) {
        p->muted = true;
        connSetReadHandler(conn, NULL);
        return;
    }
    struct ioInput *in = ioClientTakeInput(ioClientStateOf(p));
    char *dst;
    size_t room = ioReaderSpace(&p->reader, in, &dst);
    ssize_t n = connRead(conn, dst, room);
    if (n > 0) {
        ioClientTook(p, in, dst, (size_t)n);
        return;
    }
    ioClientRecycle(ioClientStateOf(p), in);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    ioClientPortBroken(p, n < 0 ? errno : 0);
}

static void ioClientReadOn(struct ioClient *p) {
    p->input_with_main = false;
    if (p->broken) return;
    if (p->reader.unparsed) {
        struct ioInput *in = ioClientTakeInput(ioClientStateOf(p));
        ioClientTook(p, in, NULL, 0);
        if (p->input_with_main) return;
    }
    if (!p->muted) return;
    p->muted = false;
    connSetReadHandler(p->conn, ioClientPortReadable);
}

/* ---- Messages ---- */

/* Loops of threads begin small: most servers have few clients. */
static void ioClientMakeRoom(struct aeEventLoop *loop, int fd) {
    int size = aeGetSize(loop);
    if (fd >= size) aeSetSize(loop, fd >= 2 * size ? fd + 1 : 2 * size);
}

static void ioClientTake(struct ioClient *p) {
    struct aeEventLoop *el = ioThreadLoop(p->thread);
    ioClientMakeRoom(el, p->conn->fd);
    p->conn->data = p;
    connAttach(p->conn, el);
    if (tlsShakesHands(p->conn))
        p->muted = p->input_with_main = true;
    else
        connSetReadHandler(p->conn, ioClientPortReadable);
}

static void ioClientHandshakeDone(struct connection *conn, const char *error) {
    ioClientTell(conn->data, IO_CLIENT_HANDSHAKE_DONE, error ? sdsnew(error) : NULL);
}

static void ioClientAppendBlocks(struct ioClient *p, struct replyBlock *first) {
    if (p->tail)
        p->tail->next = first;
    else
        p->head = first;
    for (p->tail = first; p->tail->next;) p->tail = p->tail->next;
}

static void ioClientGoOn(struct ioClient *p, const struct ioMessage *m) {
    p->reader.authenticated = m->flags & GO_ON_AUTHENTICATED;
    if (m->a) {
        ioClientAppendBlocks(p, m->a);
        ioClientWriteLater(p);
    }
    if (m->flags & GO_ON_REPORT_WHEN_SENT) {
        connSetReadHandler(p->conn, NULL);
        p->report_when_sent = p->head != NULL;
        if (!p->head) ioClientTell(p, IO_CLIENT_SENT, NULL);
    }
    if (m->flags & GO_ON_HANDSHAKE_DONE) ioClientReadOn(p);
    if (m->b) {
        ioClientRecycle(ioClientStateOf(p), m->b);
        if (!(m->flags & GO_ON_REPORT_WHEN_SENT)) ioClientReadOn(p);
    }
}

static void ioClientGoHome(struct ioClient *p) {
    ioClientWriteAll(ioClientStateOf(p));
    connDetach(p->conn);
    ioClientTell(p, IO_CLIENT_RECALLED, NULL);
}

static void ioClientClosePort(struct ioClient *p) {
    ioClientWriteAll(ioClientStateOf(p));
    connClose(p->conn);
    ioReaderFree(&p->reader);
    ioClientTell(p, IO_CLIENT_CLOSED, p->head);
}

static void ioClientFreeInputs(struct ioClientThread *pt, int n) {
    for (; n; n--) {
        struct ioInput *in = pt->free_inputs;
        pt->free_inputs = in->next_free;
        pt->free_input_count--;
        ioInputFree(in);
    }
    pt->least_free_inputs = pt->free_input_count;
}

static void ioClientFreeSpares(struct ioClientThread *pt, int n) {
    for (; n; n--) {
        struct replyBlock *b = pt->spares;
        pt->spares = b->next;
        pt->spare_count--;
        replyBlockFreePlain(b);
    }
    pt->least_spares = pt->spare_count;
}

static void ioClientToThread(struct ioThread *t, const struct ioMessage *m) {
    struct ioClientThread *pt = ioThreadState(t);
    struct ioClient *p = m->port;
    switch (m->what) {
    case IO_CLIENT_TAKE: ioClientTake(p); break;
    case IO_CLIENT_GO_ON: ioClientGoOn(p, m); break;
    case IO_CLIENT_RECALL: ioClientGoHome(p); break;
    case IO_CLIENT_CLOSE: ioClientClosePort(p); break;
    case IO_CLIENT_TRIM:
        ioClientFreeInputs(pt, pt->least_free_inputs);
        ioClientFreeSpares(pt, pt->least_spares);
        break;
    }
}

static void *ioClientThreadBegin(struct ioThread *t) {
    struct ioClientThread *pt = zcalloc(1, sizeof *pt);
    pt->thread = t;
    pt->to_write_end = &pt->to_write;
    return pt;
}

static void ioClientNoteMemory(const struct ioClientThread *pt) {
    size_t inputs = (size_t)pt->free_input_count * sizeof(struct ioInput);
    size_t blocks = (size_t)pt->spare_count * (sizeof(struct replyBlock) + REPLY_BLOCK_ROOM);
    atomic_store_explicit(&memory[ioThreadNumber(pt->thread)], sizeof *pt + inputs + blocks,
                          memory_order_relaxed);
}

static void ioClientThreadTurn(struct ioThread *t) {
    struct ioClientThread *pt = ioThreadState(t);
    ioClientWriteAll(pt);
    ioClientNoteMemory(pt);
    atomic_fetch_add_explicit(&io_client_stats.polls, 1, memory_order_relaxed);
    if (pt->freed) atomic_fetch_add_explicit(&io_client_stats.freed, pt->freed, memory_order_relaxed);
    pt->freed = 0;
    if (!pt->foreign) return;
    ioThreadPost(t, (struct ioMessage){.what = IO_CLIENT_BLOCKS, .a = pt->foreign});
    pt->foreign = NULL;
}

static void ioClientThreadEnd(struct ioThread *t) {
    struct ioClientThread *pt = ioThreadState(t);
    ioClientThreadTurn(t);
    ioClientFreeInputs(pt, pt->free_input_count);
    ioClientFreeSpares(pt, pt->spare_count);
    zfree(pt);
}

/* ==== The main thread ==== */

static struct aeEventLoop *main_loop;
static const struct ioClientReceiver *receiver;
static tlsDone *shaken; /* whom to tell of the end of a handshake: the same for all who shake hands here */
static bool (*keeps_on_main_thread)(const struct client *c);
static size_t counts[IO_THREADS_MAX + 1]; /* of ports, by number of the thread */
static struct list done;                  /* ports whose thread shall go on, though nothing was sent */

static void ioClientSend(struct ioClient *p, struct ioMessage m) {
    m.port = p;
    ioThreadSend(p->thread, m);
}

static void ioClientLaterGoOn(struct ioClient *p) {
    if (!listLinked(&p->base.pending_node)) listAddTail(&done, &p->base.pending_node);
}

/* ---- The connection that stands for it ---- */

static ssize_t ioClientProxyRead(struct connection *conn, void *buf, size_t len) {
    (void)conn, (void)buf, (void)len;
    errno = EAGAIN;
    return -1;
}

static ssize_t ioClientProxyWritev(struct connection *conn, const struct iovec *iov, int count) {
    (void)conn, (void)iov, (void)count;
    serverPanic("only its thread writes to it");
}

static void ioClientFreePort(struct ioClient *p) {
    if (p->input) ioInputFree(p->input);
    if (listLinked(&p->base.pending_node)) listRemove(&done, &p->base.pending_node);
    counts[ioThreadNumber(p->thread)]--;
    zfreeSized(p, sizeof *p);
}

static void ioClientProxyClose(struct connection *conn) {
    struct ioClient *p = (struct ioClient *)conn;
    p->client = NULL;
    if (!p->home) {
        ioClientSend(p, (struct ioMessage){.what = IO_CLIENT_CLOSE});
        return;
    }
    connClose(p->conn);
    ioReaderFree(&p->reader);
    replyBlocksFree(p->head);
    ioClientFreePort(p);
}

/* A client that closes after its replies: nothing of it is read any more. */
static void ioClientProxySetReadHandler(struct connection *conn, connHandler *fn) {
    struct ioClient *p = (struct ioClient *)conn;
    if (fn || p->closing) return;
    p->closing = true;
    ioClientLaterGoOn(p);
}

static void ioClientProxySetWriteHandler(struct connection *conn, connHandler *fn) {
    (void)conn, (void)fn;
}

static void ioClientProxyMove(struct connection *conn) {
    (void)conn;
    serverPanic("a port belongs to no loop");
}

static void ioClientProxyAttach(struct connection *conn, struct aeEventLoop *el) {
    (void)el;
    ioClientProxyMove(conn);
}

static void ioClientProxyHandler(struct connection *conn) {
    (void)conn;
}

static const struct connType proxy_type = {
    .name = "port",
    .read = ioClientProxyRead,
    .writev = ioClientProxyWritev,
    .close = ioClientProxyClose,
    .setReadHandler = ioClientProxySetReadHandler,
    .setWriteHandler = ioClientProxySetWriteHandler,
    .detach = ioClientProxyMove,
    .attach = ioClientProxyAttach,
};

/* ---- Away and home ---- */

static bool ioClientMayGo(const struct client *c) {
    const uint32_t stays = CLIENT_OFFLOADED | CLIENT_FAKE | CLIENT_CLOSE_ASAP | CLIENT_CLOSE_AFTER_REPLY |
                           CLIENT_REPLICA | CLIENT_PRIMARY | CLIENT_EXECUTING;
    if (!c->conn || c->flags & stays || c->replica || (keeps_on_main_thread && keeps_on_main_thread(c)))
        return false;
    if (c->round || listLinked(&c->turn_node) || c->querybuf || c->input_error) return false;
    return respParserIdle(&c->parser) && !c->out.head && !c->conn->write_handler;
}

bool ioClientOffload(struct client *c, struct ioThread *t) {
    if (!ioClientMayGo(c)) return false;
    struct ioClient *p = zmallocAligned(64, sizeof *p);
    *p = (struct ioClient){.client = c, .thread = t, .conn = c->conn};
    p->base = (struct connection){
        .type = &proxy_type, .fd = c->conn->fd, .data = c, .read_handler = ioClientProxyHandler};
    p->reader.authenticated = c->flags & CLIENT_AUTHENTICATED;
    respParserReset(&c->parser);
    connDetach(c->conn);
    p->in_handshake = tlsShakesHands(c->conn);
    if (p->in_handshake) shaken = tlsSwapDone(c->conn, ioClientHandshakeDone);
    c->conn = &p->base;
    c->flags |= CLIENT_OFFLOADED;
    counts[ioThreadNumber(t)]++;
    ioClientSend(p, (struct ioMessage){.what = IO_CLIENT_TAKE});
    return true;
}

void ioClientRequestRecall(struct client *c) {
    struct ioClient *p = ioClientOf(c);
    if (p->recall_requested) return;
    p->recall_requested = true;
    ioClientSend(p, (struct ioMessage){.what = IO_CLIENT_RECALL});
}

static uint64_t ioClientSentSoFar(const struct ioClient *p) {
    return atomic_load_explicit(&p->sent, memory_order_acquire);
}

/* What the thread has not sent goes before what it was not given. */
static void ioClientTakeOutputBack(struct client *c, struct ioClient *p) {
    if (!p->head) return;
    serverAssert(!c->out.sent);
    for (const struct replyBlock *b = p->head; b; b = b->next) {
        c->out.bytes += b->used;
        c->out.mem += sizeof *b + b->cap;
    }
    p->given = ioClientSentSoFar(p);
    c->out.sent = p->sent_of_head;
    p->tail->next = c->out.head;
    c->out.head = p->head;
    if (!c->out.tail) c->out.tail = p->tail;
    p->head = p->tail = NULL;
}

/* What the main thread has set aside is whole requests; the thread's are behind them. */
static void ioClientTakeInputBack(struct client *c, struct ioClient *p) {
    sds partial = ioReaderGiveBack(&p->reader, &c->parser);
    if (c->querybuf && partial) {
        c->querybuf = sdscatstr(c->querybuf, sdsview(partial));
        sdsfree(partial);
    } else if (partial) {
        c->querybuf = partial;
        c->parse_at = 0;
    }
}

static void ioClientComeHome(struct ioClient *p) {
    struct client *c = p->client;
    serverAssert(!c->round && (!p->input || p->input_state == IO_CLIENT_INPUT_DONE));
    c->conn = p->conn;
    c->conn->data = c;
    c->flags &= ~CLIENT_OFFLOADED;
    if (p->in_handshake) tlsSwapDone(c->conn, shaken);
    connAttach(c->conn, main_loop);
    ioClientTakeInputBack(c, p);
    ioClientTakeOutputBack(c, p);
    bool broken = p->broken;
    ioClientFreePort(p);
    bool closing = c->flags & (CLIENT_CLOSE_ASAP | CLIENT_CLOSE_AFTER_REPLY);
    if (!broken && !closing && !c->input_held) clientReadOn(c);
    if (c->out.head)
        clientWriteLater(c);
    else if (c->flags & CLIENT_CLOSE_AFTER_REPLY)
        clientClose(c);
    receiver->home(c);
}

void ioClientRecall(struct client *c) {
    struct ioThread *t = ioClientOf(c)->thread;
    serverAssert(!c->round);
    ioClientRequestRecall(c);
    while (c->flags & CLIENT_OFFLOADED) ioThreadAwait(t);
}

void ioClientLeftTurn(struct client *c) {
    struct ioClient *p = ioClientOf(c);
    if (p->home) ioClientComeHome(p);
}

void ioClientInputReady(struct ioClient *p, struct ioInput *in) {
    serverAssert(!p->input);
    p->input = in;
    p->input_state = IO_CLIENT_INPUT_READY;
}

void ioClientInputLater(struct ioClient *p, struct ioInput *in) {
    serverAssert(!p->input);
    p->input = in;
    p->input_state = IO_CLIENT_INPUT_LATER;
}

void ioClientInputDone(struct ioClient *p, struct ioInput *in) {
    serverAssert(!p->input || p->input == in);
    p->input = in;
    p->input_state = IO_CLIENT_INPUT_DONE;
    ioClientLaterGoOn(p);
}

void ioClientInputHeld(struct ioClient *p, struct ioInput *in) {
    serverAssert(!p->input || p->input == in);
    ioInputFree(in);
    p->input = NULL;
    p->input_state = IO_CLIENT_INPUT_HELD;
}

/* ---- Sending ---- */

static uint32_t ioClientGoOnFlags(const struct ioClient *p, const struct client *c) {
    return (c->flags & CLIENT_AUTHENTICATED ? GO_ON_AUTHENTICATED : 0) |
           (p->closing ? GO_ON_REPORT_WHEN_SENT : 0);
}

static void ioClientSendGoOn(struct ioClient *p, struct replyBlock *blocks) {
    struct ioMessage m = {.what = IO_CLIENT_GO_ON, .flags = ioClientGoOnFlags(p, p->client), .a = blocks};
    if (p->input_state == IO_CLIENT_INPUT_DONE) {
        m.b = p->input;
        p->input = NULL;
        p->input_state = IO_CLIENT_INPUT_NONE;
    }
    if (listLinked(&p->base.pending_node)) listRemove(&done, &p->base.pending_node);
    ioClientSend(p, m);
}

/* The connection has come home, and the client is in a round still: no thread sends for it any more. */
static void ioClientSendFromHome(struct client *c, struct ioClient *p) {
    ioClientTakeOutputBack(c, p);
    c->conn = p->conn;
    bool well = clientSendNow(c);
    c->conn = &p->base;
    if (!well) clientClose(c);
}

static void ioClientOffloadedSend(struct client *c) {
    struct ioClient *p = ioClientOf(c);
    if (p->home) ioClientSendFromHome(c, p);
    if (p->recall_requested) return; /* it goes when the connection is at home */
    struct replyBlock *blocks = c->out.head;
    p->given += c->out.bytes;
    clientNoteSent(c, c->out.bytes);
    c->out.head = c->out.tail = NULL;
    c->out.bytes = c->out.mem = 0;
    io_client_stats.writes++;
    ioClientSendGoOn(p, blocks);
}

void ioClientsFlush(void) {
    listForEach(&done, it) {
        struct ioClient *p = listEntry(it, struct ioClient, base.pending_node);
        if (p->client && !p->recall_requested)
            ioClientSendGoOn(p, NULL);
        else
            listRemove(&done, it);
    }
}

static size_t ioClientOffloadedPending(const struct client *c) {
    const struct ioClient *p = ioClientOf(c);
    return (size_t)(p->given - ioClientSentSoFar(p));
}

/* Looks at what the thread writes only where it may be much. */
static size_t ioClientOffloadedAtMost(const struct client *c) {
    struct ioClient *p = ioClientOf(c);
    uint32_t at_most = (uint32_t)p->given - p->sent_seen;
    if (at_most < REPLY_BLOCK_ROOM) return at_most;
    p->sent_seen = (uint32_t)ioClientSentSoFar(p);
    return ioClientOffloadedPending(c);
}

static size_t ioClientOffloadedKept(const struct client *c) {
    return ioClientOf(c)->kept;
}

static bool ioClientOffloadedProgress(const struct client *c) {
    struct ioClient *p = ioClientOf(c);
    uint64_t sent = ioClientSentSoFar(p);
    bool progress = sent != p->given && (uint32_t)sent != p->seen;
    p->seen = (uint32_t)sent;
    return progress;
}

/* ---- Messages ---- */

static void ioClientOnPart(struct ioClient *p, size_t n, size_t kept) {
    p->kept = ioClientClampCount(kept);
    if (p->client && n) receiver->part(p->client, n);
}

static void ioClientFetch(const struct ioMessage *m) {
    if (m->what != IO_CLIENT_INPUT) return;
    const struct client *c = ((const struct ioClient *)m->port)->client;
    if (c) {
        __builtin_prefetch(c);
        __builtin_prefetch(&c->out);
    }
    ioInputFetch(m->a);
    if (m->b) __builtin_prefetch(m->b, 1);
}

static void ioClientOnInput(struct ioClient *p, struct ioInput *in, struct replyBlock *spare) {
    if (spare) replyBlockFree(spare);
    io_client_stats.reads++;
    if (p->client)
        receiver->input(p->client, in);
    else
        ioInputFree(in);
}

static void ioClientOnHome(struct ioClient *p) {
    if (!p->client) return; /* IO_CLIENT_CLOSED is on its way */
    p->home = true;
    if (p->client->round)
        clientWriteLater(p->client);
    else
        ioClientComeHome(p);
}

/* Until the thread is told to go on, it leaves the connection alone. */
static void ioClientOnHandshakeDone(struct ioClient *p, sds error) {
    struct client *c = p->client;
    p->in_handshake = false;
    io_client_stats.accepts++;
    if (c) {
        p->conn->data = c;
        shaken(p->conn, error);
        p->conn->data = p;
        if (!(c->flags & CLIENT_CLOSE_ASAP) && !p->recall_requested)
            ioClientSend(p, (struct ioMessage){.what = IO_CLIENT_GO_ON,
                                               .flags = ioClientGoOnFlags(p, c) | GO_ON_HANDSHAKE_DONE});
    }
    sdsfree(error);
}

static void ioClientToMain(struct ioThread *t, const struct ioMessage *m) {
    (void)t;
    struct ioClient *p = m->port;
    switch (m->what) {
    case IO_CLIENT_PART: ioClientOnPart(p, (size_t)m->a, (size_t)m->b); break;
    case IO_CLIENT_INPUT: ioClientOnInput(p, m->a, m->b); break;
    case IO_CLIENT_BLOCKS: replyBlocksFree(m->a); break;
    case IO_CLIENT_BROKEN:
        if (p->client) receiver->gone(p->client, (int)(intptr_t)m->a);
        break;
    case IO_CLIENT_SENT:
        if (p->client && !p->client->out.head) clientClose(p->client);
        break;
    case IO_CLIENT_RECALLED: ioClientOnHome(p); break;
    case IO_CLIENT_HANDSHAKE_DONE: ioClientOnHandshakeDone(p, m->a); break;
    case IO_CLIENT_CLOSED:
        replyBlocksFree(m->a);
        ioClientFreePort(p);
        break;
    }
}

static const struct ioThreadHandlers handlers = {
    .to_thread = ioClientToThread,
    .to_main = ioClientToMain,
    .fetch = ioClientFetch,
    .begin = ioClientThreadBegin,
    .turn = ioClientThreadTurn,
    .end = ioClientThreadEnd,
};

void ioClientSetReceiver(const struct ioClientReceiver *r) {
    receiver = r;
}

void ioClientKeepOnMainThread(bool (*fn)(const struct client *c)) {
    keeps_on_main_thread = fn;
}

size_t ioClientCount(const struct ioThread *t) {
    return counts[ioThreadNumber(t)];
}

size_t ioClientsMemory(const struct ioThread *t) {
    return atomic_load_explicit(&memory[ioThreadNumber(t)], memory_order_relaxed);
}

void ioClientsTrim(struct ioThread *t) {
    if (ioClientsMemory(t) > KEPT_AT_REST) ioThreadSend(t, (struct ioMessage){.what = IO_CLIENT_TRIM});
}

void ioClientsStart(struct aeEventLoop *loop, void (*flush)(void)) {
    static struct clientOffload away = {.send = ioClientOffloadedSend,
                                        .pending = ioClientOffloadedPending,
                                        .at_most = ioClientOffloadedAtMost,
                                        .kept = ioClientOffloadedKept,
                                        .progress = ioClientOffloadedProgress};
    main_loop = loop;
    away.flush = flush;
    client_offload = &away;
    listInit(&done);
    receiver->begin();
    ioThreadsInit(loop, &handlers);
}
