/* SPDX-License-Identifier: BSD-3-Clause */
/* lua_engine.h - Lua as an engine of scripts (command/script_engine.h). */
#pragma once

void luaEngineInit(void); /* directives, INFO fields, jobs */
/* Makes the interpreters and adds the engine, unless a module has added an engine named "lua". It has to run
 * after modules have been loaded. */
void luaEngineStart(void);
