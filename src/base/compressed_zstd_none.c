/* SPDX-License-Identifier: BSD-3-Clause */
/* compressed_zstd_none.c - replaces compressed_zstd.c in builds without libzstd.
 * Part of compressed_codec.h. */
#include "base/compressed_codec.h"

const struct codec codecZstd = {.name = "zstd", .magic = {0x28, 0xb5, 0x2f, 0xfd}};
