/* SPDX-License-Identifier: BSD-3-Clause */
/* subnet.c - see subnet.h. */
#include "net/subnet.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/num.h"
#include "base/zmalloc.h"

static const uint8_t ipv4_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
#define IPV4_BITS 96 /* bits of ipv4_prefix */

static bool subnetIsIpv4(const uint8_t address[SUBNET_ADDRESS]) {
    return memcmp(address, ipv4_prefix, sizeof ipv4_prefix) == 0;
}

/* Parses an address. Returns the number of its bits as written, 32 or 128; 0: it is not valid. */
static int subnetParseAddress(struct str text, uint8_t address[SUBNET_ADDRESS]) {
    char copy[INET6_ADDRSTRLEN];
    if (text.len >= sizeof copy || memchr(text.ptr, '\0', text.len)) return 0;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    if (inet_pton(AF_INET6, copy, address) == 1) return 128;
    memcpy(address, ipv4_prefix, sizeof ipv4_prefix);
    return inet_pton(AF_INET, copy, address + sizeof ipv4_prefix) == 1 ? 32 : 0;
}

static bool subnetParseOne(struct str word, struct subnet *s) {
    const char *slash = memchr(word.ptr, '/', word.len);
    size_t len = slash ? (size_t)(slash - word.ptr) : word.len;
    int most = subnetParseAddress(strN(word.ptr, len), s->address);
    int64_t bits = most;
    if (!most) return false;
    if (slash && !string2ll(strN(slash + 1, word.len - len - 1), &bits)) return false;
    if (bits < 0 || bits > most) return false;
    s->bits = (uint8_t)(bits + 128 - most);
    return true;
}

static bool subnetIsSeparator(char c) {
    return c == ',' || c == ' ' || c == '\t';
}

bool subnetsParse(struct str text, struct subnetList *list) {
    *list = (struct subnetList){0};
    for (size_t i = 0; i < text.len; i++) {
        size_t start = i;
        while (i < text.len && !subnetIsSeparator(text.ptr[i])) i++;
        if (i == start) continue;
        list->at = zrealloc(list->at, (size_t)(list->count + 1) * sizeof *list->at);
        if (!subnetParseOne(strN(text.ptr + start, i - start), &list->at[list->count++])) {
            subnetsFree(list);
            return false;
        }
    }
    return true;
}

void subnetsFree(struct subnetList *list) {
    zfree(list->at);
    *list = (struct subnetList){0};
}

static bool subnetContains(const struct subnet *s, const uint8_t address[SUBNET_ADDRESS]) {
    if (subnetIsIpv4(address) && !(s->bits >= IPV4_BITS && subnetIsIpv4(s->address))) return false;
    size_t bytes = s->bits / 8u;
    if (memcmp(s->address, address, bytes) != 0) return false;
    unsigned rest = s->bits % 8u;
    return !rest || (s->address[bytes] ^ address[bytes]) >> (8 - rest) == 0;
}

bool subnetsContain(const struct subnetList *list, const uint8_t address[SUBNET_ADDRESS]) {
    for (int i = 0; i < list->count; i++) {
        if (subnetContains(&list->at[i], address)) return true;
    }
    return false;
}
