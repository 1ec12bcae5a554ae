/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_recorder.c - see sentinel_recorder.h. */
#include "tests/sim/sentinel_recorder.h"

#include <stdio.h>
#include <string.h>

struct sentinelRecorder recorder;
struct supervisor recorded_supervisor;

static const char *const channel_names[] = {"cmd", "pubsub"};

static void recorderWrite(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void recorderWrite(const char *fmt, ...) {
    if (recorder.quiet) return;
    va_list ap;
    va_start(ap, fmt);
    recorder.text = sdscat(sdscatvprintf(recorder.text ? recorder.text : sdsempty(), fmt, ap), "\n");
    va_end(ap);
}

static int recorderPortOfLink(const struct peerLink *link) {
    return link->owner_count ? link->owners[0]->address.port : 0;
}

static bool recorderConnect(void *ctx, struct peerLink *link, enum channel ch,
                            const struct hostAddress *address, char *err, size_t errlen) {
    static char connected;
    (void)ctx;
    if (recorder.refuse_connect) return snprintf(err, errlen, "No way"), false;
    recorderWrite("connect %d %s", address->port, channel_names[ch]);
    link->channel[ch] = &connected;
    return true;
}
static void recorderClose(void *ctx, struct peerLink *link, enum channel ch) {
    (void)ctx;
    recorderWrite("close %d %s", recorderPortOfLink(link), channel_names[ch]);
    link->channel[ch] = NULL;
}
static void recorderSend(void *ctx, struct peerLink *link, enum channel ch, int argc,
                         const struct str *argv) {
    (void)ctx;
    sds words = sdsempty();
    for (int n = 0; n < argc; n++) words = sdscatprintf(words, " %.*s", (int)argv[n].len, argv[n].ptr);
    recorderWrite("%d %s>%s", recorderPortOfLink(link), channel_names[ch], words);
    sdsfree(words);
}
static bool recorderOwnIp(void *ctx, struct peerLink *link, char ip[HOST_IP_LEN]) {
    (void)ctx, (void)link;
    return !recorder.no_own_ip && snprintf(ip, HOST_IP_LEN, "10.0.0.9");
}
/* host1 is 10.1.1.1, and so on; all other names are unknown. */
static bool recorderResolve(void *ctx, const char *name, char ip[HOST_IP_LEN]) {
    int n, used = 0;
    (void)ctx;
    if (sscanf(name, "host%d%n", &n, &used) != 1 || name[used] || n < 0 || n > 255) return false;
    snprintf(ip, HOST_IP_LEN, "10.%d.%d.%d", n, n, n);
    return true;
}
static uint64_t recorderRandom(void *ctx) {
    (void)ctx;
    return recorder.chance += 0x9e3779b97f4a7c15ULL;
}
static void recorderEvent(void *ctx, enum eventLevel level, const char *name, const char *payload) {
    (void)ctx, (void)level;
    recorderWrite("%s %s", name, payload);
}
static void recorderLog(void *ctx, int level, const char *line) {
    (void)ctx, (void)level;
    recorderWrite("log: %s", line);
}
static void recorderScript(void *ctx, const char *path, int argc, const char *const *argv) {
    (void)ctx;
    sds words = sdsempty();
    for (int n = 0; n < argc; n++) words = sdscatprintf(words, " %s", argv[n]);
    recorderWrite("script %s%s", path, words);
    sdsfree(words);
}
static bool recorderSave(void *ctx) {
    (void)ctx;
    recorderWrite("save");
    return !recorder.refuse_save;
}
static void recorderCrash(void *ctx) {
    (void)ctx;
    recorderWrite("crash");
}

static const struct supervisorEnv recorder_environment = {.connect = recorderConnect,
                                                          .close = recorderClose,
                                                          .send = recorderSend,
                                                          .ownIp = recorderOwnIp,
                                                          .resolve = recorderResolve,
                                                          .random = recorderRandom,
                                                          .event = recorderEvent,
                                                          .log = recorderLog,
                                                          .script = recorderScript,
                                                          .save = recorderSave,
                                                          .crash = recorderCrash};

const char *recorderConfigLine(const char *text) {
    int argc;
    sds *words = sdssplitargs(text, strlen(text), &argc);
    struct str argv[16];
    assert_non_null(words);
    assert_in_range(argc, 1, 16);
    for (int n = 0; n < argc; n++) argv[n] = sdsview(words[n]);
    const char *err = supervisorConfigLine(&recorded_supervisor, argc, argv);
    sdsfreesplitres(words, argc);
    return err;
}

void recorderForget(void) {
    sdsfree(recorder.text);
    recorder.text = NULL;
}

int recorderSetup(void **state) {
    (void)state;
    memset(&recorder, 0, sizeof recorder);
    supervisorInit(&recorded_supervisor, &recorder_environment, NULL, TEST_NOW);
    memcpy(recorded_supervisor.my_id, TEST_MYID, sizeof TEST_MYID);
    recorded_supervisor.settings.own_port = 26379;
    assert_null(recorderConfigLine("monitor m 127.0.0.1 6379 2"));
    return 0;
}

int recorderTeardown(void **state) {
    (void)state;
    recorder.quiet = true;
    supervisorDestroy(&recorded_supervisor);
    recorderForget();
    return 0;
}

void recorderTickAt(int64_t since_start_ms) {
    supervisorTick(&recorded_supervisor, TEST_NOW + since_start_ms);
}

void recorderAnswer(struct instance *i, const char *wire) {
    struct respReply reply;
    assert_int_equal(respReadReply(wire, strlen(wire), &reply), strlen(wire));
    supervisorProcessReply(&recorded_supervisor, i->link, &reply, recorded_supervisor.now_ms);
    respReplyFree(&reply);
}
