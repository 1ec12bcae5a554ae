/* SPDX-License-Identifier: BSD-3-Clause */
/* module_call_promise.c - blocked calls of modules. A promise calls a function of the module when the
 * command has ended.
 *
 *     promise ──▶ the blocked inner client (NULL: the command has ended or was aborted)
 *        ▲   refs: the module's reply or handle, and the client while it is blocked
 *
 * Invariant: a blocked inner client belongs to exactly one promise of the list. */
#include "base/assert.h"
#include "base/linked_list.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "command/blocking.h"
#include "command/propagate.h"
#include "module/module_call.h"

struct promise {
    struct listNode node; /* in the list of promises whose command is blocked */
    struct module *module;
    struct client *client;
    promiseListener *fn;
    void *priv;
    int refs;
};
static struct list waiting;

struct promise *promiseNew(struct module *m, struct client *c) {
    struct promise *p = zcalloc(1, sizeof *p);
    p->module = m;
    p->client = c;
    p->refs = 2;
    listAddTail(&waiting, &p->node);
    return p;
}

void promiseSetListener(struct promise *p, promiseListener *fn, void *priv) {
    p->fn = fn;
    p->priv = priv;
}

void promiseRelease(struct promise *p) {
    if (--p->refs) return;
    zfree(p->priv);
    zfree(p);
}

/* Takes the client out of a promise, which is removed from the list. */
static struct client *moduleCallPromiseTakeClient(struct promise *p) {
    struct client *c = p->client;
    p->client = NULL;
    listRemove(&waiting, &p->node);
    return c;
}

/* Fails while the command runs again, because then it is not blocked. */
bool promiseAbort(struct promise *p) {
    if (!p->client || !(p->client->flags & CLIENT_BLOCKED)) return false;
    clientFreeNow(moduleCallPromiseTakeClient(p));
    promiseRelease(p);
    return true;
}

/* Fulfills the promise of c. What its function does is one unit with what the command did. */
static void moduleCallPromiseFulfill(struct client *c) {
    struct promise *p = NULL;
    listForEach(&waiting, it) {
        p = listEntry(it, struct promise, node);
        if (p->client == c) break;
    }
    serverAssert(p && p->client == c);
    struct callOutcome outcome = {.what = CALL_REPLIED};
    moduleCallTakeOutcome(moduleCallPromiseTakeClient(p), &outcome);
    propagateBegin();
    if (p->fn)
        p->fn(p->priv, p->module, &outcome);
    else
        sdsfree(outcome.reply);
    propagateEnd();
    promiseRelease(p);
}

/* Aborts all blocked calls of a module; their handlers are not called. */
static void moduleCallPromiseAbortAll(struct module *m) {
    listForEach(&waiting, it) {
        struct promise *p = listEntry(it, struct promise, node);
        if (p->module == m) promiseAbort(p);
    }
}

void promisePartInit(void) {
    listInit(&waiting);
    blockingOnInnerEnd(moduleCallPromiseFulfill);
    moduleOnUnload(moduleCallPromiseAbortAll);
}
