/* SPDX-License-Identifier: BSD-3-Clause */
/* lolwut.h - the drawing of LOLWUT. */
#pragma once

#include "base/sds.h"

/* Appends a drawing of so many characters by so many lines, another one each time. */
sds lolwutDraw(sds s, int columns, int rows);
