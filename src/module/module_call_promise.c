/* SPDX-License-Identifier: BSD-3-Clause */
/* module_call_promise.c - calls that wait: who made one is told when its command has ended.
 *
 *     promise ──▶ the inner client in which it waits (NULL: it has ended, or was given up)
 *        ▲   refs: the module's reply or handle, and the client that still waits
 *
 * Invariant: an inner client that is blocked belongs to exactly one promise of this list. */
#include "base/assert.h"
#include "base/linked_list.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "command/blocking.h"
#include "command/propagate.h"
#include "module/module_call.h"

struct promise {
    struct listNode node; /* while it waits */
    struct module *module;
    struct client *client;
    promiseKept *fn;
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

void promiseTell(struct promise *p, promiseKept *fn, void *priv) {
    p->fn = fn;
    p->priv = priv;
}

void promiseRelease(struct promise *p) {
    if (--p->refs) return;
    zfree(p->priv);
    zfree(p);
}

/* It is nobody's any more who waits. */
static struct client *moduleCallPromiseTakeClient(struct promise *p) {
    struct client *c = p->client;
    p->client = NULL;
    listRemove(&waiting, &p->node);
    return c;
}

/* While it is tried again it does not wait. */
bool promiseAbort(struct promise *p) {
    if (!p->client || !(p->client->flags & CLIENT_BLOCKED)) return false;
    clientFreeNow(moduleCallPromiseTakeClient(p));
    promiseRelease(p);
    return true;
}

/* What is done then is one unit with what the command did. */
static void moduleCallPromiseKeep(struct client *c) {
    struct promise *p = NULL;
    listForEach(&waiting, it) {
        p = listEntry(it, struct promise, node);
        if (p->client == c) break;
    }
    serverAssert(p && p->client == c);
    struct callOutcome outcome = {.what = CALL_ANSWERED};
    moduleCallEnded(moduleCallPromiseTakeClient(p), &outcome);
    propagateBegin();
    if (p->fn)
        p->fn(p->priv, p->module, &outcome);
    else
        sdsfree(outcome.reply);
    propagateEnd();
    promiseRelease(p);
}

/* Its handlers go with it. */
static void moduleCallPromiseGiveUpAll(struct module *m) {
    listForEach(&waiting, it) {
        struct promise *p = listEntry(it, struct promise, node);
        if (p->module == m) promiseAbort(p);
    }
}

void promisePartInit(void) {
    listInit(&waiting);
    blockingOnInnerEnd(moduleCallPromiseKeep);
    moduleOnUnload(moduleCallPromiseGiveUpAll);
}
