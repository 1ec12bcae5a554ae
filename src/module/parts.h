/* parts.h - the inits of the parts of the module room, called by moduleInit in this order: objections and
 * ends of a module are asked and done in it, too. */
#pragma once

void stringsInit(void);
void moduleCommandsInit(void); /* api_command.c */
