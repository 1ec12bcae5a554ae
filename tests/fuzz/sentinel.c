/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel.c - libFuzzer target for a Sentinel that gets lines of sentinel.conf, replies, INFO and hellos in
 * any order, between ticks, connections that break, requests for votes, and commands of users.
 *
 *     make fuzz-sentinel FUZZ_SECONDS=600
 *
 * An input is text with one step per line (`steps` lists their letters), so that seeds can be written by hand
 * and libFuzzer's dictionary helps. In a line `@x` stands for the run id xxxx..., `|` for the end of a line,
 * and `\0` to `\7` for those bytes. After each step the invariants hold; what would be saved is loaded again
 * as the same. FUZZ_VERBOSE=1 shows steps, events and what is sent. */
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/zmalloc.h"
#include "sentinel/supervisor.h"

#define STEPS_MAX 400
#define PRIMARIES 8    /* users monitor no more */
#define INSTANCES 64   /* with more than these, no other INFO and hellos are processed */
#define REMEMBER  256  /* primaries whose state is remembered, by their id */
#define MS_MAX    4000 /* of a tick */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct supervisor sentinel_;
static struct supervisor *const s = &sentinel_;
static bool verbose;
static int64_t now_ms;
static uint64_t chance, read_bytes;

/* ---- The environment ---- */

static void readAll(const char *what, const char *text, size_t len) {
    for (size_t i = 0; i < len; i++) read_bytes += (unsigned char)text[i];
    if (verbose) fprintf(stderr, "    %s%.*s\n", what, (int)len, text);
}
static bool envConnect(void *ctx, struct peerLink *link, enum channel ch, const struct hostAddress *address,
                       char *err, size_t errlen) {
    static char connected;
    (void)ctx;
    serverAssert(!link->channel[ch] && *address->ip && address->port > 0);
    snprintf(err, errlen, "Its port ends in 9");
    if (address->port % 10 == 9) return false;
    link->channel[ch] = &connected;
    return true;
}
static void envClose(void *ctx, struct peerLink *link, enum channel ch) {
    (void)ctx;
    serverAssert(link->channel[ch] && link->owner_count > 0);
    link->channel[ch] = NULL;
}
static void envSend(void *ctx, struct peerLink *link, enum channel ch, int argc, const struct str *argv) {
    (void)ctx;
    serverAssert(link->channel[ch] && argc > 0);
    for (int n = 0; n < argc; n++) readAll("> ", argv[n].ptr, argv[n].len);
}
static bool envOwnIp(void *ctx, struct peerLink *link, char ip[HOST_IP_LEN]) {
    (void)ctx;
    serverAssert(link->channel[CHANNEL_COMMAND]);
    return chance % 8 && snprintf(ip, HOST_IP_LEN, "10.0.0.9");
}
static bool envResolve(void *ctx, const char *name, char ip[HOST_IP_LEN]) {
    (void)ctx;
    if (strncmp(name, "host", 4) != 0) return false;
    return snprintf(ip, HOST_IP_LEN, "10.0.0.%zu", strlen(name));
}
static uint64_t envRandom(void *ctx) {
    (void)ctx;
    chance = chance * 6364136223846793005 + 1442695040888963407;
    return chance >> 16;
}
static void envEvent(void *ctx, enum eventLevel level, const char *name, const char *payload) {
    (void)ctx, (void)level;
    readAll("", name, strlen(name));
    readAll("    ", payload, strlen(payload));
}
static void envLog(void *ctx, int level, const char *line) {
    (void)ctx, (void)level;
    readAll("log: ", line, strlen(line));
}
static void envScript(void *ctx, const char *path, int argc, const char *const *argv) {
    (void)ctx;
    readAll("script ", path, strlen(path));
    for (int n = 0; n < argc; n++) readAll("    ", argv[n], strlen(argv[n]));
}
static bool envSave(void *ctx) {
    (void)ctx;
    return envRandom(ctx) % 8 != 0;
}
static void envCrash(void *ctx) {
    (void)ctx;
    serverPanic("nobody has asked for it");
}

