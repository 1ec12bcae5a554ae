/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_commands.h - what the files of the stream commands share. */
#pragma once

#include "base/zmalloc.h"
#include "client/client.h"
#include "types/stream/stream.h"
#include "types/stream/stream_idmp.h"

static inline bool streamIsChar(struct str arg, char ch) {
    return arg.len == 1 && arg.ptr[0] == ch;
}

/* ---- IDs in arguments. These functions reply the error and return false. ---- */
/* Parses an ID, but not "-" and "+". */
bool argStreamID(struct client *c, struct str arg, uint64_t missing_seq, struct streamID *id);
/* Parse an end of an interval: "-", "+", an ID, or an ID after "(" which is not included. */
bool argStreamStart(struct client *c, struct str arg, struct streamID *id);
bool argStreamEnd(struct client *c, struct str arg, struct streamID *id);
/* Parses the IDs argv[from] to argv[end - 1]. Returns NULL after an error; the caller frees the result. */
struct streamID *argStreamIDs(struct client *c, int from, int end);

/* ---- Look-up. False: the key holds another type, and WRONGTYPE was replied. *s is NULL when there is
 * no key. ---- */
bool lookupStreamRead(struct client *c, struct str key, struct stream **s);
bool lookupStreamWrite(struct client *c, struct str key, struct stream **s);
/* For a change of a stream's groups: counts hits and misses as a reader does. */
bool lookupStreamGroups(struct client *c, struct str key, struct stream **s);

/* ---- Replies ---- */
void replyStreamID(struct client *c, struct streamID id);
/* Replies the entry where the iterator is: [id, [field, value ...]], or the beginning of such an array with
 * `more` elements behind. */
void replyStreamEntry(struct client *c, struct streamIterator *it, int more);
/* Replies at most `count` entries (0: all) as one array; returns how many. */
int64_t replyStreamRange(struct client *c, struct stream *s, struct streamID start, struct streamID end,
                         bool reverse, int64_t count);
/* Replies one entry. When it was deleted: replies its ID with a null array, and returns false. */
bool replyStreamOne(struct client *c, struct streamFinder *f, struct streamID id);
/* Returns how many entries XNACK has left without an owner: those of the consumer with the empty name, if it
 * was made for that. */
size_t streamPendingUnowned(struct streamGroup *g);
void replyNoGroup(struct client *c, struct str key, struct str group);

/* ---- Lists of IDs; begin with {0}, and free `ids` ---- */
struct streamIDList {
    struct streamID *ids;
    size_t count, room;
};
static inline void streamIDListAdd(struct streamIDList *list, struct streamID id) {
    if (list->count == list->room) {
        list->room = list->room ? list->room * 2 : 16;
        list->ids = zrealloc(list->ids, list->room * sizeof *list->ids);
    }
    list->ids[list->count++] = id;
}

/* ---- Entries and the groups that may need them (stream_delex.c) ---- */
enum delexMode { DELEX_KEEPREF, DELEX_DELREF, DELEX_ACKED };
bool streamDelexMode(struct str arg, enum delexMode *mode); /* false: not the name of a mode */
/* The outcome of a trim with DELREF or ACKED. */
struct delexTrim {
    struct delexCall *call;
    int64_t removed;
    bool
        gaps; /* there are entries between those that were removed: no trim without a mode removes the same */
};
/* DELREF propagates the acknowledgements. ACKED propagates nothing unless there are gaps: these are for
 * streamDelexEndTrim, which is called in any case. */
struct delexTrim streamDelexTrim(struct client *c, struct stream *s, const struct streamTrim *t,
                                 enum delexMode mode);
void streamDelexEndTrim(struct delexTrim *trim);

/* ---- Idempotence: IDMP and IDMPAUTO of XADD (stream_idmp_commands.c) ---- */
struct idmpArgs {
    struct str pid, iid;
    char auto_iid[IDMP_AUTO_BYTES];
};
bool idmpIsOption(const struct client *c, int at);
/* Checks the option at argv[at]; an earlier one was at `before` (0: none). Returns its last word, or 0 after
 * an error reply. */
int idmpCheckOption(struct client *c, int at, int before);
/* Returns how many words the option at argv[at] has. */
int idmpOptionWords(const struct client *c, int at);
/* Takes the option at argv[at] over, for the entry whose fields and values begin at argv[pairs_at]. */
void idmpReadOption(const struct client *c, int at, int pairs_at, struct idmpArgs *a);
/* If the entry was added before, replies its ID and returns true. */
bool idmpReplyDuplicate(struct client *c, const struct idmpArgs *a);
/* Records an entry that was added to the stream argv[1]. */
void idmpRemember(struct client *c, const struct idmpArgs *a, struct streamID id);

/* ---- Groups, for commands (stream_group_commands.c) ---- */
/* Finds the consumer or creates it, with event and propagation. */
struct streamConsumer *streamConsumerFor(struct client *c, struct str key, struct str group,
                                         struct streamGroup *g, struct str name, int64_t now_ms);
/* These propagate, in place of the running command: a delivery, a removed entry, a group's new position. */
void propagateClaim(struct client *c, struct str key, struct str group, struct streamGroup *g,
                    struct streamID id, const struct streamNack *nack);
void propagateAck(struct client *c, struct str key, struct str group, struct streamID id);
void propagateGroupID(struct client *c, struct str key, struct str group, const struct streamGroup *g);
