/* data_hooks.h - what the data asks of this floor (data/hooks.h). */
#pragma once

void dataHooksInit(void); /* but for keyCameOrWent, which is blocking.c's */
