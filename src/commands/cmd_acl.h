/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_acl.h - the ACL commands: their facts, and the handlers that these name. */
#pragma once

#include "commands/cmd_spec.h"

extern const struct commandSpec commandsAcl[];

commandProc aclCatCommand, aclDeluserCommand, aclDryrunCommand, aclGenpassCommand, aclGetuserCommand,
    aclHelpCommand, aclListCommand, aclLoadCommand, aclLogCommand, aclSaveCommand, aclSetuserCommand,
    aclUsersCommand, aclWhoamiCommand;
