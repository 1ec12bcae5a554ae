/* SPDX-License-Identifier: BSD-3-Clause */
/* reply.h - writing replies, once, straight into the client's output chain, in the client's protocol.
 *
 * The chain is a list of 16 KiB blocks from a pool; it exists only while there is something to send. Every
 * function appends one complete element, except the *Len functions, which announce that n elements (or pairs)
 * follow.
 *
 * Invariant: a chain has both a head and a tail or neither, and out.bytes is the sum of its blocks' bytes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"

struct client;

void replyRaw(struct client *c, const char *p, size_t n); /* protocol bytes as they are */
#define replyLiteral(c, s) replyRaw((c), (s), sizeof(s) - 1)

void replyOk(struct client *c);
void replyStatus(struct client *c, const char *s); /* without '+' */
/* Replies any text as an error, as scripts make them; a leading '-' is dropped. */
void replyErrorStr(struct client *c, struct str msg);
/* `msg` starts with its code: "ERR ...", "WRONGTYPE ...". CR and LF become blanks. Counts in errorstats.
 * Always false, for functions that return whether they succeeded. */
static inline bool replyError(struct client *c, const char *msg) {
    replyErrorStr(c, strOf(msg));
    return false;
}
/* Both are always false, too. replyErrorSds takes error over. */
bool replyErrorFmt(struct client *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool replyErrorSds(struct client *c, sds error);
/* Replies an error that is in the statistics already: a command in the script has failed with it. */
void replyErrorCounted(struct client *c, struct str msg);
/* Counts an error as replyErrorStr does; its bytes are replied in another way. */
void replyErrorCount(struct client *c, struct str msg);
void replyBulk(struct client *c, struct str s);
/* Replies a bulk string whose bytes are linked into the chain, not copied: for long ones (reply_block.h). A
 * client without connection has its replies read at once, and should be given copies. */
struct replyShared;
bool replyLinks(struct client *c);
void replyBulkShared(struct client *c, struct replyShared *s, size_t from, size_t len);
void replyBulkCstr(struct client *c, const char *s);
void replyBulkLongLong(struct client *c, int64_t v);
void replyBulkDouble(struct client *c, double v); /* RESP2 bulk of a score, in both protocols */
void replyLongLong(struct client *c, int64_t v);
void replyDouble(struct client *c, double v); /* RESP3 double, RESP2 bulk */
void replyBool(struct client *c, bool v);     /* RESP3 boolean, RESP2 :1 :0 */
void replyNull(struct client *c);             /* RESP3 _, RESP2 $-1 */
void replyNullArray(struct client *c);        /* RESP3 _, RESP2 *-1 */
void replyBigNum(struct client *c, struct str digits);
void replyVerbatim(struct client *c, struct str s, const char ext[3]); /* RESP3 verbatim, RESP2 bulk */

void replyArrayLen(struct client *c, int64_t n);
void replyMapLen(struct client *c, int64_t pairs);       /* RESP2: array of 2 * pairs */
void replySetLen(struct client *c, int64_t n);           /* RESP2: array */
void replyPushLen(struct client *c, int64_t n);          /* RESP2: array */
void replyAttributeLen(struct client *c, int64_t pairs); /* only when c->resp >= 3 */

/* For lengths that are not known ahead: take a mark, write the elements, then fill in the length. Marks nest.
 * Every mark must be filled. */
struct replyMark {
    struct replyBlock *block;
    uint32_t offset;
};
struct replyMark replyDeferLen(struct client *c);
void replySetArrayLen(struct client *c, struct replyMark m, int64_t n);
void replySetMapLen(struct client *c, struct replyMark m, int64_t pairs);
void replySetSetLen(struct client *c, struct replyMark m, int64_t n);
/* Writes a header of this type. */
void replySetLenOf(struct client *c, struct replyMark m, char type, int64_t n);

/* Reserves n contiguous bytes (n <= 1024) in the chain, for hot loops that write several small elements:
 * write there, then call replyAdvance with what was written. NULL when this client gets no replies (CLIENT
 * REPLY OFF): skip. */
char *replyReserve(struct client *c, size_t n);
void replyAdvance(struct client *c, size_t n);

/* Appends shared bytes (reply_block.h) to the chain. They ignore CLIENT REPLY OFF; a client that is being
 * closed gets none. */
void replyAppendShared(struct client *c, struct replyShared *s);

/* The usual errors. */
extern const char err_syntax[];     /* ERR syntax error */
extern const char err_wrongtype[];  /* WRONGTYPE Operation against a key holding the wrong kind of value */
extern const char err_nosuchkey[];  /* ERR no such key */
extern const char err_notint[];     /* ERR value is not an integer or out of range */
extern const char err_notfloat[];   /* ERR value is not a valid float */
extern const char err_outofrange[]; /* ERR index out of range */
static inline bool replySyntaxError(struct client *c) { /* always false */
    return replyError(c, err_syntax);
}
void replyWrongType(struct client *c);
/* "ERR unknown subcommand or wrong number of arguments for '%s'. Try %s HELP." as Valkey words it. */
void replySubcommandError(struct client *c);
/* Replies the HELP of a container command: NULL-terminated lines, plus the usual first and last lines. */
void replyHelp(struct client *c, const char **lines);

/* Parse an argument. On failure they reply msg (NULL: the usual error) and return false. */
bool argLongLong(struct client *c, struct str arg, int64_t *out, const char *msg);
bool argRange(struct client *c, struct str arg, int64_t min, int64_t max, int64_t *out, const char *msg);
bool argPositive(struct client *c, struct str arg, int64_t *out,
                 const char *msg); /* [0, INT64_MAX/...]: "value is out of range, must be positive" */
bool argDouble(struct client *c, struct str arg, double *out, const char *msg);

void replyFreeChain(struct client *c);
sds replyChainToSds(struct client *c); /* all bytes as one string; empties the chain */

/* Replaces the "ERR " at the start of every error's text; NULL: errors stay as they are. Set only while
 * commands are checked whose refusal makes a larger operation fail (EXEC). */
extern const char *reply_error_prefix;
/* Called for each error to a client without connection (CLIENT_FAKE) or to our primary, which drops it. */
extern void (*reply_error_unread)(const struct client *c, struct str msg);

/* Registers the function that names c's command for error texts (of a subcommand: its container). */
void replySetCommandName(struct str (*fn)(const struct client *c));

/* Error statistics, for INFO: from prefix (ERR, WRONGTYPE and so on) to count, sorted by prefix. There are at
 * most 128 prefixes; later ones count as ERRORSTATS_OVERFLOW. */
void errorStatsReset(void);
void errorStatsForEach(void (*fn)(void *priv, const char *prefix, uint64_t count), void *priv);
uint64_t errorStatsTotal(void);
