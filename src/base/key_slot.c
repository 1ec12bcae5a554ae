/* key_slot.c - see key_slot.h. */
#include "base/key_slot.h"

#include <stdbool.h>
#include <string.h>

#include "base/crc.h"

/* What is between the first { and the next }; empty when there is nothing. */
static struct str tagOf(struct str key) {
    const char *open = key.len ? memchr(key.ptr, '{', key.len) : NULL;
    if (!open) return strN(key.ptr, 0);
    const char *tag = open + 1;
    size_t rest = key.len - (size_t)(tag - key.ptr);
    const char *close = rest ? memchr(tag, '}', rest) : NULL;
    return strN(tag, close ? (size_t)(close - tag) : 0);
}

int keySlot(struct str key) {
    struct str tag = tagOf(key);
    if (tag.len) key = tag;
    return crc16(key.ptr, key.len) & (KEY_SLOTS - 1);
}

static bool isPlain(const char *from, const char *to) {
    for (; from < to; from++) {
        if (strchr("*?[\\", *from) && *from) return false;
    }
    return true;
}

/* Before the tag there may be no wildcard, either: it could stand for another tag. */
int patternSlot(struct str pattern) {
    struct str tag = tagOf(pattern);
    const char *end = tag.len ? tag.ptr + tag.len : pattern.ptr + pattern.len;
    return isPlain(pattern.ptr, end) ? keySlot(pattern) : -1;
}
