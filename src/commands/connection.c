/* connection.c - commands about the connection itself: what clients, ACLs, clusters and COMMAND know about
 * them.
 *
 * An entry names its handler, and the tables above the list hold what does not fit into a line: key specs,
 * arguments, tips. Equal tables are written once, under the name of the first command that uses them. */
#include "commands/commands.h"

#include "core/command.h"

static const struct commandArg authArgs[] = {
    {.name = "username", .type = ARG_STRING, .since = "6.0.0", .flags = ARG_OPTIONAL},
    {.name = "password", .type = ARG_STRING},
    {0},
};

static const char *const clientListTips[] = {"nondeterministic_output", NULL};

static const struct commandArg clientListArgs_client_type[] = {
    {.name = "normal", .type = ARG_PURE_TOKEN, .token = "normal"},
    {.name = "master", .type = ARG_PURE_TOKEN, .token = "master"},
    {.name = "replica", .type = ARG_PURE_TOKEN, .token = "replica"},
    {.name = "pubsub", .type = ARG_PURE_TOKEN, .token = "pubsub"},
    {0},
};

static const struct commandArg clientListArgs_skipme[] = {
    {.name = "yes", .type = ARG_PURE_TOKEN, .token = "YES"},
    {.name = "no", .type = ARG_PURE_TOKEN, .token = "NO"},
    {0},
};

