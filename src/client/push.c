/* SPDX-License-Identifier: BSD-3-Clause */
/* push.c - composing messages, and holding them back while a client's reply is incomplete; see push.h.
 *
 *     held: [client, message] -> [client, message] -> ...     in the order they were sent
 *
 * Once a message is held, all later ones for its client are held, too, until the list is flushed, which keeps
 * their order. Messages only wait for replies of running commands, so the list is empty between commands. */
#include "client/push.h"

#include "base/assert.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "net/resp.h"

struct heldPush {
    struct listNode node;
    struct client *client;
    struct replyShared *form;
};

struct list push_held;
static bool (*command_runs)(void);

/* The protocols differ in the first byte only. */
static struct replyShared *pushCompose(const struct pushMessage *m, int resp) {
    size_t room = RESP_HDR_SIZE;
    for (int i = 0; i < m->count; i++) room += m->parts[i].len + RESP_HDR_SIZE;
    struct replyShared *form = replySharedCreate(room);
    char *p = form->bytes;
    p += respWriteHeader(p, resp == 2 ? '*' : '>', m->count);
    for (int i = 0; i < m->count; i++) {
        p += respWriteHeader(p, '$', (int64_t)m->parts[i].len);
        memcpy(p, m->parts[i].ptr, m->parts[i].len);
        p += m->parts[i].len;
        *p++ = '\r';
        *p++ = '\n';
    }
    form->len = (size_t)(p - form->bytes);
    return form;
}

static bool pushMustWait(const struct client *c) {
    if (!(c->flags & CLIENT_EXECUTING)) return false;
    return push_held.length || pushOutputTotal(c) != c->out.reply_from;
}

static void pushHold(struct client *c, struct replyShared *form) {
    serverAssert(c->flags & CLIENT_EXECUTING);
    struct heldPush *h = zmalloc(sizeof *h);
    *h = (struct heldPush){.client = c, .form = replySharedRetain(form)};
    listAddTail(&push_held, &h->node);
}

static void pushDropHeld(struct heldPush *h) {
    listRemove(&push_held, &h->node);
    replySharedRelease(h->form);
    zfree(h);
}

static void pushOnClientFree(struct client *c) {
    listForEach(&push_held, it) {
        struct heldPush *h = listEntry(it, struct heldPush, node);
        if (h->client == c) pushDropHeld(h);
    }
}

static void pushOrHold(struct client *c, struct replyShared *s, bool later) {
    if (later) {
        pushHold(c, s);
        return;
    }
    replyAppendShared(c, s);
    if (c->flags & CLIENT_EXECUTING) c->out.reply_from += s->len;
}

void pushSend(struct client *c, struct pushMessage *m) {
    struct replyShared **form = &m->forms[c->resp >= 3];
    if (!*form) *form = pushCompose(m, c->resp);
    pushSharedAfterReply(c, *form);
}

void pushShared(struct client *c, struct replyShared *s) {
    pushOrHold(c, s, pushMustWait(c));
}

void pushSharedAfterReply(struct client *c, struct replyShared *s) {
    bool running = c->flags & CLIENT_EXECUTING && command_runs();
    pushOrHold(c, s, running || pushMustWait(c));
}

void pushRelease(struct pushMessage *m) {
    for (int i = 0; i < 2; i++) {
        if (m->forms[i]) replySharedRelease(m->forms[i]);
    }
}

void pushFlushHeld(void) {
    listForEach(&push_held, it) {
        struct heldPush *h = listEntry(it, struct heldPush, node);
        if (h->client->flags & CLIENT_EXECUTING) continue;
        replyAppendShared(h->client, h->form);
        pushDropHeld(h);
    }
}

void pushInit(bool (*in_call)(void)) {
    command_runs = in_call;
    listInit(&push_held);
    clientOnFree(pushOnClientFree);
}
