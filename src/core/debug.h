/* debug.h - DEBUG, for tests and operators. */
#pragma once
void debugInit(void); /* directive enable-debug-command */
