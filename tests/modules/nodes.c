/* SPDX-License-Identifier: BSD-3-Clause */
/* nodes.c - other nodes, messages to them, slots. The name has nine characters, so the module has a
 * number of its own. */
#include <stdlib.h>
#include <string.h>

#include "valkeymodule.h"

typedef ValkeyModuleCtx Ctx;
typedef ValkeyModuleString Text;
#define COMMAND(name) static int name(Ctx *ctx, Text **argv, int argc)

static const char *nodesText(const Text *s) {
    return ValkeyModule_StringPtrLen(s, NULL);
}

static ValkeyModuleString *last; /* "sender type payload" */
static long long heard;

static void onMessage(Ctx *ctx, const char *sender, uint8_t type, const unsigned char *payload,
                      uint32_t len) {
    if (last) ValkeyModule_FreeString(NULL, last);
    last = ValkeyModule_CreateStringPrintf(NULL, "%s %d %.*s", sender, type, (int)len, (const char *)payload);
    heard += ValkeyModule_GetClientId(ctx) != 0;
}

/* nodes.listen TYPE [off] */
COMMAND(listenTo) {
    if (argc < 2) return ValkeyModule_WrongArity(ctx);
    ValkeyModule_RegisterClusterMessageReceiver(ctx, (uint8_t)atoi(nodesText(argv[1])),
                                                argc > 2 ? NULL : onMessage);
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

/* nodes.heard: the number of received messages, and the last one */
COMMAND(heardSoFar) {
    (void)argv, (void)argc;
    ValkeyModule_ReplyWithArray(ctx, 2);
    ValkeyModule_ReplyWithLongLong(ctx, heard);
    return last ? ValkeyModule_ReplyWithString(ctx, last) : ValkeyModule_ReplyWithNull(ctx);
}

/* nodes.send ID|all TYPE TEXT */
COMMAND(sendTo) {
    if (argc != 4) return ValkeyModule_WrongArity(ctx);
    size_t len;
    const char *message = ValkeyModule_StringPtrLen(argv[3], &len);
    const char *to = strcmp(nodesText(argv[1]), "all") ? nodesText(argv[1]) : NULL;
    int r =
        ValkeyModule_SendClusterMessage(ctx, to, (uint8_t)atoi(nodesText(argv[2])), message, (uint32_t)len);
    return ValkeyModule_ReplyWithLongLong(ctx, r);
}

static void replyNode(Ctx *ctx, int r, const char *ip, const char *primary, int port, int flags) {
    ValkeyModule_ReplyWithArray(ctx, 5);
    ValkeyModule_ReplyWithLongLong(ctx, r);
    ValkeyModule_ReplyWithCString(ctx, ip);
    ValkeyModule_ReplyWithStringBuffer(ctx, primary, *primary ? VALKEYMODULE_NODE_ID_LEN : 0);
    ValkeyModule_ReplyWithLongLong(ctx, port);
    ValkeyModule_ReplyWithLongLong(ctx, flags);
}

/* nodes.all: our id, how many, and each node: id, facts */
COMMAND(all) {
    (void)argv, (void)argc;
    size_t count = 0;
    char **ids = ValkeyModule_GetClusterNodesList(ctx, &count);
    const char *me = ValkeyModule_GetMyClusterID();
    ValkeyModule_ReplyWithArray(ctx, 2 + 2 * (long)count);
    ValkeyModule_ReplyWithStringBuffer(ctx, me ? me : "", me ? VALKEYMODULE_NODE_ID_LEN : 0);
    ValkeyModule_ReplyWithLongLong(ctx, (long long)ValkeyModule_GetClusterSize());
    for (size_t i = 0; i < count; i++) {
        char ip[46] = "", primary[VALKEYMODULE_NODE_ID_LEN] = "", id[VALKEYMODULE_NODE_ID_LEN + 1] = "";
        int port = 0, flags = 0;
        memcpy(id, ids[i], VALKEYMODULE_NODE_ID_LEN);
        int r = ValkeyModule_GetClusterNodeInfo(ctx, id, ip, primary, &port, &flags);
        ValkeyModule_ReplyWithCString(ctx, id);
        replyNode(ctx, r, ip, primary, port, flags);
    }
    if (ids) ValkeyModule_FreeClusterNodesList(ids);
    return VALKEYMODULE_OK;
}

/* nodes.one ID [CLIENT]: a node as this server sees it, or as it is described to that client. */
COMMAND(one) {
    if (argc < 2) return ValkeyModule_WrongArity(ctx);
    char ip[46] = "", primary[VALKEYMODULE_NODE_ID_LEN] = "";
    int port = 0, flags = 0;
    uint64_t client = argc > 2 ? strtoull(nodesText(argv[2]), NULL, 10) : 0;
    int r = argc > 2 ? ValkeyModule_GetClusterNodeInfoForClient(ctx, client, nodesText(argv[1]), ip, primary,
                                                                &port, &flags)
                     : ValkeyModule_GetClusterNodeInfo(ctx, nodesText(argv[1]), ip, primary, &port, &flags);
    if (ValkeyModule_GetClusterNodeInfo(ctx, nodesText(argv[1]), NULL, NULL, NULL, NULL) != r && argc == 2)
        return ValkeyModule_ReplyWithError(ctx, "ERR not the same without places for it");
    replyNode(ctx, r, ip, primary, port, flags);
    return VALKEYMODULE_OK;
}

/* nodes.flags N */
COMMAND(setFlags) {
    if (argc != 2) return ValkeyModule_WrongArity(ctx);
    ValkeyModule_SetClusterFlags(ctx, (uint64_t)atoi(nodesText(argv[1])));
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

/* nodes.slot KEY: of the string, of its bytes, a short key of it, and its slot */
COMMAND(slot) {
    if (argc != 2) return ValkeyModule_WrongArity(ctx);
    size_t len;
    const char *key = ValkeyModule_StringPtrLen(argv[1], &len);
    unsigned n = ValkeyModule_ClusterKeySlot(argv[1]);
    const char *tag = ValkeyModule_ClusterCanonicalKeyNameInSlot(n);
    ValkeyModule_ReplyWithArray(ctx, 5);
    ValkeyModule_ReplyWithLongLong(ctx, n);
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_ClusterKeySlotC(key, len));
    ValkeyModule_ReplyWithCString(ctx, tag);
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_ClusterKeySlotC(tag, strlen(tag)));
    return ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_ClusterCanonicalKeyNameInSlot(16384) == NULL);
}

int ValkeyModule_OnUnload(ValkeyModuleCtx *ctx) {
    (void)ctx;
    if (last) ValkeyModule_FreeString(NULL, last);
    last = NULL;
    return VALKEYMODULE_OK;
}

int ValkeyModule_OnLoad(Ctx *ctx, Text **argv, int argc) {
    static const struct {
        const char *name;
        ValkeyModuleCmdFunc fn;
    } commands[] = {
        {"nodes.listen", listenTo}, {"nodes.heard", heardSoFar}, {"nodes.send", sendTo}, {"nodes.all", all},
        {"nodes.one", one},         {"nodes.flags", setFlags},   {"nodes.slot", slot},
    };
    (void)argv, (void)argc;
    if (ValkeyModule_Init(ctx, "nodes-abc", 1, VALKEYMODULE_APIVER_1) == VALKEYMODULE_ERR)
        return VALKEYMODULE_ERR;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (ValkeyModule_CreateCommand(ctx, commands[i].name, commands[i].fn, "", 0, 0, 0) ==
            VALKEYMODULE_ERR)
            return VALKEYMODULE_ERR;
    }
    return VALKEYMODULE_OK;
}
