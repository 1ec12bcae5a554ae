/* SPDX-License-Identifier: BSD-3-Clause */
/* crc.h - checksums of the file and cluster formats. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* CRC-64/Jones (poly 0xad93d23594c935a9, reflected, init 0); incremental. "123456789"
 * gives 0xe9c6d914c4b8d9ca. */
uint64_t crc64(uint64_t crc, const void *p, size_t len);
/* CRC-16/XMODEM (poly 0x1021). "123456789" gives 0x31c3. */
uint16_t crc16(const void *p, size_t len);
uint16_t crc16Plain(const void *p, size_t len); /* crc16 on processors that cannot multiply polynomials */
