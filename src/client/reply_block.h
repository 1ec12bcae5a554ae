/* reply_block.h - the blocks of an output chain; for those who send or parse them (client.c, script/).
 *
 *     own bytes:     [next used cap buf shared | room .......]     buf points at room
 *     shared bytes:  [next used cap buf shared]                    buf points into a replyShared; cap == used
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct replyBlock {
    struct replyBlock *next;
    size_t used, cap;
    char *buf;
    struct replyShared *shared; /* NULL: the bytes are in `room` */
    char room[];
};
#define REPLY_BLOCK_ROOM (16 * 1024 - sizeof(struct replyBlock))

void replyBlockFree(struct replyBlock *b);
