/* SPDX-License-Identifier: BSD-3-Clause */
/* io_client.c - see io_client.h.
 *
 *     main thread             message                          I/O thread
 *     ioClientOffload         IO_CLIENT_TAKE ──▶               attach, read
 *     receiver->part          ◀── IO_CLIENT_PART               bytes of an incomplete request
 *     receiver->input         ◀── IO_CLIENT_INPUT              whole requests
 *     send, flush             IO_CLIENT_GO_ON ──▶              blocks to send; an input given back: read on
 *                             ◀── IO_CLIENT_BLOCKS             sent blocks that the thread may not free
 *     main_handshake_done     ◀── IO_CLIENT_HANDSHAKE_DONE     the TLS handshake has ended, well or not
 *     receiver->disconnected  ◀── IO_CLIENT_BROKEN             the peer has closed: no more reads and writes
 *     clientClose             ◀── IO_CLIENT_SENT               all is sent, for a client that closes then
 *     ioClientRequestRecall   IO_CLIENT_RECALL ──▶             detach
 *     receiver->recalled      ◀── IO_CLIENT_RECALLED
 *     ioClientsTrim           IO_CLIENT_TRIM ──▶               free buffers not needed for a while
 *     the client is freed     IO_CLIENT_CLOSE ──▶              close
 *     free                    ◀── IO_CLIENT_CLOSED             with what was not sent
 *
 * A thread sends once per turn: output for many clients goes out together, as in a turn of the main thread
 * (client_output.c). */
#include "command/io_client.h"

#include <errno.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/zmalloc.h"
#include "client/client_offload.h"
#include "client/client_output.h"
#include "client/reply_gate.h"
#include "client/write_turn.h"
#include "command/io_reads.h"

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

#define FREE_INPUTS_MAX 512 /* kept by a thread */
#define SPARES_MAX      512
#define KEPT_AT_REST    (64 * 1024) /* bytes that a sleeping thread may keep without being woken */

struct ioClientStats io_client_stats;
struct ioClientCounts io_client_counts[IO_THREADS_MAX + 1];

/* ==== The I/O thread ==== */

struct ioClientThread {
    struct ioThread *thread;
    struct ioInput *free_inputs;
    int free_input_count, least_free_inputs; /* since the last IO_CLIENT_TRIM */
    struct replyBlock *spares;               /* sent blocks of the standard size, to be used again */
    int spare_count, least_spares;
    struct replyBlock *foreign; /* sent blocks that the main thread has to free */
    unsigned freed;             /* blocks and inputs, in this turn */
    struct ioClient *to_write, **to_write_end;
    struct writeTurn turn;
    /* Looked at before the thread handles another message about a client, and at the end of the turn. */
    struct ioReads reads;
    bool reading; /* inputs that have run are being finished */
};

/* Memory that each thread keeps for further use, by thread number, as of the end of its turn. */
static _Atomic size_t thread_memory[IO_THREADS_MAX + 1];

static struct ioClientThread *ioClientStateOf(const struct ioClient *p) {
    return ioThreadState(p->thread);
}

