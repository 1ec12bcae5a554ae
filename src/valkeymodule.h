/* SPDX-License-Identifier: BSD-3-Clause */
/* valkeymodule.h - the interface between the server and its modules.
 *
 * A module is a shared object that the server loads. It adds commands, data types, directives or scripting
 * engines. This header is all that a module needs; there is no library to link with.
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
 * Each function is called through a pointer named ValkeyModule_<Name>. ValkeyModule_Init looks up all of them
 * in the server. The pointer is NULL if the server is too old to have the function. If a module consists of
 * several source files, one of them includes this header as it is, and the others define VALKEYMODULE_API as
 * `extern` before they include it.
 *
 * The lists at the end of this file declare all functions, in groups: F(return type, name, parameters). The
 * comment in front of each list describes the group. The following rules apply unless a comment says
 * otherwise:
 *
 * - A function that returns int returns VALKEYMODULE_OK or VALKEYMODULE_ERR. A predicate, such as KeyExists
 *   or IsIOError, returns 1 or 0.
 * - Strings that are passed to a function still belong to the caller.
 * - A function must be called by the main thread, or by a thread that holds the lock (ThreadSafeContextLock).
 *
 * The guide for authors of modules is docs/modules.md. */
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

/* Functions return OK or ERR unless they are described differently. */
#define VALKEYMODULE_OK       0
#define VALKEYMODULE_ERR      1
#define VALKEYMODULE_APIVER_1 1

/* The mode of OpenKey contains READ, WRITE or both. The other flags suppress effects of the lookup: NOTOUCH
 * leaves the time and the frequency of access unchanged, NONOTIFY suppresses the event of a missing key,
 * NOSTATS counts neither a hit nor a miss, NOEXPIRE does not delete an expired key (it is still treated as
 * absent), and NOEFFECTS suppresses all of these. */
#define VALKEYMODULE_READ               1
#define VALKEYMODULE_WRITE              2
#define VALKEYMODULE_OPEN_KEY_NOTOUCH   (1 << 16)
#define VALKEYMODULE_OPEN_KEY_NONOTIFY  (1 << 17)
#define VALKEYMODULE_OPEN_KEY_NOSTATS   (1 << 18)
#define VALKEYMODULE_OPEN_KEY_NOEXPIRE  (1 << 19)
#define VALKEYMODULE_OPEN_KEY_NOEFFECTS (1 << 20)

/* ListPush and ListPop take LIST_HEAD or LIST_TAIL. KeyType returns a KEYTYPE_... value, which is EMPTY if
 * the key does not exist. NO_EXPIRE is the time to live of a key that does not expire. */
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

/* CallReplyType returns one of these types. SIMPLE_STRING and ARRAY_NULL occur only if the command was called
 * with the format letter X. Without X, these replies have the types STRING and NULL. */
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

/* These values stand for the length of a collection if the length is sent only after its elements
 * (ReplySet...Length). */
#define VALKEYMODULE_POSTPONED_ARRAY_LEN (-1)
#define VALKEYMODULE_POSTPONED_LEN       (-1)

/* ZsetAdd and ZsetIncrby read XX, NX, GT and LT from *flagsptr, where they mean the same as in the command
 * ZADD. They store ADDED, UPDATED, NOP (the flags did not permit the change) or 0 (the score is unchanged)
 * there. */
#define VALKEYMODULE_ZADD_XX      1
#define VALKEYMODULE_ZADD_NX      2
#define VALKEYMODULE_ZADD_ADDED   4
#define VALKEYMODULE_ZADD_UPDATED (1 << 3)
#define VALKEYMODULE_ZADD_NOP     (1 << 4)
#define VALKEYMODULE_ZADD_GT      (1 << 5)
#define VALKEYMODULE_ZADD_LT      (1 << 6)

/* HashSet and HashGet take these flags. NX sets only fields that do not exist, and XX only fields that exist.
 * With CFIELDS, field names are C strings instead of ValkeyModuleStrings. With EXISTS, HashGet stores an int
 * for each field, which is 1 if the field exists, instead of its value. With COUNT_ALL, the result of HashSet
 * includes fields that did not exist before. */
#define VALKEYMODULE_HASH_NONE      0
#define VALKEYMODULE_HASH_NX        1
#define VALKEYMODULE_HASH_XX        2
#define VALKEYMODULE_HASH_CFIELDS   4
#define VALKEYMODULE_HASH_EXISTS    (1 << 3)
#define VALKEYMODULE_HASH_COUNT_ALL (1 << 4)

/* The stream functions take these flags. AUTOID makes StreamAdd generate the ID. EXCLUSIVE excludes the given
 * ends of the range from an iteration, and REVERSE iterates from the last entry to the first. APPROX permits
 * trimming to leave more entries than requested, which is faster, as `~` does in XTRIM. */
#define VALKEYMODULE_STREAM_ADD_AUTOID         1
#define VALKEYMODULE_STREAM_ITERATOR_EXCLUSIVE 1
#define VALKEYMODULE_STREAM_ITERATOR_REVERSE   2
#define VALKEYMODULE_STREAM_TRIM_APPROX        1

/* GetContextFlags returns a combination of these flags. LUA means that a script of any engine is running.
 * OOM_WARNING means that more than 75% of maxmemory is used. DENY_BLOCKING means that the client must not be
 * blocked. */
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

/* Each keyspace event belongs to one of these classes. KEYSPACE and KEYEVENT select the two kinds of channels
 * that the directive notify-keyspace-events enables. */
#define VALKEYMODULE_NOTIFY_KEYSPACE  1
#define VALKEYMODULE_NOTIFY_KEYEVENT  2
#define VALKEYMODULE_NOTIFY_GENERIC   4
#define VALKEYMODULE_NOTIFY_STRING    (1 << 3)
#define VALKEYMODULE_NOTIFY_LIST      (1 << 4)
#define VALKEYMODULE_NOTIFY_SET       (1 << 5)
#define VALKEYMODULE_NOTIFY_HASH      (1 << 6)
#define VALKEYMODULE_NOTIFY_ZSET      (1 << 7)
#define VALKEYMODULE_NOTIFY_EXPIRED   (1 << 8)
#define VALKEYMODULE_NOTIFY_EVICTED   (1 << 9)
#define VALKEYMODULE_NOTIFY_STREAM    (1 << 10)
#define VALKEYMODULE_NOTIFY_KEY_MISS  (1 << 11)
#define VALKEYMODULE_NOTIFY_LOADED    (1 << 12)
#define VALKEYMODULE_NOTIFY_MODULE    (1 << 13)
#define VALKEYMODULE_NOTIFY_NEW       (1 << 14)
#define VALKEYMODULE_NOTIFY_PATH_HASH (1 << 15)
#define _VALKEYMODULE_NOTIFY_NEXT     (1 << 16)

