/* SPDX-License-Identifier: BSD-3-Clause */
/* script.h - scripts: EVAL and its family, for any language. */
#pragma once

void scriptInit(void);  /* commands, directives, INFO fields, the BUSY filter */
void scriptStart(void); /* makes the empty cache */