static const struct supervisorEnv env = {
    .connect = envConnect,
    .close = envClose,
    .send = envSend,
    .ownIp = envOwnIp,
    .resolve = envResolve,
    .random = envRandom,
    .event = envEvent,
    .log = envLog,
    .script = envScript,
    .save = envSave,
    .crash = envCrash,
};

/* ---- Instances ---- */

static int instanceCount(void) {
    int count = s->primaries.count;
    for (int n = 0; n < s->primaries.count; n++)
        count += s->primaries.items[n]->p.replicas.count + s->primaries.items[n]->p.sentinels.count;
    return count;
}

/* Returns the nth of all instances, or NULL if there are none. */
static struct instance *nthInstance(unsigned nth) {
    int count = instanceCount();
    if (!count) return NULL;
    nth %= (unsigned)count;
    for (int n = 0; n < s->primaries.count; n++) {
        struct instance *primary = s->primaries.items[n];
        const struct instances *replicas = &primary->p.replicas, *sentinels = &primary->p.sentinels;
        if (nth-- == 0) return primary;
        if (nth < (unsigned)replicas->count) return replicas->items[nth];
        nth -= (unsigned)replicas->count;
        if (nth < (unsigned)sentinels->count) return sentinels->items[nth];
        nth -= (unsigned)sentinels->count;
    }
    serverUnreachable();
}

static struct instance *nthPrimary(unsigned nth) {
    return s->primaries.count ? s->primaries.items[nth % (unsigned)s->primaries.count] : NULL;
}

/* ---- Invariants ---- */

static struct {
    uint64_t config_epoch, leader_epoch, moved_epoch; /* moved_epoch: config epoch of the last move */
    char leader[RUN_ID_LEN + 1];
    int port;
    bool seen;
} remembered[REMEMBER];

static void checkLink(const struct instance *i) {
    const struct peerLink *link = i->link;
    bool owned = false;
    for (int n = 0; n < link->owner_count; n++) {
        owned |= link->owners[n] == i;
        serverAssert(link->owners[n]->link == link);
    }
    serverAssert(owned && link->pending_count <= link->pending_capacity);
    serverAssert(link->channel[CHANNEL_COMMAND] || !link->pending_count);
    serverAssert(i->kind == KIND_SENTINEL || link->owner_count == 1);
    serverAssert(i->kind != KIND_SENTINEL || !link->channel[CHANNEL_PUBSUB]);
}

/* Checks that epochs only grow, that there is one vote in each, and that the address changes
 * only with the config epoch. */
static void checkRemembered(struct instance *primary) {
    if (primary->id >= REMEMBER) return;
    __typeof__(&remembered[0]) was = &remembered[primary->id];
    const struct primaryState *p = &primary->p;
    if (was->seen) {
        serverAssert(primary->config_epoch >= was->config_epoch && p->leader_epoch >= was->leader_epoch);
        if (p->leader_epoch == was->leader_epoch && *p->leader && *was->leader)
            serverAssert(strcmp(p->leader, was->leader) == 0);
        if (primary->address.port != was->port) {
            serverAssert(primary->config_epoch > was->moved_epoch);
            was->moved_epoch = primary->config_epoch;
        }
    }
    was->seen = true;
    was->config_epoch = primary->config_epoch;
    was->leader_epoch = p->leader_epoch;
    was->port = primary->address.port;
    if (*p->leader) memcpy(was->leader, p->leader, sizeof was->leader);
}

static void checkPrimary(struct instance *primary) {
    const struct primaryState *p = &primary->p;
    bool promoted_there = !p->promoted;
    serverAssert(primary->kind == KIND_PRIMARY && supervisorFindPrimary(s, primary->name) == primary);
    checkLink(primary);
    for (int n = 0; n < p->replicas.count; n++) {
        const struct instance *i = p->replicas.items[n];
        serverAssert(i->kind == KIND_REPLICA && i->primary == primary);
        promoted_there |= i == p->promoted;
        checkLink(i);
    }
    for (int n = 0; n < p->sentinels.count; n++) {
        const struct instance *i = p->sentinels.items[n];
        serverAssert(i->kind == KIND_SENTINEL && i->primary == primary && strlen(i->run_id) > 0);
        serverAssert(instancesFindSentinel(&p->sentinels, NULL, i->run_id) == i);
        checkLink(i);
    }
    serverAssert(promoted_there);
    serverAssert(p->failover_state == FAILOVER_NONE || primary->flags & FLAG_FAILOVER_IN_PROGRESS);
    serverAssert(primary->config_epoch <= INT64_MAX);
    checkRemembered(primary);
}

