/* SPDX-License-Identifier: BSD-3-Clause */
/* migrate.c - MIGRATE: sends values to another server, and deletes them here when it has them. Part of
 * dump.h.
 *
 * One message is sent, with AUTH, SELECT, and a RESTORE for every key; then as many replies are read. The
 * server does nothing else meanwhile, so no data can change between the two. The socket is kept for a while,
 * since keys are usually moved one after the other. When a kept socket turns out to be closed, a new one is
 * tried, as long as no key has been deleted because of replies on the first. With `tls-cluster` the
 * connection uses TLS, in a cluster or not. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/linked_list.h"
#include "base/log.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/lookup.h"
#include "command/propagate.h"
#include "commands/cmd_generic.h"
#include "data/keyspace/db.h"
#include "data/notify.h"
#include "data/rdb/rdb.h"
#include "data/rdb/rewrite.h"
#include "net/dial.h"
#include "registry/cron.h"
#include "registry/info.h"
#include "types/keys/dump.h"

#define SOCKETS_MAX        64
#define SOCKET_IDLE_MS     10000
#define DEFAULT_TIMEOUT_MS 1000
#define LINE_MAX_BYTES     1024

/* ---- Sockets ---- */

struct target {
    struct listNode node;
    sds address;
    struct connection *conn; /* NULL: connection refused */
    int64_t selected_db, used_ms;
    size_t at, end; /* of bytes received and not consumed */
    char received[LINE_MAX_BYTES];
};
static struct list targets; /* the one used last is at the tail */

static void migrateTargetClose(struct target *t) {
    listRemove(&targets, &t->node);
    if (t->conn) connClose(t->conn);
    sdsfree(t->address);
    zfree(t);
}

static struct target *migrateTargetFind(const char *address) {
    listForEach(&targets, n) {
        struct target *t = listEntry(n, struct target, node);
        if (strcmp(t->address, address) == 0) return t;
    }
    return NULL;
}

static struct connection *migrateEncrypted(int fd, int timeout_ms) {
    sds err = NULL;
    struct connection *conn = dialEncryptBlocking(fd, timeout_ms, &err);
    if (!conn) serverLog(LL_WARNING, "MIGRATE cannot speak TLS: %s", err ? err : "it is not configured");
    sdsfree(err);
    return conn;
}

/* Connects. Returns false when that is impossible. *conn NULL: the peer refuses. */
static bool migrateConnectTo(const char *host, int port, int timeout_ms, struct connection **conn) {
    char err[256];
    int fd = netConnect(host, port, timeout_ms, err, sizeof err);
    *conn = NULL;
    if (fd == -1) return errno == ECONNREFUSED;
    netSetNonBlock(fd, true);
    *conn = dial_settings.cluster_tls ? migrateEncrypted(fd, timeout_ms) : connCreateTcp(NULL, fd, 0);
    if (!*conn) close(fd);
    return *conn;
}

/* Returns NULL when a connection is impossible. A peer that refuses is found by the first write. */
static struct target *migrateTargetGet(struct str host, struct str port, int timeout_ms) {
    sds name = sdsnewstr(host), number = sdsnewstr(port);
    sds address = sdscatprintf(sdsempty(), "%s:%s", name, number);
    struct target *t = migrateTargetFind(address);
    struct connection *conn;
    if (t) {
        listRemove(&targets, &t->node);
        sdsfree(address);
    } else if (migrateConnectTo(name, atoi(number), timeout_ms, &conn)) {
        t = zcalloc(1, sizeof *t);
        t->address = address;
        t->conn = conn;
        t->selected_db = -1;
    } else {
        sdsfree(address);
    }
    sdsfree(name);
    sdsfree(number);
    if (!t) return NULL;
    if (targets.length == SOCKETS_MAX)
        migrateTargetClose(listEntry(listFirst(&targets), struct target, node));
    listAddTail(&targets, &t->node);
    t->used_ms = cmd_time_ms;
    return t;
}

