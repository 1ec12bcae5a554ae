/* SPDX-License-Identifier: BSD-3-Clause */
/* script.h - Lua scripts: EVAL and its family. */
#pragma once

void scriptInit(void);  /* commands, directives, INFO fields, the BUSY filter */
void scriptStart(void); /* nothing is cached */
/* After modules were loaded: one of them may be an engine of this name. */
void scriptStartLua(void);