static void checkSupervisor(void) {
    static uint64_t newest_epoch;
    if (now_ms == 0) newest_epoch = 0;
    serverAssert(s->current_epoch >= newest_epoch && s->current_epoch <= INT64_MAX);
    newest_epoch = s->current_epoch;
    for (int n = 0; n < s->primaries.count; n++) checkPrimary(s->primaries.items[n]);
}

static bool notPresent(void *priv, struct str word) {
    (void)priv, (void)word;
    return false;
}

static const char *applyLine(struct supervisor *to, struct str line, int pass) {
    int argc;
    struct str argv[8];
    const char *err = NULL;
    sds *words = sdssplitargs(line.ptr, line.len, &argc);
    if (!words) return "Unbalanced quotes";
    for (int n = 0; n < argc && n < 8; n++) argv[n] = sdsview(words[n]);
    if (argc > 0 && argc <= 8 && (pass < 0 || supervisorConfigPass(argv[0]) == (enum configPass)pass))
        err = supervisorConfigLine(to, argc, argv);
    sdsfreesplitres(words, argc);
    return err;
}

static void checkSaved(void) {
    struct supervisor again;
    sds lines = supervisorConfigLines(s, notPresent, NULL);
    int count;
    sds *line = sdssplitlen(lines, sdslen(lines), "\n", 1, &count);
    bool was_verbose = verbose;
    verbose = false;
    supervisorInit(&again, &env, NULL, now_ms);
    for (int pass = PASS_SELF; pass <= PASS_REST; pass++) {
        for (int n = 0; n < count; n++) {
            const char *err = applyLine(&again, sdsview(line[n]), pass);
            if (err) serverPanic("%s: %s", line[n], err);
        }
    }
    /* Loading takes the epoch of a configuration as current, too; a hello may have had one that is not. */
    serverAssert(again.current_epoch >= s->current_epoch);
    again.current_epoch = s->current_epoch;
    sds once_more = supervisorConfigLines(&again, notPresent, NULL);
    if (strcmp(lines, once_more) != 0) fprintf(stderr, "written:\n%s\nread:\n%s", lines, once_more);
    serverAssert(strcmp(lines, once_more) == 0);
    supervisorDestroy(&again);
    verbose = was_verbose;
    sdsfree(lines);
    sdsfree(once_more);
    sdsfreesplitres(line, count);
}

/* ---- Steps ---- */

/* Processes the next reply in wire format, from a buffer of its exact length, for sanitizers. */
static void giveReply(struct instance *i, struct str wire, bool message) {
    char *bytes = malloc(wire.len ? wire.len : 1);
    struct respReply reply;
    if (wire.len) memcpy(bytes, wire.ptr, wire.len);
    if (respReadReply(bytes, wire.len, &reply) > 0) {
        if (!message && i->link->channel[CHANNEL_COMMAND]) supervisorProcessReply(s, i->link, &reply, now_ms);
        if (message && i->link->channel[CHANNEL_PUBSUB]) supervisorProcessMessage(s, i->link, &reply, now_ms);
        respReplyFree(&reply);
    }
    free(bytes);
}

static void giveText(struct instance *i, struct str text) {
    sds wire = sdscatstr(sdscatprintf(sdsempty(), "$%zu\r\n", text.len), text);
    wire = sdscat(wire, "\r\n");
    giveReply(i, sdsview(wire), false);
    sdsfree(wire);
}