static void ioClientPostToMain(struct ioClient *p, uint32_t what, void *a) {
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

static void ioClientReportBroken(struct ioClient *p, int error) {
    if (p->broken) return;
    p->broken = true;
    connSetReadHandler(p->conn, NULL);
    connSetWriteHandler(p->conn, NULL);
    ioClientPostToMain(p, IO_CLIENT_BROKEN, (void *)(intptr_t)error);
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

static void ioClientOnWritable(struct connection *conn);

/* Called when the write of the first pieces has ended. */
static void ioClientOnWritten(const struct connWrite *w) {
    struct ioClient *p = w->conn->data;
    if (w->result >= 0) ioClientNoteSent(p, (size_t)w->result);
    if (w->result < 0 && w->error != EAGAIN && w->error != EINTR) {
        ioClientReportBroken(p, w->error);
        return;
    }
    connSetWriteHandler(p->conn, p->head ? ioClientOnWritable : NULL);
    if (!p->head && p->report_when_sent) {
        p->report_when_sent = false;
        ioClientPostToMain(p, IO_CLIENT_SENT, NULL);
    }
}

/* Sends for all clients that were given output. What does not fit into one write is sent when the socket is
 * writable; if it is already, the loop says so at once. */
static void ioClientWriteAll(struct ioClientThread *pt) {
    while (pt->to_write) {
        struct ioClient *p = pt->to_write;
        pt->to_write = p->next_to_write;
        p->to_write = false;
        if (!p->broken && p->head)
            writeTurnAdd(&pt->turn, p->conn, p->head, p->sent_of_head, ioClientOnWritten);
    }
    pt->to_write_end = &pt->to_write;
    writeTurnSend(&pt->turn, ioClientOnWritten);
}

static void ioClientWriteLater(struct ioClient *p) {
    struct ioClientThread *pt = ioClientStateOf(p);
    if (p->to_write || p->broken || p->conn->write_handler) return;
    p->to_write = true;
    p->next_to_write = NULL;
    *pt->to_write_end = p;
    pt->to_write_end = &p->next_to_write;
}

static void ioClientAppendBlocks(struct ioClient *p, struct replyBlock *first) {
    if (p->tail)
        p->tail->next = first;
    else
        p->head = first;
    for (p->tail = first; p->tail->next;) p->tail = p->tail->next;
}

static void ioClientOnWritable(struct connection *conn) {
    struct ioClient *p = conn->data;
    struct iovec iov[WRITE_IOV_MAX];
    struct connWrite w = {conn, iov, replyBlocksPieces(p->head, p->sent_of_head, iov, WRITE_IOV_MAX), 0, 0};
    connWriteMany(&w, 1);
    ioClientOnWritten(&w);
}

/* ---- Reading ---- */

static struct ioInput *ioClientTakeInput(struct ioClientThread *pt) {
    struct ioInput *in = pt->free_inputs;
    if (!in) return ioInputNew();
    pt->free_inputs = in->next_free;
    if (--pt->free_input_count < pt->least_free_inputs) pt->least_free_inputs = pt->free_input_count;
    return in;
}

static void ioClientRecycleInput(struct ioClientThread *pt, struct ioInput *in) {
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

static void ioClientPostInput(struct ioClient *p, struct ioInput *in) {
    struct ioClientThread *pt = ioClientStateOf(p);
    struct replyBlock *spare = pt->spares;
    if (spare) {
        pt->spares = spare->next;
        if (--pt->spare_count < pt->least_spares) pt->least_spares = pt->spare_count;
    }
    p->input_with_main = true;
    ioThreadPost(p->thread, (struct ioMessage){.what = IO_CLIENT_INPUT, .port = p, .a = in, .b = spare});
}

static void ioClientRunReads(struct ioClientThread *pt);

/* Keeps an input that consists of reads until other clients' have come. */
static bool ioClientKeepForReading(struct ioClient *p, struct ioInput *in) {
    struct ioClientThread *pt = ioClientStateOf(p);
    if (pt->reads.count == IO_READS_AT_ONCE && !pt->reading) ioClientRunReads(pt);
    if (!ioReadsKeep(&pt->reads, p, in)) return false;
    p->input_with_main = true; /* for now: nothing is read on */
    return true;
}

static void ioClientConsumeBytes(struct ioClient *p, struct ioInput *in, const char *dst, size_t n) {
    if (ioReaderParse(&p->reader, in, dst, n)) {
        /* The main thread counts parts when it receives them, so what ends them has to come after. */
        if (p->in_parts || !ioClientKeepForReading(p, in)) ioClientPostInput(p, in);
        p->in_parts = false;
        return;
    }
    p->in_parts = true;
    ioThreadPost(p->thread, (struct ioMessage){
                                .what = IO_CLIENT_PART, .port = p, .a = (void *)n, .b = (void *)in->kept});
    ioClientRecycleInput(ioClientStateOf(p), in);
}

static void ioClientOnReadable(struct connection *conn) {
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
        ioClientConsumeBytes(p, in, dst, (size_t)n);
        return;
    }
    ioClientRecycleInput(ioClientStateOf(p), in);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    ioClientReportBroken(p, n < 0 ? errno : 0);
}

static void ioClientResumeReading(struct ioClient *p) {
    p->input_with_main = false;
    if (p->broken) return;
    if (p->reader.unparsed) {
        struct ioInput *in = ioClientTakeInput(ioClientStateOf(p));
        ioClientConsumeBytes(p, in, NULL, 0);
        if (p->input_with_main) return;
    }
    if (!p->muted) return;
    p->muted = false;
    connSetReadHandler(p->conn, ioClientOnReadable);
}

/* ---- Reads ---- */

static void ioClientFinishRead(struct ioClientThread *pt, const struct ioRead *read) {
    if (read->output) {
        ioClientAppendBlocks(read->client, read->output);
        ioClientWriteLater(read->client);
    }
    if (read->end == IO_READ_DONE) {
        ioClientRecycleInput(pt, read->in);
        ioClientResumeReading(read->client);
    } else if (read->end == IO_READ_REST) {
        ioClientPostInput(read->client, read->in);
    }
}

/* Runs inputs as far as the main thread lets it. Replies take their blocks from the thread's spares. */
static void ioClientRunBatch(struct ioClientThread *pt, struct ioRead *batch, int count) {
    replyPoolExchange(&pt->spares, &pt->spare_count);
    ioReadsRun(&pt->reads, batch, count);
    replyPoolExchange(&pt->spares, &pt->spare_count);
    if (pt->spare_count < pt->least_spares) pt->least_spares = pt->spare_count;
    pt->reading = true;
    for (int i = 0; i < count; i++) ioClientFinishRead(pt, &batch[i]);
    pt->reading = false;
}

/* Runs the reads that have come, and gives the main thread what is left. Clients whose input has run may have
 * more, which then waits for the next call. */
static void ioClientRunReads(struct ioClientThread *pt) {
    struct ioRead batch[IO_READS_AT_ONCE];
    ioClientRunBatch(pt, batch, ioReadsTake(&pt->reads, batch));
}

static void ioClientRunAllReads(struct ioClientThread *pt) {
    while (pt->reads.count) ioClientRunReads(pt);
}

static void ioClientRunLongRead(struct ioThread *t) {
    struct ioClientThread *pt = ioThreadState(t);
    struct ioRead first = ioReadsTakeLong(&pt->reads, NULL);
    ioClientRunBatch(pt, &first, 1);
    ioClientWriteAll(pt);
}

/* Leaves the main thread all that the client has sent, before the connection is returned or closed. */
static void ioClientGiveUpReads(struct ioClientThread *pt, struct ioClient *p) {
    ioClientRunAllReads(pt);
    struct ioRead read = ioReadsTakeLong(&pt->reads, p);
    if (read.in) ioClientPostInput(p, read.in);
}

/* ---- Messages ---- */

/* Grows a thread's event loop, which starts small, as most servers have few clients. */
static void ioClientGrowLoop(struct aeEventLoop *loop, int fd) {
    int size = aeGetSize(loop);
    if (fd >= size) aeSetSize(loop, fd >= 2 * size ? fd + 1 : 2 * size);
}

static void ioClientAttach(struct ioClient *p) {
    struct aeEventLoop *el = ioThreadLoop(p->thread);
    ioClientGrowLoop(el, p->conn->fd);
    p->conn->data = p;
    connAttach(p->conn, el);
    if (tlsInHandshake(p->conn))
        p->muted = p->input_with_main = true;
    else
        connSetReadHandler(p->conn, ioClientOnReadable);
}

static void ioClientHandshakeDone(struct connection *conn, const char *error) {
    ioClientPostToMain(conn->data, IO_CLIENT_HANDSHAKE_DONE, error ? sdsnew(error) : NULL);
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
        if (!p->head) ioClientPostToMain(p, IO_CLIENT_SENT, NULL);
    }
    if (m->flags & GO_ON_HANDSHAKE_DONE) ioClientResumeReading(p);
    if (m->b) {
        ioClientRecycleInput(ioClientStateOf(p), m->b);
        if (!(m->flags & GO_ON_REPORT_WHEN_SENT)) ioClientResumeReading(p);
    }
}

static void ioClientDetach(struct ioClient *p) {
    ioClientWriteAll(ioClientStateOf(p));
    connDetach(p->conn);
    ioClientPostToMain(p, IO_CLIENT_RECALLED, NULL);
}

static void ioClientCloseConnection(struct ioClient *p) {
    ioClientWriteAll(ioClientStateOf(p));
    connClose(p->conn);
    ioReaderFree(&p->reader);
    ioClientPostToMain(p, IO_CLIENT_CLOSED, p->head);
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

static void ioClientHandleInThread(struct ioThread *t, const struct ioMessage *m) {
    struct ioClientThread *pt = ioThreadState(t);
    struct ioClient *p = m->port;
    switch (m->what) {
    case IO_CLIENT_TAKE: ioClientAttach(p); break;
    case IO_CLIENT_GO_ON: ioClientGoOn(p, m); break;
    case IO_CLIENT_RECALL:
        ioClientGiveUpReads(pt, p);
        ioClientDetach(p);
        break;
    case IO_CLIENT_CLOSE:
        ioClientGiveUpReads(pt, p);
        ioClientCloseConnection(p);
        break;
    case IO_CLIENT_TRIM:
        ioClientFreeInputs(pt, pt->least_free_inputs);
        ioClientFreeSpares(pt, pt->least_spares);
        break;
    }
}

static void *ioClientThreadCreate(struct ioThread *t) {
    struct ioClientThread *pt = zcalloc(1, sizeof *pt);
    pt->thread = t;
    ioReadsInit(&pt->reads);
    pt->to_write_end = &pt->to_write;
    return pt;
}

static void ioClientThreadDestroy(void *state) {
    struct ioClientThread *pt = state;
    ioReadsFree(&pt->reads);
    zfree(pt);
}

static void ioClientNoteMemory(const struct ioClientThread *pt) {
    size_t inputs = (size_t)pt->free_input_count * sizeof(struct ioInput);
    size_t blocks = (size_t)pt->spare_count * (sizeof(struct replyBlock) + REPLY_BLOCK_ROOM);
    atomic_store_explicit(&thread_memory[ioThreadNumber(pt->thread)], sizeof *pt + inputs + blocks,
                          memory_order_relaxed);
}

static bool ioClientThreadTurn(struct ioThread *t) {
    struct ioClientThread *pt = ioThreadState(t);
    ioClientRunAllReads(pt);
    ioClientWriteAll(pt);
    ioClientNoteMemory(pt);
    atomic_fetch_add_explicit(&io_client_stats.polls, 1, memory_order_relaxed);
    if (pt->freed) atomic_fetch_add_explicit(&io_client_stats.freed, pt->freed, memory_order_relaxed);
    pt->freed = 0;
    if (pt->foreign) ioThreadPost(t, (struct ioMessage){.what = IO_CLIENT_BLOCKS, .a = pt->foreign});
    pt->foreign = NULL;
    return pt->reads.long_count > 0;
}

static void ioClientThreadEnd(struct ioThread *t) {
    struct ioClientThread *pt = ioThreadState(t);
    while (ioClientThreadTurn(t)) {
        struct ioRead read = ioReadsTakeLong(&pt->reads, NULL);
        ioClientPostInput(read.client, read.in);
    }
    ioClientFreeInputs(pt, pt->free_input_count);
    ioClientFreeSpares(pt, pt->spare_count);
}

/* ==== The main thread ==== */

static struct aeEventLoop *main_loop;
static const struct ioClientReceiver *receiver;
/* Called at the end of a handshake; the same function for all connections of the main thread. */
static tlsDone *main_handshake_done;
static bool (*keeps_on_main_thread)(const struct client *c);
/* Clients whose thread has to go on although it got no output for them. */
static struct list to_continue;

static struct ioClientCounts *ioClientCountsOf(const struct ioClient *p) {
    return &io_client_counts[p->thread_number];
}

static void ioClientPostToThread(struct ioClient *p, struct ioMessage m) {
    m.port = p;
    ioThreadSend(p->thread, m);
}

static void ioClientGoOnLater(struct ioClient *p) {
    if (!listLinked(&p->base.pending_node)) listAddTail(&to_continue, &p->base.pending_node);
}

/* ---- The proxy connection ---- */

static ssize_t ioClientProxyRead(struct connection *conn, void *buf, size_t len) {
    (void)conn, (void)buf, (void)len;
    errno = EAGAIN;
    return -1;
}

static ssize_t ioClientProxyWritev(struct connection *conn, const struct iovec *iov, int count) {
    (void)conn, (void)iov, (void)count;
    serverPanic("only its thread writes to it");
}

static void ioClientFree(struct ioClient *p) {
    if (p->input) ioInputFree(p->input);
    if (listLinked(&p->base.pending_node)) listRemove(&to_continue, &p->base.pending_node);
    ioClientCountsOf(p)->clients--;
    zfreeSized(p, sizeof *p);
}

static void ioClientProxyClose(struct connection *conn) {
    struct ioClient *p = (struct ioClient *)conn;
    p->client = NULL;
    if (!p->recalled) {
        ioClientPostToThread(p, (struct ioMessage){.what = IO_CLIENT_CLOSE});
        return;
    }
    connClose(p->conn);
    ioReaderFree(&p->reader);
    replyBlocksFree(p->head);
    ioClientFree(p);
}

/* Called for a client that closes after its replies: the thread has to stop reading. */
static void ioClientProxySetReadHandler(struct connection *conn, connHandler *fn) {
    struct ioClient *p = (struct ioClient *)conn;
    if (fn || p->closing) return;
    p->closing = true;
    ioClientGoOnLater(p);
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

/* ---- Offloading and recalling ---- */

static bool ioClientCanOffload(const struct client *c) {
    const uint32_t stays = CLIENT_OFFLOADED | CLIENT_FAKE | CLIENT_CLOSE_ASAP | CLIENT_CLOSE_AFTER_REPLY |
                           CLIENT_REPLICA | CLIENT_PRIMARY | CLIENT_EXECUTING;
    if (!c->conn || c->flags & stays || c->replica || c->priority ||
        (keeps_on_main_thread && keeps_on_main_thread(c)))
        return false;
    if (c->turn || listLinked(&c->turn_node) || c->querybuf || c->input_error) return false;
    return respParserIdle(&c->parser) && !c->out.head && !c->conn->write_handler;
}

bool ioClientOffload(struct client *c, struct ioThread *t) {
    if (!ioClientCanOffload(c)) return false;
    struct ioClient *p = zmallocAligned(64, sizeof *p);
    *p = (struct ioClient){
        .client = c, .thread = t, .thread_number = (uint8_t)ioThreadNumber(t), .conn = c->conn};
    p->base = (struct connection){
        .type = &proxy_type, .fd = c->conn->fd, .data = c, .read_handler = ioClientProxyHandler};
    p->reader.authenticated = c->flags & CLIENT_AUTHENTICATED;
    respParserReset(&c->parser);
    connDetach(c->conn);
    p->in_handshake = tlsInHandshake(c->conn);
    if (p->in_handshake) main_handshake_done = tlsSwapDone(c->conn, ioClientHandshakeDone);
    c->conn = &p->base;
    c->flags |= CLIENT_OFFLOADED;
    ioClientCountsOf(p)->clients++;
    ioClientPostToThread(p, (struct ioMessage){.what = IO_CLIENT_TAKE});
    return true;
}

void ioClientRequestRecall(struct client *c) {
    struct ioClient *p = ioClientOf(c);
    if (p->recall_requested) return;
    p->recall_requested = true;
    ioClientPostToThread(p, (struct ioMessage){.what = IO_CLIENT_RECALL});
}

static uint64_t ioClientSentBytes(const struct ioClient *p) {
    return atomic_load_explicit(&p->sent, memory_order_acquire);
}

/* Puts the output that the thread has not sent in front of the output that it was not given. */
static void ioClientTakeOutputBack(struct client *c, struct ioClient *p) {
    if (!p->head) return;
    serverAssert(!c->out.sent);
    for (const struct replyBlock *b = p->head; b; b = b->next) {
        c->out.bytes += b->used;
        c->out.mem += sizeof *b + b->cap;
    }
    p->given = ioClientSentBytes(p);
    c->out.sent = p->sent_of_head;
    p->tail->next = c->out.head;
    c->out.head = p->head;
    if (!c->out.tail) c->out.tail = p->tail;
    p->head = p->tail = NULL;
}

/* Appends the thread's input to the stashed input, which consists of whole requests that came before. */
static void ioClientTakeInputBack(struct client *c, struct ioClient *p) {
    sds partial = ioReaderDetach(&p->reader, &c->parser);
    if (c->querybuf && partial) {
        c->querybuf = sdscatstr(c->querybuf, sdsview(partial));
        sdsfree(partial);
    } else if (partial) {
        c->querybuf = partial;
        c->parse_at = 0;
    }
}

static void ioClientFinishRecall(struct ioClient *p) {
    struct client *c = p->client;
    serverAssert(!c->turn && (!p->input || p->input_state == IO_CLIENT_INPUT_DONE));
    c->conn = p->conn;
    c->conn->data = c;
    c->flags &= ~CLIENT_OFFLOADED;
    if (p->in_handshake) tlsSwapDone(c->conn, main_handshake_done);
    connAttach(c->conn, main_loop);
    ioClientTakeInputBack(c, p);
    if (p->head && replyGateIsActive()) replyGateSealFront(c); /* that has been approved */
    ioClientTakeOutputBack(c, p);
    bool broken = p->broken;
    ioClientFree(p);
    bool closing = c->flags & (CLIENT_CLOSE_ASAP | CLIENT_CLOSE_AFTER_REPLY);
    if (!broken && !closing && !c->input_held) clientResumeReading(c);
    if (c->out.head)
        clientWriteLater(c);
    else if (c->flags & CLIENT_CLOSE_AFTER_REPLY)
        clientClose(c);
    receiver->recalled(c);
}

void ioClientRecall(struct client *c) {
    struct ioThread *t = ioClientOf(c)->thread;
    serverAssert(!c->turn);
    ioClientRequestRecall(c);
    while (c->flags & CLIENT_OFFLOADED) ioThreadAwait(t);
}

void ioClientLeftTurn(struct client *c) {
    struct ioClient *p = ioClientOf(c);
    if (p->recalled) ioClientFinishRecall(p);
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
    ioClientGoOnLater(p);
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
    if (listLinked(&p->base.pending_node)) listRemove(&to_continue, &p->base.pending_node);
    ioClientPostToThread(p, m);
}

/* Sends for a client whose connection is back while it still takes part in a turn: no thread sends for it. */
static void ioClientSendDirectly(struct client *c, struct ioClient *p) {
    ioClientTakeOutputBack(c, p);
    c->conn = p->conn;
    bool well = clientSendNow(c);
    c->conn = &p->base;
    if (!well) clientClose(c);
}

static void ioClientOffloadedSend(struct client *c) {
    struct ioClient *p = ioClientOf(c);
    if (p->recalled) ioClientSendDirectly(c, p);
    if (p->recall_requested) return; /* sent after the recall */
    struct replyBlock *blocks = c->out.head;
    p->given += c->out.bytes;
    clientNoteSent(c, c->out.bytes);
    c->out.head = c->out.tail = NULL;
    c->out.bytes = c->out.mem = 0;
    ioClientCountsOf(p)->writes++;
    ioClientSendGoOn(p, blocks);
}

void ioClientsFlush(void) {
    listForEach(&to_continue, it) {
        struct ioClient *p = listEntry(it, struct ioClient, base.pending_node);
        if (p->client && !p->recall_requested)
            ioClientSendGoOn(p, NULL);
        else
            listRemove(&to_continue, it);
    }
}

static size_t ioClientOffloadedPending(const struct client *c) {
    const struct ioClient *p = ioClientOf(c);
    return (size_t)(p->given - ioClientSentBytes(p));
}

/* Reads the thread's counter only when the result may be large. */
static size_t ioClientOffloadedAtMost(const struct client *c) {
    struct ioClient *p = ioClientOf(c);
    uint32_t at_most = (uint32_t)p->given - p->sent_seen;
    if (at_most < REPLY_BLOCK_ROOM) return at_most;
    p->sent_seen = (uint32_t)ioClientSentBytes(p);
    return ioClientOffloadedPending(c);
}

static size_t ioClientOffloadedKept(const struct client *c) {
    return ioClientOf(c)->kept;
}

static bool ioClientOffloadedProgress(const struct client *c) {
    struct ioClient *p = ioClientOf(c);
    uint64_t sent = ioClientSentBytes(p);
    bool progress = sent != p->given && (uint32_t)sent != p->seen;
    p->seen = (uint32_t)sent;
    return progress;
}

/* ---- Messages ---- */

static void ioClientOnPart(struct ioClient *p, size_t n, size_t kept) {
    ioClientCountsOf(p)->reads++;
    p->kept = ioClientClampCount(kept);
    if (p->client && n) receiver->part(p->client, n);
}

static void ioClientPrefetchMessage(const struct ioMessage *m) {
    if (m->what != IO_CLIENT_INPUT) return;
    const struct client *c = ((const struct ioClient *)m->port)->client;
    if (c) {
        __builtin_prefetch(c);
        __builtin_prefetch(&c->out);
    }
    ioInputPrefetch(m->a);
    if (m->b) __builtin_prefetch(m->b, 1);
}

static void ioClientOnInput(struct ioClient *p, struct ioInput *in, struct replyBlock *spare) {
    if (spare) replyBlockFree(spare);
    ioClientCountsOf(p)->reads++;
    if (p->client)
        receiver->input(p->client, in);
    else
        ioInputFree(in);
}

static void ioClientOnRecalled(struct ioClient *p) {
    if (!p->client) return; /* IO_CLIENT_CLOSED is on its way */
    p->recalled = true;
    if (p->client->turn)
        clientWriteLater(p->client);
    else
        ioClientFinishRecall(p);
}

/* The thread leaves the connection alone until it gets GO_ON_HANDSHAKE_DONE. */
static void ioClientOnHandshakeDone(struct ioClient *p, sds error) {
    struct client *c = p->client;
    p->in_handshake = false;
    io_client_stats.accepts++;
    if (c) {
        p->conn->data = c;
        main_handshake_done(p->conn, error);
        p->conn->data = p;
        if (!(c->flags & CLIENT_CLOSE_ASAP) && !p->recall_requested)
            ioClientPostToThread(p,
                                 (struct ioMessage){.what = IO_CLIENT_GO_ON,
                                                    .flags = ioClientGoOnFlags(p, c) | GO_ON_HANDSHAKE_DONE});
    }
    sdsfree(error);
}

static void ioClientHandleInMain(struct ioThread *t, const struct ioMessage *m) {
    (void)t;
    struct ioClient *p = m->port;
    switch (m->what) {
    case IO_CLIENT_PART: ioClientOnPart(p, (size_t)m->a, (size_t)m->b); break;
    case IO_CLIENT_INPUT: ioClientOnInput(p, m->a, m->b); break;
    case IO_CLIENT_BLOCKS: replyBlocksFree(m->a); break;
    case IO_CLIENT_BROKEN:
        if (p->client) receiver->disconnected(p->client, (int)(intptr_t)m->a);
        break;
    case IO_CLIENT_SENT:
        if (p->client && !p->client->out.head) clientClose(p->client);
        break;
    case IO_CLIENT_RECALLED: ioClientOnRecalled(p); break;
    case IO_CLIENT_HANDSHAKE_DONE: ioClientOnHandshakeDone(p, m->a); break;
    case IO_CLIENT_CLOSED:
        replyBlocksFree(m->a);
        ioClientFree(p);
        break;
    }
}

static const struct ioThreadHandlers handlers = {
    .to_thread = ioClientHandleInThread,
    .to_main = ioClientHandleInMain,
    .fetch = ioClientPrefetchMessage,
    .create = ioClientThreadCreate,
    .destroy = ioClientThreadDestroy,
    .turn = ioClientThreadTurn,
    .long_work = ioClientRunLongRead,
    .end = ioClientThreadEnd,
};

void ioClientSetReceiver(const struct ioClientReceiver *r) {
    receiver = r;
}

void ioClientKeepOnMainThread(bool (*fn)(const struct client *c)) {
    keeps_on_main_thread = fn;
}

size_t ioClientCount(const struct ioThread *t) {
    return io_client_counts[ioThreadNumber(t)].clients;
}

size_t ioClientsMemory(const struct ioThread *t) {
    return atomic_load_explicit(&thread_memory[ioThreadNumber(t)], memory_order_relaxed);
}

void ioClientsTrim(struct ioThread *t) {
    if (ioClientsMemory(t) > KEPT_AT_REST) ioThreadSend(t, (struct ioMessage){.what = IO_CLIENT_TRIM});
}

void ioClientsStart(struct aeEventLoop *loop, void (*flush)(void)) {
    static struct clientOffload offload = {.send = ioClientOffloadedSend,
                                           .pending = ioClientOffloadedPending,
                                           .at_most = ioClientOffloadedAtMost,
                                           .kept = ioClientOffloadedKept,
                                           .progress = ioClientOffloadedProgress};
    main_loop = loop;
    offload.flush = flush;
    client_offload = &offload;
    listInit(&to_continue);
    receiver->begin();
    ioThreadsInit(loop, &handlers);
}
