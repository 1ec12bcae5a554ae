/* SPDX-License-Identifier: BSD-3-Clause */
/* push.h - messages that a client has not asked for just now: of channels, of keyspace events.
 *
 * A message is composed once per protocol and then sent to any number of clients (see replyShared in
 * reply.h).
 *
 * A message may stand before a reply or behind it, never within one. What is for the client whose own command
 * runs waits until that command's reply is whole; what MONITOR shows goes out at once while the command has
 * replied nothing. Whoever runs a client's command brackets it with pushBeginCommand and pushEndCommand.
 *
 * Invariant: what is held is for clients whose command runs (CLIENT_EXECUTING); nothing is held when none
 * does. */
#pragma once

#include "base/str.h"
#include "client/client.h"
#include "client/reply_block.h"

#define PUSH_PARTS_MAX 4

struct pushMessage {
    struct str parts[PUSH_PARTS_MAX]; /* bulk strings; views, must last as long as the message is sent */
    int count;
    struct replyShared *forms[2]; /* for RESP2 and RESP3; made when first needed */
};

/* As pushSharedBehind. Also to a client that muted its replies. Nothing for one that is on its way out. */
void pushSend(struct client *c, struct pushMessage *m);
/* A composed message of any form, as early as may be. */
void pushShared(struct client *c, struct replyShared *s);
/* One that the running command has caused: it stands behind the reply, even if that has not begun yet. */
void pushSharedBehind(struct client *c, struct replyShared *s);
/* Gives back what the message holds; it still lives in the output of those who have not read it yet. */
void pushDone(struct pushMessage *m);

extern struct list push_held;
void pushFlushHeld(void);
/* Bytes of output that the client was ever given. */
static inline uint64_t pushOutputEver(const struct client *c) {
    return c->net_out + (c->out.bytes - c->out.sent);
}
static inline void pushBeginCommand(struct client *c) {
    c->out.reply_from = pushOutputEver(c);
}
static inline void pushEndCommand(void) {
    if (__builtin_expect(push_held.length != 0, 0)) pushFlushHeld();
}

/* `in_call`: does some command run now, so that what is sent may have been caused by it? */
void pushInit(bool (*in_call)(void));
