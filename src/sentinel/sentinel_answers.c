/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_answers.c - see sentinel_answers.h. */
#include "sentinel/sentinel_answers.h"

#include "base/clock.h"
#include "client/reply.h"
#include "command/command.h"
#include "registry/info.h"
#include "sentinel/sentinel.h"
#include "sentinel/sentinel_scripts.h"

static void sentinelAnswersReplyRole(struct client *c) {
    const struct instances *primaries = &sentinel.primaries;
    replyArrayLen(c, 2);
    replyBulkCstr(c, "sentinel");
    replyArrayLen(c, primaries->count);
    for (int i = 0; i < primaries->count; i++) replyBulkCstr(c, primaries->items[i]->name);
}

/* Receives a hello of another Sentinel. Events are published by this Sentinel only. */
static void sentinelAnswersReceiveHello(struct client *c) {
    if (!strEq(c->argv[1], STR(HELLO_CHANNEL))) {
        replyError(c, "ERR Only HELLO messages are accepted by Sentinel instances.");
        return;
    }
    supervisorProcessHello(&sentinel, c->argv[2], mstime());
    replyLongLong(c, 1);
}

static sds sentinelAnswersPrimaryLine(sds s, int number, const struct instance *i) {
    const char *status = i->flags & FLAG_O_DOWN ? "odown" : i->flags & FLAG_S_DOWN ? "sdown" : "ok";
    const struct hostAddress *address = supervisorCurrentAddress(i);
    return infoField(s, "master%d:name=%s,status=%s,address=%s:%d,slaves=%d,sentinels=%d", number, i->name,
                     status, hostAddressText(&sentinel, address), address->port, i->p.replicas.count,
                     i->p.sentinels.count + 1);
}

static sds sentinelAnswersInfo(sds s) {
    int64_t tilt_s = sentinel.tilt ? (mstime() - sentinel.tilt_ms) / 1000 : -1;
    s = infoField(s, "sentinel_masters:%d", sentinel.primaries.count);
    s = infoField(s, "sentinel_tilt:%d", sentinel.tilt);
    s = infoField(s, "sentinel_tilt_since_seconds:%lld", (long long)tilt_s);
    s = infoField(s, "sentinel_total_tilt:%llu", (unsigned long long)sentinel.total_tilt);
    s = infoField(s, "sentinel_running_scripts:%d", scriptsCountRunning());
    s = infoField(s, "sentinel_scripts_queue_length:%d", scriptsCountQueued());
    s = infoField(s, "sentinel_simulate_failure_flags:%u", sentinel.simulate_failure);
    for (int i = 0; i < sentinel.primaries.count; i++)
        s = sentinelAnswersPrimaryLine(s, i, sentinel.primaries.items[i]);
    return s;
}

void sentinelAnswersInit(void) {
    static const char *const sections[] = {"server", "clients", "cpu", "stats", "sentinel", NULL};
    infoRegister("sentinel", sentinelAnswersInfo);
    infoRestrictSections(sections);
    commandSetHandler("role", sentinelAnswersReplyRole);
    commandSetHandler("publish", sentinelAnswersReceiveHello);
}