/* Answers the requests before the first one of this kind. Returns whether there is one. */
static bool answerUpTo(struct instance *i, enum peerRequest what) {
    const struct peerLink *link = i->link;
    for (int n = 0; n < 300 && link->pending_count && link->pending[0].what != what; n++)
        giveReply(i, STR("+PONG\r\n"), false);
    return link->pending_count && link->pending[0].what == what;
}

static void stepInfo(struct instance *i, struct str text) {
    if (i->kind != KIND_SENTINEL && instanceCount() <= INSTANCES && answerUpTo(i, REQ_INFO))
        giveText(i, text);
}

static void stepQuestion(struct instance *i, struct str wire) {
    if (i->kind == KIND_SENTINEL && answerUpTo(i, REQ_DOWN)) giveReply(i, wire, false);
}

static void stepHello(struct instance *i, struct str hello) {
    (void)i;
    if (instanceCount() <= INSTANCES) supervisorProcessHello(s, hello, now_ms);
}

static void stepMessage(struct instance *i, struct str hello) {
    if (instanceCount() > INSTANCES) return;
    sds wire =
        sdscatprintf(sdsempty(), "*3\r\n$7\r\nmessage\r\n$18\r\n" HELLO_CHANNEL "\r\n$%zu\r\n", hello.len);
    wire = sdscat(sdscatstr(wire, hello), "\r\n");
    giveReply(i, sdsview(wire), true);
    sdsfree(wire);
}

static void stepRaw(struct instance *i, struct str wire) {
    giveReply(i, wire, false);
}

static void stepAnswerAll(struct instance *i, struct str text) {
    (void)text;
    for (int n = 0; n < 200 && i->link->pending_count; n++) {
        enum peerRequest what = i->link->pending[0].what;
        giveReply(i,
                  what == REQ_INFO      ? STR("$0\r\n\r\n")
                  : what == REQ_PUBLISH ? STR(":1\r\n")
                                        : STR("+PONG\r\n"),
                  false);
    }
}

static void stepDown(struct instance *i, struct str text) {
    enum channel ch = text.len % 2 && i->kind != KIND_SENTINEL ? CHANNEL_PUBSUB : CHANNEL_COMMAND;
    if (i->link->channel[ch]) supervisorOnChannelDown(s, i->link, ch, "The line says so", now_ms);
}

static void stepTick(struct instance *i, struct str text) {
    (void)i;
    now_ms += text.len ? 100 * (unsigned char)(text.ptr[0] - '0') % MS_MAX : 100;
    supervisorTick(s, now_ms);
}

static bool changesEpochs(struct str text) { /* whether the line changes the epochs of a primary by force */
    return strStarts(text, STR("config-epoch")) || strStarts(text, STR("leader-epoch"));
}
static void stepConfig(struct instance *i, struct str text) {
    (void)i;
    if (changesEpochs(text) || instanceCount() > INSTANCES || s->primaries.count > PRIMARIES) return;
    if (strStarts(text, STR("client-")) || strStarts(text, STR("notification")))
        return; /* paths on this
                 * machine */
    applyLine(s, text, -1);
}

static void stepVote(struct instance *i, struct str text) {
    if (!i) return;
    struct instance *primary = i->primary ? i->primary : i;
    char id[RUN_ID_LEN + 1];
    memset(id, text.len ? (text.ptr[0] & 7) + 'a' : 'a', RUN_ID_LEN);
    id[RUN_ID_LEN] = '\0';
    supervisorAnswerDown(s, primary->address.ip, primary->address.port,
                         s->current_epoch + (text.len > 1 ? (unsigned char)text.ptr[1] % 4 : 0),
                         text.len > 2 ? NULL : id, now_ms);
}

static void stepUser(struct instance *i, struct str text) {
    struct instance *primary = i->primary ? i->primary : i;
    struct instance *removed;
    switch (text.len ? text.ptr[0] : 0) {
    case 'r': supervisorResetMatching(s, strOf(primary->name), now_ms); break;
    case 'f': supervisorFailover(s, primary, false, now_ms); break;
    case 'c': supervisorFailover(s, primary, true, now_ms); break;
    case 'd': supervisorDropLinks(s, primary); break;
    case 's': supervisorDropSentinelLinks(s); break;
    case 'x':
        removed = nthPrimary((unsigned)text.len);
        supervisorRemove(s, removed);
        break;
    case 'q': supervisorCheckQuorum(primary); break;
    default: read_bytes += sdslen(primary->name);
    }
}