/* SetModuleOptions takes a combination of these options, which declare what the module supports.
 *
 * - HANDLE_IO_ERRORS: the rdb_load and aux_load callbacks check for read errors with IsIOError. Without this
 *   option, a read error terminates the server.
 * - NO_IMPLICIT_SIGNAL_MODIFIED: closing a key that was opened for writing does not mark it as modified. The
 *   module calls SignalModifiedKey.
 * - HANDLE_REPL_ASYNC_LOAD: a replica may load the data of its primary while it serves the old data.
 * - ALLOW_NESTED_KEYSPACE_NOTIFICATIONS: a subscriber to keyspace events is also called for events that it
 *   causes itself.
 * - SKIP_COMMAND_VALIDATION: Replicate accepts commands that this server does not know.
 * - HANDLE_ATOMIC_SLOT_MIGRATION: the module supports the migration of slots to another node.
 * - HANDLE_FORKLESS: the module accepts that OpenKey for writing returns NULL while a snapshot uses the key, and that
 *   its rdb_save callbacks run outside the main thread. */
#define VALKEYMODULE_OPTIONS_HANDLE_IO_ERRORS                    1
#define VALKEYMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED          2
#define VALKEYMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD              4
#define VALKEYMODULE_OPTIONS_ALLOW_NESTED_KEYSPACE_NOTIFICATIONS (1 << 3)
#define VALKEYMODULE_OPTIONS_SKIP_COMMAND_VALIDATION             (1 << 4)
#define VALKEYMODULE_OPTIONS_HANDLE_ATOMIC_SLOT_MIGRATION        (1 << 5)
#define VALKEYMODULE_OPTIONS_HANDLE_FORKLESS                     (1 << 6)
#define _VALKEYMODULE_OPTIONS_FLAGS_NEXT                         (1 << 7)

/* The Register...Config functions take these flags. IMMUTABLE directives cannot be changed at run time,
 * SENSITIVE values are never logged, HIDDEN directives do not match patterns of CONFIG GET, PROTECTED ones
 * require enable-protected-configs, and DENY_LOADING ones cannot be set while a dataset is being loaded.
 * MEMORY permits units such as mb in numbers. BITFLAGS permits several words in an enum. */
#define VALKEYMODULE_CONFIG_DEFAULT      0
#define VALKEYMODULE_CONFIG_IMMUTABLE    1
#define VALKEYMODULE_CONFIG_SENSITIVE    2
#define VALKEYMODULE_CONFIG_HIDDEN       (1 << 4)
#define VALKEYMODULE_CONFIG_PROTECTED    (1 << 5)
#define VALKEYMODULE_CONFIG_DENY_LOADING (1 << 6)
#define VALKEYMODULE_CONFIG_MEMORY       (1 << 7)
#define VALKEYMODULE_CONFIG_BITFLAGS     (1 << 8)
#define VALKEYMODULE_CONFIG_UNSIGNED     (1 << 9)

/* RegisterCommandFilter takes CMDFILTER_NOSELF, with which a filter is not called for commands that its own
 * module calls. The other flags describe the arguments, keys and channels of commands. */
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

/* An authentication callback returns AUTH_HANDLED or AUTH_NOT_HANDLED. Yield takes YIELD_FLAG_...,
 * BlockClientOnKeysWithFlags takes BLOCK_UNBLOCK_..., and the callbacks and functions for file descriptors
 * use EVENTLOOP_... */
#define VALKEYMODULE_AUTH_HANDLED          0
#define VALKEYMODULE_AUTH_NOT_HANDLED      1
#define VALKEYMODULE_YIELD_FLAG_NONE       1
#define VALKEYMODULE_YIELD_FLAG_CLIENTS    2
#define VALKEYMODULE_BLOCK_UNBLOCK_DEFAULT 0
#define VALKEYMODULE_BLOCK_UNBLOCK_DELETED 1
#define VALKEYMODULE_EVENTLOOP_READABLE    1
#define VALKEYMODULE_EVENTLOOP_WRITABLE    2

/* GetClusterNodeInfo returns a combination of NODE_MYSELF to NODE_NOFAILOVER. SetClusterFlags takes a
 * combination of CLUSTER_FLAG_... */
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

/* TYPE_METHOD_VERSION is the newest version of ValkeyModuleTypeMethods. AUX_BEFORE_RDB means that auxiliary
 * data is saved before the keys, and AUX_AFTER_RDB that it is saved after them. */
#define VALKEYMODULE_TYPE_METHOD_VERSION 5
#define VALKEYMODULE_AUX_BEFORE_RDB      1
#define VALKEYMODULE_AUX_AFTER_RDB       2

/* EVENT_... values identify server events. The values after them are subevents, which state what has
 * happened. The subevents of COMMAND_RESULT_ACL_REJECTED are the values of ValkeyModuleACLLogEntryReason. */
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

/* The flags of ValkeyModuleClientInfo are a combination of these. */
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

/* These are the current versions of the structures that have a member `version`. */
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

/* VM_CallArgv takes a combination of these flags. They correspond to the option letters of the format of
 * Call. */
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

