/* SPDX-License-Identifier: BSD-3-Clause */
/* string_commands.h - strings: the value API that other types and rooms use.
 *
 * Encodings: "int" (8 embedded bytes), "embstr" (embedded or short), "raw". The name follows the value's
 * history as users know it; where the bytes are (embedded in the object, or an sds behind it) follows their
 * length alone. */
#pragma once

#include "base/num.h"
#include "base/sds.h"
#include "data/object.h"

struct client;
struct db;

void stringInit(void); /* type, commands, directives */

/* The text of a string object; an int is rendered into buf. A view, valid until the key changes. */
struct str stringView(const struct object *o, char buf[LONG_STR_SIZE]);
/* The same of a text that is not embedded (objectHasPtr); only to be read, as replies may refer to it. */
sds stringApart(const struct object *o);
bool stringIsReferredTo(const struct object *o); /* some do, now: it may not move */
bool stringIsInt(const struct object *o, int64_t *v);
/* The bytes of the string at key, to be changed in place: at least `size` of them, new ones zero; the
 * encoding becomes raw. `o` is what a lookup gave (NULL: the key is created). *len (may be NULL) is the
 * resulting length. */
char *stringForWrite(struct db *db, struct str key, struct object *o, size_t size, size_t *len);
/* A value for dbAdd and friends: integers become "int", short text is embedded (the view must live until
 * then), long text is copied. */
struct value stringValue(struct str text, char scratch[8]);
/* Long text that is handed over. */
struct value stringTakenValue(sds text);
/* The same, but always raw: the result of an operation on bytes. */
struct value stringRawValue(struct str text);
/* To change the text as an sds: the one behind the object, or a copy (o NULL: an empty one). stringEditEnd
 * puts what it has become back, as raw, keeping the expiry, or adds the key. Nothing else may touch the key
 * in between. */
sds stringEditBegin(struct object *o);
void stringEditEnd(struct db *db, struct str key, struct object *o, sds text);
