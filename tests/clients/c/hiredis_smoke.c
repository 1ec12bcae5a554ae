/* SPDX-License-Identifier: BSD-3-Clause */
/* hiredis_smoke.c - tests of hiredis, on which many clients are built: one context that waits for each
 * reply, pipelines, scripts, messages, large values, an interrupted connection, and the asynchronous
 * interface on libevent. PORT and RESTART (a command) come from the environment. It prints each passed
 * test and ends at the first difference. */
#include <hiredis/adapters/libevent.h>
#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BIG (8 * 1024 * 1024)

static int port;

static void smokeFail(const char *what, const char *got) {
    printf("%s: %s\n", what, got ? got : "(nothing)");
    exit(1);
}

static redisContext *connectNow(void) {
    redisContext *c = redisConnectWithTimeout("127.0.0.1", port, (struct timeval){20, 0});
    if (!c || c->err) smokeFail("connecting", c ? c->errstr : NULL);
    redisSetTimeout(c, (struct timeval){60, 0});
    return c;
}

static redisReply *smokeCall(redisContext *c, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    redisReply *r = redisvCommand(c, format, ap);
    va_end(ap);
    if (!r) smokeFail(format, c->errstr);
    return r;
}

static void isText(redisReply *r, int type, const char *text) {
    if (r->type != type || strcmp(r->str, text) != 0) smokeFail(text, r->str);
    freeReplyObject(r);
}

static void isNumber(redisReply *r, long long n) {
    if (r->type != REDIS_REPLY_INTEGER || r->integer != n) smokeFail("a number", r->str);
    freeReplyObject(r);
}

static void repliesOfEachType(redisContext *c) {
    isText(smokeCall(c, "PING"), REDIS_REPLY_STATUS, "PONG");
    isText(smokeCall(c, "ECHO %b", "a\0b", (size_t)3), REDIS_REPLY_STRING, "a");
    isNumber(smokeCall(c, "INCRBY n %lld", 1234567890123LL), 1234567890123LL);
    redisReply *r = smokeCall(c, "GET absent");
    if (r->type != REDIS_REPLY_NIL) smokeFail("GET of an absent key", r->str);
    freeReplyObject(r);
    freeReplyObject(smokeCall(c, "RPUSH l one %s three", "two words"));
    r = smokeCall(c, "LRANGE l 0 -1");
    if (r->type != REDIS_REPLY_ARRAY || r->elements != 3 || strcmp(r->element[1]->str, "two words") != 0)
        smokeFail("LRANGE", r->str);
    freeReplyObject(r);
    isText(smokeCall(c, "INCR l"), REDIS_REPLY_ERROR,
           "WRONGTYPE Operation against a key holding the wrong kind of value");
    freeReplyObject(smokeCall(c, "ZADD z 1.5 a"));
    isText(smokeCall(c, "ZSCORE z a"), REDIS_REPLY_STRING, "1.5");
}

static void smokeTestPipelines(redisContext *c) {
    enum { COMMANDS = 10000 };
    for (int i = 0; i < COMMANDS; i++) redisAppendCommand(c, i == 5000 ? "LPOP n" : "INCR counter");
    for (int i = 0; i < COMMANDS; i++) {
        redisReply *r;
        if (redisGetReply(c, (void **)&r) != REDIS_OK) smokeFail("pipeline", c->errstr);
        if (i == 5000 && (r->type != REDIS_REPLY_ERROR || strncmp(r->str, "WRONGTYPE", 9) != 0))
            smokeFail("the error within", r->str);
        if (i != 5000 && r->integer != i + (i < 5000)) smokeFail("the order of replies", r->str);
        freeReplyObject(r);
    }
}

static void transactionsAndScripts(redisContext *c) {
    isText(smokeCall(c, "MULTI"), REDIS_REPLY_STATUS, "OK");
    isText(smokeCall(c, "SET t 1"), REDIS_REPLY_STATUS, "QUEUED");
    isText(smokeCall(c, "INCR t"), REDIS_REPLY_STATUS, "QUEUED");
    redisReply *r = smokeCall(c, "EXEC");
    if (r->elements != 2 || r->element[1]->integer != 2) smokeFail("EXEC", r->str);
    freeReplyObject(r);
    r = smokeCall(c, "EVAL %s 1 t x", "return {redis.call('GET', KEYS[1]), {ARGV[1], 7}, false}");
    if (r->elements != 3 || strcmp(r->element[0]->str, "2") != 0 || r->element[1]->elements != 2 ||
        r->element[1]->element[1]->integer != 7 || r->element[2]->type != REDIS_REPLY_NIL)
        smokeFail("nested replies of a script", r->str);
    freeReplyObject(r);
}