static void migrateCloseIdle(void) {
    listForEach(&targets, n) {
        struct target *t = listEntry(n, struct target, node);
        if (cmd_time_ms - t->used_ms > SOCKET_IDLE_MS) migrateTargetClose(t);
    }
}

/* ---- Waiting for a socket. On failure errno is ETIMEDOUT, or what happened. ---- */

static bool migrateWaitFor(int fd, short events, int64_t deadline_ms) {
    struct pollfd p = {.fd = fd, .events = events};
    int64_t left_ms = deadline_ms - monotonicUs() / 1000;
    int ready = poll(&p, 1, left_ms < 0 ? 0 : (int)left_ms);
    if (ready == 0) errno = ETIMEDOUT;
    return ready > 0 || (ready < 0 && errno == EINTR);
}

/* Whether to repeat a call that returned `n`, after waiting if necessary. */
static bool migrateMayRepeat(int fd, ssize_t n, short events, int64_t deadline_ms) {
    if (n < 0 && errno == EINTR) return true;
    return n < 0 && errno == EAGAIN && migrateWaitFor(fd, events, deadline_ms);
}

static int64_t migrateDeadlineIn(int64_t timeout_ms) {
    return monotonicUs() / 1000 + timeout_ms;
}

static bool migrateSendAll(struct target *t, struct str bytes, int64_t timeout_ms) {
    int64_t deadline_ms = migrateDeadlineIn(timeout_ms);
    errno = ECONNREFUSED;
    if (!t->conn) return false;
    while (bytes.len) {
        struct iovec iov = {(char *)bytes.ptr, bytes.len};
        ssize_t n = connWritev(t->conn, &iov, 1);
        if (n < 0 && !migrateMayRepeat(t->conn->fd, n, POLLOUT, deadline_ms)) return false;
        if (n <= 0) continue;
        bytes = strN(bytes.ptr + n, bytes.len - (size_t)n);
        deadline_ms = migrateDeadlineIn(timeout_ms);
    }
    return true;
}

/* Reads the next line; the view is valid until the next call. */
static bool migrateReceiveLine(struct target *t, int64_t timeout_ms, struct str *line) {
    int64_t deadline_ms = migrateDeadlineIn(timeout_ms);
    for (;;) {
        char *start = t->received + t->at, *eol = memchr(start, '\n', t->end - t->at);
        if (eol) {
            *line = strN(start, (size_t)(eol - start) - (eol > start && eol[-1] == '\r'));
            t->at += (size_t)(eol + 1 - start);
            return true;
        }
        memmove(t->received, start, t->end - t->at);
        t->end -= t->at;
        t->at = 0;
        errno = EPROTO;
        if (t->end == sizeof t->received) return false;
        ssize_t n = connRead(t->conn, t->received + t->end, sizeof t->received - t->end);
        if (n == 0) errno = ECONNRESET;
        if (n == 0 || (n < 0 && !migrateMayRepeat(t->conn->fd, n, POLLIN, deadline_ms))) return false;
        if (n > 0) t->end += (size_t)n;
    }
}

/* ---- The command ---- */

bool migrate_within_cluster;

struct migrateRequest {
    struct client *c;
    int64_t timeout_ms, db;
    bool copy, replace, may_retry;
    int auth; /* number of arguments of AUTH: 0, 1 or 2 */
    const struct str *credentials;
    struct str *keys; /* those that exist */
    int count;
    struct str *deleted; /* space for "DEL" and all keys */
    int deleted_count;
    sds failure; /* the first error reply of the target */
};

static bool migrateParseKeys(struct client *c, struct migrateRequest *m, int from) {
    if (c->argv[3].len)
        return replyError(
            c, "ERR When using MIGRATE KEYS option, the key argument must be set to the empty string");
    m->keys = c->argv + from;
    m->count = c->argc - from;
    return true;
}

/* Returns how many words of credentials follow at argv[i]: 0, 1 or 2. */
static int migrateCredentialsAt(const struct str *argv, int argc, int i) {
    int words = strIs(argv[i], "auth") ? 1 : strIs(argv[i], "auth2") ? 2 : 0;
    return i + words < argc ? words : 0;
}

