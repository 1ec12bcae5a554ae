/* SPDX-License-Identifier: BSD-3-Clause */
/* rules.h - what being a replica, or having too few of them, changes for everybody else: what is refused
 * (READONLY, MASTERDOWN, NOREPLICAS), redirected, kept though it has expired, not evicted. */
#pragma once

void rulesInit(void);  /* rows of admission, vetoes, directives */
void rulesStart(void); /* behind the configuration */
