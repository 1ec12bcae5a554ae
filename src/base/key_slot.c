/* key_slot.c - see key_slot.h. */
#include "base/key_slot.h"

#include "base/crc.h"

int keySlot(struct str key) {
    const char *open = key.len ? memchr(key.ptr, '{', key.len) : NULL;
    if (open) {
        const char *tag = open + 1;
        size_t rest = key.len - (size_t)(tag - key.ptr);
        const char *close = rest ? memchr(tag, '}', rest) : NULL;
        if (close && close > tag) key = strN(tag, (size_t)(close - tag));
    }
    return crc16(key.ptr, key.len) & (KEY_SLOTS - 1);
}
