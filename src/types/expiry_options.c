/* SPDX-License-Identifier: BSD-3-Clause */
/* expiry_options.c - see expiry_options.h. */
#include "types/expiry_options.h"

#include "client/reply.h"
#include "command/command.h"
#include "data/object.h"
#include "registry/cron.h"

enum expiryKind expiryKindOf(struct str word) {
    static const char *const names[] = {"ex", "px", "exat", "pxat"};
    for (int i = 0; i < 4; i++) {
        if (strIs(word, names[i])) return (enum expiryKind)(EXPIRY_EX + i);
    }
    return EXPIRY_NONE;
}

bool expiryParseOptions(struct client *c, int from, int end, enum expiryKind *kind, struct str *time) {
    *kind = EXPIRY_NONE;
    for (int i = from; i < end; i++) {
        enum expiryKind option = strIs(c->argv[i], "persist") ? EXPIRY_PERSIST : expiryKindOf(c->argv[i]);
        bool known = option == EXPIRY_PERSIST || (option && i + 1 < end);
        if (!known || (*kind != EXPIRY_NONE && *kind != option)) return replySyntaxError(c);
        *kind = option;
        if (option != EXPIRY_PERSIST) *time = c->argv[++i];
    }
    return true;
}

void expiryReplyInvalid(struct client *c) {
    replyErrorFmt(c, "ERR invalid expire time in '%s' command", c->cmd->fullname);
}

void expiryReply(struct client *c, int64_t when_ms, bool absolute, bool seconds) {
    int64_t ms = when_ms - (absolute ? 0 : cmd_time_ms);
    if (ms < 0) ms = 0;
    replyLongLong(c, seconds ? ms / 1000 + (ms % 1000 >= 500) : ms);
}

bool expiryParseCondition(struct client *c, int from, int end, struct expiryCondition *cond) {
    for (int i = from; i < end; i++) {
        struct str arg = c->argv[i];
        if (strIs(arg, "nx"))
            cond->nx = true;
        else if (strIs(arg, "xx"))
            cond->xx = true;
        else if (strIs(arg, "gt"))
            cond->gt = true;
        else if (strIs(arg, "lt"))
            cond->lt = true;
        else {
            return replyErrorFmt(c, "ERR Unsupported option %.*s", (int)arg.len, arg.ptr);
        }
    }
    const char *error = NULL;
    if (cond->nx && (cond->xx || cond->gt || cond->lt))
        error = "ERR NX and XX, GT or LT options at the same time are not compatible";
    else if (cond->gt && cond->lt)
        error = "ERR GT and LT options at the same time are not compatible";
    if (error) replyError(c, error);
    return !error;
}

bool expiryConditionHolds(const struct expiryCondition *cond, int64_t now_ms, int64_t new_ms) {
    bool has = now_ms != OBJ_NO_EXPIRE;
    if (cond->nx && has) return false;
    if (cond->xx && !has) return false;
    if (cond->gt && (!has || new_ms <= now_ms)) return false;
    if (cond->lt && has && new_ms >= now_ms) return false;
    return true;
}