static void bigValues(redisContext *c) {
    char *value = malloc(BIG);
    for (size_t i = 0; i < BIG; i++) value[i] = (char)(i * 31 >> 3);
    isText(smokeCall(c, "SET big %b", value, (size_t)BIG), REDIS_REPLY_STATUS, "OK");
    redisReply *r = smokeCall(c, "GET big");
    if (r->len != BIG || memcmp(r->str, value, BIG) != 0) smokeFail("a value of 8 MB", "other bytes");
    freeReplyObject(r);
    free(value);
}

static void smokeTestMessages(redisContext *c) {
    redisContext *s = connectNow();
    redisReply *r = smokeCall(s, "SUBSCRIBE news");
    if (r->elements != 3 || r->element[2]->integer != 1) smokeFail("SUBSCRIBE", r->str);
    freeReplyObject(r);
    isNumber(smokeCall(c, "PUBLISH news hello"), 1);
    if (redisGetReply(s, (void **)&r) != REDIS_OK) smokeFail("a message", s->errstr);
    if (strcmp(r->element[0]->str, "message") != 0 || strcmp(r->element[2]->str, "hello") != 0)
        smokeFail("a message", r->str);
    freeReplyObject(r);
    redisFree(s);
}

static void smokeTestReconnect(redisContext *c) {
    isText(smokeCall(c, "SET kept yes"), REDIS_REPLY_STATUS, "OK");
    if (system(getenv("RESTART")) != 0) smokeFail("restart", NULL);
    redisReply *r = redisCommand(c, "PING");
    if (r || !c->err) smokeFail("a connection of the server before", "still answers");
    if (redisReconnect(c) != REDIS_OK) smokeFail("redisReconnect", c->errstr);
    isText(smokeCall(c, "GET kept"), REDIS_REPLY_STRING, "yes");
}

/* ---- Asynchronous ---- */

enum { ASYNC_COMMANDS = 1000 };
static struct event_base *base;
static int async_replies, async_messages, async_ended;
static redisAsyncContext *publisher;

static void onCount(redisAsyncContext *a, void *reply, void *expected) {
    redisReply *r = reply;
    if (!r || r->integer != (long long)(size_t)expected) smokeFail("an asynchronous INCR", a->errstr);
    async_replies++;
}

static void onMessage(redisAsyncContext *a, void *reply, void *priv) {
    (void)priv;
    redisReply *r = reply;
    if (!r) return; /* the connection has ended */
    if (strcmp(r->element[0]->str, "subscribe") == 0) {
        redisAsyncCommand(publisher, NULL, NULL, "PUBLISH async %s", "now");
    } else if (++async_messages == 1) {
        redisAsyncDisconnect(publisher);
        redisAsyncDisconnect(a);
    }
}

static void onDisconnect(const redisAsyncContext *a, int status) {
    if (status != REDIS_OK) smokeFail("an asynchronous connection", a->errstr);
    if (++async_ended == 2) event_base_loopbreak(base);
}

static redisAsyncContext *connectLater(void) {
    redisAsyncContext *a = redisAsyncConnect("127.0.0.1", port);
    if (!a || a->err) smokeFail("connecting", a ? a->errstr : NULL);
    redisLibeventAttach(a, base);
    redisAsyncSetDisconnectCallback(a, onDisconnect);
    return a;
}

static void smokeTestAsync(redisContext *c) {
    freeReplyObject(smokeCall(c, "DEL async"));
    base = event_base_new();
    publisher = connectLater();
    for (size_t i = 1; i <= ASYNC_COMMANDS; i++)
        redisAsyncCommand(publisher, onCount, (void *)i, "INCR async");
    redisAsyncCommand(connectLater(), onMessage, NULL, "SUBSCRIBE async");
    event_base_loopexit(base, &(struct timeval){60, 0});
    event_base_dispatch(base);
    if (async_replies != ASYNC_COMMANDS || async_messages != 1)
        smokeFail("asynchronous replies", "too few came");
    event_base_free(base);
}

int main(void) {
    static const struct {
        const char *name;
        void (*check)(redisContext *c);
    } checks[] = {
        {"replies of each type", repliesOfEachType},
        {"pipelines", smokeTestPipelines},
        {"transactions and scripts", transactionsAndScripts},
        {"big values", bigValues},
        {"messages", smokeTestMessages},
        {"reconnecting", smokeTestReconnect},
        {"asynchronous, on libevent", smokeTestAsync},
    };
    port = atoi(getenv("PORT"));
    redisContext *c = connectNow();
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        checks[i].check(c);
        printf("ok %s\n", checks[i].name);
        fflush(stdout);
    }
    redisFree(c);
    return 0;
}
