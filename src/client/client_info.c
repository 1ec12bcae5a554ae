/* SPDX-License-Identifier: BSD-3-Clause */
/* client_info.c - see client_info.h. */
#include "client/client_info.h"

#include "base/assert.h"
#include "base/num.h"
#include "client/client_offload.h"
#include "client/client_session.h"
#include "client/client_stream.h"
#include "client/reply_block.h"
#include "data/keyspace/db.h"
#include "net/connection.h"
#include "registry/cron.h"

#define LINE_ROOM 512 /* bytes; most lines are shorter */

sds clientInfoNumber(sds s, int64_t v) {
    char text[LONG_STR_SIZE];
    return sdscatlen(s, text, ll2string(text, v));
}

static sds clientInfoCatSize(sds s, size_t v) {
    return clientInfoNumber(s, (int64_t)v);
}

int64_t clientAgeSeconds(const struct client *c) {
    return (cmd_time_ms - c->created_ms) / 1000;
}

int64_t clientIdleSeconds(const struct client *c) {
    return (cmd_time_ms - c->last_active_ms) / 1000;
}

/* ---- Flags ---- */

static bool clientInfoHasPriority(const struct client *c);

static struct {
    char letter;
    uint32_t flags;                        /* shows with any of these flags */
    bool (*shows)(const struct client *c); /* or when this returns true; may be NULL */
} letters[] = {
    {.letter = 'O', .flags = CLIENT_MONITOR},
    {.letter = 'S', .flags = CLIENT_REPLICA},
    {.letter = 'M', .flags = CLIENT_PRIMARY},
    {.letter = 'P', .flags = CLIENT_PUBSUB},
    {.letter = 'x', .flags = CLIENT_MULTI},
    {.letter = 'b', .flags = CLIENT_BLOCKED},
    {.letter = 't'},
    {.letter = 'R'},
    {.letter = 'B'},
    {.letter = 'd', .flags = CLIENT_DIRTY_CAS},
    {.letter = 'c', .flags = CLIENT_CLOSE_AFTER_REPLY},
    {.letter = 'u'},
    {.letter = 'A', .flags = CLIENT_CLOSE_ASAP},
    {.letter = 'U', .flags = CLIENT_UNIX_SOCKET},
    {.letter = 'r', .flags = CLIENT_READONLY},
    {.letter = 'e', .flags = CLIENT_NO_EVICT},
    {.letter = 'T', .flags = CLIENT_NO_TOUCH},
    {.letter = 'I', .flags = CLIENT_IMPORT_SOURCE},
    {.letter = 'i'},
    {.letter = 'E'},
    {.letter = 'h'},
    {.letter = 'H', .flags = CLIENT_REPLICA, .shows = clientInfoHasPriority},
    {.letter = 'N'}, /* shows when no other letter does */
};
#define LETTER_COUNT (sizeof letters / sizeof *letters)

static size_t clientInfoLetterIndex(char letter) {
    size_t i = 0;
    while (i < LETTER_COUNT && letters[i].letter != letter) i++;
    return i;
}

bool clientInfoIsLetter(char letter) {
    return clientInfoLetterIndex(letter) < LETTER_COUNT;
}

void clientInfoLetter(char letter, bool (*shows)(const struct client *c)) {
    size_t i = clientInfoLetterIndex(letter);
    serverAssert(i < LETTER_COUNT && !letters[i].shows);
    letters[i].shows = shows;
}

/* Links of slot migrations have priority, too. */
static bool clientInfoHasPriority(const struct client *c) {
    for (const char *letter = "iE"; *letter; letter++) {
        bool (*shows)(const struct client *) = letters[clientInfoLetterIndex(*letter)].shows;
        if (shows && shows(c)) return true;
    }
    return c->priority;
}

sds clientInfoFlags(sds s, struct client *c) {
    size_t before = sdslen(s);
    for (size_t i = 0; i < LETTER_COUNT; i++) {
        bool is = c->flags & letters[i].flags || (letters[i].shows && letters[i].shows(c));
        if (is) s = sdscatlen(s, &letters[i].letter, 1);
    }
    return sdslen(s) == before ? sdscatlen(s, "N", 1) : s;
}

