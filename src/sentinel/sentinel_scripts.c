/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_scripts.c - see sentinel_scripts.h.
 *
 *     scriptsAdd ──▶ waits ──(16 at a time)──▶ runs ──▶ exit 0: done      exit >= 2: -script-error
 *                      ▲                        └─────▶ exit 1 or killed: again, after 30 s, 60 s, 120 s ...
 *                      └──────────────────────────────────┘   up to SCRIPT_RUNS_MAX runs in all */
#include "sentinel/sentinel_scripts.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/linked_list.h"
#include "base/log.h"
#include "base/zmalloc.h"
#include "sentinel/sentinel.h"
#include "sentinel/sentinel_events.h"
#include "sentinel/supervisor_private.h"

#define QUEUE_MAX       256
#define RUNNING_MAX     16
#define SCRIPT_RUNS_MAX 10
#define EXIT_AGAIN      1 /* the script requests another run */
#define EXIT_NO_EXEC    2
#define EXIT_NO_FORK    99

struct queuedScript {
    struct sentinelScript script;
    struct listNode node;
};

static struct list queue = {{&queue.head, &queue.head}, 0};
static int running;

extern char **environ;

/* ---- The queue ---- */

static void sentinelScriptsDrop(struct queuedScript *q) {
    listRemove(&queue, &q->node);
    for (int i = 0; i < q->script.argc; i++) sdsfree(q->script.argv[i]);
    zfree(q->script.argv);
    zfree(q);
}

static void sentinelScriptsDropOldestWaiting(void) {
    listForEach(&queue, it) {
        struct queuedScript *q = listEntry(it, struct queuedScript, node);
        if (q->script.pid) continue;
        sentinelScriptsDrop(q);
        return;
    }
}

void scriptsAdd(const char *path, int argc, const char *const *argv) {
    struct queuedScript *q = zcalloc(1, sizeof *q);
    q->script.argc = argc + 1;
    q->script.argv = zcalloc((size_t)argc + 2, sizeof *q->script.argv); /* with the final NULL of exec */
    q->script.argv[0] = sdsnew(path);
    for (int i = 0; i < argc; i++) q->script.argv[i + 1] = sdsnew(argv[i]);
    listAddTail(&queue, &q->node);
    if (queue.length > QUEUE_MAX) sentinelScriptsDropOldestWaiting();
}

/* ---- Running ---- */

static void sentinelScriptsReportError(const struct sentinelScript *s, int signal, int exit_code) {
    sentinelEventFormatted(EVENT_WARNING, "-script-error", "%s %d %d", s->argv[0], signal, exit_code);
}

static void sentinelScriptsStart(struct queuedScript *q, int64_t now_ms) {
    struct sentinelScript *s = &q->script;
    pid_t pid = fork();
    if (pid == 0) {
        execve(s->argv[0], s->argv, environ);
        _exit(EXIT_NO_EXEC);
    }
    if (pid < 0) {
        sentinelScriptsReportError(s, EXIT_NO_FORK, 0);
        sentinelScriptsDrop(q);
        return;
    }
    s->pid = pid;
    s->runs++;
    s->start_ms = now_ms;
    running++;
    sentinelEventFormatted(EVENT_DEBUG, "+script-child", "%d", (int)pid);
}

static void sentinelScriptsStartWaiting(int64_t now_ms) {
    listForEach(&queue, it) {
        struct queuedScript *q = listEntry(it, struct queuedScript, node);
        if (running >= RUNNING_MAX) return;
        if (!q->script.pid && q->script.start_ms <= now_ms) sentinelScriptsStart(q, now_ms);
    }
}

static int64_t sentinelScriptsRetryDelay(int runs) {
    int64_t first = minTime(sentinel.timers.script_retry_delay, INT64_MAX >> (SCRIPT_RUNS_MAX + 1));
    return first << (runs - 1);
}

static void sentinelScriptsHandleExit(struct queuedScript *q, int status, int64_t now_ms) {
    struct sentinelScript *s = &q->script;
    int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0, code = WEXITSTATUS(status);
    sentinelEventFormatted(EVENT_DEBUG, "-script-child", "%d %d %d", (int)s->pid, code, signal);
    running--;
    s->pid = 0;
    bool again = (signal || code == EXIT_AGAIN) && s->runs < SCRIPT_RUNS_MAX;
    if (again) {
        s->start_ms = now_ms + sentinelScriptsRetryDelay(s->runs);
        return;
    }
    if (signal || code) sentinelScriptsReportError(s, signal, code);
    sentinelScriptsDrop(q);
}

static void sentinelScriptsReap(int64_t now_ms) {
    listForEach(&queue, it) {
        struct queuedScript *q = listEntry(it, struct queuedScript, node);
        int status;
        pid_t pid = q->script.pid ? waitpid(q->script.pid, &status, WNOHANG) : 0;
        if (pid > 0) sentinelScriptsHandleExit(q, status, now_ms);
    }
}

static void sentinelScriptsKillOverdue(int64_t now_ms) {
    listForEach(&queue, it) {
        const struct sentinelScript *s = &listEntry(it, struct queuedScript, node)->script;
        if (!s->pid || now_ms - s->start_ms <= sentinel.timers.script_max_runtime) continue;
        sentinelEventFormatted(EVENT_WARNING, "-script-timeout", "%s %d", s->argv[0], (int)s->pid);
        kill(s->pid, SIGKILL);
    }
}

void scriptsTick(int64_t now_ms) {
    sentinelScriptsStartWaiting(now_ms);
    sentinelScriptsReap(now_ms);
    sentinelScriptsKillOverdue(now_ms);
}

/* ---- Queries ---- */

int scriptsCountRunning(void) {
    return running;
}
int scriptsCountQueued(void) {
    return (int)queue.length;
}
void scriptsForEach(void (*fn)(void *priv, const struct sentinelScript *script), void *priv) {
    listForEach(&queue, it) fn(priv, &listEntry(it, struct queuedScript, node)->script);
}