bool migrateIsSecret(const struct str *argv, int argc, int i) {
    for (int at = 6, words; at < argc; at += 1 + words) {
        words = migrateCredentialsAt(argv, argc, at);
        if (at < i && i <= at + words) return true;
        if (strIs(argv[at], "keys")) return false;
    }
    return false;
}

/* The key argument, or all keys after KEYS; the key argument must be empty then. */
int migrateGetKeys(const struct serverCommand *cmd, const struct str *argv, int argc, struct keyRef **keys) {
    (void)cmd;
    unsigned flags = KEY_RW | KEY_ACCESS | KEY_DELETE;
    int i = 6;
    while (i < argc && !strIs(argv[i], "keys")) i += 1 + migrateCredentialsAt(argv, argc, i);
    if (i >= argc - 1) return keyRefsAdd(keys, 0, 3, 3, 1, flags);
    return argv[3].len ? -1 : keyRefsAdd(keys, 0, i + 1, argc - 1, 1, flags);
}

/* Makes m->keys those in the arguments. */
static bool migrateParse(struct client *c, struct migrateRequest *m) {
    m->keys = c->argv + 3;
    m->count = 1;
    for (int i = 6, words; i < c->argc; i++) {
        struct str word = c->argv[i];
        if (strIs(word, "copy")) {
            m->copy = true;
        } else if (strIs(word, "replace")) {
            m->replace = true;
        } else if ((words = migrateCredentialsAt(c->argv, c->argc, i))) {
            m->auth = words;
            m->credentials = c->argv + i + 1;
            i += m->auth;
        } else if (strIs(word, "keys")) {
            if (!migrateParseKeys(c, m, i + 1)) return false;
            break;
        } else
            return replySyntaxError(c);
    }
    if (!argLongLong(c, c->argv[5], &m->timeout_ms, NULL) || !argLongLong(c, c->argv[4], &m->db, NULL))
        return false;
    if (m->timeout_ms <= 0) m->timeout_ms = DEFAULT_TIMEOUT_MS;
    if (m->timeout_ms > INT32_MAX) m->timeout_ms = INT32_MAX;
    return true;
}

/* Makes m->keys those that exist, in memory of their own. */
static void migrateFindKeys(struct client *c, struct migrateRequest *m) {
    const struct str *named = m->keys;
    m->keys = zmalloc(((size_t)m->count + 1) * sizeof *m->keys);
    int n = 0;
    for (int i = 0; i < m->count; i++)
        if (lookupKeyRead(c, named[i])) m->keys[n++] = named[i];
    m->count = n;
}

static void migrateWriteRestore(struct rioWriter *w, const struct migrateRequest *m, struct str key,
                                const struct object *o) {
    int64_t ttl = 0;
    if (objectHasExpire(o)) {
        ttl = objectExpire(o) - cmd_time_ms;
        if (ttl < 1) ttl = 1;
    }
    sds payload = rdbDump(o, rdb_compatible_version);
    rewriteCommand(w, 4 + m->replace);
    rewriteArg(w, migrate_within_cluster ? STR("RESTORE-ASKING") : STR("RESTORE"));
    rewriteArg(w, key);
    rewriteArgInt(w, ttl);
    rewriteArg(w, sdsview(payload));
    if (m->replace) rewriteArg(w, STR("REPLACE"));
    sdsfree(payload);
}

static sds migrateBuildRequest(const struct migrateRequest *m, bool select) {
    sds message = sdsempty();
    struct rioWriter w;
    rioWriterInit(&w, rioSinkSds, &message);
    if (m->auth) {
        rewriteCommand(&w, 1 + m->auth);
        rewriteArg(&w, STR("AUTH"));
        for (int i = 0; i < m->auth; i++) rewriteArg(&w, m->credentials[i]);
    }
    if (select) {
        rewriteCommand(&w, 2);
        rewriteArg(&w, STR("SELECT"));
        rewriteArgInt(&w, m->db);
    }
    for (int i = 0; i < m->count; i++) migrateWriteRestore(&w, m, m->keys[i], dbFind(m->c->db, m->keys[i]));
    rioFlush(&w);
    rioWriterFree(&w);
    return message;
}

