/* SPDX-License-Identifier: BSD-3-Clause */
/* valkeymodule.h - for writers of modules: shared objects that the server loads, and that add commands,
 * types, directives, scripting engines. The one header that a module needs; nothing has to be linked.
 *
 *     #include "valkeymodule.h"
 *
 *     static int hello(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
 *         (void)argv;
 *         if (argc != 1) return ValkeyModule_WrongArity(ctx);
 *         return ValkeyModule_ReplyWithSimpleString(ctx, "hello");
 *     }
 *
 *     int ValkeyModule_OnLoad(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
 *         (void)argv, (void)argc;
 *         if (ValkeyModule_Init(ctx, "example", 1, VALKEYMODULE_APIVER_1)) return VALKEYMODULE_ERR;
 *         return ValkeyModule_CreateCommand(ctx, "example.hello", hello, "readonly fast", 0, 0, 0);
 *     }
 *
 * Every function is a pointer, ValkeyModule_<Name>, which ValkeyModule_Init fills in by asking the server for
 * each by name; one that an older server lacks stays NULL. In a module of several files, one is compiled as
 * it is, the others with `#define VALKEYMODULE_API extern` in front of the include.
 *
 * The lists below have all functions, by group: F(what it returns, its name, its parameters). Strings, keys,
 * replies, contexts are opaque. Unless it is said otherwise, a function returns VALKEYMODULE_OK or
 * VALKEYMODULE_ERR, strings that are handed in stay the caller's, and it is called by the main thread or with
 * the lock held (ThreadSafeContextLock). A page for writers is docs/modules.md. */
#ifndef VALKEYMODULE_H
#define VALKEYMODULE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#ifdef __GNUC__
#define VALKEYMODULE_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define VALKEYMODULE_PRINTF(text, first)
#endif

/* ---- Constants ---- */

/* Return values of functions whose description names no others. */
#define VALKEYMODULE_OK       0
#define VALKEYMODULE_ERR      1
#define VALKEYMODULE_APIVER_1 1

/* OpenKey: how, and what looking at the key shall not do. */
#define VALKEYMODULE_READ               1
#define VALKEYMODULE_WRITE              2
#define VALKEYMODULE_OPEN_KEY_NOTOUCH   (1 << 16)
#define VALKEYMODULE_OPEN_KEY_NONOTIFY  (1 << 17)
#define VALKEYMODULE_OPEN_KEY_NOSTATS   (1 << 18)
#define VALKEYMODULE_OPEN_KEY_NOEXPIRE  (1 << 19)
#define VALKEYMODULE_OPEN_KEY_NOEFFECTS (1 << 20)

/* KeyType; the ends of a list; a key without a time to live. */
#define VALKEYMODULE_LIST_HEAD      0
#define VALKEYMODULE_LIST_TAIL      1
#define VALKEYMODULE_KEYTYPE_EMPTY  0
#define VALKEYMODULE_KEYTYPE_STRING 1
#define VALKEYMODULE_KEYTYPE_LIST   2
#define VALKEYMODULE_KEYTYPE_HASH   3
#define VALKEYMODULE_KEYTYPE_SET    4
#define VALKEYMODULE_KEYTYPE_ZSET   5
#define VALKEYMODULE_KEYTYPE_MODULE 6
#define VALKEYMODULE_KEYTYPE_STREAM 7
#define VALKEYMODULE_NO_EXPIRE      (-1)

/* CallReplyType. SIMPLE_STRING and ARRAY_NULL with X only. */
#define VALKEYMODULE_REPLY_UNKNOWN         (-1)
#define VALKEYMODULE_REPLY_STRING          0
#define VALKEYMODULE_REPLY_ERROR           1
#define VALKEYMODULE_REPLY_INTEGER         2
#define VALKEYMODULE_REPLY_ARRAY           3
#define VALKEYMODULE_REPLY_NULL            4
#define VALKEYMODULE_REPLY_MAP             5
#define VALKEYMODULE_REPLY_SET             6
#define VALKEYMODULE_REPLY_BOOL            7
#define VALKEYMODULE_REPLY_DOUBLE          8
#define VALKEYMODULE_REPLY_BIG_NUMBER      9
#define VALKEYMODULE_REPLY_VERBATIM_STRING 10
#define VALKEYMODULE_REPLY_ATTRIBUTE       11
#define VALKEYMODULE_REPLY_PROMISE         12
#define VALKEYMODULE_REPLY_SIMPLE_STRING   13
#define VALKEYMODULE_REPLY_ARRAY_NULL      14

/* Lengths that are told behind the elements. */
#define VALKEYMODULE_POSTPONED_ARRAY_LEN (-1)
#define VALKEYMODULE_POSTPONED_LEN       (-1)

/* ZsetAdd and ZsetIncrby: what is asked for, and (ADDED, UPDATED, NOP) what came of it. */
#define VALKEYMODULE_ZADD_XX      1
#define VALKEYMODULE_ZADD_NX      2
#define VALKEYMODULE_ZADD_ADDED   4
#define VALKEYMODULE_ZADD_UPDATED (1 << 3)
#define VALKEYMODULE_ZADD_NOP     (1 << 4)
#define VALKEYMODULE_ZADD_GT      (1 << 5)
#define VALKEYMODULE_ZADD_LT      (1 << 6)

/* HashSet and HashGet. */
#define VALKEYMODULE_HASH_NONE      0
#define VALKEYMODULE_HASH_NX        1
#define VALKEYMODULE_HASH_XX        2
#define VALKEYMODULE_HASH_CFIELDS   4
#define VALKEYMODULE_HASH_EXISTS    (1 << 3)
#define VALKEYMODULE_HASH_COUNT_ALL (1 << 4)

/* StreamAdd, StreamIteratorStart, StreamTrim... */
#define VALKEYMODULE_STREAM_ADD_AUTOID         1
#define VALKEYMODULE_STREAM_ITERATOR_EXCLUSIVE 1
#define VALKEYMODULE_STREAM_ITERATOR_REVERSE   2
#define VALKEYMODULE_STREAM_TRIM_APPROX        1

/* GetContextFlags. */
#define VALKEYMODULE_CTX_FLAGS_LUA                     1
#define VALKEYMODULE_CTX_FLAGS_MULTI                   2
#define VALKEYMODULE_CTX_FLAGS_PRIMARY                 4
#define VALKEYMODULE_CTX_FLAGS_REPLICA                 (1 << 3)
#define VALKEYMODULE_CTX_FLAGS_READONLY                (1 << 4)
#define VALKEYMODULE_CTX_FLAGS_CLUSTER                 (1 << 5)
#define VALKEYMODULE_CTX_FLAGS_AOF                     (1 << 6)
#define VALKEYMODULE_CTX_FLAGS_RDB                     (1 << 7)
#define VALKEYMODULE_CTX_FLAGS_MAXMEMORY               (1 << 8)
#define VALKEYMODULE_CTX_FLAGS_EVICT                   (1 << 9)
#define VALKEYMODULE_CTX_FLAGS_OOM                     (1 << 10)
#define VALKEYMODULE_CTX_FLAGS_OOM_WARNING             (1 << 11)
#define VALKEYMODULE_CTX_FLAGS_REPLICATED              (1 << 12)
#define VALKEYMODULE_CTX_FLAGS_LOADING                 (1 << 13)
#define VALKEYMODULE_CTX_FLAGS_REPLICA_IS_STALE        (1 << 14)
#define VALKEYMODULE_CTX_FLAGS_REPLICA_IS_CONNECTING   (1 << 15)
#define VALKEYMODULE_CTX_FLAGS_REPLICA_IS_TRANSFERRING (1 << 16)
#define VALKEYMODULE_CTX_FLAGS_REPLICA_IS_ONLINE       (1 << 17)
#define VALKEYMODULE_CTX_FLAGS_ACTIVE_CHILD            (1 << 18)
#define VALKEYMODULE_CTX_FLAGS_MULTI_DIRTY             (1 << 19)
#define VALKEYMODULE_CTX_FLAGS_IS_CHILD                (1 << 20)
#define VALKEYMODULE_CTX_FLAGS_DENY_BLOCKING           (1 << 21)
#define VALKEYMODULE_CTX_FLAGS_RESP3                   (1 << 22)
#define VALKEYMODULE_CTX_FLAGS_ASYNC_LOADING           (1 << 23)
#define VALKEYMODULE_CTX_FLAGS_SERVER_STARTUP          (1 << 24)
#define VALKEYMODULE_CTX_FLAGS_SLOT_IMPORT_CLIENT      (1 << 25)
#define VALKEYMODULE_CTX_FLAGS_SLOT_EXPORT_CLIENT      (1 << 26)

/* Events of the keyspace. */
#define VALKEYMODULE_NOTIFY_KEYSPACE 1
#define VALKEYMODULE_NOTIFY_KEYEVENT 2
#define VALKEYMODULE_NOTIFY_GENERIC  4
#define VALKEYMODULE_NOTIFY_STRING   (1 << 3)
#define VALKEYMODULE_NOTIFY_LIST     (1 << 4)
#define VALKEYMODULE_NOTIFY_SET      (1 << 5)
#define VALKEYMODULE_NOTIFY_HASH     (1 << 6)
#define VALKEYMODULE_NOTIFY_ZSET     (1 << 7)
#define VALKEYMODULE_NOTIFY_EXPIRED  (1 << 8)
#define VALKEYMODULE_NOTIFY_EVICTED  (1 << 9)
#define VALKEYMODULE_NOTIFY_STREAM   (1 << 10)
#define VALKEYMODULE_NOTIFY_KEY_MISS (1 << 11)
#define VALKEYMODULE_NOTIFY_LOADED   (1 << 12)
#define VALKEYMODULE_NOTIFY_MODULE   (1 << 13)
#define VALKEYMODULE_NOTIFY_NEW      (1 << 14)

/* SetModuleOptions: what the module has been made for. IO errors are looked for with IsIOError; keys that are
 * closed tell nobody; data are loaded beside those in use; a subscriber to events of the keyspace may cause
 * more of them for itself; Replicate takes unknown commands; its types can move with their slot. */
#define VALKEYMODULE_OPTIONS_HANDLE_IO_ERRORS                    1
#define VALKEYMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED          2
#define VALKEYMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD              4
#define VALKEYMODULE_OPTIONS_ALLOW_NESTED_KEYSPACE_NOTIFICATIONS (1 << 3)
#define VALKEYMODULE_OPTIONS_SKIP_COMMAND_VALIDATION             (1 << 4)
#define VALKEYMODULE_OPTIONS_HANDLE_ATOMIC_SLOT_MIGRATION        (1 << 5)

/* Directives (Register...Config). MEMORY: with units. */
#define VALKEYMODULE_CONFIG_DEFAULT      0
#define VALKEYMODULE_CONFIG_IMMUTABLE    1
#define VALKEYMODULE_CONFIG_SENSITIVE    2
#define VALKEYMODULE_CONFIG_HIDDEN       (1 << 4)
#define VALKEYMODULE_CONFIG_PROTECTED    (1 << 5)
#define VALKEYMODULE_CONFIG_DENY_LOADING (1 << 6)
#define VALKEYMODULE_CONFIG_MEMORY       (1 << 7)
#define VALKEYMODULE_CONFIG_BITFLAGS     (1 << 8)
#define VALKEYMODULE_CONFIG_UNSIGNED     (1 << 9)

/* Arguments, keys and channels of commands. */
#define VALKEYMODULE_CMDFILTER_NOSELF        1
#define VALKEYMODULE_CMD_ARG_NONE            0
#define VALKEYMODULE_CMD_ARG_OPTIONAL        1
#define VALKEYMODULE_CMD_ARG_MULTIPLE        2
#define VALKEYMODULE_CMD_ARG_MULTIPLE_TOKEN  4
#define VALKEYMODULE_CMD_KEY_RO              1
#define VALKEYMODULE_CMD_KEY_RW              2
#define VALKEYMODULE_CMD_KEY_OW              4
#define VALKEYMODULE_CMD_KEY_RM              (1 << 3)
#define VALKEYMODULE_CMD_KEY_ACCESS          (1 << 4)
#define VALKEYMODULE_CMD_KEY_UPDATE          (1 << 5)
#define VALKEYMODULE_CMD_KEY_INSERT          (1 << 6)
#define VALKEYMODULE_CMD_KEY_DELETE          (1 << 7)
#define VALKEYMODULE_CMD_KEY_NOT_KEY         (1 << 8)
#define VALKEYMODULE_CMD_KEY_INCOMPLETE      (1 << 9)
#define VALKEYMODULE_CMD_KEY_VARIABLE_FLAGS  (1 << 10)
#define VALKEYMODULE_CMD_CHANNEL_PATTERN     1
#define VALKEYMODULE_CMD_CHANNEL_PUBLISH     2
#define VALKEYMODULE_CMD_CHANNEL_SUBSCRIBE   4
#define VALKEYMODULE_CMD_CHANNEL_UNSUBSCRIBE (1 << 3)

/* Authentication callbacks; blocking on keys; Yield; descriptors in the loop. */
#define VALKEYMODULE_AUTH_HANDLED          0
#define VALKEYMODULE_AUTH_NOT_HANDLED      1
#define VALKEYMODULE_YIELD_FLAG_NONE       1
#define VALKEYMODULE_YIELD_FLAG_CLIENTS    2
#define VALKEYMODULE_BLOCK_UNBLOCK_DEFAULT 0
#define VALKEYMODULE_BLOCK_UNBLOCK_DELETED 1
#define VALKEYMODULE_EVENTLOOP_READABLE    1
#define VALKEYMODULE_EVENTLOOP_WRITABLE    2

/* Nodes of a cluster. */
#define VALKEYMODULE_NODE_ID_LEN                 40
#define VALKEYMODULE_NODE_MYSELF                 1
#define VALKEYMODULE_NODE_PRIMARY                2
#define VALKEYMODULE_NODE_REPLICA                4
#define VALKEYMODULE_NODE_PFAIL                  (1 << 3)
#define VALKEYMODULE_NODE_FAIL                   (1 << 4)
#define VALKEYMODULE_NODE_NOFAILOVER             (1 << 5)
#define VALKEYMODULE_CLUSTER_FLAG_NONE           0
#define VALKEYMODULE_CLUSTER_FLAG_NO_FAILOVER    2
#define VALKEYMODULE_CLUSTER_FLAG_NO_REDIRECTION 4