/* HashSet deletes a field if its value is HASH_DELETE. */
#define VALKEYMODULE_HASH_DELETE ((ValkeyModuleString *)(long)1)
/* NOTIFY_ALL contains the classes that the letter A of notify-keyspace-events stands for. */
#define VALKEYMODULE_NOTIFY_ALL                                                                              \
    (VALKEYMODULE_NOTIFY_GENERIC | VALKEYMODULE_NOTIFY_STRING | VALKEYMODULE_NOTIFY_LIST |                   \
     VALKEYMODULE_NOTIFY_SET | VALKEYMODULE_NOTIFY_HASH | VALKEYMODULE_NOTIFY_ZSET |                         \
     VALKEYMODULE_NOTIFY_EXPIRED | VALKEYMODULE_NOTIFY_EVICTED | VALKEYMODULE_NOTIFY_STREAM |                \
     VALKEYMODULE_NOTIFY_MODULE | VALKEYMODULE_NOTIFY_PATH_HASH)
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

/* The following types are opaque. A module has only pointers to them. */
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

/* This structure describes a range of slots, which includes both ends. */
typedef struct ValkeyModuleSlotRange {
    int start_slot;
    int end_slot;
} ValkeyModuleSlotRange;

/* The server calls these functions of modules. The context and all arguments, except a module's own data, are
 * valid only until the callback returns. */
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

/* The server reads and sets a directive through these callbacks. The name is passed without the prefix of the
 * module. A setter returns VALKEYMODULE_ERR to reject a value, and may then store a string with the reason in
 * *err, which the server frees. The apply function is called once after all values of a CONFIG SET are
 * set. */
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

/* ---- Descriptions of commands (SetCommandInfo) ---- */

/* An argument of type KEY is a key of the key spec with the index key_spec_index. For ONEOF, exactly one of
 * subargs is given. For BLOCK, all of subargs are given. */
typedef enum {
    VALKEYMODULE_ARG_TYPE_STRING,
    VALKEYMODULE_ARG_TYPE_INTEGER,
    VALKEYMODULE_ARG_TYPE_DOUBLE,
    VALKEYMODULE_ARG_TYPE_KEY,
    VALKEYMODULE_ARG_TYPE_PATTERN,
    VALKEYMODULE_ARG_TYPE_UNIX_TIME,
    VALKEYMODULE_ARG_TYPE_PURE_TOKEN,
    VALKEYMODULE_ARG_TYPE_ONEOF,
    VALKEYMODULE_ARG_TYPE_BLOCK
} ValkeyModuleCommandArgType;

/* This structure describes an argument of a command. The flags are a combination of VALKEYMODULE_CMD_ARG_...
 * An array of arguments ends with an element whose name is NULL. */
typedef struct ValkeyModuleCommandArg {
    const char *name;
    ValkeyModuleCommandArgType type;
    int key_spec_index;
    const char *token;
    const char *summary;
    const char *since;
    int flags;
    const char *deprecated_since;
    struct ValkeyModuleCommandArg *subargs;
    const char *display_text;
} ValkeyModuleCommandArg;

/* This structure describes a change of a command. An array of changes ends with an element whose `since` is
 * NULL. */
typedef struct ValkeyModuleCommandHistoryEntry {
    const char *since;
    const char *changes;
} ValkeyModuleCommandHistoryEntry;

/* A key spec describes which arguments of a command are keys. The begin search determines the first argument
 * to consider, and the find keys part determines the keys from there on. OMITTED means that the first
 * argument is the only key. An array of key specs ends with an element of type BS_INVALID. */
typedef enum {
    VALKEYMODULE_KSPEC_BS_INVALID,
    VALKEYMODULE_KSPEC_BS_UNKNOWN,
    VALKEYMODULE_KSPEC_BS_INDEX,
    VALKEYMODULE_KSPEC_BS_KEYWORD
} ValkeyModuleKeySpecBeginSearchType;
typedef enum {
    VALKEYMODULE_KSPEC_FK_OMITTED,
    VALKEYMODULE_KSPEC_FK_UNKNOWN,
    VALKEYMODULE_KSPEC_FK_RANGE,
    VALKEYMODULE_KSPEC_FK_KEYNUM
} ValkeyModuleKeySpecFindKeysType;

/* This structure contains a key spec. The flags are a combination of VALKEYMODULE_CMD_KEY_... A negative
 * startfrom searches backwards, from that position relative to the last argument. In a range, lastkey is
 * relative to the first key or, if it is negative, to the last argument. If lastkey is -1 and limit is
 * greater than 1, the keys are in the first 1/limit of the remaining arguments. */
typedef struct ValkeyModuleCommandKeySpec {
    const char *notes;
    uint64_t flags;
    ValkeyModuleKeySpecBeginSearchType begin_search_type;
    union {
        struct {
            int pos;
        } index;
        struct {
            const char *keyword;
            int startfrom;
        } keyword;
    } bs;
    ValkeyModuleKeySpecFindKeysType find_keys_type;
    union {
        struct {
            int lastkey;
            int keystep;
            int limit;
        } range;
        struct {
            int keynumidx, firstkey, keystep;
        } keynum;
    } fk;
} ValkeyModuleCommandKeySpec;

/* This structure contains the sizes of the elements of arrays, as the module was compiled with them. The
 * server uses them to access the arrays. */
typedef struct ValkeyModuleCommandInfoVersion {
    int version;
    size_t sizeof_historyentry;
    size_t sizeof_keyspec;
    size_t sizeof_arg;
} ValkeyModuleCommandInfoVersion;

/* This structure describes a command, for COMMAND INFO and COMMAND DOCS. The version is
 * VALKEYMODULE_COMMAND_INFO_VERSION. The tips are words separated by spaces. A positive arity is the exact
 * number of arguments, including the command name. The arity -N means at least N arguments, and 0 keeps the
 * present arity. SetCommandInfo copies everything. */
