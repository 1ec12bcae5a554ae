/* SPDX-License-Identifier: BSD-3-Clause */
/* holding.c - a module that delays commands of other clients: it blocks them from within an event of the
 * keyspace, and unblocks them later with their replies. It handles keys that begin with "hold". */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "valkeymodule.h"

typedef ValkeyModuleCtx Ctx;
typedef ValkeyModuleString Text;
#define COMMAND(name) static int name(Ctx *ctx, Text **argv, int argc)

static const char *holdingText(const Text *s) {
    return ValkeyModule_StringPtrLen(s, NULL);
}

/* ---- What has happened ---- */

static char notes[200][96];
static int note_count;

static void holdingNote(const char *what, const char *more) {
    if (note_count < 200) snprintf(notes[note_count++], sizeof notes[0], "%s %s", what, more);
}

/* hold.told: the notes since its last call */
COMMAND(tell) {
    (void)argv, (void)argc;
    ValkeyModule_ReplyWithArray(ctx, note_count);
    for (int i = 0; i < note_count; i++) ValkeyModule_ReplyWithCString(ctx, notes[i]);
    note_count = 0;
    return VALKEYMODULE_OK;
}

/* ---- Clients that are held back ---- */

static char letters[16]; /* which callbacks, see hold.how; and those of the last that was held back: */
static char chosen[16];
static long long limit_ms;
static ValkeyModuleBlockedClient *held[20];
static int held_count;

static int holdingHasLetter(char letter) {
    return strchr(chosen, letter) != NULL;
}

static void noteCall(Ctx *ctx, const char *what, Text **argv, int argc) {
    char line[80];
    const char *data = ValkeyModule_GetBlockedClientPrivateData(ctx);
    snprintf(line, sizeof line, "%s/%d %d%d %s", argc ? holdingText(argv[0]) : "-", argc,
             ValkeyModule_IsBlockedReplyRequest(ctx), ValkeyModule_IsBlockedTimeoutRequest(ctx),
             data ? data : "-");
    holdingNote(what, line);
}
static int onReply(Ctx *ctx, Text **argv, int argc) {
    noteCall(ctx, "reply", argv, argc);
    if (holdingHasLetter('R')) ValkeyModule_ReplyWithSimpleString(ctx, "more");
    if (holdingHasLetter('E')) ValkeyModule_ReplyWithError(ctx, "ERR late");
    return VALKEYMODULE_OK;
}
static int onTimeout(Ctx *ctx, Text **argv, int argc) {
    noteCall(ctx, "timeout", argv, argc);
    if (holdingHasLetter('T')) ValkeyModule_ReplyWithSimpleString(ctx, "late");
    return VALKEYMODULE_OK;
}
static void onFree(Ctx *ctx, void *data) {
    char line[64];
    snprintf(line, sizeof line, "%s gone=%d", (char *)data, ValkeyModule_BlockedClientDisconnected(ctx));
    holdingNote("free", line);
}
static void onDisconnect(Ctx *ctx, ValkeyModuleBlockedClient *bc) {
    (void)ctx, (void)bc;
    holdingNote("disconnect", "");
}

static int onEvent(Ctx *ctx, int type, const char *event, Text *key) {
    (void)type;
    if (strncmp(holdingText(key), "hold", 4) || !strcmp(letters, "-") || !*letters || held_count == 20)
        return VALKEYMODULE_OK;
    char line[64], before[sizeof chosen];
    memcpy(before, chosen, sizeof before);
    memcpy(chosen, letters, sizeof chosen);
    errno = 0;
    ValkeyModuleBlockedClient *bc = ValkeyModule_BlockClient(
        ctx, holdingHasLetter('r') || holdingHasLetter('R') || holdingHasLetter('E') ? onReply : NULL,
        holdingHasLetter('t') || holdingHasLetter('T') ? onTimeout : NULL,
        holdingHasLetter('f') ? onFree : NULL, limit_ms);
    const char *why = bc ? "held" : errno == EINVAL ? "EINVAL" : errno == ENOTSUP ? "ENOTSUP" : "other";
    snprintf(line, sizeof line, "%s %s %s", event, holdingText(key), why);
    holdingNote("event", line);
    if (!bc) {
        memcpy(chosen, before, sizeof chosen);
        return VALKEYMODULE_OK;
    }
    if (holdingHasLetter('d')) ValkeyModule_SetDisconnectCallback(bc, onDisconnect);
    if (holdingHasLetter('n')) {
        Ctx *mine = ValkeyModule_GetThreadSafeContext(bc);
        ValkeyModule_ReplyWithSimpleString(mine, "aside");
        ValkeyModule_FreeThreadSafeContext(mine);
    }
    held[held_count++] = bc;
    return VALKEYMODULE_OK;
}

/* hold.how LETTERS MS: r reply callback, R E one that replies something or an error, t timeout callback, T
 * one that replies, f free callback, d disconnect callback, n a reply of another context; - none of them */
COMMAND(setHow) {
    if (argc != 3) return ValkeyModule_WrongArity(ctx);
    snprintf(letters, sizeof letters, "%s", holdingText(argv[1]));
    ValkeyModule_StringToLongLong(argv[2], &limit_ms);
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

/* hold.go [abort]: the first of them is let go */
COMMAND(letGo) {
    (void)argv;
    static char data[] = "data";
    if (!held_count) return ValkeyModule_ReplyWithNull(ctx);
    ValkeyModuleBlockedClient *bc = held[0];
    memmove(held, held + 1, (size_t)--held_count * sizeof *held);
    int r = argc > 1 ? ValkeyModule_AbortBlock(bc) : ValkeyModule_UnblockClient(bc, data);
    return ValkeyModule_ReplyWithLongLong(ctx, r);
}

int ValkeyModule_OnLoad(Ctx *ctx, Text **argv, int argc) {
    (void)argv, (void)argc;
    if (ValkeyModule_Init(ctx, "holding", 1, VALKEYMODULE_APIVER_1) ||
        ValkeyModule_CreateCommand(ctx, "hold.how", setHow, "", 0, 0, 0) ||
        ValkeyModule_CreateCommand(ctx, "hold.go", letGo, "", 0, 0, 0) ||
        ValkeyModule_CreateCommand(ctx, "hold.told", tell, "", 0, 0, 0))
        return VALKEYMODULE_ERR;
    return ValkeyModule_SubscribeToKeyspaceEvents(ctx, VALKEYMODULE_NOTIFY_ALL | VALKEYMODULE_NOTIFY_KEY_MISS,
                                                  onEvent);
}
