/* api_reply.c - replies of modules. */
#include "client/client.h"
#include "client/reply.h"
#include "module/api.h"

int vmReplyWithLongLong(struct ValkeyModuleCtx *ctx, long long ll) {
    replyLongLong(contextClient(ctx), ll);
    return VALKEYMODULE_OK;
}

int vmReplyWithSimpleString(struct ValkeyModuleCtx *ctx, const char *msg) {
    replyStatus(contextClient(ctx), msg);
    return VALKEYMODULE_OK;
}
