/* commands.h - the command tables, one array per group, and the handlers that they name.
 *
 * The facts about a command stand in the file of its group; its handler stands in the room that owns the
 * data. A room registers the group whose commands it implements: commandRegister(commandsString). */
#pragma once

#include "core/command.h"

/* How the tables spell where keys are. Keys start at argument `at` ... */
#define KEYS_AT(at) .begin = KEYS_BEGIN_INDEX, .pos = (at)
/* ... and go to `last` (relative to the first; negative: counted from the end of the line) by `by`, ... */
#define KEYS_RANGE(last, by) .find = KEYS_FIND_RANGE, .lastkey = (last), .step = (by)
/* ... or are as many as the number at `num` says, from `first` on (both relative to the start). */
#define KEYS_COUNTED(num, first)                                                                             \
    .find = KEYS_FIND_KEYNUM, .keynumidx = (num), .firstkey = (first), .keynum_step = 1

/* What has been added to a command: HISTORY({"6.2.0", "`GET`."}, {"7.0.0", "..."}) */
#define HISTORY(...)                                                                                         \
    (const struct commandChange[]) {                                                                         \
        __VA_ARGS__, {                                                                                       \
            NULL, NULL                                                                                       \
        }                                                                                                    \
    }

extern const struct commandSpec commandsString[];
extern const struct commandSpec commandsGeneric[];
extern const struct commandSpec commandsSortedSet[];
extern const struct commandSpec commandsConnection[];
extern const struct commandSpec commandsServer[];
extern const struct commandSpec commandsSet[];
extern const struct commandSpec commandsBitmap[];
extern const struct commandSpec commandsList[];
extern const struct commandSpec commandsHyperloglog[];
extern const struct commandSpec commandsHash[];
extern const struct commandSpec commandsStream[];
extern const struct commandSpec commandsGeo[];
extern const struct commandSpec commandsSort[];
extern const struct commandSpec commandsScripting[];
extern const struct commandSpec commandsTransactions[];
extern const struct commandSpec commandsPubsub[];
extern const struct commandSpec commandsAcl[];
extern const struct commandSpec commandsCluster[];
extern const struct commandSpec commandsReplication[];
extern const struct commandSpec commandsModule[];

/* ---- Keys that depend on the arguments ---- */
commandGetKeys setGetKeys, bitfieldGetKeys, sortGetKeys, migrateGetKeys, georadiusGetKeys,
    georadiusbymemberGetKeys, xreadGetKeys;

/* ---- string ---- */
commandProc appendCommand, decrCommand, decrbyCommand, delifeqCommand, getCommand, getdelCommand,
    getexCommand, getrangeCommand, getsetCommand, incrCommand, incrbyCommand, incrbyfloatCommand, lcsCommand,
    mgetCommand, msetexCommand, msetCommand, msetnxCommand, psetexCommand, setCommand, setexCommand,
    setnxCommand, setrangeCommand, strlenCommand, substrCommand;

/* ---- generic ---- */
commandProc copyCommand, delCommand, dumpCommand, migrateCommand, restoreCommand, moveCommand, existsCommand,
    expireCommand, expireatCommand, expiretimeCommand, keysCommand, objectEncodingCommand, objectFreqCommand,
    objectIdletimeCommand, objectRefcountCommand, objectHelpCommand, persistCommand, pexpireCommand,
    pexpireatCommand, pexpiretimeCommand, pttlCommand, randomkeyCommand, renameCommand, renamenxCommand,
    scanCommand, touchCommand, ttlCommand, typeCommand, unlinkCommand;

/* ---- sorted_set ---- */
commandProc bzmpopCommand, bzpopmaxCommand, bzpopminCommand, zaddCommand, zcardCommand, zcountCommand,
    zdiffCommand, zdiffstoreCommand, zincrbyCommand, zinterCommand, zintercardCommand, zinterstoreCommand,
    zlexcountCommand, zmpopCommand, zmscoreCommand, zpopmaxCommand, zpopminCommand, zrandmemberCommand,
    zrangeCommand, zrangebylexCommand, zrangebyscoreCommand, zrangestoreCommand, zrankCommand, zremCommand,
    zremrangebylexCommand, zremrangebyrankCommand, zremrangebyscoreCommand, zrevrangeCommand,
    zrevrangebylexCommand, zrevrangebyscoreCommand, zrevrankCommand, zscanCommand, zscoreCommand,
    zunionCommand, zunionstoreCommand;

/* ---- connection ---- */
commandProc bgrewriteaofCommand;
commandProc authCommand, clientIdCommand, clientListCommand, clientInfoCommand, clientKillCommand,
    clientGetnameCommand, clientSetnameCommand, clientSetinfoCommand, clientReplyCommand,
    clientUnblockCommand, clientHelpCommand, clientTrackingCommand, clientCachingCommand,
    clientGetredirCommand, clientTrackinginfoCommand, clientPauseCommand, clientUnpauseCommand,
    clientNoEvictCommand, clientNoTouchCommand, clientCapaCommand, clientImportSourceCommand, echoCommand,
    helloCommand, pingCommand, quitCommand, resetCommand, selectCommand;

/* ---- cluster ---- */
commandProc clusterDisabledCommand, clusterKeyslotCommand, readonlyCommand, readwriteCommand;

/* ---- replication ---- */
commandProc failoverCommand, psyncCommand, replconfCommand, replicaofCommand, syncCommand, waitCommand,
    waitaofCommand;

/* ---- module ---- */
commandProc moduleHelpCommand, moduleListCommand, moduleLoadCommand;

