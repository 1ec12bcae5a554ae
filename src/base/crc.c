/* crc.c - checksums, from tables that a constructor fills.
 *
 * CRC-64 is reflected: the first bit is the lowest. The idea is slicing by 8 (Kounavis and Berry, 2005):
 * table[n][b] is the CRC of byte b followed by n zero bytes, so 8 bytes are looked up independently and
 * xor'ed, instead of each waiting for the one before.
 *
 *     crc ^ next 8 bytes:   b0         b1         ...        b7
 *                           table[7]   table[6]   ...        table[0]     xor -> crc
 *
 * CRC-16 is short work (key names), one byte at a time, highest bit first. */
#include "base/crc.h"

#include <string.h>

#define CRC64_POLY_REFLECTED 0x95ac9329ac4bc9b5 /* 0xad93d23594c935a9, bits in reverse */
#define CRC16_POLY           0x1021

static uint64_t table64[8][256];
static uint16_t table16[256];

__attribute__((constructor)) static void tablesFill(void) {
    for (unsigned b = 0; b < 256; b++) {
        uint64_t crc = b;
        unsigned crc16 = b << 8;
        for (int bit = 0; bit < 8; bit++) {
            crc = crc & 1 ? crc >> 1 ^ CRC64_POLY_REFLECTED : crc >> 1;
            crc16 = crc16 & 0x8000 ? crc16 << 1 ^ CRC16_POLY : crc16 << 1;
        }
        table64[0][b] = crc;
        table16[b] = (uint16_t)crc16;
    }
    for (int n = 1; n < 8; n++) {
        for (unsigned b = 0; b < 256; b++) {
            uint64_t crc = table64[n - 1][b];
            table64[n][b] = crc >> 8 ^ table64[0][crc & 0xff];
        }
    }
}

static uint64_t loadLittleEndian64(const uint8_t *p) {
    uint64_t x;
    memcpy(&x, p, 8);
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x;
}

uint64_t crc64(uint64_t crc, const void *data, size_t len) {
    const uint8_t *p = data;
    for (; len >= 8; p += 8, len -= 8) {
        uint64_t x = crc ^ loadLittleEndian64(p);
        crc = 0;
#pragma GCC unroll 8
        for (int n = 0; n < 8; n++) crc ^= table64[7 - n][x >> (8 * n) & 0xff];
    }
    for (; len > 0; p++, len--) crc = crc >> 8 ^ table64[0][(crc ^ *p) & 0xff];
    return crc;
}

uint16_t crc16(const void *data, size_t len) {
    const uint8_t *p = data;
    uint16_t crc = 0;
    for (; len > 0; p++, len--) crc = (uint16_t)(crc << 8 ^ table16[crc >> 8 ^ *p]);
    return crc;
}