/* Types: when aux_save is called, and the newest version of ValkeyModuleTypeMethods. */
#define VALKEYMODULE_TYPE_METHOD_VERSION 5
#define VALKEYMODULE_AUX_BEFORE_RDB      1
#define VALKEYMODULE_AUX_AFTER_RDB       2

/* Events of the server, and which of each kind. */
#define VALKEYMODULE_EVENT_REPLICATION_ROLE_CHANGED                  0
#define VALKEYMODULE_EVENT_PERSISTENCE                               1
#define VALKEYMODULE_EVENT_FLUSHDB                                   2
#define VALKEYMODULE_EVENT_LOADING                                   3
#define VALKEYMODULE_EVENT_CLIENT_CHANGE                             4
#define VALKEYMODULE_EVENT_SHUTDOWN                                  5
#define VALKEYMODULE_EVENT_REPLICA_CHANGE                            6
#define VALKEYMODULE_EVENT_PRIMARY_LINK_CHANGE                       7
#define VALKEYMODULE_EVENT_CRON_LOOP                                 8
#define VALKEYMODULE_EVENT_MODULE_CHANGE                             9
#define VALKEYMODULE_EVENT_LOADING_PROGRESS                          10
#define VALKEYMODULE_EVENT_SWAPDB                                    11
#define VALKEYMODULE_EVENT_REPL_BACKUP                               12
#define VALKEYMODULE_EVENT_FORK_CHILD                                13
#define VALKEYMODULE_EVENT_REPL_ASYNC_LOAD                           14
#define VALKEYMODULE_EVENT_EVENTLOOP                                 15
#define VALKEYMODULE_EVENT_CONFIG                                    16
#define VALKEYMODULE_EVENT_KEY                                       17
#define VALKEYMODULE_EVENT_AUTHENTICATION_ATTEMPT                    18
#define VALKEYMODULE_EVENT_ATOMIC_SLOT_MIGRATION                     19
#define VALKEYMODULE_EVENT_COMMAND_RESULT_SUCCESS                    20
#define VALKEYMODULE_EVENT_COMMAND_RESULT_FAILURE                    21
#define VALKEYMODULE_EVENT_COMMAND_RESULT_REJECTED                   22
#define VALKEYMODULE_EVENT_COMMAND_RESULT_ACL_REJECTED               23
#define VALKEYMODULE_SUBEVENT_PERSISTENCE_RDB_START                  0
#define VALKEYMODULE_SUBEVENT_PERSISTENCE_AOF_START                  1
#define VALKEYMODULE_SUBEVENT_PERSISTENCE_SYNC_RDB_START             2
#define VALKEYMODULE_SUBEVENT_PERSISTENCE_ENDED                      3
#define VALKEYMODULE_SUBEVENT_PERSISTENCE_FAILED                     4
#define VALKEYMODULE_SUBEVENT_PERSISTENCE_SYNC_AOF_START             5
#define VALKEYMODULE_SUBEVENT_LOADING_RDB_START                      0
#define VALKEYMODULE_SUBEVENT_LOADING_AOF_START                      1
#define VALKEYMODULE_SUBEVENT_LOADING_REPL_START                     2
#define VALKEYMODULE_SUBEVENT_LOADING_ENDED                          3
#define VALKEYMODULE_SUBEVENT_LOADING_FAILED                         4
#define VALKEYMODULE_SUBEVENT_CLIENT_CHANGE_CONNECTED                0
#define VALKEYMODULE_SUBEVENT_CLIENT_CHANGE_DISCONNECTED             1
#define VALKEYMODULE_SUBEVENT_PRIMARY_LINK_UP                        0
#define VALKEYMODULE_SUBEVENT_PRIMARY_LINK_DOWN                      1
#define VALKEYMODULE_SUBEVENT_REPLICA_CHANGE_ONLINE                  0
#define VALKEYMODULE_SUBEVENT_REPLICA_CHANGE_OFFLINE                 1
#define VALKEYMODULE_EVENT_REPLROLECHANGED_NOW_PRIMARY               0
#define VALKEYMODULE_EVENT_REPLROLECHANGED_NOW_REPLICA               1
#define VALKEYMODULE_SUBEVENT_FLUSHDB_START                          0
#define VALKEYMODULE_SUBEVENT_FLUSHDB_END                            1
#define VALKEYMODULE_SUBEVENT_MODULE_LOADED                          0
#define VALKEYMODULE_SUBEVENT_MODULE_UNLOADED                        1
#define VALKEYMODULE_SUBEVENT_CONFIG_CHANGE                          0
#define VALKEYMODULE_SUBEVENT_LOADING_PROGRESS_RDB                   0
#define VALKEYMODULE_SUBEVENT_LOADING_PROGRESS_AOF                   1
#define VALKEYMODULE_SUBEVENT_REPL_ASYNC_LOAD_STARTED                0
#define VALKEYMODULE_SUBEVENT_REPL_ASYNC_LOAD_ABORTED                1
#define VALKEYMODULE_SUBEVENT_REPL_ASYNC_LOAD_COMPLETED              2
#define VALKEYMODULE_SUBEVENT_FORK_CHILD_BORN                        0
#define VALKEYMODULE_SUBEVENT_FORK_CHILD_DIED                        1
#define VALKEYMODULE_SUBEVENT_EVENTLOOP_BEFORE_SLEEP                 0
#define VALKEYMODULE_SUBEVENT_EVENTLOOP_AFTER_SLEEP                  1
#define VALKEYMODULE_SUBEVENT_KEY_DELETED                            0
#define VALKEYMODULE_SUBEVENT_KEY_EXPIRED                            1
#define VALKEYMODULE_SUBEVENT_KEY_EVICTED                            2
#define VALKEYMODULE_SUBEVENT_KEY_OVERWRITTEN                        3
#define VALKEYMODULE_SUBEVENT_ATOMIC_SLOT_MIGRATION_IMPORT_STARTED   0
#define VALKEYMODULE_SUBEVENT_ATOMIC_SLOT_MIGRATION_EXPORT_STARTED   1
#define VALKEYMODULE_SUBEVENT_ATOMIC_SLOT_MIGRATION_IMPORT_ABORTED   2
#define VALKEYMODULE_SUBEVENT_ATOMIC_SLOT_MIGRATION_EXPORT_ABORTED   3
#define VALKEYMODULE_SUBEVENT_ATOMIC_SLOT_MIGRATION_IMPORT_COMPLETED 4
#define VALKEYMODULE_SUBEVENT_ATOMIC_SLOT_MIGRATION_EXPORT_COMPLETED 5

/* Properties of a client (ValkeyModuleClientInfo). */
#define VALKEYMODULE_CLIENTINFO_FLAG_SSL                1
#define VALKEYMODULE_CLIENTINFO_FLAG_PUBSUB             2
#define VALKEYMODULE_CLIENTINFO_FLAG_BLOCKED            4
#define VALKEYMODULE_CLIENTINFO_FLAG_TRACKING           (1 << 3)
#define VALKEYMODULE_CLIENTINFO_FLAG_UNIXSOCKET         (1 << 4)
#define VALKEYMODULE_CLIENTINFO_FLAG_MULTI              (1 << 5)
#define VALKEYMODULE_CLIENTINFO_FLAG_READONLY           (1 << 6)
#define VALKEYMODULE_CLIENTINFO_FLAG_PRIMARY            (1 << 7)
#define VALKEYMODULE_CLIENTINFO_FLAG_REPLICA            (1 << 8)
#define VALKEYMODULE_CLIENTINFO_FLAG_MONITOR            (1 << 9)
#define VALKEYMODULE_CLIENTINFO_FLAG_MODULE             (1 << 10)
#define VALKEYMODULE_CLIENTINFO_FLAG_AUTHENTICATED      (1 << 11)
#define VALKEYMODULE_CLIENTINFO_FLAG_EVER_AUTHENTICATED (1 << 12)
#define VALKEYMODULE_CLIENTINFO_FLAG_FAKE               (1 << 13)

/* Versions of structures. */
#define VALKEYMODULE_CLIENTINFO_VERSION                             1
#define VALKEYMODULE_REPLICATIONINFO_VERSION                        1
#define VALKEYMODULE_FLUSHINFO_VERSION                              1
#define VALKEYMODULE_MODULE_CHANGE_VERSION                          1
#define VALKEYMODULE_CONFIGCHANGE_VERSION                           1
#define VALKEYMODULE_CRON_LOOP_VERSION                              1
#define VALKEYMODULE_LOADING_PROGRESS_VERSION                       1
#define VALKEYMODULE_SWAPDBINFO_VERSION                             1
#define VALKEYMODULE_KEYINFO_VERSION                                1
#define VALKEYMODULE_AUTHENTICATION_INFO_VERSION                    1
#define VALKEYMODULE_ATOMICSLOTMIGRATION_INFO_VERSION               1
#define VALKEYMODULE_COMMANDRESULTINFO_VERSION                      1
#define VALKEYMODULE_SCRIPTING_ENGINE_ABI_COMPILED_FUNCTION_VERSION 1
#define VALKEYMODULE_SCRIPTING_ENGINE_ABI_MEMORY_INFO_VERSION       1
#define VALKEYMODULE_SCRIPTING_ENGINE_ABI_DEBUGGER_COMMAND_VERSION  1
#define VALKEYMODULE_SCRIPTING_ENGINE_ABI_VERSION                   4
#define VALKEYMODULE_REPLY_HANDLERS_VERSION                         1

/* VM_CallArgv.
 *  */
#define VALKEYMODULE_CALL_ARGV_REPLICATE         1
#define VALKEYMODULE_CALL_ARGV_NO_AOF            2
#define VALKEYMODULE_CALL_ARGV_NO_REPLICAS       4
#define VALKEYMODULE_CALL_ARGV_RESP_3            (1 << 3)
#define VALKEYMODULE_CALL_ARGV_RESP_AUTO         (1 << 4)
#define VALKEYMODULE_CALL_ARGV_RUN_AS_USER       (1 << 5)
#define VALKEYMODULE_CALL_ARGV_SCRIPT_MODE       (1 << 6)
#define VALKEYMODULE_CALL_ARGV_NO_WRITES         (1 << 7)
#define VALKEYMODULE_CALL_ARGV_ERRORS_AS_REPLIES (1 << 8)
#define VALKEYMODULE_CALL_ARGV_RESPECT_DENY_OOM  (1 << 9)
#define VALKEYMODULE_CALL_ARGV_DRY_RUN           (1 << 10)
#define VALKEYMODULE_CALL_ARGV_ALLOW_BLOCK       (1 << 11)
#define VALKEYMODULE_CALL_ARGV_REPLY_EXACT       (1 << 12)

/* As a value for HashSet: delete the field. */
#define VALKEYMODULE_HASH_DELETE ((ValkeyModuleString *)(long)1)
/* The classes that clients subscribe to with the letter A. */
#define VALKEYMODULE_NOTIFY_ALL                                                                              \
    (VALKEYMODULE_NOTIFY_GENERIC | VALKEYMODULE_NOTIFY_STRING | VALKEYMODULE_NOTIFY_LIST |                   \
     VALKEYMODULE_NOTIFY_SET | VALKEYMODULE_NOTIFY_HASH | VALKEYMODULE_NOTIFY_ZSET |                         \
     VALKEYMODULE_NOTIFY_EXPIRED | VALKEYMODULE_NOTIFY_EVICTED | VALKEYMODULE_NOTIFY_STREAM |                \
     VALKEYMODULE_NOTIFY_MODULE)
#define VALKEYMODULE_POSITIVE_INFINITE  (1.0 / 0.0)
#define VALKEYMODULE_NEGATIVE_INFINITE  (-1.0 / 0.0)
#define VALKEYMODULE_ERRORMSG_WRONGTYPE "WRONGTYPE Operation against a key holding the wrong kind of value"
#define VALKEYMODULE_LOGLEVEL_DEBUG     "debug"
#define VALKEYMODULE_LOGLEVEL_VERBOSE   "verbose"
#define VALKEYMODULE_LOGLEVEL_NOTICE    "notice"
#define VALKEYMODULE_LOGLEVEL_WARNING   "warning"
#define VALKEYMODULE_NOT_USED(v)        ((void)(v))

/* ---- Types ---- */

typedef long long mstime_t;
typedef long long ustime_t;

typedef struct ValkeyModuleCtx ValkeyModuleCtx;
typedef struct ValkeyModuleString ValkeyModuleString;
typedef struct ValkeyModuleKey ValkeyModuleKey;
typedef struct ValkeyModuleCallReply ValkeyModuleCallReply;
typedef struct ValkeyModuleCommand ValkeyModuleCommand;
typedef struct ValkeyModuleType ValkeyModuleType;
typedef struct ValkeyModuleIO ValkeyModuleIO;
typedef struct ValkeyModuleDigest ValkeyModuleDigest;
typedef struct ValkeyModuleKeyOptCtx ValkeyModuleKeyOptCtx;
typedef struct ValkeyModuleDefragCtx ValkeyModuleDefragCtx;
typedef struct ValkeyModuleRdbStream ValkeyModuleRdbStream;
typedef struct ValkeyModuleBlockedClient ValkeyModuleBlockedClient;
typedef struct ValkeyModuleDict ValkeyModuleDict;
typedef struct ValkeyModuleDictIter ValkeyModuleDictIter;
typedef struct ValkeyModuleInfoCtx ValkeyModuleInfoCtx;
typedef struct ValkeyModuleServerInfoData ValkeyModuleServerInfoData;
typedef struct ValkeyModuleScanCursor ValkeyModuleScanCursor;
typedef struct ValkeyModuleUser ValkeyModuleUser;
typedef struct ValkeyModuleCommandFilterCtx ValkeyModuleCommandFilterCtx;
typedef struct ValkeyModuleCommandFilter ValkeyModuleCommandFilter;
typedef struct ValkeyModuleScriptingEngineCtx ValkeyModuleScriptingEngineCtx;
typedef struct ValkeyModuleScriptingEngineServerRuntimeCtx ValkeyModuleScriptingEngineServerRuntimeCtx;
typedef uint64_t ValkeyModuleTimerID;

