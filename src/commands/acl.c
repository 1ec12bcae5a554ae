/* SPDX-License-Identifier: BSD-3-Clause */
/* acl.c - ACL and its subcommands. */
#include "commands/acl.h"

#include "commands/grammar.h"

static const char *const everywhereTips[] = {"request_policy:all_nodes", "response_policy:all_succeeded",
                                             NULL};

static const struct commandArg aclCatArgs[] = {
    {.name = "category", .type = ARG_STRING, .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg aclDeluserArgs[] = {
    {.name = "username", .type = ARG_STRING, .flags = ARG_MULTIPLE},
    {0},
};

static const struct commandArg aclDryrunArgs[] = {
    {.name = "username", .type = ARG_STRING},
    {.name = "command", .type = ARG_STRING},
    {.name = "arg", .type = ARG_STRING, .flags = ARG_OPTIONAL | ARG_MULTIPLE},
    {0},
};

static const struct commandArg aclGenpassArgs[] = {
    {.name = "bits", .type = ARG_INTEGER, .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg aclGetuserArgs[] = {
    {.name = "username", .type = ARG_STRING},
    {0},
};

static const struct commandArg aclLogArgs_operation[] = {
    {.name = "count", .type = ARG_INTEGER},
    {.name = "reset", .type = ARG_PURE_TOKEN, .token = "RESET"},
    {0},
};

static const struct commandArg aclLogArgs[] = {
    {.name = "operation", .type = ARG_ONEOF, .flags = ARG_OPTIONAL, .args = aclLogArgs_operation},
    {0},
};

static const struct commandArg aclSetuserArgs[] = {
    {.name = "username", .type = ARG_STRING},
    {.name = "rule", .type = ARG_STRING, .flags = ARG_OPTIONAL | ARG_MULTIPLE},
    {0},
};

#define COMMON_FLAGS (CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_SENTINEL)

static const struct commandSpec aclSubcommands[] = {
    {.name = "cat",
     .summary = "List the categories of commands, or the commands of one.",
     .complexity = "O(1), as categories and commands are a fixed set",
     .since = "6.0.0",
     .group = "server",
     .proc = aclCatCommand,
     .arity = -2,
     .flags = COMMON_FLAGS,
     .args = aclCatArgs},
    {.name = "deluser",
     .summary = "Delete users and close their connections.",
     .complexity = "O(1) per user, and O(N) for N connections",
     .since = "6.0.0",
     .group = "server",
     .proc = aclDeluserCommand,
     .is_secret = redactAll,
     .arity = -3,
     .flags = CMD_ADMIN | COMMON_FLAGS,
     .tips = everywhereTips,
     .args = aclDeluserArgs},
    {.name = "dryrun",
     .summary = "Tell whether a user may run a command, without running it.",
     .complexity = "O(1)",
     .since = "7.0.0",
     .group = "server",
     .proc = aclDryrunCommand,
     .arity = -4,
     .flags = CMD_ADMIN | COMMON_FLAGS,
     .args = aclDryrunArgs},
    {.name = "genpass",
     .summary = "Make a random password.",
     .complexity = "O(1)",
     .since = "6.0.0",
     .group = "server",
     .proc = aclGenpassCommand,
     .arity = -2,
     .flags = COMMON_FLAGS,
     .args = aclGenpassArgs},
    {.name = "getuser",
     .summary = "Tell what a user may do.",
     .complexity = "O(N) for N rules of the user",
     .since = "6.0.0",
     .group = "server",
     .history =
         HISTORY({"6.2.0", "Shows the patterns of channels."},
                 {"7.0.0", "Shows selectors; keys and channels are written as rules, no longer as lists."},
                 {"9.1.0", "Shows which databases the user may use."}),
     .proc = aclGetuserCommand,
     .is_secret = redactAll,
     .arity = 3,
     .flags = CMD_ADMIN | COMMON_FLAGS,
     .args = aclGetuserArgs},
    {.name = "help",
     .summary = "Describe the subcommands.",
     .complexity = "O(1)",
     .since = "6.0.0",
     .group = "server",
     .proc = aclHelpCommand,
     .arity = 2,
     .flags = CMD_LOADING | CMD_STALE | CMD_SENTINEL},
    {.name = "list",
     .summary = "List all users with their rules.",
     .complexity = "O(N) for N users",
     .since = "6.0.0",
     .group = "server",
     .proc = aclListCommand,
     .arity = 2,
     .flags = CMD_ADMIN | COMMON_FLAGS},
    {.name = "load",
     .summary = "Read the users from the ACL file.",
     .complexity = "O(N) for N users",
     .since = "6.0.0",
     .group = "server",
     .proc = aclLoadCommand,
     .arity = 2,
     .flags = CMD_ADMIN | COMMON_FLAGS},
    {.name = "log",
     .summary = "Show what was refused lately, or forget it.",
     .complexity = "O(N) for N entries shown",
     .since = "6.0.0",
     .group = "server",
     .history =
         HISTORY({"7.2.0", "An entry has an ID, and the times at which it came and was last repeated."}),
     .proc = aclLogCommand,
     .arity = -2,
     .flags = CMD_ADMIN | COMMON_FLAGS,
     .args = aclLogArgs},
    {.name = "save",
     .summary = "Write the users to the ACL file.",
     .complexity = "O(N) for N users",
     .since = "6.0.0",
     .group = "server",
     .proc = aclSaveCommand,
     .arity = 2,
     .flags = CMD_ADMIN | COMMON_FLAGS,
     .tips = everywhereTips},
    {.name = "setuser",
     .summary = "Create a user, or change one, by rules.",
     .complexity = "O(N) for N rules",
     .since = "6.0.0",
     .group = "server",
     .history = HISTORY({"6.2.0", "Rules about channels."},
                        {"7.0.0", "Selectors, and rules that tell reading a key from writing it."},
                        {"9.1.0", "Rules about databases."}),
     .proc = aclSetuserCommand,
     .is_secret = redactAll,
     .arity = -3,
     .flags = CMD_ADMIN | COMMON_FLAGS,
     .tips = everywhereTips,
     .args = aclSetuserArgs},
    {.name = "users",
     .summary = "List the names of all users.",
     .complexity = "O(N) for N users",
     .since = "6.0.0",
     .group = "server",
     .proc = aclUsersCommand,
     .arity = 2,
     .flags = CMD_ADMIN | COMMON_FLAGS},
    {.name = "whoami",
     .summary = "The name of this connection's user.",
     .complexity = "O(1)",
     .since = "6.0.0",
     .group = "server",
     .proc = aclWhoamiCommand,
     .arity = 2,
     .flags = COMMON_FLAGS},
    {0},
};

const struct commandSpec commandsAcl[] = {
    {.name = "acl",
     .summary = "Commands about users and what they may do.",
     .complexity = "Depends on the subcommand",
     .since = "6.0.0",
     .group = "server",
     .arity = -2,
     .flags = CMD_SENTINEL,
     .subcommands = aclSubcommands},
    {0},
};