sds clientInfoCapa(sds s, struct client *c) {
    return c->flags & CLIENT_REDIRECTABLE ? sdscat(s, CLIENT_CAPA_LETTERS) : s;
}

/* ---- Identity ---- */

static sds clientInfoCatId(sds s, struct client *c) {
    return clientInfoCatSize(s, c->id);
}
static sds clientInfoCatAddr(sds s, struct client *c) {
    return sdscatstr(s, sdsview(clientPeerName(c)));
}
static sds clientInfoCatLaddr(sds s, struct client *c) {
    return sdscatstr(s, sdsview(clientSockName(c)));
}
static sds clientInfoCatFd(sds s, struct client *c) {
    return clientInfoNumber(s, c->conn ? c->conn->fd : -1);
}
static sds clientInfoCatName(sds s, struct client *c) {
    return sdscatstr(s, clientLabel(c, CLIENT_NAME));
}
static sds clientInfoCatLibName(sds s, struct client *c) {
    return sdscatstr(s, clientLabel(c, CLIENT_LIB_NAME));
}
static sds clientInfoCatLibVersion(sds s, struct client *c) {
    return sdscatstr(s, clientLabel(c, CLIENT_LIB_VERSION));
}
static sds clientInfoCatUser(sds s, struct client *c) {
    return sdscatstr(s, client_users->name(c));
}
static sds clientInfoCatAge(sds s, struct client *c) {
    return clientInfoNumber(s, clientAgeSeconds(c));
}
static sds clientInfoCatIdle(sds s, struct client *c) {
    return clientInfoNumber(s, clientIdleSeconds(c));
}
static sds clientInfoCatDb(sds s, struct client *c) {
    return clientInfoNumber(s, c->db->id);
}
static sds clientInfoCatResp(sds s, struct client *c) {
    return clientInfoNumber(s, c->resp);
}
/* Bytes that a thread was given and has not sent yet. */
static size_t clientInfoOffloadedPending(const struct client *c) {
    return c->flags & CLIENT_OFFLOADED ? client_offload->pending(c) : 0;
}
static sds clientInfoCatEvents(sds s, struct client *c) {
    if (c->conn && c->conn->read_handler) s = sdscatlen(s, "r", 1);
    bool waits = clientInfoOffloadedPending(c) || (c->conn && c->conn->write_handler);
    return waits ? sdscatlen(s, "w", 1) : s;
}

/* ---- Memory ---- */

/* Only counts the client's own buffer, not the shared arena. */
static sds clientInfoCatQbuf(sds s, struct client *c) {
    size_t input = !c->querybuf ? 0 : c->in ? c->in_len : sdslen(c->querybuf);
    if (c->flags & CLIENT_OFFLOADED) input += client_offload->kept(c);
    return clientInfoCatSize(s, input + c->parser.big_bytes);
}
static sds clientInfoCatQbufFree(sds s, struct client *c) {
    return clientInfoCatSize(s, c->querybuf ? sdsavail(c->querybuf) : 0);
}
static sds clientInfoCatArgvMem(sds s, struct client *c) {
    size_t arguments = 0;
    for (int i = 0; i < c->argc; i++) arguments += c->argv[i].len;
    return clientInfoCatSize(s, arguments);
}

