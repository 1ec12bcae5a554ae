/* SPDX-License-Identifier: BSD-3-Clause */
/* string_commands.h - strings: the interface for other types and modules.
 *
 * The encodings are "int" (8 embedded bytes), "embstr" (embedded or short) and "raw". Their names follow the
 * value's history, as in Valkey; whether the bytes are embedded in the object or an sds behind it depends on
 * their length alone. */
#pragma once

#include "base/num.h"
#include "base/sds.h"
#include "data/forkless/large_value.h"
#include "data/object.h"

struct client;
struct db;

void stringInit(void); /* type, commands, directives */

/* Returns the text of a string object; an int is rendered into buf. The view is valid until the key
 * changes. */
struct str stringView(const struct object *o, char buf[LONG_STR_SIZE]);
/* Returns a text that is not embedded (objectHasPtr). It is only to be read, as replies may refer to it. */
sds stringSds(const struct object *o);
bool stringIsReferredTo(const struct object *o); /* whether replies refer to it: it may not move */
bool stringIsInt(const struct object *o, int64_t *v);
/* Returns the bytes of the string at key, at least `size`, to be changed in place where stringWillChange was
 * told of it; new bytes are zero, and the encoding becomes raw. `o` is the result of a lookup (NULL: the key
 * is created). *len (may be NULL) gets the resulting length. */
char *stringForWrite(struct db *db, struct str key, struct object *o, size_t size, size_t *len);
/* Returns a value for dbAdd and friends: integers become "int", short text is embedded (the view must stay
 * valid until the value is used), long text is copied. */
struct value stringValue(struct str text, char scratch[8]);
/* Returns a value that takes over a long text. */
struct value stringTakenValue(sds text);
/* Returns a value that is always raw, for results of operations on bytes. */
struct value stringRawValue(struct str text);
/* Deletes a key that exists, reports it, and propagates DEL in place of the running command. */
void stringDelete(struct client *c, struct str key);
/* Changes the text as an sds: stringEditBegin returns the one behind the object, or a copy (o NULL: an empty
 * one), and stringEditEnd stores the result as raw, keeping the expiry, or adds the key. Nothing else may
 * touch the key in between. */
sds stringEditBegin(struct object *o);
void stringEditEnd(struct db *db, struct str key, struct object *o, sds text);

/* ---- Snapshots without a fork (string_parts.c) ---- */
const struct valueParts *stringParts(const struct object *o);
void stringPartsWillChange(const struct object *o, size_t from, size_t len);
void stringPartsMoved(const void *from, const struct object *o);
/* Called before so many bytes change in place, or are cut off, as far as the text reaches; o may be NULL. */
static inline void stringWillChange(const struct object *o, size_t from, size_t len) {
    if (__builtin_expect(large_value_count != 0, 0) && o && objectHasPtr(o))
        stringPartsWillChange(o, from, len);
}