typedef struct ValkeyModuleCommandInfo {
    const ValkeyModuleCommandInfoVersion *version;
    const char *summary;
    const char *complexity;
    const char *since;
    ValkeyModuleCommandHistoryEntry *history;
    const char *tips;
    int arity;
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

/* ---- Data types (CreateDataType) ---- */

/* The server calls these methods of a data type. rdb_load returns NULL if the value cannot be loaded, and
 * aux_load returns VALKEYMODULE_ERR if its data cannot be loaded. copy returns the new value, or NULL if it
 * cannot be copied. */
typedef void *(*ValkeyModuleTypeLoadFunc)(ValkeyModuleIO *rdb, int encver);
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

/* This structure contains the methods of a data type. Methods that the type does not support are NULL.
 *
 * - version is VALKEYMODULE_TYPE_METHOD_VERSION. Members that were added in later versions are not read.
 * - free releases a value. A background thread may call it without the lock.
 * - aux_load and aux_save load and save data that belongs to no key. aux_save_triggers is a combination of
 *   VALKEYMODULE_AUX_... values.
 * - aux_save2 replaces aux_save. If it saves nothing, the file contains nothing of this type.
 * - free_effort returns the effort of freeing a value. A value may be freed in the background if the effort
 *   is greater than 64, and always if it is 0.
 * - defrag returns a value other than 0 if it has to be called again for the rest of the value.
 *
 * If both a method and its variant with the suffix 2 are set, the variant is called. */
typedef struct ValkeyModuleTypeMethods {
    uint64_t version;
    ValkeyModuleTypeLoadFunc rdb_load;
    ValkeyModuleTypeSaveFunc rdb_save;
    ValkeyModuleTypeRewriteFunc aof_rewrite;
    ValkeyModuleTypeMemUsageFunc mem_usage;
    ValkeyModuleTypeDigestFunc digest;
    ValkeyModuleTypeFreeFunc free;
    /* The following members exist since version 2. */
    ValkeyModuleTypeAuxLoadFunc aux_load;
    ValkeyModuleTypeAuxSaveFunc aux_save;
    int aux_save_triggers;
    /* The following members exist since version 3. */
    ValkeyModuleTypeFreeEffortFunc free_effort;
    ValkeyModuleTypeUnlinkFunc unlink;
    ValkeyModuleTypeCopyFunc copy;
    ValkeyModuleTypeDefragFunc defrag;
    /* The following members exist since version 4. */
    ValkeyModuleTypeMemUsageFunc2 mem_usage2;
    ValkeyModuleTypeFreeEffortFunc2 free_effort2;
    ValkeyModuleTypeUnlinkFunc2 unlink2;
    ValkeyModuleTypeCopyFunc2 copy2;
    /* The following member exists since version 5. */
    ValkeyModuleTypeAuxSaveFunc aux_save2;
} ValkeyModuleTypeMethods;

/* ---- Server events (SubscribeToServerEvent) ---- */

/* This structure identifies a server event. The id is one of VALKEYMODULE_EVENT_..., and dataver is the
 * version of the structure that is passed with the event. */
typedef struct ValkeyModuleEvent {
    uint64_t id;
    uint64_t dataver;
} ValkeyModuleEvent;
/* Callbacks of this type receive server events. `data` points to the structure of the event, or is NULL if
 * the event has none. It is valid only until the callback returns. */
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

/* This structure describes a client, in events of type ClientChange and for GetClientInfoById. The caller of
 * GetClientInfoById sets the version first. The flags are a combination of
 * VALKEYMODULE_CLIENTINFO_FLAG_... */
typedef struct ValkeyModuleClientInfo {
    uint64_t version;
    uint64_t flags;
    uint64_t id;
    char addr[46];
    uint16_t port;
    uint16_t db;
} ValkeyModuleClientInfo;
#define VALKEYMODULE_CLIENTINFO_INITIALIZER_V1                                                               \
    { .version = 1 }

/* This structure is passed with ReplicationRoleChanged. `primary` is 1 if this server is a primary now; then
 * primary_host is an empty string. */
typedef struct ValkeyModuleReplicationInfo {
    uint64_t version;
    int primary;
    const char *primary_host;
    int primary_port;
    const char *replid1, *replid2;
    uint64_t repl1_offset, repl2_offset;
} ValkeyModuleReplicationInfo;

/* This structure is passed with FlushDB. dbnum is -1 if all databases are emptied. */
typedef struct ValkeyModuleFlushInfo {
    uint64_t version;
    int32_t sync;
    int32_t dbnum;
} ValkeyModuleFlushInfo;

/* This structure is passed with ModuleChange. */
typedef struct ValkeyModuleModuleChange {
    uint64_t version;
    const char *module_name;
    int32_t module_version;
} ValkeyModuleModuleChange;

/* This structure is passed with Config. config_names are the directives that have changed. */
typedef struct ValkeyModuleConfigChange {
    uint64_t version;
    uint32_t num_changes;
    const char **config_names;
} ValkeyModuleConfigChange;

/* This structure is passed with CronLoop. hz is the number of these events per second. */
typedef struct ValkeyModuleCronLoopInfo {
    uint64_t version;
    int32_t hz;
} ValkeyModuleCronLoop;

/* This structure is passed with LoadingProgress. progress is between 0 and 1024, or -1 if it is unknown. */
typedef struct ValkeyModuleLoadingProgressInfo {
    uint64_t version;
    int32_t hz;
    int32_t progress;
} ValkeyModuleLoadingProgress;

/* This structure is passed with SwapDB. */
typedef struct ValkeyModuleSwapDbInfo {
    uint64_t version;
    int32_t dbnum_first;
    int32_t dbnum_second;
} ValkeyModuleSwapDbInfo;

/* This structure is passed with Key. The key is open for reading, with the value that it has before the
 * change. The server closes it. */
typedef struct ValkeyModuleKeyInfo {
    uint64_t version;
    ValkeyModuleKey *key;
} ValkeyModuleKeyInfo;

typedef enum {
    VALKEYMODULE_AUTH_RESULT_GRANTED,
    VALKEYMODULE_AUTH_RESULT_DENIED
} ValkeyModuleAuthenticationResult;
/* This structure is passed with AuthenticationAttempt. module_name is the module that decided, or NULL if the
 * server did. */
typedef struct ValkeyModuleAuthenticationInfo {
    uint64_t version;
    uint64_t client_id;
    const char *username;
    const char *module_name;
    ValkeyModuleAuthenticationResult result;
} ValkeyModuleAuthenticationInfo;

/* This structure is passed with AtomicSlotMigration. */
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
/* This structure is passed with the CommandResult... events. command_name is NULL if the command is unknown.
 * duration_us and dirty, the number of changes to the dataset, are 0 for rejected commands. rejection_context
 * is the error of a rejected command, the key or channel that the ACL denies, or NULL. */
typedef struct ValkeyModuleCommandResultInfo {
    uint64_t version;
    const char *command_name;
    int64_t duration_us;
    int64_t dirty;
    uint64_t client_id;
    int is_module_client;
    int argc;
    ValkeyModuleString **argv;
    const char *rejection_context;
} ValkeyModuleCommandResultInfo;

/* ---- Scripting engines (RegisterScriptingEngine) ---- */

/* VMSE_EVAL selects the scripts of EVAL, VMSE_FUNCTION the libraries of FUNCTION, and VMSE_ALL both. A script
 * with EVAL_COMPAT_MODE has no `#!` line, so it follows the rules for scripts that declare no flags. */
typedef enum { VMSE_EVAL, VMSE_FUNCTION, VMSE_ALL } ValkeyModuleScriptingEngineSubsystemType;
typedef enum { VMSE_STATE_EXECUTING, VMSE_STATE_KILLED } ValkeyModuleScriptingEngineExecutionState;
typedef enum {
    VMSE_SCRIPT_FLAG_NO_WRITES = 1 << 0,
    VMSE_SCRIPT_FLAG_ALLOW_OOM = 1 << 1,
    VMSE_SCRIPT_FLAG_ALLOW_STALE = 1 << 2,
    VMSE_SCRIPT_FLAG_NO_CLUSTER = 1 << 3,
    VMSE_SCRIPT_FLAG_EVAL_COMPAT_MODE = 1 << 4,
    VMSE_SCRIPT_FLAG_ALLOW_CROSS_SLOT = 1 << 5
} ValkeyModuleScriptingEngineScriptFlag;

/* This structure contains a compiled function. `name` is the name of a function of a library. `function`
 * belongs to the engine. `desc` may be NULL. f_flags is a combination of VMSE_SCRIPT_FLAG_... */
typedef struct ValkeyModuleScriptingEngineCompiledFunction {
    uint64_t version;
    ValkeyModuleString *name;
    void *function;
    ValkeyModuleString *desc;
    uint64_t f_flags;
} ValkeyModuleScriptingEngineCompiledFunction;

/* This structure contains the memory use of an engine, in bytes. */
typedef struct ValkeyModuleScriptingEngineMemoryInfo {
    uint64_t version;
    size_t used_memory;
    size_t engine_memory_overhead;
} ValkeyModuleScriptingEngineMemoryInfo;

/* This structure contains the part of a reset that is done in the background: a background thread calls the
 * callback once, without the lock. The engine allocates the structure with ValkeyModule_Alloc, and the server
 * frees it. */
typedef struct ValkeyModuleScriptingEngineCallableLazyEnvReset {
    void *context;
    void (*engineLazyEnvResetCallback)(void *context);
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

/* A handler runs a command of a debugger. It returns 1 to read the next command, or 0 to continue the
 * script. */
typedef int (*ValkeyModuleScriptingEngineDebuggerCommandHandlerFunc)(ValkeyModuleString **argv, size_t argc,
                                                                     void *context);
/* This structure describes a command of a debugger. The first prefix_len characters of the name are its
 * abbreviation; 0 means that there is none. An invisible command is not listed by `help`. The handler
 * receives the context, or the context of the engine if it is NULL. */
typedef struct ValkeyModuleScriptingEngineDebuggerCommand {
    uint64_t version;
    const char *name;
    size_t prefix_len;
    const ValkeyModuleScriptingEngineDebuggerCommandParam *params;
    size_t params_len;
    const char *desc;
    int invisible;
    ValkeyModuleScriptingEngineDebuggerCommandHandlerFunc handler;
    void *context;
} ValkeyModuleScriptingEngineDebuggerCommand;

/* The server calls these methods of an engine. compile_code returns an array of functions. The engine
 * allocates the array with ValkeyModule_Alloc, and the server frees it; the functions are freed with
 * free_function. If the code cannot be compiled, compile_code returns NULL and stores a string with the
 * reason in *err, which the server frees. */
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

/* This structure contains the methods of an engine. The version is
 * VALKEYMODULE_SCRIPTING_ENGINE_ABI_VERSION. */
typedef struct ValkeyModuleScriptingEngineMethods {
    uint64_t version;
    ValkeyModuleScriptingEngineCompileCodeFunc compile_code;
    ValkeyModuleScriptingEngineFreeFunctionFunc free_function;
    ValkeyModuleScriptingEngineCallFunctionFunc call_function;
    ValkeyModuleScriptingEngineGetFunctionMemoryOverheadFunc get_function_memory_overhead;
    ValkeyModuleScriptingEngineResetEnvFunc reset_env;
    ValkeyModuleScriptingEngineGetMemoryInfoFunc get_memory_info;
    /* The following members exist since version 4. An engine defines either all of them or none. */
    ValkeyModuleScriptingEngineDebuggerEnableFunc debugger_enable;
    ValkeyModuleScriptingEngineDebuggerDisableFunc debugger_disable;
    ValkeyModuleScriptingEngineDebuggerStartFunc debugger_start;
    ValkeyModuleScriptingEngineDebuggerEndFunc debugger_end;
} ValkeyModuleScriptingEngineMethods;

/* ---- Handlers of replies (VM_CallArgv) ---- */

/* VM_CallArgv calls a command and passes its reply to these handlers, element by element. A handler that is
 * NULL is skipped. The version is VALKEYMODULE_REPLY_HANDLERS_VERSION. onRespAvailable receives the whole
 * reply in RESP first; if it returns 0, the other handlers are not called. onBlocked is called if the command
 * blocks; the reply is passed later. VM_CallArgvAbort(handle) cancels such a call. The two functions are not
 * in the lists below; the server exports them by name. */
typedef struct ValkeyModuleReplyHandlers {
    uint64_t version;
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

/* These functions concern the module itself. ValkeyModule_Init calls SetModuleAttribs, which sets the name of
 * the module, and IsModuleNameBusy, which returns 1 if a loaded module has that name. SetModuleOptions
 * replaces all options (VALKEYMODULE_OPTION...). UpdateRuntimeArgs sets the arguments that CONFIG REWRITE
 * writes after the path of the module; argv[0] is ignored.
 *
 * ExportSharedAPI publishes a function for other modules, and GetSharedAPI returns it, or NULL if it does not
 * exist. A module cannot be unloaded while other modules use its functions.
 *
 * The Get...All functions return all flags that this server knows. GetServerVersion returns 0x00MMmmpp
 * (major, minor, patch). */
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

/* These functions allocate memory that counts in used_memory. They may be called from any thread, except
 * PoolAlloc and AutoMemory.
 *
 * Alloc, Calloc, Realloc and Strdup terminate the server if there is not enough memory; the Try... functions
 * return NULL. Memory of PoolAlloc is freed when the callback returns. After AutoMemory, keys, strings,
 * replies and dictionaries that are created in this context are freed when the callback returns, too.
 *
 * MallocSize returns the size of an allocation, and MallocUsableSize how much of it may be written to.
 * GetUsedMemoryRatio returns used memory divided by maxmemory, or 0 if there is no limit. */
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

/* These functions provide time, random bytes, the log, latency samples and INFO.
 *
 * Milliseconds and Microseconds return Unix time, CachedMicroseconds the Unix time at which the current
 * command began, and MonotonicMicroseconds a time since an arbitrary point. Log levels are "debug",
 * "verbose", "notice" and "warning". GetContextFlags returns VALKEYMODULE_CTX_FLAGS_...; ctx may be NULL.
 * AvoidReplicaTraffic returns 1 while clients are paused, when nothing should be sent to replicas.
 *
 * A long operation calls Yield often, so that other clients are served during it. With YIELD_FLAG_CLIENTS,
 * only commands that are allowed while the server is busy run; other commands fail with the error "BUSY
 * <busy_reply>". Without it, clients are served only while a dataset is being loaded.
 *
 * GetServerInfo returns a section of INFO, which the module frees with FreeServerInfo. The
 * ServerInfoGetField... functions return a field of it. If the field does not exist or has another type, they
 * return NULL or 0, and *out_err is VALKEYMODULE_ERR. */
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

/* These functions create and describe commands. CreateCommand, CreateSubcommand, SetCommandACLCategories and
 * AddACLCategory fail outside of ValkeyModule_OnLoad.
 *
 * Flags of a command are words separated by spaces: "write readonly admin deny-oom deny-script allow-loading
 * pubsub blocking allow-stale no-monitor no-commandlog fast no-auth may-replicate getkeys-api getchannels-api
 * no-cluster no-mandatory-keys allow-busy all-dbs". firstkey, lastkey and keystep are 0 for a command without
 * keys. If cmdfunc is NULL, the command is a container for subcommands.
 *
 * With the flag getkeys-api, the server also calls cmdfunc to find the keys of a command.
 * IsKeysPositionRequest then returns 1, and cmdfunc calls KeyAtPos... for each key and does nothing else. The
 * flag getchannels-api does the same for channels.
 *
 * SetCommandInfo sets errno to EINVAL if the description is invalid, and to EEXIST if the command has one.
 * AddACLCategory sets EINVAL, EBUSY (the category exists) or ENOMEM (there are too many). GetCommandKeys
 * returns an array of positions, which the module frees. It returns NULL and sets errno to ENOENT if the
 * command does not exist, to EINVAL if the number of arguments is wrong, and to 0 if there are no keys. */
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

/* A command filter is called for each command before it is looked up, and may change its arguments. The
 * server takes ownership of strings that a filter inserts or uses as replacements. Positions outside of the
 * arguments are errors. */
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

/* Strings have a reference count. The module frees each string that it creates (FreeString), unless
 * AutoMemory is on. RetainString keeps a string until the module frees it, even with AutoMemory. HoldString
 * returns the string with a new reference, which AutoMemory may free. A thread without the lock may only read
 * and free strings that have a single reference.
 *
 * StringPtrLen returns the bytes of the string, which are valid as long as the string is unchanged and not
 * freed. StringAppendBuffer fails if the string has other references. The StringTo... functions return
 * VALKEYMODULE_ERR unless the whole string is a valid number or stream ID. */
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

/* These functions concern databases and keys of any type.
 *
 * In the context of a command, SelectDb also changes the database of the client. OpenKey returns NULL if the
 * mode lacks WRITE and the key does not exist. The module closes keys with CloseKey, unless AutoMemory is on.
 * Closing a key that was opened for writing marks it as modified for WATCH and client-side caching. Functions
 * that change a key fail if it is not open for writing.
 *
 * Times to live are in milliseconds. GetExpire and SetExpire use durations, and the Abs functions Unix times.
 * LRU idle times are in milliseconds.
 *
 * Changes through the functions of this group and of the following ones are not replicated and cause no
 * keyspace events. The module calls Replicate and NotifyKeyspaceEvent itself. */
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

/* These functions access a key that holds a string. StringDMA returns the bytes themselves, which are valid
 * until the next call with this key. They may be changed only if the mode is WRITE and the key is open for
 * writing. StringTruncate changes the length and fills a longer string with zero bytes. */
#define VALKEYMODULE_STRING_VALUE_FUNCTIONS(F)                                                               \
    F(int, StringSet, (ValkeyModuleKey * key, ValkeyModuleString * str))                                     \
    F(char *, StringDMA, (ValkeyModuleKey * key, size_t * len, int mode))                                    \
    F(int, StringTruncate, (ValkeyModuleKey * key, size_t newlen))

/* These functions access a key that holds a list. Negative positions count from the end, with -1 for the last
 * element. On failure they set errno: EINVAL (an argument is NULL), ENOTSUP (the key is not a list), EBADF
 * (the key is not open in the required mode) or EDOM (there is no such position). */
#define VALKEYMODULE_LIST_FUNCTIONS(F)                                                                       \
    F(int, ListPush, (ValkeyModuleKey * kp, int where, ValkeyModuleString *ele))                             \
    F(ValkeyModuleString *, ListPop, (ValkeyModuleKey * key, int where))                                     \
    F(ValkeyModuleString *, ListGet, (ValkeyModuleKey * key, long index))                                    \
    F(int, ListSet, (ValkeyModuleKey * key, long index, ValkeyModuleString *value))                          \
    F(int, ListInsert, (ValkeyModuleKey * key, long index, ValkeyModuleString *value))                       \
    F(int, ListDelete, (ValkeyModuleKey * key, long index))

/* These functions access a key that holds a sorted set. A key has one iterator: ZsetFirstIn... and
 * ZsetLastIn... position it, ZsetRangeNext and ZsetRangePrev move it and return 0 at the end of the range. If
 * the set is changed during an iteration, the iterator is invalid. The ends of lexicographic ranges have the
 * syntax of ZRANGE with BYLEX. */
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

/* These functions access a key that holds a hash. The variable arguments of HashSet are pairs of a field and
 * a value, and those of HashGet are pairs of a field and a pointer to where its value is stored (NULL if the
 * field does not exist). A NULL in place of a field ends the list. The module frees the values.
 *
 * HashSet returns how many existing fields were updated or deleted. If it returns 0, errno is EINVAL, ENOTSUP
 * (the key is not a hash), EBADF (the key is not open for writing) or ENOENT (there was nothing to count).
 *
 * HashSetStringRef sets an existing field to a value that stays in the memory of the module. The module keeps
 * the buffer until the field is changed or deleted. The function returns -1 if the field does not exist. */
#define VALKEYMODULE_HASH_FUNCTIONS(F)                                                                       \
    F(int, HashSet, (ValkeyModuleKey * key, int flags, ...))                                                 \
    F(int, HashGet, (ValkeyModuleKey * key, int flags, ...))                                                 \
    F(int, HashSetStringRef,                                                                                 \
      (ValkeyModuleKey * key, ValkeyModuleString * field, const char *buf, size_t len))                      \
    F(int, HashHasStringRef, (ValkeyModuleKey * key, ValkeyModuleString * field))

/* These functions access a key that holds a stream. On failure they set errno: EINVAL (invalid arguments),
 * ENOTSUP (the key is not a stream), EBADF (the key is not open for writing, or the iteration is in the wrong
 * state), EDOM (the ID is not allowed), EFBIG (no greater ID exists), ERANGE (the entry is too large) or
 * ENOENT (there is no such entry, or no more of them). The trim functions return the number of deleted
 * entries, or -1 on failure. */
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

/* These functions send a reply to the client of the context. In a context without a client, such as that of a
 * timer, replies are discarded. Only ReplyWithCallReply and ReplyWithAttribute can fail: the former for
 * promises and for RESP3 replies to a client that uses RESP2, the latter for all clients that use RESP2. A
 * thread needs no lock to reply in the context of its blocked client.
 *
 * A collection starts with its length, which is followed by its elements. With VALKEYMODULE_POSTPONED_LEN,
 * the length is set after the elements, with ReplySet...Length. If it is never set, the client is
 * disconnected. Types that exist only in RESP3 are converted for clients that use RESP2. ReplySetPushLength
 * is always NULL. */
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

/* Call runs a command. The format has a letter for each argument:
 *
 *     c  C string              b  bytes and size_t      v  array of ValkeyModuleStrings and size_t
 *     s  ValkeyModuleString    l  long long
 *
 * and letters for options:
 *
 *     !  replicate the command       A  do not write it to the AOF    R  do not send it to replicas
 *     3  reply in RESP3              0  reply in the protocol of the client
 *     C  check the ACL of the user   S  apply the rules for scripts
 *     W  reject write commands       M  reject commands that use more memory if maxmemory is reached
 *     E  return a rejection as an error reply
 *     D  only check whether the command may run
 *     K  permit the command to block; the reply is a promise then
 *     X  distinguish simple strings and null arrays from other types
 *
 * Call returns a reply, which the module frees with FreeCallReply unless AutoMemory is on. Elements of a
 * reply belong to it. If the command is rejected, Call returns NULL unless E is given, and errno is EBADF
 * (invalid format), ENOENT (unknown command), EINVAL (wrong number of arguments), EACCES (ACL), ENOTSUP (C
 * without a user), ENOSPC (W or M) or ESPIPE (S). In a cluster, errno has other values if the slots of the
 * keys do not permit the command.
 *
 * If a reply has another type than the function expects, CallReplyInteger returns LLONG_MIN, CallReplyDouble
 * the same number as a double, CallReplyBool INT_MIN, and functions that return pointers return NULL.
 * CallReplyPromiseSetUnblockHandler sets the function that receives, and frees, the reply of a blocked
 * command. CallReplyPromiseAbort cancels the command.
 *
 * Replicate takes the same format, and sends a command to the AOF and the replicas without running it. */
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

/* These functions block clients and let threads use the server.
 *
 * BlockClient returns a handle, or NULL with errno EINVAL or ENOTSUP if the context has no client that can be
 * blocked. The module must call UnblockClient or AbortBlock for each handle, even if the client has
 * disconnected or its timeout has expired. The handle is invalid afterwards. Both functions may be called
 * from any thread. The callbacks run with the lock held. If timeout_ms is 0, there is no timeout.
 *
 * A client that is blocked on keys is unblocked when its reply callback returns VALKEYMODULE_OK. The server
 * then frees the handle, and also if the client disconnects or its timeout expires. UnblockClient fails with
 * errno ENOTSUP for such a client if it has no timeout callback.
 *
 * The context of GetThreadSafeContext may be used by one thread at a time. It needs no lock to send replies
 * to its blocked client. All other functions require the lock. The context and the lock functions may be
 * called from any thread. ThreadSafeContextTryLock fails with errno EBUSY if the lock is not free. A thread
 * must release the lock soon, because the server does nothing else meanwhile. */
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

/* These functions register callbacks for timers, file descriptors, keyspace events and server events, and
 * manage child processes. Callbacks for events run in the thread that causes the event, with the lock held.
 * All other callbacks run in the main thread.
 *
 * A timer is called once, after a period in milliseconds. EventLoopAdd fails with errno ERANGE (the
 * descriptor is outside of the event loop) or EINVAL. EventLoopAddOneShot makes the main thread call a
 * function; it may be called from any thread.
 *
 * A callback for keyspace events should not write to the dataset. It calls AddPostNotificationJob to have a
 * function called after the command, when writing is permitted. SubscribeToServerEvent with the callback NULL
 * ends a subscription.
 *
 * Fork returns the process ID in the server, 0 in the child and -1 on failure. Only one child of any kind
 * exists at a time. The child ends with ExitFromChild. PublishMessage... return the number of local
 * subscribers that received the message. */
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

/* These functions concern the cluster. The IDs of nodes have VALKEYMODULE_NODE_ID_LEN bytes. They have no
 * terminating NUL in the list of GetClusterNodesList, which the module frees with FreeClusterNodesList, and
 * in primary_id. For GetClusterNodeInfo, ip has 46 bytes; each result may be NULL.
 *
 * A message is delivered to the module of the same name on the other node. If target_id is NULL, it is sent
 * to all nodes. Flags of SetClusterFlags cannot be removed. If cluster mode is off, the functions that
 * concern nodes return VALKEYMODULE_ERR, NULL or 0. */
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

/* These functions concern clients, ACL users and authentication.
 *
 * Functions that take the ID of a client fail if there is no such client. The module frees users of
 * CreateModuleUser and GetModuleUserFromUserName with FreeModuleUser. SetModuleUserACL applies one ACL rule
 * and returns 0, or -1 on failure. SetModuleUserACLString applies several rules, and on failure stores a
 * string with the reason in *error, which the module frees. SetContextUser sets the user for calls with the
 * format letter C.
 *
 * The ACLCheck... functions return VALKEYMODULE_OK if the user has the permission. Otherwise errno is EACCES
 * (denied; not set for channels), EINVAL (invalid flags or database; also an unknown command for
 * ACLCheckPermissions) or ENOENT (unknown command).
 *
 * An authentication callback runs before the server checks the password. AuthenticateClientWith...
 * authenticates the client of the context; its callback is called once, when the client gets another user or
 * disconnects. */
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

/* A dictionary maps keys, which are ordered by their bytes, to pointers. DictSet fails if the key exists.
 * DictReplace returns VALKEYMODULE_ERR if it has replaced a value. DictDel stores the deleted pointer in
 * *oldval, if oldval is not NULL.
 *
 * An iterator starts at the first element ("^"), at the last one ("$"), or at the element whose key has the
 * relation "==", ">", ">=", "<" or "<=" to the given key. The module frees iterators with DictIteratorStop. A
 * key that DictNextC or DictPrevC returns is valid until the next call with the iterator; they return NULL at
 * the end. */
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

/* These functions add sections to INFO. They may be called only in the callback of RegisterInfoFunc.
 * InfoAddSection returns VALKEYMODULE_ERR if the section was not requested; then its fields are ignored. */
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

/* Scan iterates over all keys of the selected database, and ScanKey over the elements of a hash, set or
 * sorted set. Each call passes some elements to the callback. They return 1 while there is more to scan and 0
 * at the end. errno is ENOENT if the scan had ended before, and EINVAL if the key has another type. */
#define VALKEYMODULE_SCAN_FUNCTIONS(F)                                                                       \
    F(ValkeyModuleScanCursor *, ScanCursorCreate, (void))                                                    \
    F(void, ScanCursorRestart, (ValkeyModuleScanCursor * cursor))                                            \
    F(void, ScanCursorDestroy, (ValkeyModuleScanCursor * cursor))                                            \
    F(int, Scan,                                                                                             \
      (ValkeyModuleCtx * ctx, ValkeyModuleScanCursor * cursor, ValkeyModuleScanCB fn, void *privdata))       \
    F(int, ScanKey,                                                                                          \
      (ValkeyModuleKey * key, ValkeyModuleScanCursor * cursor, ValkeyModuleScanKeyCB fn, void *privdata))

/* These functions register directives, which get the name "module.name". They fail outside of
 * ValkeyModule_OnLoad (errno EBUSY), for invalid names or flags (EINVAL) and for names that exist (EALREADY).
 * After the last registration, ValkeyModule_OnLoad calls LoadConfigs, which sets the values of the
 * configuration file or the defaults. */
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

/* These functions define data types and are used by their methods.
 *
 * CreateDataType may be called only in ValkeyModule_OnLoad. It returns NULL if the name does not have nine
 * characters of A-Z, a-z, 0-9, - and _, if encver is not between 0 and 1023, or if the name exists. A value
 * belongs to the key after ModuleTypeSetValue. ModuleTypeReplaceValue returns the old value to the module
 * instead of freeing it.
 *
 * Save... and Load... may be called only in the methods that save and load. The module frees strings of
 * LoadString with FreeString and of LoadStringBuffer with Free. After a read error, Load... return 0 or NULL
 * and IsIOError returns 1. EmitAOF may be called only in aof_rewrite; its format has the letters of Call.
 *
 * In the defrag method, DefragAlloc returns a new address if it has moved the memory, else NULL. A method
 * that stops early (DefragShouldStop) saves its position with DefragCursorSet.
 *
 * RdbLoad replaces the whole dataset. RdbLoad and RdbSave set errno on failure. */
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

/* These functions register scripting engines for EVAL and FUNCTION, and implement their debuggers.
 *
 * RegisterScriptingEngine copies the methods. UnregisterScriptingEngine fails while a script of the engine
 * runs. While a function runs, it calls GetFunctionExecutionState often and stops if the result is
 * VMSE_STATE_KILLED. This call also serves other clients if the function is slow. Commands of a script are
 * called with the format letter S, which applies the ACL of the user that runs the script.
 *
 * The debugger functions have no effect outside of a debugging session. ScriptingEngineDebuggerLog takes
 * ownership of its string. ScriptingEngineDebuggerProcessCommands runs commands until the script continues;
 * it may store a string in *err, which the module frees. */
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

/* The server itself defines VALKEYMODULE_CORE and does not need the pointers. */
#ifndef VALKEYMODULE_CORE

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

/* ValkeyModule_Init looks up all functions and sets the name of the module. ValkeyModule_OnLoad must call it
 * before any other function. It returns VALKEYMODULE_ERR if a module with this name is loaded. */
static inline int ValkeyModule_Init(ValkeyModuleCtx *ctx, const char *name, int ver, int apiver) {
    /* The first member of each context is the address of GetApi. */
    ValkeyModule_GetApi = *(int (**)(const char *, void *))ctx;
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
