/* SPDX-License-Identifier: BSD-3-Clause */
/* recording_world.h - a world for tests of the supervisor: it writes down what it is asked for, line by line,
 * and connects whenever it may.
 *
 *     connect 6379 cmd              to the port of the link's first owner
 *     6379 cmd> PING                sent
 *     close 6379 pubsub
 *     +slave slave 127.0.0.1:6380 127.0.0.1 6380 @ m 127.0.0.1 6379
 *     script /path a b
 *     log: a line
 *     save */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sentinel/supervisor_private.h"

static struct {
    sds text;
    bool refuse_connect, refuse_save, no_own_ip, quiet;
    uint64_t chance;
} world;

static const char *const channel_names[] = {"cmd", "pubsub"};

static void record(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void record(const char *fmt, ...) {
    if (world.quiet) return;
    va_list ap;
    va_start(ap, fmt);
    world.text = sdscat(sdscatvprintf(world.text ? world.text : sdsempty(), fmt, ap), "\n");
    va_end(ap);
}

static int portOfLink(const struct peerLink *link) {
    return link->owner_count ? link->owners[0]->address.port : 0;
}

static bool worldConnect(void *w, struct peerLink *link, enum channel ch, const struct hostAddress *address,
                         char *err, size_t errlen) {
    static char connected;
    (void)w;
    if (world.refuse_connect) return snprintf(err, errlen, "No way"), false;
    record("connect %d %s", address->port, channel_names[ch]);
    link->channel[ch] = &connected;
    return true;
}
static void worldClose(void *w, struct peerLink *link, enum channel ch) {
    (void)w;
    record("close %d %s", portOfLink(link), channel_names[ch]);
    link->channel[ch] = NULL;
}
static void worldSend(void *w, struct peerLink *link, enum channel ch, int argc, const struct str *argv) {
    (void)w;
    sds words = sdsempty();
    for (int n = 0; n < argc; n++) words = sdscatprintf(words, " %.*s", (int)argv[n].len, argv[n].ptr);
    record("%d %s>%s", portOfLink(link), channel_names[ch], words);
    sdsfree(words);
}
static bool worldOwnIp(void *w, struct peerLink *link, char ip[HOST_IP_LEN]) {
    (void)w, (void)link;
    return !world.no_own_ip && snprintf(ip, HOST_IP_LEN, "10.0.0.9");
}
/* host1 is 10.1.1.1; others are nowhere. */
static bool worldResolve(void *w, const char *name, char ip[HOST_IP_LEN]) {
    int n, used = 0;
    (void)w;
    if (sscanf(name, "host%d%n", &n, &used) != 1 || name[used] || n < 0 || n > 255) return false;
    snprintf(ip, HOST_IP_LEN, "10.%d.%d.%d", n, n, n);
    return true;
}
static uint64_t worldRandom(void *w) {
    (void)w;
    return world.chance += 0x9e3779b97f4a7c15ULL;
}
static void worldEvent(void *w, enum eventLevel level, const char *name, const char *payload) {
    (void)w, (void)level;
    record("%s %s", name, payload);
}
static void worldLog(void *w, int level, const char *line) {
    (void)w, (void)level;
    record("log: %s", line);
}
static void worldScript(void *w, const char *path, int argc, const char *const *argv) {
    (void)w;
    sds words = sdsempty();
    for (int n = 0; n < argc; n++) words = sdscatprintf(words, " %s", argv[n]);
    record("script %s%s", path, words);
    sdsfree(words);
}
static bool worldSave(void *w) {
    (void)w;
    record("save");
    return !world.refuse_save;
}
static void worldCrash(void *w) {
    (void)w;
    record("crash");
}

static const struct supervisorWorld recording_world = {.connect = worldConnect,
                                                       .close = worldClose,
                                                       .send = worldSend,
                                                       .ownIp = worldOwnIp,
                                                       .resolve = worldResolve,
                                                       .random = worldRandom,
                                                       .event = worldEvent,
                                                       .log = worldLog,
                                                       .script = worldScript,
                                                       .save = worldSave,
                                                       .crash = worldCrash};

/* ---- A supervisor in it ---- */

#define TEST_NOW  1000000000LL
#define TEST_MYID "mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm"

static struct supervisor s;

/* One line of sentinel.conf, words apart by single blanks: NULL, or why it is refused. */
static inline const char *configLine(const char *text) {
    int argc;
    sds *words = sdssplitargs(text, strlen(text), &argc);
    struct str argv[16];
    assert_non_null(words);
    assert_in_range(argc, 1, 16);
    for (int n = 0; n < argc; n++) argv[n] = sdsview(words[n]);
    const char *err = supervisorConfigLine(&s, argc, argv);
    sdsfreesplitres(words, argc);
    return err;
}

/* All that has been recorded since the last look, and nothing else. */
#define expectRecord(expected)                                                                               \
    do {                                                                                                     \
        assert_string_equal(world.text ? world.text : "", expected);                                         \
        sdsfree(world.text);                                                                                 \
        world.text = NULL;                                                                                   \
    } while (0)

static inline void forgetRecord(void) {
    sdsfree(world.text);
    world.text = NULL;
}

/* Primary "m" at 127.0.0.1:6379. */
static inline int worldSetup(void **state) {
    (void)state;
    memset(&world, 0, sizeof world);
    supervisorInit(&s, &recording_world, NULL, TEST_NOW);
    memcpy(s.my_id, TEST_MYID, sizeof TEST_MYID);
    s.settings.own_port = 26379;
    assert_null(configLine("monitor m 127.0.0.1 6379 2"));
    return 0;
}

static inline int worldTeardown(void **state) {
    (void)state;
    world.quiet = true;
    supervisorDestroy(&s);
    forgetRecord();
    return 0;
}

static inline void tickAt(int64_t since_start_ms) {
    supervisorTick(&s, TEST_NOW + since_start_ms);
}

/* The next answer on the command channel, as it is on the wire. */
static inline void answer(struct instance *i, const char *wire) {
    struct respReply reply;
    assert_int_equal(respReadReply(wire, strlen(wire), &reply), strlen(wire));
    supervisorReply(&s, i->link, &reply, s.now_ms);
    respReplyFree(&reply);
}
