/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_fuzz.c - --fuzz: random commands, to test that a server survives them.
 *
 * Every client sends one command, then every client reads its reply, so that the commands of all clients
 * are at the server together. Error replies are fine; the test is that a reply arrives and is RESP. */
#include "tools/benchmark/benchmark_fuzz.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "net/connection.h"
#include "tools/benchmark/benchmark.h"

#define PROGRESS_US 1000000

enum level { LEVEL_NONE, LEVEL_ERROR, LEVEL_INFO, LEVEL_DEBUG };
static const char *const level_names[] = {"none", "error", "info", "debug"};

struct fuzzClient {
    struct connection *conn; /* NULL after a failure */
    sds shown;               /* the current command */
};

static struct fuzz {
    const struct benchOptions *o;
    struct fuzzGrammar grammar;
    struct fuzzClient *clients;
    enum level level;
    int64_t per_client, sent, succeeded, errors, broken;
    int64_t started_us, told_us;
    int failed;
} fuzz;

__attribute__((format(printf, 2, 3))) static void benchFuzzSay(enum level level, const char *fmt, ...) {
    static const char *const tags[] = {"", "ERROR", "INFO ", "DEBUG"};
    char at[16];
    time_t now = time(NULL);
    struct tm tm;
    va_list ap;
    if (level > fuzz.level) return;
    strftime(at, sizeof at, "%H:%M:%S", localtime_r(&now, &tm));
    va_start(ap, fmt);
    sds text = sdscatvprintf(sdsempty(), fmt, ap);
    va_end(ap);
    printf("[%s] [%s] %s\n", at, tags[level], text);
    sdsfree(text);
}

/* ---- Options ---- */

static bool benchFuzzAddMode(struct str mode) {
    if (strIs(mode, "malformed-commands"))
        fuzz.grammar.malformed = true;
    else if (strIs(mode, "config-commands"))
        fuzz.grammar.set_config = true;
    else
        fprintf(stderr, "There is no fuzz mode '%.*s'\n", (int)mode.len, mode.ptr);
    return fuzz.grammar.malformed || fuzz.grammar.set_config;
}

bool benchFuzzModes(const char *modes) {
    int count;
    bool ok = true;
    sds *names = sdssplitlen(modes, strlen(modes), ",", 1, &count);
    for (int i = 0; i < count && ok; i++) ok = benchFuzzAddMode(sdsview(names[i]));
    sdsfreesplitres(names, count);
    return ok;
}

static void benchFuzzParseLevel(const char *name) {
    fuzz.level = LEVEL_INFO;
    for (int i = LEVEL_NONE; i <= LEVEL_DEBUG; i++) {
        if (strcasecmp(name, level_names[i])) continue;
        fuzz.level = i;
        return;
    }
    benchFuzzSay(LEVEL_INFO, "There is no log level '%s', so it is 'info'", name);
}

/* ---- Requests and replies ---- */

static sds benchFuzzRequest(struct connection *conn, int argc, const char *const *argv, sds *err) {
    return benchSend(conn, argc, argv) ? benchReadReply(conn, err) : NULL;
}

static bool benchFuzzLoadCommands(sds *err) {
    static const char *const docs[] = {"COMMAND", "DOCS"}, *const config[] = {"CONFIG", "GET", "*"};
    struct connection *conn = benchConnect(fuzz.o, &fuzz.o->servers[0], err);
    if (!conn) return false;
    sds documented = benchFuzzRequest(conn, 2, docs, err),
        flags = documented ? benchFuzzRequest(conn, 1, docs, err) : NULL;
    sds directives = flags ? benchFuzzRequest(conn, 3, config, err) : NULL;
    connClose(conn);
    bool ok = fuzzGrammarInit(&fuzz.grammar, documented, flags, directives);
    if (!ok && !*err) *err = sdsnew("COMMAND DOCS describes no command that could be sent");
    return ok;
}

static bool benchFuzzConnectClients(sds *err) {
    fuzz.clients = zcalloc((size_t)fuzz.o->clients, sizeof *fuzz.clients);
    benchRaiseFileLimit(fuzz.o->clients);
    for (int i = 0; i < fuzz.o->clients; i++) {
        fuzz.clients[i].conn = benchConnect(fuzz.o, &fuzz.o->servers[0], err);
        if (!fuzz.clients[i].conn) return false;
    }
    return true;
}

static void benchFuzzFailClient(struct fuzzClient *c, const char *why) {
    benchFuzzSay(LEVEL_ERROR, "%s, after %s", why, c->shown);
    connClose(c->conn);
    c->conn = NULL;
    fuzz.failed++;
}

