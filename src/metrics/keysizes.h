/* SPDX-License-Identifier: BSD-3-Clause */
/* keysizes.h - INFO keysizes: how many keys there are of each size, by database and type. */
#pragma once

void keysizesInit(void); /* the section, and key-memory-histograms */
