/* api_command_info.c - what COMMAND tells of modules' commands. Part of api_command.h. */
#include "base/zmalloc.h"
#include "module/api_command.h"

void moduleCommandInfoFree(struct ValkeyModuleCommand *command) {
    zfree((void *)command->spec.key_specs);
}
