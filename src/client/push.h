/* SPDX-License-Identifier: BSD-3-Clause */
/* push.h - messages to clients that are no replies: from channels, keyspace events, MONITOR, tracking.
 *
 * A message is composed once per protocol and then sent to any number of clients (see replyShared in
 * reply.h).
 *
 * A message may stand before or behind a reply, never within one. A message for the client whose own command
 * runs waits until that command's reply is complete; what MONITOR shows is sent at once while the command has
 * replied nothing. A caller that runs a client's command brackets it with pushBeginCommand and
 * pushEndCommand.
 *
 * Invariant: messages are only held back for clients whose command runs (CLIENT_EXECUTING). */
#pragma once

#include "base/str.h"
#include "client/client.h"
#include "client/reply_block.h"

#define PUSH_PARTS_MAX 4

struct pushMessage {
    struct str parts[PUSH_PARTS_MAX]; /* bulk strings; views, valid until pushRelease */
    int count;
    struct replyShared *forms[2]; /* for RESP2 and RESP3; composed when first needed */
};

/* Sends as pushSharedAfterReply does, also to clients that muted their replies, not to closing ones. */
void pushSend(struct client *c, struct pushMessage *m);
/* Sends a composed message of any form, as early as possible. */
void pushShared(struct client *c, struct replyShared *s);
/* Sends a message that the running command has caused: behind the reply, even one that has not begun. */
void pushSharedAfterReply(struct client *c, struct replyShared *s);
/* Releases what the message holds; clients that have not read it yet still refer to its bytes. */
void pushRelease(struct pushMessage *m);

extern struct list push_held;
void pushFlushHeld(void);
/* Bytes of output that the client was given since it connected. */
static inline uint64_t pushOutputTotal(const struct client *c) {
    return c->net_out + (c->out.bytes - c->out.sent);
}
static inline void pushBeginCommand(struct client *c) {
    c->out.reply_from = pushOutputTotal(c);
}
static inline void pushEndCommand(void) {
    if (__builtin_expect(push_held.length != 0, 0)) pushFlushHeld();
}

/* in_call says whether a command is running, which may have caused what is sent. */
void pushInit(bool (*in_call)(void));
