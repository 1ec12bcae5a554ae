/* SPDX-License-Identifier: BSD-3-Clause */
/* script.h - Lua scripts: EVAL and its family. */
#pragma once

void scriptInit(void);  /* commands, directives, INFO fields, the BUSY filter */
void scriptStart(void); /* nothing is cached */
