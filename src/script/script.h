/* script.h - Lua scripts: EVAL and its family. */
#pragma once

void scriptInit(void);  /* commands, directives, INFO fields, the BUSY filter */
void scriptStart(void); /* create the interpreter */
