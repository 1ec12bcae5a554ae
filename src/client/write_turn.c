/* SPDX-License-Identifier: BSD-3-Clause */
/* write_turn.c - see write_turn.h. */
#include "client/write_turn.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

void writeTurnSend(struct writeTurn *t, writeTurnDone *done) {
    connWriteMany(t->writes, t->count);
    for (int i = 0; i < t->count; i++) done(&t->writes[i]);
    t->count = t->iov_count = 0;
}

void writeTurnAdd(struct writeTurn *t, struct connection *conn, const struct replyBlock *first, size_t sent,
                  writeTurnDone *done) {
    if (t->count == COUNT(t->writes) || t->iov_count > COUNT(t->iov) - WRITE_IOV_MAX) writeTurnSend(t, done);
    struct iovec *iov = t->iov + t->iov_count;
    int pieces = replyBlocksPieces(first, sent, iov, WRITE_IOV_MAX);
    t->writes[t->count++] = (struct connWrite){conn, iov, pieces, 0, 0};
    t->iov_count += pieces;
}