/* The first block of output is shown as the reply buffer, further ones as the reply list. */
static sds clientInfoCatRbs(sds s, struct client *c) {
    return clientInfoCatSize(s, c->out.head ? c->out.head->cap : 0);
}
static sds clientInfoCatRbp(sds s, struct client *c) {
    return clientInfoCatSize(s, c->out.head ? c->out.head->used : 0);
}
static sds clientInfoCatObl(sds s, struct client *c) {
    return clientInfoCatSize(s, c->out.head ? c->out.head->used - c->out.sent : 0);
}
static sds clientInfoCatOll(sds s, struct client *c) {
    size_t blocks = 0;
    for (const struct replyBlock *b = c->out.head; b; b = b->next) blocks++;
    if (blocks) blocks--;
    blocks += (clientInfoOffloadedPending(c) + REPLY_BLOCK_ROOM - 1) / REPLY_BLOCK_ROOM;
    return clientInfoCatSize(s, c->flags & CLIENT_REPLICA ? blocks + client_stream->blocks(c) : blocks);
}
static sds clientInfoCatOmem(sds s, struct client *c) {
    const struct replyBlock *first = c->out.head;
    size_t bytes = clientInfoOffloadedPending(c) + (first ? c->out.mem - (sizeof *first + first->cap) : 0);
    return clientInfoCatSize(s, c->flags & CLIENT_REPLICA ? bytes + client_stream->pending(c) : bytes);
}
static sds clientInfoCatTotMem(sds s, struct client *c) {
    return clientInfoCatSize(s, clientMemory(c));
}
static sds clientInfoCatNetIn(sds s, struct client *c) {
    return clientInfoCatSize(s, c->net_in);
}
static sds clientInfoCatNetOut(sds s, struct client *c) {
    return clientInfoCatSize(s, c->net_out - clientInfoOffloadedPending(c));
}
static sds clientInfoCatCommands(sds s, struct client *c) {
    return clientInfoCatSize(s, c->commands);
}

/* ---- The line ---- */

#define FIELD(name, fn)                                                                                      \
    { {" " name "=", sizeof(" " name "=") - 1}, fn }
static struct {
    struct str start;  /* " name=" */
    clientFieldFn *fn; /* NULL: another module registers it */
} fields[] = {
    FIELD("id", clientInfoCatId),
    FIELD("addr", clientInfoCatAddr),
    FIELD("laddr", clientInfoCatLaddr),
    FIELD("fd", clientInfoCatFd),
    FIELD("name", clientInfoCatName),
    FIELD("age", clientInfoCatAge),
    FIELD("idle", clientInfoCatIdle),
    FIELD("flags", clientInfoFlags),
    FIELD("capa", clientInfoCapa),
    FIELD("db", clientInfoCatDb),
    FIELD("sub", NULL),
    FIELD("psub", NULL),
    FIELD("ssub", NULL),
    FIELD("multi", NULL),
    FIELD("watch", NULL),
    FIELD("qbuf", clientInfoCatQbuf),
    FIELD("qbuf-free", clientInfoCatQbufFree),
    FIELD("argv-mem", clientInfoCatArgvMem),
    FIELD("multi-mem", NULL),
    FIELD("rbs", clientInfoCatRbs),
    FIELD("rbp", clientInfoCatRbp),
    FIELD("obl", clientInfoCatObl),
    FIELD("oll", clientInfoCatOll),
    FIELD("omem", clientInfoCatOmem),
    FIELD("tot-mem", clientInfoCatTotMem),
    FIELD("events", clientInfoCatEvents),
    FIELD("cmd", NULL),
    FIELD("user", clientInfoCatUser),
    FIELD("redir", NULL),
    FIELD("resp", clientInfoCatResp),
    FIELD("lib-name", clientInfoCatLibName),
    FIELD("lib-ver", clientInfoCatLibVersion),
    FIELD("io-thread", NULL),
    FIELD("tot-net-in", clientInfoCatNetIn),
    FIELD("tot-net-out", clientInfoCatNetOut),
    FIELD("tot-cmds", clientInfoCatCommands),
};
#define FIELD_COUNT (sizeof fields / sizeof *fields)

static struct str clientInfoFieldName(size_t i) {
    return strN(fields[i].start.ptr + 1, fields[i].start.len - 2);
}

void clientInfoField(const char *name, clientFieldFn *fn) {
    size_t i = 0;
    while (i < FIELD_COUNT && !strEq(clientInfoFieldName(i), strOf(name))) i++;
    serverAssert(i < FIELD_COUNT && !fields[i].fn);
    fields[i].fn = fn;
}

sds clientInfoLine(struct client *c, sds s) {
    s = sdsMakeRoomFor(s, LINE_ROOM);
    struct str id = fields[0].start;
    s = sdscatstr(s, strN(id.ptr + 1, id.len - 1)); /* the first field has no blank before it */
    s = fields[0].fn(s, c);
    for (size_t i = 1; i < FIELD_COUNT; i++) {
        if (fields[i].fn) s = fields[i].fn(sdscatstr(s, fields[i].start), c);
    }
    return s;
}
