/* SPDX-License-Identifier: BSD-3-Clause */
/* sort.h - SORT and SORT_RO: the elements of a list, a set or a sorted set in order. */
#pragma once

void sortInit(void); /* commands */