static const struct commandArg clientListArgs[] = {
    {.name = "client-type",
     .type = ARG_ONEOF,
     .token = "TYPE",
     .since = "5.0.0",
     .flags = ARG_OPTIONAL,
     .args = clientListArgs_client_type},
    {.name = "client-id",
     .type = ARG_INTEGER,
     .token = "ID",
     .since = "6.2.0",
     .flags = ARG_OPTIONAL | ARG_MULTIPLE},
    {.name = "username", .type = ARG_STRING, .token = "USER", .since = "8.1.0", .flags = ARG_OPTIONAL},
    {.name = "addr", .type = ARG_STRING, .token = "ADDR", .since = "8.1.0", .flags = ARG_OPTIONAL},
    {.name = "laddr", .type = ARG_STRING, .token = "LADDR", .since = "8.1.0", .flags = ARG_OPTIONAL},
    {.name = "skipme",
     .type = ARG_ONEOF,
     .token = "SKIPME",
     .since = "8.1.0",
     .flags = ARG_OPTIONAL,
     .args = clientListArgs_skipme},
    {.name = "maxage", .type = ARG_INTEGER, .token = "MAXAGE", .since = "8.1.0", .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg clientKillArgs_filter_new_format_client_type[] = {
    {.name = "normal", .type = ARG_PURE_TOKEN, .token = "normal"},
    {.name = "master", .type = ARG_PURE_TOKEN, .token = "master", .since = "3.2.0"},
    {.name = "primary", .type = ARG_PURE_TOKEN, .token = "primary", .since = "8.0.0"},
    {.name = "slave", .type = ARG_PURE_TOKEN, .token = "slave"},
    {.name = "replica", .type = ARG_PURE_TOKEN, .token = "replica", .since = "5.0.0"},
    {.name = "pubsub", .type = ARG_PURE_TOKEN, .token = "pubsub"},
    {0},
};

static const struct commandArg clientKillArgs_filter_new_format[] = {
    {.name = "client-id",
     .type = ARG_INTEGER,
     .token = "ID",
     .since = "2.8.12",
     .flags = ARG_OPTIONAL | ARG_MULTIPLE},
    {.name = "client-type",
     .type = ARG_ONEOF,
     .token = "TYPE",
     .since = "2.8.12",
     .flags = ARG_OPTIONAL,
     .args = clientKillArgs_filter_new_format_client_type},
    {.name = "username", .type = ARG_STRING, .token = "USER", .flags = ARG_OPTIONAL},
    {.name = "addr", .type = ARG_STRING, .token = "ADDR", .flags = ARG_OPTIONAL},
    {.name = "laddr", .type = ARG_STRING, .token = "LADDR", .since = "6.2.0", .flags = ARG_OPTIONAL},
    {.name = "skipme",
     .type = ARG_ONEOF,
     .token = "SKIPME",
     .flags = ARG_OPTIONAL,
     .args = clientListArgs_skipme},
    {.name = "maxage", .type = ARG_INTEGER, .token = "MAXAGE", .since = "8.0.0", .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg clientKillArgs_filter[] = {
    {.name = "old-format", .type = ARG_STRING, .deprecated_since = "2.8.12"},
    {.name = "new-format",
     .type = ARG_ONEOF,
     .flags = ARG_MULTIPLE,
     .args = clientKillArgs_filter_new_format},
    {0},
};

static const struct commandArg clientKillArgs[] = {
    {.name = "filter", .type = ARG_ONEOF, .args = clientKillArgs_filter},
    {0},
};

static const char *const clientSetnameTips[] = {"request_policy:all_nodes", "response_policy:all_succeeded",
                                                NULL};

static const struct commandArg clientSetnameArgs[] = {
    {.name = "connection-name", .type = ARG_STRING},
    {0},
};

static const struct commandArg clientSetinfoArgs_attr[] = {
    {.name = "libname", .type = ARG_STRING, .token = "lib-name"},
    {.name = "libver", .type = ARG_STRING, .token = "lib-ver"},
    {0},
};

static const struct commandArg clientSetinfoArgs[] = {
    {.name = "attr", .type = ARG_ONEOF, .args = clientSetinfoArgs_attr},
    {0},
};

static const struct commandArg clientReplyArgs_action[] = {
    {.name = "on", .type = ARG_PURE_TOKEN, .token = "ON"},
    {.name = "off", .type = ARG_PURE_TOKEN, .token = "OFF"},
    {.name = "skip", .type = ARG_PURE_TOKEN, .token = "SKIP"},
    {0},
};

static const struct commandArg clientReplyArgs[] = {
    {.name = "action", .type = ARG_ONEOF, .args = clientReplyArgs_action},
    {0},
};

static const struct commandArg clientUnblockArgs_unblock_type[] = {
    {.name = "timeout", .type = ARG_PURE_TOKEN, .token = "TIMEOUT"},
    {.name = "error", .type = ARG_PURE_TOKEN, .token = "ERROR"},
    {0},
};

static const struct commandArg clientUnblockArgs[] = {
    {.name = "client-id", .type = ARG_INTEGER},
    {.name = "unblock-type",
     .type = ARG_ONEOF,
     .flags = ARG_OPTIONAL,
     .args = clientUnblockArgs_unblock_type},
    {0},
};

static const struct commandArg clientOnOff[] = {
    {.name = "on", .type = ARG_PURE_TOKEN, .token = "ON"},
    {.name = "off", .type = ARG_PURE_TOKEN, .token = "OFF"},
    {0},
};

static const struct commandArg clientEnabledArgs[] = {
    {.name = "enabled", .type = ARG_ONEOF, .args = clientOnOff},
    {0},
};

static const struct commandArg clientCachingArgs_mode[] = {
    {.name = "yes", .type = ARG_PURE_TOKEN, .token = "YES"},
    {.name = "no", .type = ARG_PURE_TOKEN, .token = "NO"},
    {0},
};

static const struct commandArg clientCachingArgs[] = {
    {.name = "mode", .type = ARG_ONEOF, .args = clientCachingArgs_mode},
    {0},
};

static const struct commandArg clientCapaArgs[] = {
    {.name = "capability", .type = ARG_STRING, .flags = ARG_MULTIPLE},
    {0},
};

static const struct commandArg clientPauseArgs_mode[] = {
    {.name = "write", .type = ARG_PURE_TOKEN, .token = "WRITE"},
    {.name = "all", .type = ARG_PURE_TOKEN, .token = "ALL"},
    {0},
};

static const struct commandArg clientPauseArgs[] = {
    {.name = "timeout", .type = ARG_INTEGER},
    {.name = "mode",
     .type = ARG_ONEOF,
     .since = "6.2.0",
     .flags = ARG_OPTIONAL,
     .args = clientPauseArgs_mode},
    {0},
};

static const struct commandArg clientTrackingArgs[] = {
    {.name = "status", .type = ARG_ONEOF, .args = clientOnOff},
    {.name = "client-id", .type = ARG_INTEGER, .token = "REDIRECT", .flags = ARG_OPTIONAL},
    {.name = "prefix",
     .type = ARG_STRING,
     .token = "PREFIX",
     .flags = ARG_OPTIONAL | ARG_MULTIPLE | ARG_MULTIPLE_TOKEN},
    {.name = "BCAST", .type = ARG_PURE_TOKEN, .token = "BCAST", .flags = ARG_OPTIONAL},
    {.name = "OPTIN", .type = ARG_PURE_TOKEN, .token = "OPTIN", .flags = ARG_OPTIONAL},
    {.name = "OPTOUT", .type = ARG_PURE_TOKEN, .token = "OPTOUT", .flags = ARG_OPTIONAL},
    {.name = "NOLOOP", .type = ARG_PURE_TOKEN, .token = "NOLOOP", .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandSpec clientSubcommands[] = {
    {.name = "id",
     .summary = "The number of this connection.",
     .complexity = "O(1)",
     .since = "5.0.0",
     .group = "connection",
     .proc = clientIdCommand,
     .arity = 2,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .acl = ACL_CONNECTION},
    {.name = "list",
     .summary = "One line for each open connection.",
     .complexity = "O(n) in the number of connections",
     .since = "2.4.0",
     .group = "connection",
     .proc = clientListCommand,
     .arity = -2,
     .flags = CMD_ADMIN | CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .acl = ACL_CONNECTION,
     .tips = clientListTips,
     .args = clientListArgs},
    {.name = "info",
     .summary = "One line about this connection.",
     .complexity = "O(1)",
     .since = "6.2.0",
     .group = "connection",
     .proc = clientInfoCommand,
     .arity = 2,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .acl = ACL_CONNECTION,
     .tips = clientListTips},
    {.name = "kill",
     .summary = "Close connections chosen by address or by filters.",
     .complexity = "O(n) in the number of connections",
     .since = "2.4.0",
     .group = "connection",
     .proc = clientKillCommand,
     .arity = -3,
     .flags = CMD_ADMIN | CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .acl = ACL_CONNECTION,
     .args = clientKillArgs},
    {.name = "getname",
     .summary = "The name given to this connection.",
     .complexity = "O(1)",
     .since = "2.6.9",
     .group = "connection",
     .proc = clientGetnameCommand,
     .arity = 2,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .acl = ACL_CONNECTION},
    {.name = "setname",
     .summary = "Give this connection a name.",
     .complexity = "O(1)",
     .since = "2.6.9",
     .group = "connection",
     .proc = clientSetnameCommand,
     .arity = 3,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .acl = ACL_CONNECTION,
     .tips = clientSetnameTips,
     .args = clientSetnameArgs},
    {.name = "setinfo",
     .summary = "Tell the server the name or version of the client library.",
     .complexity = "O(1)",
     .since = "7.2.0",
     .group = "connection",
     .proc = clientSetinfoCommand,
     .arity = 4,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .acl = ACL_CONNECTION,
     .tips = clientSetnameTips,
     .args = clientSetinfoArgs},
    {.name = "reply",
     .summary = "Turn replies to this connection on, off, or off for one command.",
     .complexity = "O(1)",
     .since = "3.2.0",
     .group = "connection",
     .proc = clientReplyCommand,
     .arity = 3,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .acl = ACL_CONNECTION,
     .args = clientReplyArgs},
    {.name = "unblock",
     .summary = "Wake a client that waits in a blocking command.",
     .complexity = "O(log n) in the number of connections",
     .since = "5.0.0",
     .group = "connection",
     .proc = clientUnblockCommand,
     .arity = -3,
     .flags = CMD_ADMIN | CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .acl = ACL_CONNECTION,
     .args = clientUnblockArgs},
    {.name = "tracking",
     .summary = "Have this connection told of changes to keys that it has copies of.",
     .complexity = "O(1), and O(n) in the number of prefixes",
     .since = "6.0.0",
     .group = "connection",
     .proc = clientTrackingCommand,
     .arity = -3,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .acl = ACL_CONNECTION,
     .args = clientTrackingArgs},
    {.name = "caching",
     .summary = "Say whether the keys of the next command are to be tracked.",
     .complexity = "O(1)",
     .since = "6.0.0",
     .group = "connection",
     .proc = clientCachingCommand,
     .arity = 3,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .acl = ACL_CONNECTION,
     .args = clientCachingArgs},
    {.name = "getredir",
     .summary = "The connection that messages of tracking are sent to.",
     .complexity = "O(1)",
     .since = "6.0.0",
     .group = "connection",
     .proc = clientGetredirCommand,
     .arity = 2,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .acl = ACL_CONNECTION},
    {.name = "trackinginfo",
     .summary = "How this connection tracks keys.",
     .complexity = "O(1)",
     .since = "6.2.0",
     .group = "connection",
     .proc = clientTrackinginfoCommand,
     .arity = 2,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .acl = ACL_CONNECTION},
    {.name = "pause",
     .summary = "Let the commands of clients wait for a time.",
     .complexity = "O(1)",
     .since = "3.0.0",
     .group = "connection",
     .proc = clientPauseCommand,
     .arity = -3,
     .flags = CMD_ADMIN | CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .acl = ACL_CONNECTION,
     .args = clientPauseArgs},
    {.name = "unpause",
     .summary = "Let the waiting commands go on.",
     .complexity = "O(n) in the number of paused connections",
     .since = "6.2.0",
     .group = "connection",
     .proc = clientUnpauseCommand,
     .arity = 2,
     .flags = CMD_ADMIN | CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .acl = ACL_CONNECTION},
    {.name = "no-evict",
     .summary = "Spare this connection when connections take too much memory.",
     .complexity = "O(1)",
     .since = "7.0.0",
     .group = "connection",
     .proc = clientNoEvictCommand,
     .arity = 3,
     .flags = CMD_ADMIN | CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .acl = ACL_CONNECTION,
     .args = clientEnabledArgs},
    {.name = "no-touch",
     .summary = "Whether the commands of this connection count as uses of their keys.",
     .complexity = "O(1)",
     .since = "7.2.0",
     .group = "connection",
     .proc = clientNoTouchCommand,
     .arity = 3,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE,
     .acl = ACL_CONNECTION,
     .args = clientEnabledArgs},
    {.name = "capa",
     .summary = "Say what the client library can do.",
     .complexity = "O(1)",
     .since = "8.0.0",
     .group = "connection",
     .proc = clientCapaCommand,
     .arity = -3,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE,
     .acl = ACL_CONNECTION,
     .args = clientCapaArgs},
    {.name = "import-source",
     .summary = "Mark this connection as one that imports data.",
     .complexity = "O(1)",
     .since = "8.1.0",
     .group = "connection",
     .proc = clientImportSourceCommand,
     .arity = 3,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE,
     .acl = ACL_CONNECTION,
     .args = clientEnabledArgs},
    {.name = "help",
     .summary = "Describe the subcommands.",
     .complexity = "O(1)",
     .since = "5.0.0",
     .group = "connection",
     .proc = clientHelpCommand,
     .arity = 2,
     .flags = CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .acl = ACL_CONNECTION},
    {0},
};

static const struct commandArg echoArgs[] = {
    {.name = "message", .type = ARG_STRING},
    {0},
};

static const struct commandArg helloArgs_arguments_auth[] = {
    {.name = "username", .type = ARG_STRING},
    {.name = "password", .type = ARG_STRING},
    {0},
};

static const struct commandArg helloArgs_arguments[] = {
    {.name = "protover", .type = ARG_INTEGER},
    {.name = "auth",
     .type = ARG_BLOCK,
     .token = "AUTH",
     .flags = ARG_OPTIONAL,
     .args = helloArgs_arguments_auth},
    {.name = "clientname", .type = ARG_STRING, .token = "SETNAME", .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg helloArgs[] = {
    {.name = "arguments", .type = ARG_BLOCK, .flags = ARG_OPTIONAL, .args = helloArgs_arguments},
    {0},
};

static const char *const pingTips[] = {"request_policy:all_shards", "response_policy:all_succeeded", NULL};

static const struct commandArg pingArgs[] = {
    {.name = "message", .type = ARG_STRING, .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg selectArgs[] = {
    {.name = "index", .type = ARG_INTEGER},
    {0},
};

const struct commandSpec commandsConnection[] = {
    {.name = "auth",
     .summary = "Log in with a password, or a user name and a password.",
     .complexity = "O(n) in the number of passwords of the user",
     .since = "1.0.0",
     .group = "connection",
     .proc = authCommand,
     .arity = -2,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_FAST | CMD_NO_AUTH | CMD_SENTINEL | CMD_ALLOW_BUSY,
     .acl = ACL_CONNECTION,
     .args = authArgs},
    {.name = "client",
     .summary = "Commands about client connections.",
     .complexity = "Depends on the subcommand",
     .since = "2.4.0",
     .group = "connection",
     .arity = -2,
     .flags = CMD_SENTINEL,
     .subcommands = clientSubcommands},
    {.name = "echo",
     .summary = "Answer the given message.",
     .complexity = "O(1)",
     .since = "1.0.0",
     .group = "connection",
     .proc = echoCommand,
     .arity = 2,
     .flags = CMD_LOADING | CMD_STALE | CMD_FAST,
     .acl = ACL_CONNECTION,
     .args = echoArgs},
    {.name = "hello",
     .summary = "Choose the protocol version; optionally log in and name the connection.",
     .complexity = "O(1)",
     .since = "6.0.0",
     .group = "connection",
     .proc = helloCommand,
     .arity = -1,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_FAST | CMD_NO_AUTH | CMD_SENTINEL | CMD_ALLOW_BUSY,
     .acl = ACL_CONNECTION,
     .args = helloArgs},
    {.name = "ping",
     .summary = "Answer PONG, or the given message.",
     .complexity = "O(1)",
     .since = "1.0.0",
     .group = "connection",
     .proc = pingCommand,
     .arity = -1,
     .flags = CMD_FAST | CMD_SENTINEL,
     .acl = ACL_CONNECTION,
     .tips = pingTips,
     .args = pingArgs},
    {.name = "quit",
     .summary = "Close this connection.",
     .complexity = "O(1)",
     .since = "1.0.0",
     .group = "connection",
     .deprecated_since = "7.2.0",
     .replaced_by = "closing the socket",
     .doc_flags = CMD_DOC_DEPRECATED,
     .proc = quitCommand,
     .arity = -1,
     .flags = CMD_ALLOW_BUSY | CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_FAST | CMD_NO_AUTH,
     .acl = ACL_CONNECTION},
    {.name = "reset",
     .summary = "Put the connection back into its initial state.",
     .complexity = "O(1)",
     .since = "6.2.0",
     .group = "connection",
     .proc = resetCommand,
     .arity = 1,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_FAST | CMD_NO_AUTH | CMD_ALLOW_BUSY,
     .acl = ACL_CONNECTION},
    {.name = "select",
     .summary = "Choose the database of this connection.",
     .complexity = "O(1)",
     .since = "1.0.0",
     .group = "connection",
     .proc = selectCommand,
     .arity = 2,
     .flags = CMD_LOADING | CMD_STALE | CMD_FAST,
     .acl = ACL_CONNECTION,
     .args = selectArgs},
    {0},
};