typedef struct ValkeyModuleStreamID {
    uint64_t ms;
    uint64_t seq;
} ValkeyModuleStreamID;

typedef struct ValkeyModuleSlotRange { /* both ends belong to it */
    int start_slot;
    int end_slot;
} ValkeyModuleSlotRange;

/* Callbacks. */
typedef int (*ValkeyModuleCmdFunc)(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc);
typedef void (*ValkeyModuleDisconnectFunc)(ValkeyModuleCtx *ctx, ValkeyModuleBlockedClient *bc);
typedef int (*ValkeyModuleAuthCallback)(ValkeyModuleCtx *ctx, ValkeyModuleString *username,
                                        ValkeyModuleString *password, ValkeyModuleString **err);
typedef int (*ValkeyModuleNotificationFunc)(ValkeyModuleCtx *ctx, int type, const char *event,
                                            ValkeyModuleString *key);
typedef void (*ValkeyModulePostNotificationJobFunc)(ValkeyModuleCtx *ctx, void *pd);
typedef void (*ValkeyModuleTimerProc)(ValkeyModuleCtx *ctx, void *data);
typedef void (*ValkeyModuleClusterMessageReceiver)(ValkeyModuleCtx *ctx, const char *sender_id, uint8_t type,
                                                   const unsigned char *payload, uint32_t len);
typedef void (*ValkeyModuleCommandFilterFunc)(ValkeyModuleCommandFilterCtx *filter);
typedef void (*ValkeyModuleForkDoneHandler)(int exitcode, int bysignal, void *user_data);
typedef void (*ValkeyModuleScanCB)(ValkeyModuleCtx *ctx, ValkeyModuleString *keyname, ValkeyModuleKey *key,
                                   void *privdata);
typedef void (*ValkeyModuleScanKeyCB)(ValkeyModuleKey *key, ValkeyModuleString *field,
                                      ValkeyModuleString *value, void *privdata);
typedef void (*ValkeyModuleEventLoopFunc)(int fd, void *user_data, int mask);
typedef void (*ValkeyModuleEventLoopOneShotFunc)(void *user_data);
typedef void (*ValkeyModuleInfoFunc)(ValkeyModuleInfoCtx *ctx, int for_crash_report);
typedef void (*ValkeyModuleDefragFunc)(ValkeyModuleDefragCtx *ctx);
typedef void (*ValkeyModuleUserChangedFunc)(uint64_t client_id, void *privdata);
typedef void (*ValkeyModuleOnUnblocked)(ValkeyModuleCtx *ctx, ValkeyModuleCallReply *reply,
                                        void *private_data);

/* Directives: `name` is without the module's. A setter that refuses returns VALKEYMODULE_ERR, and may say
 * why. */
typedef ValkeyModuleString *(*ValkeyModuleConfigGetStringFunc)(const char *name, void *privdata);
typedef long long (*ValkeyModuleConfigGetNumericFunc)(const char *name, void *privdata);
typedef unsigned long long (*ValkeyModuleConfigGetUnsignedNumericFunc)(const char *name, void *privdata);
typedef int (*ValkeyModuleConfigGetBoolFunc)(const char *name, void *privdata);
typedef int (*ValkeyModuleConfigGetEnumFunc)(const char *name, void *privdata);
typedef int (*ValkeyModuleConfigSetStringFunc)(const char *name, ValkeyModuleString *val, void *privdata,
                                               ValkeyModuleString **err);
typedef int (*ValkeyModuleConfigSetNumericFunc)(const char *name, long long val, void *privdata,
                                                ValkeyModuleString **err);
typedef int (*ValkeyModuleConfigSetUnsignedNumericFunc)(const char *name, unsigned long long val,
                                                        void *privdata, ValkeyModuleString **err);
typedef int (*ValkeyModuleConfigSetBoolFunc)(const char *name, int val, void *privdata,
                                             ValkeyModuleString **err);
typedef int (*ValkeyModuleConfigSetEnumFunc)(const char *name, int val, void *privdata,
                                             ValkeyModuleString **err);
typedef int (*ValkeyModuleConfigApplyFunc)(ValkeyModuleCtx *ctx, void *privdata, ValkeyModuleString **err);

/* ---- What is known of a command (SetCommandInfo) ---- */

typedef enum {
    VALKEYMODULE_ARG_TYPE_STRING,
    VALKEYMODULE_ARG_TYPE_INTEGER,
    VALKEYMODULE_ARG_TYPE_DOUBLE,
    VALKEYMODULE_ARG_TYPE_KEY, /* of the key spec key_spec_index */
    VALKEYMODULE_ARG_TYPE_PATTERN,
    VALKEYMODULE_ARG_TYPE_UNIX_TIME,
    VALKEYMODULE_ARG_TYPE_PURE_TOKEN,
    VALKEYMODULE_ARG_TYPE_ONEOF, /* of subargs */
    VALKEYMODULE_ARG_TYPE_BLOCK  /* of subargs */
} ValkeyModuleCommandArgType;

typedef struct ValkeyModuleCommandArg { /* an array ends with name NULL */
    const char *name;
    ValkeyModuleCommandArgType type;
    int key_spec_index;
    const char *token;
    const char *summary;
    const char *since;
    int flags; /* VALKEYMODULE_CMD_ARG_... */
    const char *deprecated_since;
    struct ValkeyModuleCommandArg *subargs;
    const char *display_text;
} ValkeyModuleCommandArg;

typedef struct ValkeyModuleCommandHistoryEntry { /* an array ends with since NULL */
    const char *since;
    const char *changes;
} ValkeyModuleCommandHistoryEntry;

/* Where keys are: first where a search begins, then which they are from there on. */
typedef enum {
    VALKEYMODULE_KSPEC_BS_INVALID, /* the end of an array */
    VALKEYMODULE_KSPEC_BS_UNKNOWN,
    VALKEYMODULE_KSPEC_BS_INDEX,
    VALKEYMODULE_KSPEC_BS_KEYWORD
} ValkeyModuleKeySpecBeginSearchType;
typedef enum {
    VALKEYMODULE_KSPEC_FK_OMITTED, /* the one key there */
    VALKEYMODULE_KSPEC_FK_UNKNOWN,
    VALKEYMODULE_KSPEC_FK_RANGE,
    VALKEYMODULE_KSPEC_FK_KEYNUM
} ValkeyModuleKeySpecFindKeysType;

typedef struct ValkeyModuleCommandKeySpec {
    const char *notes;
    uint64_t flags; /* VALKEYMODULE_CMD_KEY_... */
    ValkeyModuleKeySpecBeginSearchType begin_search_type;
    union {
        struct {
            int pos;
        } index;
        struct {
            const char *keyword;
            int startfrom; /* negative: from the end, backwards */
        } keyword;
    } bs;
    ValkeyModuleKeySpecFindKeysType find_keys_type;
    union {
        struct {
            int lastkey; /* from the first; negative: from the end */
            int keystep;
            int limit; /* with lastkey -1: only so much of the rest, as 1/limit */
        } range;
        struct {
            int keynumidx, firstkey, keystep;
        } keynum;
    } fk;
} ValkeyModuleCommandKeySpec;

/* The sizes that this header knows: the server steps through arrays with them. */
typedef struct ValkeyModuleCommandInfoVersion {
    int version;
    size_t sizeof_historyentry;
    size_t sizeof_keyspec;
    size_t sizeof_arg;
} ValkeyModuleCommandInfoVersion;

typedef struct ValkeyModuleCommandInfo {
    const ValkeyModuleCommandInfoVersion *version; /* VALKEYMODULE_COMMAND_INFO_VERSION */
    const char *summary;
    const char *complexity;
    const char *since;
    ValkeyModuleCommandHistoryEntry *history;
    const char *tips; /* words */
    int arity;        /* negative: at least; 0: as it is */
    ValkeyModuleCommandKeySpec *key_specs;
    ValkeyModuleCommandArg *args;
} ValkeyModuleCommandInfo;

static const ValkeyModuleCommandInfoVersion ValkeyModule_CurrentCommandInfoVersion
#ifdef __GNUC__
    __attribute__((unused))
#endif
    = {1, sizeof(ValkeyModuleCommandHistoryEntry), sizeof(ValkeyModuleCommandKeySpec),
       sizeof(ValkeyModuleCommandArg)};
#define VALKEYMODULE_COMMAND_INFO_VERSION (&ValkeyModule_CurrentCommandInfoVersion)

/* ---- Types of values (CreateDataType) ---- */

typedef void *(*ValkeyModuleTypeLoadFunc)(ValkeyModuleIO *rdb, int encver); /* NULL: it cannot be loaded */
typedef void (*ValkeyModuleTypeSaveFunc)(ValkeyModuleIO *rdb, void *value);
typedef int (*ValkeyModuleTypeAuxLoadFunc)(ValkeyModuleIO *rdb, int encver, int when);
typedef void (*ValkeyModuleTypeAuxSaveFunc)(ValkeyModuleIO *rdb, int when);
typedef void (*ValkeyModuleTypeRewriteFunc)(ValkeyModuleIO *aof, ValkeyModuleString *key, void *value);
typedef size_t (*ValkeyModuleTypeMemUsageFunc)(const void *value);
typedef size_t (*ValkeyModuleTypeMemUsageFunc2)(ValkeyModuleKeyOptCtx *ctx, const void *value,
                                                size_t sample_size);
typedef void (*ValkeyModuleTypeDigestFunc)(ValkeyModuleDigest *digest, void *value);
typedef void (*ValkeyModuleTypeFreeFunc)(void *value);
typedef size_t (*ValkeyModuleTypeFreeEffortFunc)(ValkeyModuleString *key, const void *value);
typedef size_t (*ValkeyModuleTypeFreeEffortFunc2)(ValkeyModuleKeyOptCtx *ctx, const void *value);
typedef void (*ValkeyModuleTypeUnlinkFunc)(ValkeyModuleString *key, const void *value);
typedef void (*ValkeyModuleTypeUnlinkFunc2)(ValkeyModuleKeyOptCtx *ctx, const void *value);
typedef void *(*ValkeyModuleTypeCopyFunc)(ValkeyModuleString *fromkey, ValkeyModuleString *tokey,
                                          const void *value);
typedef void *(*ValkeyModuleTypeCopyFunc2)(ValkeyModuleKeyOptCtx *ctx, const void *value);
typedef int (*ValkeyModuleTypeDefragFunc)(ValkeyModuleDefragCtx *ctx, ValkeyModuleString *key, void **value);

/* A function whose name ends in 2 is used in preference to the one without. */
typedef struct ValkeyModuleTypeMethods {
    uint64_t version; /* VALKEYMODULE_TYPE_METHOD_VERSION: what is behind it is not read */
    ValkeyModuleTypeLoadFunc rdb_load;
    ValkeyModuleTypeSaveFunc rdb_save;
    ValkeyModuleTypeRewriteFunc aof_rewrite;
    ValkeyModuleTypeMemUsageFunc mem_usage;
    ValkeyModuleTypeDigestFunc digest;
    ValkeyModuleTypeFreeFunc free; /* also called by a background thread */
    /* since version 2: what is saved beside the keys */
    ValkeyModuleTypeAuxLoadFunc aux_load;
    ValkeyModuleTypeAuxSaveFunc aux_save;
    int aux_save_triggers; /* VALKEYMODULE_AUX_... */
    /* since version 3 */
    ValkeyModuleTypeFreeEffortFunc free_effort; /* above 64: free in the background; 0: always there */
    ValkeyModuleTypeUnlinkFunc unlink;
    ValkeyModuleTypeCopyFunc copy;
    ValkeyModuleTypeDefragFunc defrag; /* not 0: there is more to do */
    /* since version 4 */
    ValkeyModuleTypeMemUsageFunc2 mem_usage2;
    ValkeyModuleTypeFreeEffortFunc2 free_effort2;
    ValkeyModuleTypeUnlinkFunc2 unlink2;
    ValkeyModuleTypeCopyFunc2 copy2;
    /* since version 5: as aux_save, but nothing is in the file when it saves nothing */
    ValkeyModuleTypeAuxSaveFunc aux_save2;
} ValkeyModuleTypeMethods;

/* ---- Events of the server (SubscribeToServerEvent) ---- */

typedef struct ValkeyModuleEvent {
    uint64_t id;      /* VALKEYMODULE_EVENT_... */
    uint64_t dataver; /* of the structure that comes with it */
} ValkeyModuleEvent;
/* `data` points to the structure of the event, below; NULL where there is none. */
typedef void (*ValkeyModuleEventCallback)(ValkeyModuleCtx *ctx, ValkeyModuleEvent event, uint64_t subevent,
                                          void *data);

#define VALKEYMODULE_EVENTS(E)                                                                               \
    E(ReplicationRoleChanged, REPLICATION_ROLE_CHANGED)                                                      \
    E(Persistence, PERSISTENCE)                                                                              \
    E(FlushDB, FLUSHDB)                                                                                      \
    E(Loading, LOADING)                                                                                      \
    E(ClientChange, CLIENT_CHANGE)                                                                           \
    E(Shutdown, SHUTDOWN)                                                                                    \
    E(ReplicaChange, REPLICA_CHANGE)                                                                         \
    E(PrimaryLinkChange, PRIMARY_LINK_CHANGE)                                                                \
    E(CronLoop, CRON_LOOP)                                                                                   \
    E(ModuleChange, MODULE_CHANGE)                                                                           \
    E(LoadingProgress, LOADING_PROGRESS)                                                                     \
    E(SwapDB, SWAPDB)                                                                                        \
    E(ReplBackup, REPL_BACKUP)                                                                               \
    E(ForkChild, FORK_CHILD)                                                                                 \
    E(ReplAsyncLoad, REPL_ASYNC_LOAD)                                                                        \
    E(EventLoop, EVENTLOOP)                                                                                  \
    E(Config, CONFIG)                                                                                        \
    E(Key, KEY)                                                                                              \
    E(AuthenticationAttempt, AUTHENTICATION_ATTEMPT)                                                         \
    E(AtomicSlotMigration, ATOMIC_SLOT_MIGRATION)                                                            \
    E(CommandResultSuccess, COMMAND_RESULT_SUCCESS)                                                          \
    E(CommandResultFailure, COMMAND_RESULT_FAILURE)                                                          \
    E(CommandResultRejected, COMMAND_RESULT_REJECTED)                                                        \
    E(CommandResultACLRejected, COMMAND_RESULT_ACL_REJECTED)