static const struct {
    char letter;
    bool has_instance; /* the second letter selects the instance; else it is the first one, or NULL */
    void (*run)(struct instance *i, struct str text);
} steps[] = {
    {'t', false, stepTick},     /* time passes: a digit, 100 ms each */
    {'c', false, stepConfig},   /* a line of sentinel.conf, without `sentinel` */
    {'h', false, stepHello},    /* a hello sent to this Sentinel */
    {'m', true, stepMessage},   /* a hello on the instance's pub/sub channel */
    {'i', true, stepInfo},      /* its INFO */
    {'q', true, stepQuestion},  /* its answer about the primary, in wire format */
    {'r', true, stepRaw},       /* its next reply, in wire format */
    {'a', true, stepAnswerAll}, /* it answers all requests */
    {'d', true, stepDown},      /* one of its channels breaks */
    {'v', true, stepVote},      /* another Sentinel requests a vote about its primary */
    {'u', true, stepUser},      /* a user's command about its primary */
};

/* Replaces the abbreviations in a line, see above. */
static sds expandLine(struct str line) {
    sds text = sdsempty();
    for (size_t n = 0; n < line.len; n++) {
        char c = line.ptr[n], next = n + 1 < line.len ? line.ptr[n + 1] : 0;
        if (c == '|') {
            text = sdscat(text, "\r\n");
        } else if (c == '@' && next) {
            for (int k = 0; k < RUN_ID_LEN; k++) text = sdscatlen(text, &next, 1);
            n++;
        } else if (c == '\\' && next >= '0' && next <= '7') {
            text = sdscatlen(text, (char[]){(char)(next - '0')}, 1);
            n++;
        } else {
            text = sdscatlen(text, &c, 1);
        }
    }
    return text;
}

static void runStep(struct str line) {
    for (size_t n = 0; n < sizeof steps / sizeof *steps; n++) {
        if (!line.len || line.ptr[0] != steps[n].letter) continue;
        size_t used = 1;
        struct instance *i = NULL;
        if (steps[n].has_instance) {
            i = line.len > 1 ? nthInstance((unsigned char)line.ptr[1] - '0') : NULL;
            used = 2;
            if (!i) return;
        }
        if (verbose) fprintf(stderr, "%.*s\n", (int)line.len, line.ptr);
        sds text = expandLine(strN(line.ptr + used, line.len - used));
        steps[n].run(i, sdsview(text));
        sdsfree(text);
        return;
    }
}

/* ---- One input ---- */

static void beginInput(void) {
    memset(remembered, 0, sizeof remembered);
    now_ms = 0;
    chance = 1;
    supervisorInit(s, &env, NULL, 1000000);
    checkSupervisor();
    now_ms = 1000000;
    s->settings.own_port = 26379;
    applyLine(s, STR("monitor m 10.0.0.1 6001 2"), -1);
    applyLine(s, STR("known-replica m 10.0.0.1 6002"), -1);
    applyLine(s, STR("down-after-milliseconds m 1000"), -1);
    applyLine(s, STR("failover-timeout m 3000"), -1);
    supervisorStart(s, now_ms);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str rest = strN((const char *)data, size);
    verbose = getenv("FUZZ_VERBOSE") != NULL;
    beginInput();
    for (int n = 0; n < STEPS_MAX && rest.len; n++) {
        const char *end = memchr(rest.ptr, '\n', rest.len);
        size_t len = end ? (size_t)(end - rest.ptr) : rest.len;
        runStep(strN(rest.ptr, len));
        len += end != NULL;
        rest = strN(rest.ptr + len, rest.len - len);
        checkSupervisor();
        if (n % 8 == 0) checkSaved();
    }
    checkSaved();
    supervisorDestroy(s);
    return 0;
}
