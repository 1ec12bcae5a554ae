/* SPDX-License-Identifier: BSD-3-Clause */
/* users.c - a module's own users, queries about users, authentication. Commands take names: of users
 * made here first, else of the server's users. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "valkeymodule.h"

typedef ValkeyModuleCtx Ctx;
typedef ValkeyModuleString Text;
#define COMMAND(name) static int name(Ctx *ctx, Text **argv, int argc)

static const char *usersText(const Text *s) {
    return ValkeyModule_StringPtrLen(s, NULL);
}

/* ---- Users ---- */

#define OWN_MAX 16
static struct {
    char name[32];
    ValkeyModuleUser *user;
} own[OWN_MAX];

static int placeOf(const char *name) {
    for (int i = 0; i < OWN_MAX; i++) {
        if (own[i].user && !strcmp(own[i].name, name)) return i;
    }
    return -1;
}

/* *found: to be freed. */
static ValkeyModuleUser *userOf(Text *name, ValkeyModuleUser **found) {
    int i = placeOf(usersText(name));
    *found = NULL;
    if (i >= 0) return own[i].user;
    return *found = ValkeyModule_GetModuleUserFromUserName(name);
}

static int usersReplyPair(Ctx *ctx, int a, int b) {
    ValkeyModule_ReplyWithArray(ctx, 2);
    ValkeyModule_ReplyWithLongLong(ctx, a);
    return ValkeyModule_ReplyWithLongLong(ctx, b);
}