static void migrateDeleteKey(struct migrateRequest *m, struct str key) {
    struct client *c = m->c;
    if (!dbDelete(c->db, key)) return; /* it was named twice */
    keyChanged(c, c->db, key, NOTIFY_GENERIC, "del", 1);
    m->deleted[++m->deleted_count] = key;
}

/* Receives one reply. Returns false when none came. */
static bool migrateReceive(struct target *t, struct migrateRequest *m, bool *ok) {
    struct str line;
    if (!migrateReceiveLine(t, m->timeout_ms, &line)) return false;
    *ok = line.len && line.ptr[0] != '-';
    if (!*ok && !m->failure)
        m->failure = line.len ? sdsnewlen(line.ptr + 1, line.len - 1) : sdsnew("an empty reply");
    return true;
}

/* Returns false and sets what failed, "writing" or "reading". */
static bool migrateTransfer(struct target *t, struct migrateRequest *m, const char **failed) {
    bool select = t->selected_db != m->db, ok, ready = true;
    sds message = migrateBuildRequest(m, select);
    bool sent = migrateSendAll(t, sdsview(message), m->timeout_ms);
    sdsfree(message);
    *failed = "writing";
    if (!sent) return false;
    *failed = "reading";
    for (int i = 0; i < (m->auth != 0) + select; i++) {
        if (!migrateReceive(t, m, &ok)) return false;
        ready &= ok;
    }
    for (int i = 0; i < m->count; i++) {
        if (!migrateReceive(t, m, &ok)) return false;
        if (ready && ok && !m->copy) migrateDeleteKey(m, m->keys[i]);
    }
    t->selected_db = m->failure ? -1 : m->db;
    return true;
}

/* Returns false when another attempt is useful. */
static bool migrateTry(struct migrateRequest *m) {
    struct client *c = m->c;
    const char *failed;
    struct target *t = migrateTargetGet(c->argv[1], c->argv[2], (int)m->timeout_ms);
    if (!t) {
        replyError(c, "IOERR error or timeout connecting to the client");
    } else if (!migrateTransfer(t, m, &failed)) {
        bool again = m->may_retry && errno != ETIMEDOUT && m->deleted_count == 0;
        migrateTargetClose(t);
        m->may_retry = false;
        if (again) return false;
        replyErrorFmt(c, "IOERR error or timeout %s to target instance", failed);
    } else {
        if (t->at != t->end) migrateTargetClose(t); /* the target sent more than replies */
        if (m->failure)
            replyErrorFmt(c, "ERR Target instance replied with error: %s", m->failure);
        else
            replyOk(c);
    }
    return true;
}

void migrateCommand(struct client *c) {
    struct migrateRequest m = {.c = c, .may_retry = true};
    if (!migrateParse(c, &m)) return;
    migrateFindKeys(c, &m);
    if (m.count == 0) {
        replyStatus(c, "NOKEY");
    } else {
        m.deleted = zmalloc(((size_t)m.count + 1) * sizeof *m.deleted);
        m.deleted[0] = STR("DEL");
        while (!migrateTry(&m)) {
            sdsfree(m.failure);
            m.failure = NULL;
        }
        if (m.deleted_count) propagateRewrite(c, m.deleted_count + 1, m.deleted);
        zfree(m.deleted);
    }
    zfree(m.keys);
    sdsfree(m.failure);
}

static sds migrateInfo(sds s) {
    return infoField(s, "migrate_cached_sockets:%zu", targets.length);
}

void migrateInit(void) {
    infoRegister("stats", migrateInfo);
    listInit(&targets);
    cronRegister(migrateCloseIdle, 1000);
}