/* ---- acl ---- */
commandProc aclCatCommand, aclDeluserCommand, aclDryrunCommand, aclGenpassCommand, aclGetuserCommand,
    aclHelpCommand, aclListCommand, aclLoadCommand, aclLogCommand, aclSaveCommand, aclSetuserCommand,
    aclUsersCommand, aclWhoamiCommand;

/* ---- server ---- */
commandProc bgsaveCommand, lastsaveCommand, saveCommand, commandCommand, commandCountCommand,
    commandDocsCommand, commandInfoCommand, commandListCommand, commandGetkeysCommand,
    commandGetkeysandflagsCommand, commandHelpCommand, configGetCommand, configSetCommand,
    configResetstatCommand, configRewriteCommand, configHelpCommand, dbsizeCommand, debugCommand,
    flushallCommand, flushdbCommand, infoCommand, memoryDoctorCommand, memoryHelpCommand,
    memoryMallocStatsCommand, memoryPurgeCommand, memoryStatsCommand, memoryUsageCommand, shutdownCommand,
    swapdbCommand, timeCommand, commandlogGetCommand, commandlogHelpCommand, commandlogLenCommand,
    commandlogResetCommand, latencyDoctorCommand, latencyGraphCommand, latencyHelpCommand,
    latencyHistogramCommand, latencyHistoryCommand, latencyLatestCommand, latencyResetCommand, lolwutCommand,
    monitorCommand, roleCommand, slowlogGetCommand, slowlogHelpCommand, slowlogLenCommand,
    slowlogResetCommand;

/* ---- scripting ---- */
commandProc evalCommand, evalshaCommand, evalshaRoCommand, evalRoCommand, scriptLoadCommand,
    scriptExistsCommand, scriptFlushCommand, scriptKillCommand, scriptShowCommand, scriptDebugCommand,
    scriptHelpCommand, fcallCommand, fcallRoCommand, functionDeleteCommand, functionDumpCommand,
    functionFlushCommand, functionHelpCommand, functionKillCommand, functionListCommand, functionLoadCommand,
    functionRestoreCommand, functionStatsCommand;
commandFlagsOf evalFlags, evalshaFlags, fcallFlags;

/* ---- pubsub ---- */
commandProc psubscribeCommand, publishCommand, pubsubChannelsCommand, pubsubHelpCommand, pubsubNumpatCommand,
    pubsubNumsubCommand, pubsubShardchannelsCommand, pubsubShardnumsubCommand, punsubscribeCommand,
    spublishCommand, ssubscribeCommand, subscribeCommand, sunsubscribeCommand, unsubscribeCommand;

/* ---- transactions ---- */
commandProc discardCommand, execCommand, multiCommand, unwatchCommand, watchCommand;

/* ---- set ---- */
commandProc saddCommand, scardCommand, sdiffCommand, sdiffstoreCommand, sinterCommand, sintercardCommand,
    sinterstoreCommand, sismemberCommand, smembersCommand, smismemberCommand, smoveCommand, spopCommand,
    srandmemberCommand, sremCommand, sscanCommand, sunionCommand, sunionstoreCommand;

/* ---- bitmap ---- */
commandProc bitcountCommand, bitfieldCommand, bitfieldRoCommand, bitopCommand, bitposCommand, getbitCommand,
    setbitCommand;

/* ---- list ---- */
commandProc blmoveCommand, blmpopCommand, blpopCommand, brpopCommand, brpoplpushCommand, lindexCommand,
    linsertCommand, llenCommand, lmoveCommand, lmpopCommand, lpopCommand, lposCommand, lpushCommand,
    lpushxCommand, lrangeCommand, lremCommand, lsetCommand, ltrimCommand, rpopCommand, rpoplpushCommand,
    rpushCommand, rpushxCommand;

/* ---- hyperloglog ---- */
commandProc pfaddCommand, pfcountCommand, pfdebugCommand, pfmergeCommand, pfselftestCommand;

/* ---- geo ---- */
commandProc geoaddCommand, geodistCommand, geohashCommand, geoposCommand, georadiusCommand,
    georadiusbymemberCommand, georadiusbymemberRoCommand, georadiusRoCommand, geosearchCommand,
    geosearchstoreCommand;

/* ---- sort ---- */
commandProc sortCommand, sortRoCommand;

/* ---- hash ---- */
commandProc hdelCommand, hexistsCommand, hexpireCommand, hexpireatCommand, hexpiretimeCommand, hgetCommand,
    hgetallCommand, hgetdelCommand, hgetexCommand, hincrbyCommand, hincrbyfloatCommand, hkeysCommand,
    hlenCommand, hmgetCommand, hmsetCommand, hpersistCommand, hpexpireCommand, hpexpireatCommand,
    hpexpiretimeCommand, hpttlCommand, hrandfieldCommand, hscanCommand, hsetCommand, hsetexCommand,
    hsetnxCommand, hstrlenCommand, httlCommand, hvalsCommand;

/* ---- stream ---- */
commandProc xackCommand, xaddCommand, xautoclaimCommand, xclaimCommand, xdelCommand, xgroupCreateCommand,
    xgroupCreateconsumerCommand, xgroupDelconsumerCommand, xgroupDestroyCommand, xgroupHelpCommand,
    xgroupSetidCommand, xinfoConsumersCommand, xinfoGroupsCommand, xinfoHelpCommand, xinfoStreamCommand,
    xlenCommand, xpendingCommand, xrangeCommand, xreadCommand, xreadgroupCommand, xrevrangeCommand,
    xsetidCommand, xtrimCommand;