/* users.create NAME */
COMMAND(create) {
    if (argc != 2) return ValkeyModule_WrongArity(ctx);
    int i = 0;
    while (i < OWN_MAX - 1 && own[i].user) i++;
    if (own[i].user) ValkeyModule_FreeModuleUser(own[i].user);
    strncpy(own[i].name, usersText(argv[1]), sizeof own[i].name - 1);
    own[i].user = ValkeyModule_CreateModuleUser(own[i].name);
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

/* users.free NAME */
COMMAND(drop) {
    if (argc != 2) return ValkeyModule_WrongArity(ctx);
    int i = placeOf(usersText(argv[1]));
    if (i < 0) return ValkeyModule_ReplyWithNull(ctx);
    ValkeyModule_FreeModuleUser(own[i].user);
    own[i].user = NULL;
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

/* users.rule NAME RULE: one; users.rules NAME "RULE RULE": all or none. */
COMMAND(rule) {
    if (argc != 3) return ValkeyModule_WrongArity(ctx);
    ValkeyModuleUser *found, *u = userOf(argv[1], &found);
    if (!u) return ValkeyModule_ReplyWithNull(ctx);
    Text *err = NULL;
    errno = 0;
    int many = !strcmp(usersText(argv[0]), "users.rules");
    int r = many ? ValkeyModule_SetModuleUserACLString(ctx, u, usersText(argv[2]), &err)
                 : ValkeyModule_SetModuleUserACL(u, usersText(argv[2]));
    ValkeyModule_ReplyWithArray(ctx, 2);
    ValkeyModule_ReplyWithLongLong(ctx, r);
    if (err) {
        ValkeyModule_ReplyWithString(ctx, err);
        ValkeyModule_FreeString(NULL, err);
    } else
        ValkeyModule_ReplyWithLongLong(ctx, r && !many ? errno : 0);
    if (found) ValkeyModule_FreeModuleUser(found);
    return VALKEYMODULE_OK;
}

/* users.text NAME */
COMMAND(rulesOf) {
    if (argc != 2) return ValkeyModule_WrongArity(ctx);
    ValkeyModuleUser *found, *u = userOf(argv[1], &found);
    if (!u) return ValkeyModule_ReplyWithNull(ctx);
    Text *s = ValkeyModule_GetModuleUserACLString(u);
    ValkeyModule_ReplyWithString(ctx, s);
    ValkeyModule_FreeString(NULL, s);
    if (found) ValkeyModule_FreeModuleUser(found);
    return VALKEYMODULE_OK;
}

/* users.whoami [NAME]: the current user, also when another has been set. */
COMMAND(whoami) {
    ValkeyModuleUser *found = NULL, *u = argc > 1 ? userOf(argv[1], &found) : NULL;
    ValkeyModule_SetContextUser(ctx, u);
    Text *s = ValkeyModule_GetCurrentUserName(ctx);
    if (s) {
        ValkeyModule_ReplyWithString(ctx, s);
        ValkeyModule_FreeString(ctx, s);
    } else
        ValkeyModule_ReplyWithNull(ctx);
    ValkeyModule_SetContextUser(ctx, NULL);
    if (found) ValkeyModule_FreeModuleUser(found);
    return VALKEYMODULE_OK;
}

/* ---- Questions ---- */

/* users.command NAME DB|- COMMAND ... */
COMMAND(mayRun) {
    if (argc < 4) return ValkeyModule_WrongArity(ctx);
    ValkeyModuleUser *found, *u = userOf(argv[1], &found);
    if (!u) return ValkeyModule_ReplyWithNull(ctx);
    ValkeyModuleACLLogEntryReason reason = 9;
    errno = 0;
    int r = !strcmp(usersText(argv[2]), "-")
                ? ValkeyModule_ACLCheckCommandPermissions(u, argv + 3, argc - 3)
                : ValkeyModule_ACLCheckPermissions(u, argv + 3, argc - 3, atoi(usersText(argv[2])), &reason);
    int problem = r ? errno : 0;
    ValkeyModule_ReplyWithArray(ctx, 3);
    ValkeyModule_ReplyWithLongLong(ctx, r);
    ValkeyModule_ReplyWithLongLong(ctx, problem);
    ValkeyModule_ReplyWithLongLong(ctx, problem == EACCES ? (int)reason : 0);
    if (found) ValkeyModule_FreeModuleUser(found);
    return VALKEYMODULE_OK;
}

/* users.key NAME KEY FLAGS; users.prefix; users.channel */
COMMAND(mayUse) {
    if (argc != 4) return ValkeyModule_WrongArity(ctx);
    ValkeyModuleUser *found, *u = userOf(argv[1], &found);
    if (!u) return ValkeyModule_ReplyWithNull(ctx);
    int r, flags = atoi(usersText(argv[3]));
    size_t len;
    const char *bytes = ValkeyModule_StringPtrLen(argv[2], &len);
    errno = 0;
    switch (usersText(argv[0])[6]) {
    case 'k': r = ValkeyModule_ACLCheckKeyPermissions(u, argv[2], flags); break;
    case 'p': r = ValkeyModule_ACLCheckKeyPrefixPermissions(u, bytes, len, (unsigned)flags); break;
    default: r = ValkeyModule_ACLCheckChannelPermissions(u, argv[2], flags);
    }
    usersReplyPair(ctx, r, r ? errno : 0);
    if (found) ValkeyModule_FreeModuleUser(found);
    return VALKEYMODULE_OK;
}

/* users.log NAME OBJECT REASON; users.logname */
COMMAND(logEntry) {
    if (argc != 4) return ValkeyModule_WrongArity(ctx);
    ValkeyModuleACLLogEntryReason reason = (ValkeyModuleACLLogEntryReason)atoi(usersText(argv[3]));
    ValkeyModuleUser *found = NULL;
    if (!strcmp(usersText(argv[0]), "users.logname"))
        ValkeyModule_ACLAddLogEntryByUserName(ctx, argv[1], argv[2], reason);
    else if (userOf(argv[1], &found))
        ValkeyModule_ACLAddLogEntry(ctx, userOf(argv[1], &found), argv[2], reason);
    if (found) ValkeyModule_FreeModuleUser(found);
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

/* ---- Logging in ---- */

static long long changes, last_changed;

static void usersOnChanged(uint64_t client_id, void *privdata) {
    changes += *(int *)privdata;
    last_changed = (long long)client_id;
}

/* users.auth NAME: as a user of this module; users.authacl NAME: as an ACL user. */
COMMAND(auth) {
    if (argc != 2) return ValkeyModule_WrongArity(ctx);
    static int one = 1;
    uint64_t id = 0;
    size_t len;
    const char *name = ValkeyModule_StringPtrLen(argv[1], &len);
    int i = placeOf(name);
    int r = !strcmp(usersText(argv[0]), "users.authacl")
                ? ValkeyModule_AuthenticateClientWithACLUser(ctx, name, len, usersOnChanged, &one, &id)
            : i < 0 ? VALKEYMODULE_ERR
                    : ValkeyModule_AuthenticateClientWithUser(ctx, own[i].user, usersOnChanged, &one, &id);
    return usersReplyPair(ctx, r, id == ValkeyModule_GetClientId(ctx));
}

/* users.changes: how often a client that was authenticated here changed its user, or disconnected. */
COMMAND(changesSoFar) {
    (void)argv, (void)argc;
    return ValkeyModule_ReplyWithLongLong(ctx, changes);
}

/* users.deauth ID|me */
COMMAND(deauth) {
    if (argc != 2) return ValkeyModule_WrongArity(ctx);
    uint64_t id = !strcmp(usersText(argv[1]), "me") ? ValkeyModule_GetClientId(ctx)
                                                    : strtoull(usersText(argv[1]), NULL, 10);
    return ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_DeauthenticateAndCloseClient(ctx, id));
}

/* Passwords: allow, deny (with a reason), code (with one that has a code), plain (without one), forget
 * (it claims to have authenticated the client, and has not); any other is not handled here. */
/* later-PASSWORD: the same result, but from a thread after a while. */
static int usersDecide(Ctx *ctx, Text *user, const char *p, Text **err);

static int onLater(Ctx *ctx, Text *user, Text *password, Text **err) {
    (void)password;
    return usersDecide(ctx, user, ValkeyModule_GetBlockedClientPrivateData(ctx), err);
}

static void freeAnswer(Ctx *ctx, void *privdata) {
    (void)ctx;
    ValkeyModule_Free(privdata);
}

struct later {
    ValkeyModuleBlockedClient *bc;
    char *answer;
};

static void *usersDecideThread(void *arg) {
    struct later *l = arg;
    usleep(50000);
    ValkeyModule_BlockedClientMeasureTimeEnd(l->bc);
    if (strcmp(l->answer, "abort")) {
        ValkeyModule_UnblockClient(l->bc, l->answer);
    } else {
        ValkeyModule_Free(l->answer);
        ValkeyModule_AbortBlock(l->bc);
    }
    free(l);
    return NULL;
}

static int answerLater(Ctx *ctx, const char *answer) {
    pthread_t thread;
    struct later *l = malloc(sizeof *l);
    l->answer = ValkeyModule_Strdup(answer);
    l->bc = ValkeyModule_BlockClientOnAuth(ctx, onLater, freeAnswer);
    ValkeyModule_BlockedClientMeasureTimeStart(l->bc);
    if (pthread_create(&thread, NULL, usersDecideThread, l) == 0) pthread_detach(thread);
    return VALKEYMODULE_AUTH_HANDLED;
}

static int onAuth(Ctx *ctx, Text *user, Text *password, Text **err) {
    const char *p = usersText(password);
    if (!strncmp(p, "later-", 6)) return answerLater(ctx, p + 6);
    return usersDecide(ctx, user, p, err);
}

static int usersDecide(Ctx *ctx, Text *user, const char *p, Text **err) {
    size_t len;
    const char *name = ValkeyModule_StringPtrLen(user, &len);
    if (!strcmp(p, "allow")) {
        ValkeyModule_AuthenticateClientWithACLUser(ctx, name, len, NULL, NULL, NULL);
        return VALKEYMODULE_AUTH_HANDLED;
    }
    if (!strcmp(p, "deny")) *err = ValkeyModule_CreateString(NULL, "not you", 7);
    if (!strcmp(p, "code")) *err = ValkeyModule_CreateString(NULL, "-DENIED not you", 15);
    if (*err || !strcmp(p, "plain") || !strcmp(p, "forget")) return VALKEYMODULE_AUTH_HANDLED;
    return VALKEYMODULE_AUTH_NOT_HANDLED;
}

static int onAuthAfter(Ctx *ctx, Text *user, Text *password, Text **err) {
    (void)ctx, (void)user;
    if (strcmp(usersText(password), "deny")) return VALKEYMODULE_AUTH_NOT_HANDLED;
    *err = ValkeyModule_CreateString(NULL, "never asked", 11);
    return VALKEYMODULE_AUTH_HANDLED;
}

/* users.wait: without an authentication there is no client to block. */
COMMAND(waitNow) {
    (void)argv, (void)argc;
    return ValkeyModule_BlockClientOnAuth(ctx, onLater, freeAnswer) ? VALKEYMODULE_ERR : VALKEYMODULE_OK;
}

/* users.nohandle: what may be done with the handle of a client that could not be blocked. */
COMMAND(noHandle) {
    (void)argv, (void)argc;
    errno = 0;
    ValkeyModule_SetDisconnectCallback(NULL, NULL);
    ValkeyModule_BlockClientSetPrivateData(NULL, ctx);
    int bad = ValkeyModule_BlockClientGetPrivateData(NULL) != NULL;
    bad += ValkeyModule_BlockedClientMeasureTimeStart(NULL) != VALKEYMODULE_ERR;
    bad += ValkeyModule_BlockedClientMeasureTimeEnd(NULL) != VALKEYMODULE_ERR;
    bad += ValkeyModule_AbortBlock(NULL) != VALKEYMODULE_ERR || errno != EINVAL;
    bad += ValkeyModule_UnblockClient(NULL, NULL) != VALKEYMODULE_ERR;
    return ValkeyModule_ReplyWithLongLong(ctx, bad);
}

/* users.callback [AGAIN]: the same callback once more. */
COMMAND(callback) {
    (void)argv;
    if (argc == 1) ValkeyModule_RegisterAuthCallback(ctx, onAuthAfter); /* the newest is asked first */
    ValkeyModule_RegisterAuthCallback(ctx, onAuth);
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

int ValkeyModule_OnLoad(Ctx *ctx, Text **argv, int argc) {
    (void)argv, (void)argc;
    static const struct {
        const char *name;
        ValkeyModuleCmdFunc fn;
    } commands[] = {
        {"users.create", create},     {"users.free", drop},         {"users.rule", rule},
        {"users.rules", rule},        {"users.text", rulesOf},      {"users.whoami", whoami},
        {"users.command", mayRun},    {"users.key", mayUse},        {"users.prefix", mayUse},
        {"users.channel", mayUse},    {"users.log", logEntry},      {"users.logname", logEntry},
        {"users.auth", auth},         {"users.authacl", auth},      {"users.changes", changesSoFar},
        {"users.deauth", deauth},     {"users.callback", callback}, {"users.wait", waitNow},
        {"users.nohandle", noHandle},
    };
    if (ValkeyModule_Init(ctx, "users", 1, VALKEYMODULE_APIVER_1) == VALKEYMODULE_ERR)
        return VALKEYMODULE_ERR;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (ValkeyModule_CreateCommand(ctx, commands[i].name, commands[i].fn, "", 0, 0, 0) ==
            VALKEYMODULE_ERR)
            return VALKEYMODULE_ERR;
    }
    return VALKEYMODULE_OK;
}