static void benchFuzzSendOne(struct fuzzClient *c) {
    if (!c->conn) return;
    sdsfree(c->shown);
    sds request = fuzzCommandMake(&fuzz.grammar, &c->shown);
    if (benchSendBytes(c->conn, sdsview(request)))
        fuzz.sent++;
    else
        benchFuzzFailClient(c, "The connection has broken");
    sdsfree(request);
}

static void benchFuzzReadReply(struct fuzzClient *c) {
    sds err = NULL, reply = c->conn ? benchReadReply(c->conn, &err) : NULL;
    if (!c->conn) return;
    if (!reply) {
        fuzz.broken += err && strstr(err, "Protocol error");
        benchFuzzFailClient(c, err ? err : "There is no reply");
    } else if (reply[0] == '-' || reply[0] == '!') {
        fuzz.errors++;
        benchFuzzSay(LEVEL_DEBUG, "%s: %.*s", c->shown, (int)strcspn(reply, "\r"), reply);
    } else {
        fuzz.succeeded++;
    }
    sdsfree(reply);
    sdsfree(err);
}

/* ---- The run ---- */

static void benchFuzzPrintProgress(bool last) {
    int64_t now_us = monotonicUs(), all = fuzz.per_client * fuzz.o->clients;
    if (fuzz.level < LEVEL_INFO || (!last && now_us - fuzz.told_us < PROGRESS_US)) return;
    double seconds = (double)(now_us - fuzz.started_us) / 1e6;
    fuzz.told_us = now_us;
    printf("Progress: %lld/%lld commands (%.1f%%), %.1f rps\n", (long long)fuzz.sent, (long long)all,
           100.0 * (double)fuzz.sent / (double)all, seconds > 0 ? (double)fuzz.sent / seconds : 0);
    fflush(stdout);
}

static void benchFuzzPrintResult(void) {
    int64_t answered = fuzz.succeeded + fuzz.errors + fuzz.broken;
    benchFuzzSay(LEVEL_INFO, "All client threads completed. %d succeeded, %d failed.",
                 fuzz.o->clients - fuzz.failed, fuzz.failed);
    benchFuzzSay(LEVEL_INFO, "=== FINAL STATISTICS ===");
    benchFuzzSay(LEVEL_INFO, "Total commands sent: %lld", (long long)fuzz.sent);
    benchFuzzSay(LEVEL_INFO, "Success replies: %lld", (long long)fuzz.succeeded);
    benchFuzzSay(LEVEL_INFO, "Error replies: %lld", (long long)fuzz.errors);
    benchFuzzSay(LEVEL_INFO, "Malformed replies: %lld", (long long)fuzz.broken);
    benchFuzzSay(LEVEL_INFO, "Total errors: %lld", (long long)(fuzz.errors + fuzz.broken));
    benchFuzzSay(LEVEL_INFO, "Success rate: %.2f%%",
                 answered ? 100.0 * (double)fuzz.succeeded / (double)answered : 0);
    benchFuzzSay(LEVEL_INFO, "The same commands again: --seed %llu", (unsigned long long)fuzz.o->seed);
}

static void benchFuzzRun(void) {
    fuzz.started_us = fuzz.told_us = monotonicUs();
    for (int64_t i = 0; i < fuzz.per_client && fuzz.failed < fuzz.o->clients; i++) {
        for (int k = 0; k < fuzz.o->clients; k++) benchFuzzSendOne(&fuzz.clients[k]);
        for (int k = 0; k < fuzz.o->clients; k++) benchFuzzReadReply(&fuzz.clients[k]);
        benchFuzzPrintProgress(false);
    }
    benchFuzzPrintProgress(true);
    benchFuzzPrintResult();
}

int benchFuzz(const struct benchOptions *o) {
    sds err = NULL;
    fuzz.o = o;
    benchFuzzParseLevel(o->fuzz_level);
    if (!benchFuzzLoadCommands(&err) || !benchFuzzConnectClients(&err)) {
        fprintf(stderr, "%s\n", err);
        return 1;
    }
    randomSeed(o->seed);
    fuzz.per_client = o->requests / o->clients ? o->requests / o->clients : 1;
    printf("Running fuzzer with %d clients, %lld commands per client (%lld total commands)\n", o->clients,
           (long long)fuzz.per_client, (long long)o->requests);
    benchFuzzRun();
    for (int i = 0; i < o->clients; i++) {
        if (fuzz.clients[i].conn) connClose(fuzz.clients[i].conn);
        sdsfree(fuzz.clients[i].shown);
    }
    zfree(fuzz.clients);
    fuzzGrammarFree(&fuzz.grammar);
    return fuzz.failed ? 1 : 0;
}