#ifdef __GNUC__
#define VALKEYMODULE_EVENT_VARIABLE(name, id)                                                                \
    static const ValkeyModuleEvent ValkeyModuleEvent_##name                                                  \
        __attribute__((unused)) = {VALKEYMODULE_EVENT_##id, 1};
#else
#define VALKEYMODULE_EVENT_VARIABLE(name, id)                                                                \
    static const ValkeyModuleEvent ValkeyModuleEvent_##name = {VALKEYMODULE_EVENT_##id, 1};
#endif
VALKEYMODULE_EVENTS(VALKEYMODULE_EVENT_VARIABLE)

/* GetClientInfoById, too: there the caller sets the version. */
typedef struct ValkeyModuleClientInfo {
    uint64_t version;
    uint64_t flags; /* VALKEYMODULE_CLIENTINFO_FLAG_... */
    uint64_t id;
    char addr[46];
    uint16_t port;
    uint16_t db;
} ValkeyModuleClientInfo;
#define VALKEYMODULE_CLIENTINFO_INITIALIZER_V1                                                               \
    { .version = 1 }

typedef struct ValkeyModuleReplicationInfo {
    uint64_t version;
    int primary;              /* are we one? */
    const char *primary_host; /* "" on a primary */
    int primary_port;
    const char *replid1, *replid2;
    uint64_t repl1_offset, repl2_offset;
} ValkeyModuleReplicationInfo;

typedef struct ValkeyModuleFlushInfo {
    uint64_t version;
    int32_t sync;
    int32_t dbnum; /* -1: all */
} ValkeyModuleFlushInfo;

typedef struct ValkeyModuleModuleChange {
    uint64_t version;
    const char *module_name;
    int32_t module_version;
} ValkeyModuleModuleChange;

typedef struct ValkeyModuleConfigChange {
    uint64_t version;
    uint32_t num_changes;
    const char **config_names;
} ValkeyModuleConfigChange;

typedef struct ValkeyModuleCronLoopInfo {
    uint64_t version;
    int32_t hz;
} ValkeyModuleCronLoop;

typedef struct ValkeyModuleLoadingProgressInfo {
    uint64_t version;
    int32_t hz;
    int32_t progress; /* 0 to 1024; -1: not known */
} ValkeyModuleLoadingProgress;

typedef struct ValkeyModuleSwapDbInfo {
    uint64_t version;
    int32_t dbnum_first;
    int32_t dbnum_second;
} ValkeyModuleSwapDbInfo;

typedef struct ValkeyModuleKeyInfo {
    uint64_t version;
    ValkeyModuleKey *key; /* open for reading, as it still is */
} ValkeyModuleKeyInfo;

typedef enum {
    VALKEYMODULE_AUTH_RESULT_GRANTED,
    VALKEYMODULE_AUTH_RESULT_DENIED
} ValkeyModuleAuthenticationResult;
typedef struct ValkeyModuleAuthenticationInfo {
    uint64_t version;
    uint64_t client_id;
    const char *username;
    const char *module_name; /* who decided; NULL: the server */
    ValkeyModuleAuthenticationResult result;
} ValkeyModuleAuthenticationInfo;

typedef struct ValkeyModuleAtomicSlotMigrationInfo {
    uint64_t version;
    char job_name[VALKEYMODULE_NODE_ID_LEN + 1];
    ValkeyModuleSlotRange *slot_ranges;
    uint32_t num_slot_ranges;
} ValkeyModuleAtomicSlotMigrationInfo;

typedef enum {
    VALKEYMODULE_ACL_LOG_AUTH,
    VALKEYMODULE_ACL_LOG_CMD,
    VALKEYMODULE_ACL_LOG_KEY,
    VALKEYMODULE_ACL_LOG_CHANNEL,
    VALKEYMODULE_ACL_LOG_DB
} ValkeyModuleACLLogEntryReason;
typedef struct ValkeyModuleCommandResultInfo {
    uint64_t version;
    const char *command_name; /* NULL: unknown */
    int64_t duration_us;
    int64_t dirty;
    uint64_t client_id;
    int is_module_client;
    int argc;
    ValkeyModuleString **argv;
    const char *rejection_context; /* the error; of ACL: the key or channel; NULL: none */
} ValkeyModuleCommandResultInfo;

/* ---- Scripting engines (RegisterScriptingEngine) ---- */

typedef enum { VMSE_EVAL, VMSE_FUNCTION, VMSE_ALL } ValkeyModuleScriptingEngineSubsystemType;
typedef enum { VMSE_STATE_EXECUTING, VMSE_STATE_KILLED } ValkeyModuleScriptingEngineExecutionState;
typedef enum {
    VMSE_SCRIPT_FLAG_NO_WRITES = 1 << 0,
    VMSE_SCRIPT_FLAG_ALLOW_OOM = 1 << 1,
    VMSE_SCRIPT_FLAG_ALLOW_STALE = 1 << 2,
    VMSE_SCRIPT_FLAG_NO_CLUSTER = 1 << 3,
    VMSE_SCRIPT_FLAG_EVAL_COMPAT_MODE = 1 << 4, /* no #! line: the rules of before there were flags */
    VMSE_SCRIPT_FLAG_ALLOW_CROSS_SLOT = 1 << 5
} ValkeyModuleScriptingEngineScriptFlag;

typedef struct ValkeyModuleScriptingEngineCompiledFunction {
    uint64_t version;
    ValkeyModuleString *name; /* of a function in a library */
    void *function;           /* the engine's */
    ValkeyModuleString *desc; /* may be NULL */
    uint64_t f_flags;         /* VMSE_SCRIPT_FLAG_... */
} ValkeyModuleScriptingEngineCompiledFunction;

typedef struct ValkeyModuleScriptingEngineMemoryInfo { /* bytes */
    uint64_t version;
    size_t used_memory;
    size_t engine_memory_overhead;
} ValkeyModuleScriptingEngineMemoryInfo;

typedef struct ValkeyModuleScriptingEngineCallableLazyEnvReset {
    void *context;
    void (*engineLazyEnvResetCallback)(void *context); /* called in the background */
} ValkeyModuleScriptingEngineCallableLazyEnvReset;

typedef enum {
    VMSE_DEBUG_NOT_SUPPORTED,
    VMSE_DEBUG_ENABLED,
    VMSE_DEBUG_ENABLE_FAIL
} ValkeyModuleScriptingEngineDebuggerEnableRet;

typedef struct ValkeyModuleScriptingEngineDebuggerCommandParam {
    const char *name;
    int optional;
    int variadic;
} ValkeyModuleScriptingEngineDebuggerCommandParam;

/* 1: read the next command; 0: go on with the script. */
typedef int (*ValkeyModuleScriptingEngineDebuggerCommandHandlerFunc)(ValkeyModuleString **argv, size_t argc,
                                                                     void *context);
typedef struct ValkeyModuleScriptingEngineDebuggerCommand {
    uint64_t version;
    const char *name;
    size_t prefix_len; /* so many of its letters are enough */
    const ValkeyModuleScriptingEngineDebuggerCommandParam *params;
    size_t params_len;
    const char *desc;
    int invisible; /* not in the list of help */
    ValkeyModuleScriptingEngineDebuggerCommandHandlerFunc handler;
    void *context; /* NULL: the engine's */
} ValkeyModuleScriptingEngineDebuggerCommand;

/* The array and its items are made with ValkeyModule_Alloc; err says why there is none. */
typedef ValkeyModuleScriptingEngineCompiledFunction **(*ValkeyModuleScriptingEngineCompileCodeFunc)(
    ValkeyModuleCtx *module_ctx, ValkeyModuleScriptingEngineCtx *engine_ctx,
    ValkeyModuleScriptingEngineSubsystemType type, const char *code, size_t code_len, size_t timeout,
    size_t *out_num_compiled_functions, ValkeyModuleString **err);
typedef void (*ValkeyModuleScriptingEngineFreeFunctionFunc)(
    ValkeyModuleCtx *module_ctx, ValkeyModuleScriptingEngineCtx *engine_ctx,
    ValkeyModuleScriptingEngineSubsystemType type,
    ValkeyModuleScriptingEngineCompiledFunction *compiled_function);
typedef void (*ValkeyModuleScriptingEngineCallFunctionFunc)(
    ValkeyModuleCtx *module_ctx, ValkeyModuleScriptingEngineCtx *engine_ctx,
    ValkeyModuleScriptingEngineServerRuntimeCtx *server_ctx,
    ValkeyModuleScriptingEngineCompiledFunction *compiled_function,
    ValkeyModuleScriptingEngineSubsystemType type, ValkeyModuleString **keys, size_t nkeys,
    ValkeyModuleString **args, size_t nargs);
typedef size_t (*ValkeyModuleScriptingEngineGetFunctionMemoryOverheadFunc)(
    ValkeyModuleCtx *module_ctx, ValkeyModuleScriptingEngineCompiledFunction *compiled_function);
typedef ValkeyModuleScriptingEngineCallableLazyEnvReset *(*ValkeyModuleScriptingEngineResetEnvFunc)(
    ValkeyModuleCtx *module_ctx, ValkeyModuleScriptingEngineCtx *engine_ctx,
    ValkeyModuleScriptingEngineSubsystemType type, int async);
typedef ValkeyModuleScriptingEngineMemoryInfo (*ValkeyModuleScriptingEngineGetMemoryInfoFunc)(
    ValkeyModuleCtx *module_ctx, ValkeyModuleScriptingEngineCtx *engine_ctx,
    ValkeyModuleScriptingEngineSubsystemType type);
typedef ValkeyModuleScriptingEngineDebuggerEnableRet (*ValkeyModuleScriptingEngineDebuggerEnableFunc)(
    ValkeyModuleCtx *module_ctx, ValkeyModuleScriptingEngineCtx *engine_ctx,
    ValkeyModuleScriptingEngineSubsystemType type,
    const ValkeyModuleScriptingEngineDebuggerCommand **commands, size_t *commands_len);
typedef void (*ValkeyModuleScriptingEngineDebuggerDisableFunc)(ValkeyModuleCtx *module_ctx,
                                                               ValkeyModuleScriptingEngineCtx *engine_ctx,
                                                               ValkeyModuleScriptingEngineSubsystemType type);
typedef void (*ValkeyModuleScriptingEngineDebuggerStartFunc)(ValkeyModuleCtx *module_ctx,
                                                             ValkeyModuleScriptingEngineCtx *engine_ctx,
                                                             ValkeyModuleScriptingEngineSubsystemType type,
                                                             ValkeyModuleString *source);
typedef void (*ValkeyModuleScriptingEngineDebuggerEndFunc)(ValkeyModuleCtx *module_ctx,
                                                           ValkeyModuleScriptingEngineCtx *engine_ctx,
                                                           ValkeyModuleScriptingEngineSubsystemType type);

typedef struct ValkeyModuleScriptingEngineMethods {
    uint64_t version; /* VALKEYMODULE_SCRIPTING_ENGINE_ABI_VERSION */
    ValkeyModuleScriptingEngineCompileCodeFunc compile_code;
    ValkeyModuleScriptingEngineFreeFunctionFunc free_function;
    ValkeyModuleScriptingEngineCallFunctionFunc call_function;
    ValkeyModuleScriptingEngineGetFunctionMemoryOverheadFunc get_function_memory_overhead;
    ValkeyModuleScriptingEngineResetEnvFunc reset_env;
    ValkeyModuleScriptingEngineGetMemoryInfoFunc get_memory_info;
    /* since version 4: all of them, or none */
    ValkeyModuleScriptingEngineDebuggerEnableFunc debugger_enable;
    ValkeyModuleScriptingEngineDebuggerDisableFunc debugger_disable;
    ValkeyModuleScriptingEngineDebuggerStartFunc debugger_start;
    ValkeyModuleScriptingEngineDebuggerEndFunc debugger_end;
} ValkeyModuleScriptingEngineMethods;

/* ---- VM_CallArgv: a command whose answer is handed over piece by piece ---- */

typedef struct ValkeyModuleReplyHandlers {
    uint64_t version; /* VALKEYMODULE_REPLY_HANDLERS_VERSION */
    void (*null)(void *ctx);
    void (*nullBulkString)(void *ctx);
    void (*nullArray)(void *ctx);
    void (*bulkString)(void *ctx, const char *str, size_t len);
    void (*simpleString)(void *ctx, const char *str, size_t len);
    void (*verbatimString)(void *ctx, const char *str, size_t len, const char *format);
    void (*error)(void *ctx, const char *str, size_t len);
    void (*integer)(void *ctx, long long value);
    void (*doubleVal)(void *ctx, double value);
    void (*bigNumber)(void *ctx, const char *str, size_t len);
    void (*boolVal)(void *ctx, int value);
    void (*attributeStart)(void *ctx, size_t len);
    void (*attributeEnd)(void *ctx);
    void (*arrayStart)(void *ctx, size_t len);
    void (*arrayEnd)(void *ctx);
    void (*mapStart)(void *ctx, size_t len);
    void (*mapEnd)(void *ctx);
    void (*setStart)(void *ctx, size_t len);
    void (*setEnd)(void *ctx);
    void (*replyParsingError)(void *ctx);
    void (*onBlocked)(void *ctx, ValkeyModuleCtx *module_ctx, void *handle);
    int (*onRespAvailable)(void *ctx, ValkeyModuleCtx *module_ctx, const char *proto, size_t len);
} ValkeyModuleReplyHandlers;

/* ---- Functions ---- */

/* Of the module itself. SetModuleAttribs names it, once, in ValkeyModule_Init. IsModuleNameBusy: 1 when a
 * loaded module has that name. SetModuleOptions replaces the whole set (VALKEYMODULE_OPTION...).
 * UpdateRuntimeArgs is what CONFIG REWRITE writes behind the path from then on (argv[0] is left out).
 * ExportSharedAPI and GetSharedAPI let modules call each other; who exports cannot be unloaded before who
 * uses. The ...All functions tell which bits this server knows; GetServerVersion is 0x00MMmmpp. */
#define VALKEYMODULE_LOADING_FUNCTIONS(F)                                                                    \
    F(void, SetModuleAttribs, (ValkeyModuleCtx * ctx, const char *name, int ver, int apiver))                \
    F(int, IsModuleNameBusy, (const char *name))                                                             \
    F(void, SetModuleOptions, (ValkeyModuleCtx * ctx, int options))                                          \
    F(int, GetModuleOptionsAll, (void))                                                                      \
    F(int, UpdateRuntimeArgs, (ValkeyModuleCtx * ctx, ValkeyModuleString * *argv, int argc))                 \
    F(int, ExportSharedAPI, (ValkeyModuleCtx * ctx, const char *apiname, void *func))                        \
    F(void *, GetSharedAPI, (ValkeyModuleCtx * ctx, const char *apiname))                                    \
    F(int, GetServerVersion, (void))                                                                         \
    F(int, GetTypeMethodVersion, (void))                                                                     \
    F(int, GetContextFlagsAll, (void))                                                                       \
    F(int, GetKeyspaceNotificationFlagsAll, (void))                                                          \
    F(int, GetOpenKeyModesAll, (void))

/* Memory that INFO counts; from any thread. Alloc, Calloc, Realloc and Strdup end the server when there is
 * none; the Try ones return NULL. PoolAlloc is given back when the callback returns. With AutoMemory, so are
 * keys, strings, replies and dictionaries that are made from then on in this context. MallocSize is what an
 * allocation takes, MallocUsableSize what of it may be written to. GetUsedMemoryRatio is used/maxmemory, 0
 * without a limit. */
#define VALKEYMODULE_MEMORY_FUNCTIONS(F)                                                                     \
    F(void *, Alloc, (size_t bytes))                                                                         \
    F(void *, TryAlloc, (size_t bytes))                                                                      \
    F(void *, Calloc, (size_t nmemb, size_t size))                                                           \
    F(void *, TryCalloc, (size_t nmemb, size_t size))                                                        \
    F(void *, Realloc, (void *ptr, size_t bytes))                                                            \
    F(void *, TryRealloc, (void *ptr, size_t bytes))                                                         \
    F(void, Free, (void *ptr))                                                                               \
    F(char *, Strdup, (const char *str))                                                                     \
    F(void *, PoolAlloc, (ValkeyModuleCtx * ctx, size_t bytes))                                              \
    F(void, AutoMemory, (ValkeyModuleCtx * ctx))                                                             \
    F(size_t, MallocSize, (void *ptr))                                                                       \
    F(size_t, MallocUsableSize, (void *ptr))                                                                 \
    F(size_t, MallocSizeString, (ValkeyModuleString * str))                                                  \
    F(size_t, MallocSizeDict, (ValkeyModuleDict * dict))                                                     \
    F(float, GetUsedMemoryRatio, (void))

/* The time (wall clock; CachedMicroseconds: of the command that runs; MonotonicMicroseconds: of no epoch),
 * random bytes, the log (level: "debug", "verbose", "notice" or "warning"), LATENCY. GetContextFlags are
 * VALKEYMODULE_CTX_FLAGS_...; AvoidReplicaTraffic: 1 while nothing should be sent to replicas. Yield lets
 * others have answers in the middle of something long: "BUSY <text>", or (FLAG_CLIENTS) the few commands that
 * may run then. ServerInfo... reads a section of INFO. */
#define VALKEYMODULE_MISC_FUNCTIONS(F)                                                                       \
    F(mstime_t, Milliseconds, (void))                                                                        \
    F(ustime_t, Microseconds, (void))                                                                        \
    F(ustime_t, CachedMicroseconds, (void))                                                                  \
    F(uint64_t, MonotonicMicroseconds, (void))                                                               \
    F(void, GetRandomBytes, (unsigned char *dst, size_t len))                                                \
    F(void, GetRandomHexChars, (char *dst, size_t len))                                                      \
    F(void, Log, (ValkeyModuleCtx * ctx, const char *level, const char *fmt, ...) VALKEYMODULE_PRINTF(3, 4)) \
    F(void, LogIOError,                                                                                      \
      (ValkeyModuleIO * io, const char *levelstr, const char *fmt, ...) VALKEYMODULE_PRINTF(3, 4))           \
    F(void, _Assert, (const char *estr, const char *file, int line))                                         \
    F(void, LatencyAddSample, (const char *event, mstime_t latency))                                         \
    F(int, GetContextFlags, (ValkeyModuleCtx * ctx))                                                         \
    F(int, AvoidReplicaTraffic, (void))                                                                      \
    F(void, Yield, (ValkeyModuleCtx * ctx, int flags, const char *busy_reply))                               \
    F(ValkeyModuleServerInfoData *, GetServerInfo, (ValkeyModuleCtx * ctx, const char *section))             \
    F(void, FreeServerInfo, (ValkeyModuleCtx * ctx, ValkeyModuleServerInfoData * data))                      \
    F(ValkeyModuleString *, ServerInfoGetField,                                                              \
      (ValkeyModuleCtx * ctx, ValkeyModuleServerInfoData * data, const char *field))                         \
    F(const char *, ServerInfoGetFieldC, (ValkeyModuleServerInfoData * data, const char *field))             \
    F(long long, ServerInfoGetFieldSigned,                                                                   \
      (ValkeyModuleServerInfoData * data, const char *field, int *out_err))                                  \
    F(unsigned long long, ServerInfoGetFieldUnsigned,                                                        \
      (ValkeyModuleServerInfoData * data, const char *field, int *out_err))                                  \
    F(double, ServerInfoGetFieldDouble, (ValkeyModuleServerInfoData * data, const char *field, int *out_err))

/* Commands; made in ValkeyModule_OnLoad only. Flags are words with blanks between them: "write readonly admin
 * deny-oom deny-script allow-loading pubsub blocking allow-stale no-monitor no-commandlog fast no-auth
 * may-replicate getkeys-api getchannels-api no-cluster no-mandatory-keys allow-busy all-dbs". The key triple
 * (first, last, step) is 0, 0, 0 for a command without keys. A function of NULL makes a container for
 * subcommands. With getkeys-api the handler is also called to tell where its keys are:
 * IsKeysPositionRequest, then KeyAtPos... for each; the same for channels. */
#define VALKEYMODULE_COMMAND_FUNCTIONS(F)                                                                    \
    F(int, CreateCommand,                                                                                    \
      (ValkeyModuleCtx * ctx, const char *name, ValkeyModuleCmdFunc cmdfunc, const char *strflags,           \
       int firstkey, int lastkey, int keystep))                                                              \
    F(ValkeyModuleCommand *, GetCommand, (ValkeyModuleCtx * ctx, const char *name))                          \
    F(int, CreateSubcommand,                                                                                 \
      (ValkeyModuleCommand * parent, const char *name, ValkeyModuleCmdFunc cmdfunc, const char *strflags,    \
       int firstkey, int lastkey, int keystep))                                                              \
    F(int, SetCommandInfo, (ValkeyModuleCommand * command, const ValkeyModuleCommandInfo *info))             \
    F(int, SetCommandACLCategories, (ValkeyModuleCommand * command, const char *ctgrsflags))                 \
    F(int, AddACLCategory, (ValkeyModuleCtx * ctx, const char *name))                                        \
    F(int, WrongArity, (ValkeyModuleCtx * ctx))                                                              \
    F(const char *, GetCurrentCommandName, (ValkeyModuleCtx * ctx))                                          \
    F(int, IsKeysPositionRequest, (ValkeyModuleCtx * ctx))                                                   \
    F(void, KeyAtPos, (ValkeyModuleCtx * ctx, int pos))                                                      \
    F(void, KeyAtPosWithFlags, (ValkeyModuleCtx * ctx, int pos, int flags))                                  \
    F(int, IsChannelsPositionRequest, (ValkeyModuleCtx * ctx))                                               \
    F(void, ChannelAtPosWithFlags, (ValkeyModuleCtx * ctx, int pos, int flags))                              \
    F(int *, GetCommandKeys, (ValkeyModuleCtx * ctx, ValkeyModuleString * *argv, int argc, int *num_keys))   \
    F(int *, GetCommandKeysWithFlags,                                                                        \
      (ValkeyModuleCtx * ctx, ValkeyModuleString * *argv, int argc, int *num_keys, int **out_flags))         \
    F(int, RedactClientCommandArgument, (ValkeyModuleCtx * ctx, int pos))

/* A filter sees each command before it is looked up, and may change its arguments; strings that are put in
 * become the server's. */
#define VALKEYMODULE_FILTER_FUNCTIONS(F)                                                                     \
    F(ValkeyModuleCommandFilter *, RegisterCommandFilter,                                                    \
      (ValkeyModuleCtx * ctx, ValkeyModuleCommandFilterFunc cb, int flags))                                  \
    F(int, UnregisterCommandFilter, (ValkeyModuleCtx * ctx, ValkeyModuleCommandFilter * filter))             \
    F(int, CommandFilterArgsCount, (ValkeyModuleCommandFilterCtx * fctx))                                    \
    F(ValkeyModuleString *, CommandFilterArgGet, (ValkeyModuleCommandFilterCtx * fctx, int pos))             \
    F(int, CommandFilterArgInsert, (ValkeyModuleCommandFilterCtx * fctx, int pos, ValkeyModuleString *arg))  \
    F(int, CommandFilterArgReplace, (ValkeyModuleCommandFilterCtx * fctx, int pos, ValkeyModuleString *arg)) \
    F(int, CommandFilterArgDelete, (ValkeyModuleCommandFilterCtx * fctx, int pos))                           \
    F(unsigned long long, CommandFilterGetClientId, (ValkeyModuleCommandFilterCtx * fctx))

/* Strings, counted references. Whoever makes one frees it (FreeString), unless AutoMemory does. RetainString
 * keeps one beyond the callback; HoldString does the same, in the way that is cheapest. StringAppendBuffer
 * only for who has the only reference. The bytes of StringPtrLen are the string's. StringTo... are strict. */
#define VALKEYMODULE_STRING_FUNCTIONS(F)                                                                     \
    F(ValkeyModuleString *, CreateString, (ValkeyModuleCtx * ctx, const char *ptr, size_t len))              \
    F(ValkeyModuleString *, CreateStringPrintf,                                                              \
      (ValkeyModuleCtx * ctx, const char *fmt, ...) VALKEYMODULE_PRINTF(2, 3))                               \
    F(ValkeyModuleString *, CreateStringFromLongLong, (ValkeyModuleCtx * ctx, long long ll))                 \
    F(ValkeyModuleString *, CreateStringFromULongLong, (ValkeyModuleCtx * ctx, unsigned long long ull))      \
    F(ValkeyModuleString *, CreateStringFromDouble, (ValkeyModuleCtx * ctx, double d))                       \
    F(ValkeyModuleString *, CreateStringFromLongDouble,                                                      \
      (ValkeyModuleCtx * ctx, long double ld, int humanfriendly))                                            \
    F(ValkeyModuleString *, CreateStringFromString, (ValkeyModuleCtx * ctx, const ValkeyModuleString *str))  \
    F(ValkeyModuleString *, CreateStringFromStreamID,                                                        \
      (ValkeyModuleCtx * ctx, const ValkeyModuleStreamID *id))                                               \
    F(ValkeyModuleString *, CreateStringFromCallReply, (ValkeyModuleCallReply * reply))                      \
    F(void, FreeString, (ValkeyModuleCtx * ctx, ValkeyModuleString * str))                                   \
    F(void, RetainString, (ValkeyModuleCtx * ctx, ValkeyModuleString * str))                                 \
    F(ValkeyModuleString *, HoldString, (ValkeyModuleCtx * ctx, ValkeyModuleString * str))                   \
    F(const char *, StringPtrLen, (const ValkeyModuleString *str, size_t *len))                              \
    F(int, StringAppendBuffer,                                                                               \
      (ValkeyModuleCtx * ctx, ValkeyModuleString * str, const char *buf, size_t len))                        \
    F(void, TrimStringAllocation, (ValkeyModuleString * str))                                                \
    F(int, StringCompare, (const ValkeyModuleString *a, const ValkeyModuleString *b))                        \
    F(int, StringToLongLong, (const ValkeyModuleString *str, long long *ll))                                 \
    F(int, StringToULongLong, (const ValkeyModuleString *str, unsigned long long *ull))                      \
    F(int, StringToDouble, (const ValkeyModuleString *str, double *d))                                       \
    F(int, StringToLongDouble, (const ValkeyModuleString *str, long double *d))                              \
    F(int, StringToStreamID, (const ValkeyModuleString *str, ValkeyModuleStreamID *id))

/* Databases and keys. SelectDb holds for the client, too, when the context is a command's. OpenKey with READ
 * is NULL where there is no key, with WRITE never; CloseKey tells those who WATCH. Times to live are
 * milliseconds, -1: none. What is done through these functions is neither replicated nor an event of the
 * keyspace: Replicate and NotifyKeyspaceEvent are the module's affair. */
#define VALKEYMODULE_KEY_FUNCTIONS(F)                                                                        \
    F(int, SelectDb, (ValkeyModuleCtx * ctx, int newid))                                                     \
    F(int, GetSelectedDb, (ValkeyModuleCtx * ctx))                                                           \
    F(unsigned long long, DbSize, (ValkeyModuleCtx * ctx))                                                   \
    F(ValkeyModuleString *, RandomKey, (ValkeyModuleCtx * ctx))                                              \
    F(int, KeyExists, (ValkeyModuleCtx * ctx, ValkeyModuleString * keyname))                                 \
    F(void, ResetDataset, (int restart_aof, int async))                                                      \
    F(ValkeyModuleKey *, OpenKey, (ValkeyModuleCtx * ctx, ValkeyModuleString * keyname, int mode))           \
    F(void, CloseKey, (ValkeyModuleKey * kp))                                                                \
    F(int, KeyType, (ValkeyModuleKey * kp))                                                                  \
    F(size_t, ValueLength, (ValkeyModuleKey * kp))                                                           \
    F(int, DeleteKey, (ValkeyModuleKey * key))                                                               \
    F(int, UnlinkKey, (ValkeyModuleKey * key))                                                               \
    F(const ValkeyModuleString *, GetKeyNameFromModuleKey, (ValkeyModuleKey * key))                          \
    F(int, GetDbIdFromModuleKey, (ValkeyModuleKey * key))                                                    \
    F(mstime_t, GetExpire, (ValkeyModuleKey * key))                                                          \
    F(int, SetExpire, (ValkeyModuleKey * key, mstime_t expire))                                              \
    F(mstime_t, GetAbsExpire, (ValkeyModuleKey * key))                                                       \
    F(int, SetAbsExpire, (ValkeyModuleKey * key, mstime_t expire))                                           \
    F(int, SignalModifiedKey, (ValkeyModuleCtx * ctx, ValkeyModuleString * keyname))                         \
    F(int, SetLRU, (ValkeyModuleKey * key, mstime_t lru_idle))                                               \
    F(int, GetLRU, (ValkeyModuleKey * key, mstime_t * lru_idle))                                             \
    F(int, SetLFU, (ValkeyModuleKey * key, long long lfu_freq))                                              \
    F(int, GetLFU, (ValkeyModuleKey * key, long long *lfu_freq))                                             \
    F(const ValkeyModuleString *, GetKeyNameFromOptCtx, (ValkeyModuleKeyOptCtx * ctx))                       \
    F(const ValkeyModuleString *, GetToKeyNameFromOptCtx, (ValkeyModuleKeyOptCtx * ctx))                     \
    F(int, GetDbIdFromOptCtx, (ValkeyModuleKeyOptCtx * ctx))                                                 \
    F(int, GetToDbIdFromOptCtx, (ValkeyModuleKeyOptCtx * ctx))

/* A key that holds a string. StringDMA gives its bytes themselves, good until the next call about this key.
 */
#define VALKEYMODULE_STRING_VALUE_FUNCTIONS(F)                                                               \
    F(int, StringSet, (ValkeyModuleKey * key, ValkeyModuleString * str))                                     \
    F(char *, StringDMA, (ValkeyModuleKey * key, size_t * len, int mode))                                    \
    F(int, StringTruncate, (ValkeyModuleKey * key, size_t newlen))

/* A key that holds a list. Positions from the end are negative. errno: EINVAL, ENOTSUP (not a list), EBADF
 * (the key is not open for that), EDOM (no such position). */
#define VALKEYMODULE_LIST_FUNCTIONS(F)                                                                       \
    F(int, ListPush, (ValkeyModuleKey * kp, int where, ValkeyModuleString *ele))                             \
    F(ValkeyModuleString *, ListPop, (ValkeyModuleKey * key, int where))                                     \
    F(ValkeyModuleString *, ListGet, (ValkeyModuleKey * key, long index))                                    \
    F(int, ListSet, (ValkeyModuleKey * key, long index, ValkeyModuleString *value))                          \
    F(int, ListInsert, (ValkeyModuleKey * key, long index, ValkeyModuleString *value))                       \
    F(int, ListDelete, (ValkeyModuleKey * key, long index))

/* A key that holds a sorted set. Of the range functions a key has one iterator at a time; what changes the
 * set meanwhile makes it undefined. */
#define VALKEYMODULE_ZSET_FUNCTIONS(F)                                                                       \
    F(int, ZsetAdd, (ValkeyModuleKey * key, double score, ValkeyModuleString *ele, int *flagsptr))           \
    F(int, ZsetIncrby,                                                                                       \
      (ValkeyModuleKey * key, double score, ValkeyModuleString *ele, int *flagsptr, double *newscore))       \
    F(int, ZsetScore, (ValkeyModuleKey * key, ValkeyModuleString * ele, double *score))                      \
    F(int, ZsetRem, (ValkeyModuleKey * key, ValkeyModuleString * ele, int *deleted))                         \
    F(void, ZsetRangeStop, (ValkeyModuleKey * key))                                                          \
    F(int, ZsetFirstInScoreRange, (ValkeyModuleKey * key, double min, double max, int minex, int maxex))     \
    F(int, ZsetLastInScoreRange, (ValkeyModuleKey * key, double min, double max, int minex, int maxex))      \
    F(int, ZsetFirstInLexRange, (ValkeyModuleKey * key, ValkeyModuleString * min, ValkeyModuleString * max)) \
    F(int, ZsetLastInLexRange, (ValkeyModuleKey * key, ValkeyModuleString * min, ValkeyModuleString * max))  \
    F(ValkeyModuleString *, ZsetRangeCurrentElement, (ValkeyModuleKey * key, double *score))                 \
    F(int, ZsetRangeNext, (ValkeyModuleKey * key))                                                           \
    F(int, ZsetRangePrev, (ValkeyModuleKey * key))                                                           \
    F(int, ZsetRangeEndReached, (ValkeyModuleKey * key))

/* A key that holds a hash. HashSet takes pairs of field and value, HashGet of field and where the value goes,
 * up to a NULL in the place of a field; VALKEYMODULE_HASH_DELETE as a value deletes. HashSetStringRef has the
 * value stay where the module keeps it. */
#define VALKEYMODULE_HASH_FUNCTIONS(F)                                                                       \
    F(int, HashSet, (ValkeyModuleKey * key, int flags, ...))                                                 \
    F(int, HashGet, (ValkeyModuleKey * key, int flags, ...))                                                 \
    F(int, HashSetStringRef,                                                                                 \
      (ValkeyModuleKey * key, ValkeyModuleString * field, const char *buf, size_t len))                      \
    F(int, HashHasStringRef, (ValkeyModuleKey * key, ValkeyModuleString * field))

/* A key that holds a stream; errno says why something failed. */
#define VALKEYMODULE_STREAM_FUNCTIONS(F)                                                                     \
    F(int, StreamAdd,                                                                                        \
      (ValkeyModuleKey * key, int flags, ValkeyModuleStreamID *id, ValkeyModuleString **argv,                \
       int64_t numfields))                                                                                   \
    F(int, StreamDelete, (ValkeyModuleKey * key, ValkeyModuleStreamID * id))                                 \
    F(int, StreamIteratorStart,                                                                              \
      (ValkeyModuleKey * key, int flags, ValkeyModuleStreamID *startid, ValkeyModuleStreamID *endid))        \
    F(int, StreamIteratorStop, (ValkeyModuleKey * key))                                                      \
    F(int, StreamIteratorNextID, (ValkeyModuleKey * key, ValkeyModuleStreamID * id, long *numfields))        \
    F(int, StreamIteratorNextField,                                                                          \
      (ValkeyModuleKey * key, ValkeyModuleString * *field_ptr, ValkeyModuleString * *value_ptr))             \
    F(int, StreamIteratorDelete, (ValkeyModuleKey * key))                                                    \
    F(long long, StreamTrimByLength, (ValkeyModuleKey * key, int flags, long long length))                   \
    F(long long, StreamTrimByID, (ValkeyModuleKey * key, int flags, ValkeyModuleStreamID *id))

/* What the client is answered. Of collections first the length, then the elements; with
 * VALKEYMODULE_POSTPONED_LEN the length is told behind them (ReplySet...Length). In RESP2, types that it
 * lacks become what clients of RESP2 know. */
#define VALKEYMODULE_REPLY_FUNCTIONS(F)                                                                      \
    F(int, ReplyWithLongLong, (ValkeyModuleCtx * ctx, long long ll))                                         \
    F(int, ReplyWithSimpleString, (ValkeyModuleCtx * ctx, const char *msg))                                  \
    F(int, ReplyWithStringBuffer, (ValkeyModuleCtx * ctx, const char *buf, size_t len))                      \
    F(int, ReplyWithCString, (ValkeyModuleCtx * ctx, const char *buf))                                       \
    F(int, ReplyWithString, (ValkeyModuleCtx * ctx, ValkeyModuleString * str))                               \
    F(int, ReplyWithEmptyString, (ValkeyModuleCtx * ctx))                                                    \
    F(int, ReplyWithVerbatimString, (ValkeyModuleCtx * ctx, const char *buf, size_t len))                    \
    F(int, ReplyWithVerbatimStringType,                                                                      \
      (ValkeyModuleCtx * ctx, const char *buf, size_t len, const char *ext))                                 \
    F(int, ReplyWithError, (ValkeyModuleCtx * ctx, const char *err))                                         \
    F(int, ReplyWithErrorFormat, (ValkeyModuleCtx * ctx, const char *fmt, ...) VALKEYMODULE_PRINTF(2, 3))    \
    F(int, ReplyWithCustomErrorFormat,                                                                       \
      (ValkeyModuleCtx * ctx, int update_error_stats, const char *fmt, ...) VALKEYMODULE_PRINTF(3, 4))       \
    F(int, ReplyWithNull, (ValkeyModuleCtx * ctx))                                                           \
    F(int, ReplyWithNullArray, (ValkeyModuleCtx * ctx))                                                      \
    F(int, ReplyWithEmptyArray, (ValkeyModuleCtx * ctx))                                                     \
    F(int, ReplyWithBool, (ValkeyModuleCtx * ctx, int b))                                                    \
    F(int, ReplyWithDouble, (ValkeyModuleCtx * ctx, double d))                                               \
    F(int, ReplyWithLongDouble, (ValkeyModuleCtx * ctx, long double d))                                      \
    F(int, ReplyWithBigNumber, (ValkeyModuleCtx * ctx, const char *bignum, size_t len))                      \
    F(int, ReplyWithArray, (ValkeyModuleCtx * ctx, long len))                                                \
    F(int, ReplyWithMap, (ValkeyModuleCtx * ctx, long len))                                                  \
    F(int, ReplyWithSet, (ValkeyModuleCtx * ctx, long len))                                                  \
    F(int, ReplyWithAttribute, (ValkeyModuleCtx * ctx, long len))                                            \
    F(void, ReplySetArrayLength, (ValkeyModuleCtx * ctx, long len))                                          \
    F(void, ReplySetMapLength, (ValkeyModuleCtx * ctx, long len))                                            \
    F(void, ReplySetSetLength, (ValkeyModuleCtx * ctx, long len))                                            \
    F(void, ReplySetAttributeLength, (ValkeyModuleCtx * ctx, long len))                                      \
    F(void, ReplySetPushLength, (ValkeyModuleCtx * ctx, long len))                                           \
    F(int, ReplyWithCallReply, (ValkeyModuleCtx * ctx, ValkeyModuleCallReply * reply))

/* Commands that the module runs. fmt has a letter for each argument (c C string, s ValkeyModuleString, b
 * bytes and size_t, l long long, v array of strings and size_t) and letters that say how: ! replicate, A not
 * to the append-only file, R not to replicas, 3 answer in RESP3, 0 in the client's protocol, C as its user, S
 * as a script, W no writes, M not beyond maxmemory, E errors as replies, D only look whether it could run, K
 * it may block (the reply is a promise then), X replies in their exact types. NULL: errno says why. Replicate
 * takes the same letters. */
#define VALKEYMODULE_CALL_FUNCTIONS(F)                                                                       \
    F(ValkeyModuleCallReply *, Call, (ValkeyModuleCtx * ctx, const char *cmdname, const char *fmt, ...))     \
    F(void, FreeCallReply, (ValkeyModuleCallReply * reply))                                                  \
    F(int, CallReplyType, (ValkeyModuleCallReply * reply))                                                   \
    F(const char *, CallReplyProto, (ValkeyModuleCallReply * reply, size_t * len))                           \
    F(size_t, CallReplyLength, (ValkeyModuleCallReply * reply))                                              \
    F(long long, CallReplyInteger, (ValkeyModuleCallReply * reply))                                          \
    F(double, CallReplyDouble, (ValkeyModuleCallReply * reply))                                              \
    F(int, CallReplyBool, (ValkeyModuleCallReply * reply))                                                   \
    F(const char *, CallReplyStringPtr, (ValkeyModuleCallReply * reply, size_t * len))                       \
    F(const char *, CallReplyBigNumber, (ValkeyModuleCallReply * reply, size_t * len))                       \
    F(const char *, CallReplyVerbatim, (ValkeyModuleCallReply * reply, size_t * len, const char **format))   \
    F(ValkeyModuleCallReply *, CallReplyArrayElement, (ValkeyModuleCallReply * reply, size_t idx))           \
    F(ValkeyModuleCallReply *, CallReplySetElement, (ValkeyModuleCallReply * reply, size_t idx))             \
    F(int, CallReplyMapElement,                                                                              \
      (ValkeyModuleCallReply * reply, size_t idx, ValkeyModuleCallReply * *key,                              \
       ValkeyModuleCallReply * *val))                                                                        \
    F(ValkeyModuleCallReply *, CallReplyAttribute, (ValkeyModuleCallReply * reply))                          \
    F(int, CallReplyAttributeElement,                                                                        \
      (ValkeyModuleCallReply * reply, size_t idx, ValkeyModuleCallReply * *key,                              \
       ValkeyModuleCallReply * *val))                                                                        \
    F(void, CallReplyPromiseSetUnblockHandler,                                                               \
      (ValkeyModuleCallReply * reply, ValkeyModuleOnUnblocked on_unblock, void *private_data))               \
    F(int, CallReplyPromiseAbort, (ValkeyModuleCallReply * reply, void **private_data))                      \
    F(int, Replicate, (ValkeyModuleCtx * ctx, const char *cmdname, const char *fmt, ...))                    \
    F(int, ReplicateVerbatim, (ValkeyModuleCtx * ctx))

/* Clients that wait, and threads. A blocked client is let go by UnblockClient, once and always, from any
 * thread. A thread's context replies to its blocked client without a lock, and needs the lock for anything
 * else. */
#define VALKEYMODULE_BLOCKING_FUNCTIONS(F)                                                                   \
    F(ValkeyModuleBlockedClient *, BlockClient,                                                              \
      (ValkeyModuleCtx * ctx, ValkeyModuleCmdFunc reply_callback, ValkeyModuleCmdFunc timeout_callback,      \
       void (*free_privdata)(ValkeyModuleCtx *, void *), long long timeout_ms))                              \
    F(ValkeyModuleBlockedClient *, BlockClientOnKeys,                                                        \
      (ValkeyModuleCtx * ctx, ValkeyModuleCmdFunc reply_callback, ValkeyModuleCmdFunc timeout_callback,      \
       void (*free_privdata)(ValkeyModuleCtx *, void *), long long timeout_ms, ValkeyModuleString **keys,    \
       int numkeys, void *privdata))                                                                         \
    F(ValkeyModuleBlockedClient *, BlockClientOnKeysWithFlags,                                               \
      (ValkeyModuleCtx * ctx, ValkeyModuleCmdFunc reply_callback, ValkeyModuleCmdFunc timeout_callback,      \
       void (*free_privdata)(ValkeyModuleCtx *, void *), long long timeout_ms, ValkeyModuleString **keys,    \
       int numkeys, void *privdata, int flags))                                                              \
    F(ValkeyModuleBlockedClient *, BlockClientOnAuth,                                                        \
      (ValkeyModuleCtx * ctx, ValkeyModuleAuthCallback reply_callback,                                       \
       void (*free_privdata)(ValkeyModuleCtx *, void *)))                                                    \
    F(void, SignalKeyAsReady, (ValkeyModuleCtx * ctx, ValkeyModuleString * key))                             \
    F(ValkeyModuleString *, GetBlockedClientReadyKey, (ValkeyModuleCtx * ctx))                               \
    F(int, UnblockClient, (ValkeyModuleBlockedClient * bc, void *privdata))                                  \
    F(int, AbortBlock, (ValkeyModuleBlockedClient * bc))                                                     \
    F(void, SetDisconnectCallback, (ValkeyModuleBlockedClient * bc, ValkeyModuleDisconnectFunc callback))    \
    F(int, IsBlockedReplyRequest, (ValkeyModuleCtx * ctx))                                                   \
    F(int, IsBlockedTimeoutRequest, (ValkeyModuleCtx * ctx))                                                 \
    F(int, BlockedClientDisconnected, (ValkeyModuleCtx * ctx))                                               \
    F(void *, GetBlockedClientPrivateData, (ValkeyModuleCtx * ctx))                                          \
    F(ValkeyModuleBlockedClient *, GetBlockedClientHandle, (ValkeyModuleCtx * ctx))                          \
    F(void *, BlockClientGetPrivateData, (ValkeyModuleBlockedClient * blocked_client))                       \
    F(void, BlockClientSetPrivateData, (ValkeyModuleBlockedClient * blocked_client, void *private_data))     \
    F(int, BlockedClientMeasureTimeStart, (ValkeyModuleBlockedClient * bc))                                  \
    F(int, BlockedClientMeasureTimeEnd, (ValkeyModuleBlockedClient * bc))                                    \
    F(ValkeyModuleCtx *, GetThreadSafeContext, (ValkeyModuleBlockedClient * bc))                             \
    F(ValkeyModuleCtx *, GetDetachedThreadSafeContext, (ValkeyModuleCtx * ctx))                              \
    F(void, FreeThreadSafeContext, (ValkeyModuleCtx * ctx))                                                  \
    F(void, ThreadSafeContextLock, (ValkeyModuleCtx * ctx))                                                  \
    F(int, ThreadSafeContextTryLock, (ValkeyModuleCtx * ctx))                                                \
    F(void, ThreadSafeContextUnlock, (ValkeyModuleCtx * ctx))

/* What happens: timers (once, after so many milliseconds), file descriptors in the server's loop, changes of
 * keys, events of the server, forked children, messages to subscribers. EventLoopAddOneShot may be called
 * from any thread. */
#define VALKEYMODULE_EVENT_FUNCTIONS(F)                                                                      \
    F(ValkeyModuleTimerID, CreateTimer,                                                                      \
      (ValkeyModuleCtx * ctx, mstime_t period, ValkeyModuleTimerProc callback, void *data))                  \
    F(int, StopTimer, (ValkeyModuleCtx * ctx, ValkeyModuleTimerID id, void **data))                          \
    F(int, GetTimerInfo, (ValkeyModuleCtx * ctx, ValkeyModuleTimerID id, uint64_t * remaining, void **data)) \
    F(int, EventLoopAdd, (int fd, int mask, ValkeyModuleEventLoopFunc func, void *user_data))                \
    F(int, EventLoopDel, (int fd, int mask))                                                                 \
    F(int, EventLoopAddOneShot, (ValkeyModuleEventLoopOneShotFunc func, void *user_data))                    \
    F(int, SubscribeToKeyspaceEvents, (ValkeyModuleCtx * ctx, int types, ValkeyModuleNotificationFunc cb))   \
    F(int, NotifyKeyspaceEvent,                                                                              \
      (ValkeyModuleCtx * ctx, int type, const char *event, ValkeyModuleString *key))                         \
    F(int, GetNotifyKeyspaceEvents, (void))                                                                  \
    F(int, AddPostNotificationJob,                                                                           \
      (ValkeyModuleCtx * ctx, ValkeyModulePostNotificationJobFunc callback, void *pd,                        \
       void (*free_pd)(void *)))                                                                             \
    F(int, SubscribeToServerEvent,                                                                           \
      (ValkeyModuleCtx * ctx, ValkeyModuleEvent event, ValkeyModuleEventCallback callback))                  \
    F(int, IsSubEventSupported, (ValkeyModuleEvent event, uint64_t subevent))                                \
    F(int, Fork, (ValkeyModuleForkDoneHandler cb, void *user_data))                                          \
    F(void, SendChildHeartbeat, (double progress))                                                           \
    F(int, ExitFromChild, (int retcode))                                                                     \
    F(int, KillForkChild, (int child_pid))                                                                   \
    F(int, PublishMessage,                                                                                   \
      (ValkeyModuleCtx * ctx, ValkeyModuleString * channel, ValkeyModuleString * message))                   \
    F(int, PublishMessageShard,                                                                              \
      (ValkeyModuleCtx * ctx, ValkeyModuleString * channel, ValkeyModuleString * message))

/* Other nodes. Ids have 40 bytes and no end mark. */
#define VALKEYMODULE_CLUSTER_FUNCTIONS(F)                                                                    \
    F(void, RegisterClusterMessageReceiver,                                                                  \
      (ValkeyModuleCtx * ctx, uint8_t type, ValkeyModuleClusterMessageReceiver callback))                    \
    F(int, SendClusterMessage,                                                                               \
      (ValkeyModuleCtx * ctx, const char *target_id, uint8_t type, const char *msg, uint32_t len))           \
    F(char **, GetClusterNodesList, (ValkeyModuleCtx * ctx, size_t * numnodes))                              \
    F(void, FreeClusterNodesList, (char **ids))                                                              \
    F(const char *, GetMyClusterID, (void))                                                                  \
    F(size_t, GetClusterSize, (void))                                                                        \
    F(int, GetClusterNodeInfo,                                                                               \
      (ValkeyModuleCtx * ctx, const char *id, char *ip, char *primary_id, int *port, int *flags))            \
    F(int, GetClusterNodeInfoForClient,                                                                      \
      (ValkeyModuleCtx * ctx, uint64_t client_id, const char *node_id, char *ip, char *primary_id,           \
       int *port, int *flags))                                                                               \
    F(void, SetClusterFlags, (ValkeyModuleCtx * ctx, uint64_t flags))                                        \
    F(unsigned int, ClusterKeySlot, (ValkeyModuleString * key))                                              \
    F(unsigned int, ClusterKeySlotC, (const char *key, size_t keylen))                                       \
    F(const char *, ClusterCanonicalKeyNameInSlot, (unsigned int slot))

/* Clients, users, rights, who may log in. */
#define VALKEYMODULE_USER_FUNCTIONS(F)                                                                       \
    F(unsigned long long, GetClientId, (ValkeyModuleCtx * ctx))                                              \
    F(int, GetClientInfoById, (void *ci, uint64_t id))                                                       \
    F(ValkeyModuleString *, GetClientNameById, (ValkeyModuleCtx * ctx, uint64_t id))                         \
    F(int, SetClientNameById, (uint64_t id, ValkeyModuleString * name))                                      \
    F(ValkeyModuleString *, GetClientUserNameById, (ValkeyModuleCtx * ctx, uint64_t id))                     \
    F(ValkeyModuleString *, GetClientCertificate, (ValkeyModuleCtx * ctx, uint64_t id))                      \
    F(int, MustObeyClient, (ValkeyModuleCtx * ctx))                                                          \
    F(ValkeyModuleUser *, CreateModuleUser, (const char *name))                                              \
    F(void, FreeModuleUser, (ValkeyModuleUser * user))                                                       \
    F(int, SetModuleUserACL, (ValkeyModuleUser * user, const char *acl))                                     \
    F(int, SetModuleUserACLString,                                                                           \
      (ValkeyModuleCtx * ctx, ValkeyModuleUser * user, const char *acl, ValkeyModuleString **error))         \
    F(ValkeyModuleString *, GetModuleUserACLString, (ValkeyModuleUser * user))                               \
    F(ValkeyModuleString *, GetCurrentUserName, (ValkeyModuleCtx * ctx))                                     \
    F(ValkeyModuleUser *, GetModuleUserFromUserName, (ValkeyModuleString * name))                            \
    F(void, SetContextUser, (ValkeyModuleCtx * ctx, const ValkeyModuleUser *user))                           \
    F(int, ACLCheckCommandPermissions, (ValkeyModuleUser * user, ValkeyModuleString * *argv, int argc))      \
    F(int, ACLCheckPermissions,                                                                              \
      (ValkeyModuleUser * user, ValkeyModuleString * *argv, int argc, int dbid,                              \
       ValkeyModuleACLLogEntryReason *denial_reason))                                                        \
    F(int, ACLCheckKeyPermissions, (ValkeyModuleUser * user, ValkeyModuleString * key, int flags))           \
    F(int, ACLCheckKeyPrefixPermissions,                                                                     \
      (ValkeyModuleUser * user, const char *key, size_t len, unsigned int flags))                            \
    F(int, ACLCheckChannelPermissions, (ValkeyModuleUser * user, ValkeyModuleString * ch, int literal))      \
    F(void, ACLAddLogEntry,                                                                                  \
      (ValkeyModuleCtx * ctx, ValkeyModuleUser * user, ValkeyModuleString * object,                          \
       ValkeyModuleACLLogEntryReason reason))                                                                \
    F(void, ACLAddLogEntryByUserName,                                                                        \
      (ValkeyModuleCtx * ctx, ValkeyModuleString * user, ValkeyModuleString * object,                        \
       ValkeyModuleACLLogEntryReason reason))                                                                \
    F(int, AuthenticateClientWithUser,                                                                       \
      (ValkeyModuleCtx * ctx, ValkeyModuleUser * user, ValkeyModuleUserChangedFunc callback, void *privdata, \
       uint64_t *client_id))                                                                                 \
    F(int, AuthenticateClientWithACLUser,                                                                    \
      (ValkeyModuleCtx * ctx, const char *name, size_t len, ValkeyModuleUserChangedFunc callback,            \
       void *privdata, uint64_t *client_id))                                                                 \
    F(int, DeauthenticateAndCloseClient, (ValkeyModuleCtx * ctx, uint64_t client_id))                        \
    F(void, RegisterAuthCallback, (ValkeyModuleCtx * ctx, ValkeyModuleAuthCallback cb))

/* A dictionary whose keys are in the order of their bytes. An iterator starts at ^ (first), $ (last), or at
 * the key that is ==, >, >=, < or <= another. */
#define VALKEYMODULE_DICT_FUNCTIONS(F)                                                                       \
    F(ValkeyModuleDict *, CreateDict, (ValkeyModuleCtx * ctx))                                               \
    F(void, FreeDict, (ValkeyModuleCtx * ctx, ValkeyModuleDict * d))                                         \
    F(uint64_t, DictSize, (ValkeyModuleDict * d))                                                            \
    F(int, DictSetC, (ValkeyModuleDict * d, void *key, size_t keylen, void *ptr))                            \
    F(int, DictSet, (ValkeyModuleDict * d, ValkeyModuleString * key, void *ptr))                             \
    F(int, DictReplaceC, (ValkeyModuleDict * d, void *key, size_t keylen, void *ptr))                        \
    F(int, DictReplace, (ValkeyModuleDict * d, ValkeyModuleString * key, void *ptr))                         \
    F(void *, DictGetC, (ValkeyModuleDict * d, void *key, size_t keylen, int *nokey))                        \
    F(void *, DictGet, (ValkeyModuleDict * d, ValkeyModuleString * key, int *nokey))                         \
    F(int, DictDelC, (ValkeyModuleDict * d, void *key, size_t keylen, void *oldval))                         \
    F(int, DictDel, (ValkeyModuleDict * d, ValkeyModuleString * key, void *oldval))                          \
    F(ValkeyModuleDictIter *, DictIteratorStartC,                                                            \
      (ValkeyModuleDict * d, const char *op, void *key, size_t keylen))                                      \
    F(ValkeyModuleDictIter *, DictIteratorStart,                                                             \
      (ValkeyModuleDict * d, const char *op, ValkeyModuleString *key))                                       \
    F(int, DictIteratorReseekC, (ValkeyModuleDictIter * di, const char *op, void *key, size_t keylen))       \
    F(int, DictIteratorReseek, (ValkeyModuleDictIter * di, const char *op, ValkeyModuleString *key))         \
    F(void, DictIteratorStop, (ValkeyModuleDictIter * di))                                                   \
    F(void *, DictNextC, (ValkeyModuleDictIter * di, size_t * keylen, void **dataptr))                       \
    F(void *, DictPrevC, (ValkeyModuleDictIter * di, size_t * keylen, void **dataptr))                       \
    F(ValkeyModuleString *, DictNext, (ValkeyModuleCtx * ctx, ValkeyModuleDictIter * di, void **dataptr))    \
    F(ValkeyModuleString *, DictPrev, (ValkeyModuleCtx * ctx, ValkeyModuleDictIter * di, void **dataptr))    \
    F(int, DictCompareC, (ValkeyModuleDictIter * di, const char *op, void *key, size_t keylen))              \
    F(int, DictCompare, (ValkeyModuleDictIter * di, const char *op, ValkeyModuleString *key))

/* Sections of INFO of the module's own; in a callback of RegisterInfoFunc. */
#define VALKEYMODULE_INFO_FUNCTIONS(F)                                                                       \
    F(int, RegisterInfoFunc, (ValkeyModuleCtx * ctx, ValkeyModuleInfoFunc cb))                               \
    F(int, InfoAddSection, (ValkeyModuleInfoCtx * ctx, const char *name))                                    \
    F(int, InfoBeginDictField, (ValkeyModuleInfoCtx * ctx, const char *name))                                \
    F(int, InfoEndDictField, (ValkeyModuleInfoCtx * ctx))                                                    \
    F(int, InfoAddFieldString, (ValkeyModuleInfoCtx * ctx, const char *field, ValkeyModuleString *value))    \
    F(int, InfoAddFieldCString, (ValkeyModuleInfoCtx * ctx, const char *field, const char *value))           \
    F(int, InfoAddFieldDouble, (ValkeyModuleInfoCtx * ctx, const char *field, double value))                 \
    F(int, InfoAddFieldLongLong, (ValkeyModuleInfoCtx * ctx, const char *field, long long value))            \
    F(int, InfoAddFieldULongLong, (ValkeyModuleInfoCtx * ctx, const char *field, unsigned long long value))

/* All keys, or all elements of a key, some with each call. */
#define VALKEYMODULE_SCAN_FUNCTIONS(F)                                                                       \
    F(ValkeyModuleScanCursor *, ScanCursorCreate, (void))                                                    \
    F(void, ScanCursorRestart, (ValkeyModuleScanCursor * cursor))                                            \
    F(void, ScanCursorDestroy, (ValkeyModuleScanCursor * cursor))                                            \
    F(int, Scan,                                                                                             \
      (ValkeyModuleCtx * ctx, ValkeyModuleScanCursor * cursor, ValkeyModuleScanCB fn, void *privdata))       \
    F(int, ScanKey,                                                                                          \
      (ValkeyModuleKey * key, ValkeyModuleScanCursor * cursor, ValkeyModuleScanKeyCB fn, void *privdata))

/* Directives "module.name"; registered in ValkeyModule_OnLoad, which ends with LoadConfigs. */
#define VALKEYMODULE_CONFIG_FUNCTIONS(F)                                                                     \
    F(int, RegisterBoolConfig,                                                                               \
      (ValkeyModuleCtx * ctx, const char *name, int default_val, unsigned int flags,                         \
       ValkeyModuleConfigGetBoolFunc getfn, ValkeyModuleConfigSetBoolFunc setfn,                             \
       ValkeyModuleConfigApplyFunc applyfn, void *privdata))                                                 \
    F(int, RegisterNumericConfig,                                                                            \
      (ValkeyModuleCtx * ctx, const char *name, long long default_val, unsigned int flags, long long min,    \
       long long max, ValkeyModuleConfigGetNumericFunc getfn, ValkeyModuleConfigSetNumericFunc setfn,        \
       ValkeyModuleConfigApplyFunc applyfn, void *privdata))                                                 \
    F(int, RegisterUnsignedNumericConfig,                                                                    \
      (ValkeyModuleCtx * ctx, const char *name, unsigned long long default_val, unsigned int flags,          \
       unsigned long long min, unsigned long long max, ValkeyModuleConfigGetUnsignedNumericFunc getfn,       \
       ValkeyModuleConfigSetUnsignedNumericFunc setfn, ValkeyModuleConfigApplyFunc applyfn, void *privdata)) \
    F(int, RegisterStringConfig,                                                                             \
      (ValkeyModuleCtx * ctx, const char *name, const char *default_val, unsigned int flags,                 \
       ValkeyModuleConfigGetStringFunc getfn, ValkeyModuleConfigSetStringFunc setfn,                         \
       ValkeyModuleConfigApplyFunc applyfn, void *privdata))                                                 \
    F(int, RegisterEnumConfig,                                                                               \
      (ValkeyModuleCtx * ctx, const char *name, int default_val, unsigned int flags,                         \
       const char **enum_values, const int *int_values, int num_enum_vals,                                   \
       ValkeyModuleConfigGetEnumFunc getfn, ValkeyModuleConfigSetEnumFunc setfn,                             \
       ValkeyModuleConfigApplyFunc applyfn, void *privdata))                                                 \
    F(int, LoadConfigs, (ValkeyModuleCtx * ctx))

/* Types of values of the module's own, and how they are saved, loaded, rewritten, compared and defragmented.
 */
#define VALKEYMODULE_TYPE_FUNCTIONS(F)                                                                       \
    F(ValkeyModuleType *, CreateDataType,                                                                    \
      (ValkeyModuleCtx * ctx, const char *name, int encver, ValkeyModuleTypeMethods *typemethods))           \
    F(int, ModuleTypeSetValue, (ValkeyModuleKey * key, ValkeyModuleType * mt, void *value))                  \
    F(int, ModuleTypeReplaceValue,                                                                           \
      (ValkeyModuleKey * key, ValkeyModuleType * mt, void *new_value, void **old_value))                     \
    F(ValkeyModuleType *, ModuleTypeGetType, (ValkeyModuleKey * key))                                        \
    F(void *, ModuleTypeGetValue, (ValkeyModuleKey * key))                                                   \
    F(int, IsIOError, (ValkeyModuleIO * io))                                                                 \
    F(void, SaveUnsigned, (ValkeyModuleIO * io, uint64_t value))                                             \
    F(uint64_t, LoadUnsigned, (ValkeyModuleIO * io))                                                         \
    F(void, SaveSigned, (ValkeyModuleIO * io, int64_t value))                                                \
    F(int64_t, LoadSigned, (ValkeyModuleIO * io))                                                            \
    F(void, SaveString, (ValkeyModuleIO * io, ValkeyModuleString * s))                                       \
    F(void, SaveStringBuffer, (ValkeyModuleIO * io, const char *str, size_t len))                            \
    F(ValkeyModuleString *, LoadString, (ValkeyModuleIO * io))                                               \
    F(char *, LoadStringBuffer, (ValkeyModuleIO * io, size_t * lenptr))                                      \
    F(void, SaveDouble, (ValkeyModuleIO * io, double value))                                                 \
    F(double, LoadDouble, (ValkeyModuleIO * io))                                                             \
    F(void, SaveFloat, (ValkeyModuleIO * io, float value))                                                   \
    F(float, LoadFloat, (ValkeyModuleIO * io))                                                               \
    F(void, SaveLongDouble, (ValkeyModuleIO * io, long double value))                                        \
    F(long double, LoadLongDouble, (ValkeyModuleIO * io))                                                    \
    F(void, EmitAOF, (ValkeyModuleIO * io, const char *cmdname, const char *fmt, ...))                       \
    F(ValkeyModuleString *, SaveDataTypeToString,                                                            \
      (ValkeyModuleCtx * ctx, void *data, const ValkeyModuleType *mt))                                       \
    F(void *, LoadDataTypeFromString, (const ValkeyModuleString *str, const ValkeyModuleType *mt))           \
    F(void *, LoadDataTypeFromStringEncver,                                                                  \
      (const ValkeyModuleString *str, const ValkeyModuleType *mt, int encver))                               \
    F(ValkeyModuleCtx *, GetContextFromIO, (ValkeyModuleIO * io))                                            \
    F(const ValkeyModuleString *, GetKeyNameFromIO, (ValkeyModuleIO * io))                                   \
    F(int, GetDbIdFromIO, (ValkeyModuleIO * io))                                                             \
    F(void, DigestAddStringBuffer, (ValkeyModuleDigest * md, const char *ele, size_t len))                   \
    F(void, DigestAddLongLong, (ValkeyModuleDigest * md, long long ele))                                     \
    F(void, DigestEndSequence, (ValkeyModuleDigest * md))                                                    \
    F(const ValkeyModuleString *, GetKeyNameFromDigest, (ValkeyModuleDigest * dig))                          \
    F(int, GetDbIdFromDigest, (ValkeyModuleDigest * dig))                                                    \
    F(int, RegisterDefragFunc, (ValkeyModuleCtx * ctx, ValkeyModuleDefragFunc func))                         \
    F(void *, DefragAlloc, (ValkeyModuleDefragCtx * ctx, void *ptr))                                         \
    F(ValkeyModuleString *, DefragValkeyModuleString,                                                        \
      (ValkeyModuleDefragCtx * ctx, ValkeyModuleString * str))                                               \
    F(int, DefragShouldStop, (ValkeyModuleDefragCtx * ctx))                                                  \
    F(int, DefragCursorSet, (ValkeyModuleDefragCtx * ctx, unsigned long cursor))                             \
    F(int, DefragCursorGet, (ValkeyModuleDefragCtx * ctx, unsigned long *cursor))                            \
    F(const ValkeyModuleString *, GetKeyNameFromDefragCtx, (ValkeyModuleDefragCtx * ctx))                    \
    F(int, GetDbIdFromDefragCtx, (ValkeyModuleDefragCtx * ctx))                                              \
    F(ValkeyModuleRdbStream *, RdbStreamCreateFromFile, (const char *filename))                              \
    F(void, RdbStreamFree, (ValkeyModuleRdbStream * stream))                                                 \
    F(int, RdbLoad, (ValkeyModuleCtx * ctx, ValkeyModuleRdbStream * stream, int flags))                      \
    F(int, RdbSave, (ValkeyModuleCtx * ctx, ValkeyModuleRdbStream * stream, int flags))

/* Scripting engines for EVAL and FUNCTION, and their debuggers.
 *
 * The methods are copied. A function asks for its state often: that is also what serves others when it takes
 * long. What it calls with `S` is a script's command, with the rights of who runs it. The debugger's functions
 * do something within a session only; Log takes its string over. */
#define VALKEYMODULE_ENGINE_FUNCTIONS(F)                                                                     \
    F(int, RegisterScriptingEngine,                                                                          \
      (ValkeyModuleCtx * module_ctx, const char *engine_name, ValkeyModuleScriptingEngineCtx *engine_ctx,    \
       ValkeyModuleScriptingEngineMethods *engine_methods))                                                  \
    F(int, UnregisterScriptingEngine, (ValkeyModuleCtx * module_ctx, const char *engine_name))               \
    F(ValkeyModuleScriptingEngineExecutionState, GetFunctionExecutionState,                                  \
      (ValkeyModuleScriptingEngineServerRuntimeCtx * server_ctx))                                            \
    F(void, ScriptingEngineDebuggerLog, (ValkeyModuleString * msg, int truncate))                            \
    F(void, ScriptingEngineDebuggerLogRespReplyStr, (const char *reply))                                     \
    F(void, ScriptingEngineDebuggerLogRespReply, (ValkeyModuleCallReply * reply))                            \
    F(void, ScriptingEngineDebuggerFlushLogs, (void))                                                        \
    F(void, ScriptingEngineDebuggerProcessCommands, (int *client_disconnected, ValkeyModuleString **err))

#define VALKEYMODULE_FUNCTIONS(F)                                                                            \
    VALKEYMODULE_LOADING_FUNCTIONS(F)                                                                        \
    VALKEYMODULE_MEMORY_FUNCTIONS(F)                                                                         \
    VALKEYMODULE_MISC_FUNCTIONS(F)                                                                           \
    VALKEYMODULE_COMMAND_FUNCTIONS(F)                                                                        \
    VALKEYMODULE_FILTER_FUNCTIONS(F)                                                                         \
    VALKEYMODULE_STRING_FUNCTIONS(F)                                                                         \
    VALKEYMODULE_KEY_FUNCTIONS(F)                                                                            \
    VALKEYMODULE_STRING_VALUE_FUNCTIONS(F)                                                                   \
    VALKEYMODULE_LIST_FUNCTIONS(F)                                                                           \
    VALKEYMODULE_ZSET_FUNCTIONS(F)                                                                           \
    VALKEYMODULE_HASH_FUNCTIONS(F)                                                                           \
    VALKEYMODULE_STREAM_FUNCTIONS(F)                                                                         \
    VALKEYMODULE_REPLY_FUNCTIONS(F)                                                                          \
    VALKEYMODULE_CALL_FUNCTIONS(F)                                                                           \
    VALKEYMODULE_BLOCKING_FUNCTIONS(F)                                                                       \
    VALKEYMODULE_EVENT_FUNCTIONS(F)                                                                          \
    VALKEYMODULE_CLUSTER_FUNCTIONS(F)                                                                        \
    VALKEYMODULE_USER_FUNCTIONS(F)                                                                           \
    VALKEYMODULE_DICT_FUNCTIONS(F)                                                                           \
    VALKEYMODULE_INFO_FUNCTIONS(F)                                                                           \
    VALKEYMODULE_SCAN_FUNCTIONS(F)                                                                           \
    VALKEYMODULE_CONFIG_FUNCTIONS(F)                                                                         \
    VALKEYMODULE_TYPE_FUNCTIONS(F)                                                                           \
    VALKEYMODULE_ENGINE_FUNCTIONS(F)

#ifndef VALKEYMODULE_CORE /* the server has the functions themselves */

#ifndef VALKEYMODULE_API
#ifdef __cplusplus
#define VALKEYMODULE_API __attribute__((weak))
#else
#define VALKEYMODULE_API __attribute__((common))
#endif
#endif

#define VALKEYMODULE_POINTER(type, name, parameters) VALKEYMODULE_API type(*ValkeyModule_##name) parameters;
VALKEYMODULE_FUNCTIONS(VALKEYMODULE_POINTER)
VALKEYMODULE_API int (*ValkeyModule_GetApi)(const char *name, void *out);

#define ValkeyModule_IsAOFClient(id) ((id) == UINT64_MAX)
#define ValkeyModule_Assert(e)       ((e) ? (void)0 : (ValkeyModule__Assert(#e, __FILE__, __LINE__), exit(1)))

/* First of all in ValkeyModule_OnLoad: asks the server for every function, and tells the module's name. */
static inline int ValkeyModule_Init(ValkeyModuleCtx *ctx, const char *name, int ver, int apiver) {
    ValkeyModule_GetApi = *(int (**)(const char *, void *))ctx; /* every context begins with it */
#define VALKEYMODULE_ASK(type, function, parameters)                                                         \
    ValkeyModule_GetApi("ValkeyModule_" #function, (void *)&ValkeyModule_##function);
    VALKEYMODULE_FUNCTIONS(VALKEYMODULE_ASK)
#undef VALKEYMODULE_ASK
    if (ValkeyModule_IsModuleNameBusy && ValkeyModule_IsModuleNameBusy(name)) return VALKEYMODULE_ERR;
    ValkeyModule_SetModuleAttribs(ctx, name, ver, apiver);
    return VALKEYMODULE_OK;
}

#endif
#endif
