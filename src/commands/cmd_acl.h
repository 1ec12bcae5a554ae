/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_acl.h - the ACL commands: their facts, and the handlers that these name. */
#pragma once

#include "commands/cmd_spec.h"

extern const struct commandSpec commandsAcl[];

commandProc aclCatCommand, aclDelroleCommand, aclDeluserCommand, aclDigestCommand, aclDryrunCommand,
    aclGenpassCommand, aclGetroleCommand, aclGetuserCommand, aclHelpCommand, aclListCommand, aclLoadCommand,
    aclLogCommand, aclRolesCommand, aclSaveCommand, aclSetroleCommand, aclSetuserCommand, aclUsersCommand,
    aclWhoamiCommand;
