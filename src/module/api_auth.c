/* SPDX-License-Identifier: BSD-3-Clause */
/* api_auth.c - authentication by modules: callbacks that run before passwords are checked, clients that a
 * module has authenticated, and callbacks for when the user of such a client changes.
 *
 * A callback may block its client (BlockClientOnAuth). When the client is unblocked, AUTH or HELLO runs
 * again and goes on where it was: with the reply callback, then with the callbacks that have not run yet. */
#include "acl/acl_others.h"
#include "acl/client_auth.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "client/reply.h"
#include "command/blocking.h"
#include "module/block.h"
#include "module/parts.h"

/* ---- Clients that modules have authenticated ---- */

struct login {
    struct login *next;
    struct client *client;
    struct module *module;
    ValkeyModuleUserChangedFunc changed; /* called once; NULL: its module is being unloaded */
    void *privdata;
};
static struct login *logins;

/* Called when the user of a client changes or the client is freed: calls the module once and
 * forgets the client. */
static void apiAuthCallUserChanged(struct client *c) {
    for (struct login **at = &logins; *at; at = &(*at)->next) {
        struct login *l = *at;
        if (l->client != c) continue;
        *at = l->next;
        if (l->changed) l->changed(c->id, l->privdata);
        zfree(l);
        return;
    }
}

static int apiAuthLogIn(struct ValkeyModuleCtx *ctx, struct aclUser *u, ValkeyModuleUserChangedFunc callback,
                        void *privdata, uint64_t *client_id) {
    struct client *c = ctx->client;
    bool is_closing =
        c &&
        c->flags &
            CLIENT_CLOSE_ASAP; /* it may be in the middle of being freed, so the login would never be freed */
    if (!u || !aclUserIsOn(u) || !c || !c->conn || is_closing) return VALKEYMODULE_ERR;
    authSetUser(c, u);
    if (!callback) return VALKEYMODULE_OK; /* without a callback the login survives the module, as in 9.1.2 */
    struct login *l = zmalloc(sizeof *l);
    *l = (struct login){logins, c, ctx->module, callback, privdata};
    logins = l;
    if (client_id) *client_id = c->id;
    return VALKEYMODULE_OK;
}

int vmAuthenticateClientWithUser(struct ValkeyModuleCtx *ctx, struct ValkeyModuleUser *user,
                                 ValkeyModuleUserChangedFunc callback, void *privdata, uint64_t *client_id) {
    return apiAuthLogIn(ctx, user->user, callback, privdata, client_id);
}

int vmAuthenticateClientWithACLUser(struct ValkeyModuleCtx *ctx, const char *name, size_t len,
                                    ValkeyModuleUserChangedFunc callback, void *privdata,
                                    uint64_t *client_id) {
    return apiAuthLogIn(ctx, aclFindUser(strN(name, len)), callback, privdata, client_id);
}

int vmDeauthenticateAndCloseClient(struct ValkeyModuleCtx *ctx, uint64_t client_id) {
    (void)ctx;
    struct client *c = clientById(client_id);
    if (!c) return VALKEYMODULE_ERR;
    authRevoke(c);
    return VALKEYMODULE_OK;
}

/* ---- Callbacks ---- */

struct authCallback {
    struct authCallback *next;
    struct module *module;
    ValkeyModuleAuthCallback callback;
};
static struct authCallback *callbacks; /* newest first */

static enum authVerdict apiAuthVerdictOf(int handled, const struct client *c) {
    if (handled != VALKEYMODULE_AUTH_HANDLED) return AUTH_NOT_HANDLED;
    return c->flags & CLIENT_AUTHENTICATED ? AUTH_GRANTED : AUTH_DENIED;
}

/* A client that waits for a module's verdict. */
struct waitingLogin {
    struct waitingLogin *next;
    struct client *client;
    ValkeyModuleAuthCallback reply;
    struct authCallback *from; /* the callback that blocked it; NULL: unloaded since */
    struct ValkeyModuleBlockedClient *handle;
};
static struct waitingLogin *waiting;
static struct authCallback *asking; /* the callback that is running, or NULL */

/* Removes c from the list of waiting clients. The caller frees the result; NULL: c does not wait. */
static struct waitingLogin *apiAuthTakeWaiting(const struct client *c) {
    struct waitingLogin **at = &waiting;
    while (*at && (*at)->client != c) at = &(*at)->next;
    struct waitingLogin *w = *at;
    if (w) *at = w->next;
    return w;
}

static void apiAuthForgetWaiting(struct client *c) {
    zfree(apiAuthTakeWaiting(c));
}

static bool refused_to_wait; /* the running callback could not block its client, which has got an error */

/* Returns the error if c cannot be blocked, else NULL. */
static const char *apiAuthBlockRefusal(const struct client *c) {
    const uint32_t cannot = CLIENT_DENY_BLOCKING | CLIENT_FAKE | CLIENT_SCRIPT | CLIENT_PRIMARY;
    if (c->flags & CLIENT_IN_EXEC) return "ERR Blocking module command called from transaction";
    return c->flags & cannot ? "ERR Blocking module command called where its client cannot wait" : NULL;
}

struct ValkeyModuleBlockedClient *
vmBlockClientOnAuth(struct ValkeyModuleCtx *ctx, ValkeyModuleAuthCallback reply_callback,
                    void (*free_privdata)(struct ValkeyModuleCtx *, void *)) {
    struct client *c = ctx->client;
    /* If an earlier callback has blocked the client and it runs again, this one may block it anew. */
    if (!asking || !c || c->flags & CLIENT_BLOCKED) {
        if (c)
            replyError(c, "ERR Module blocking client on auth when not currently undergoing module "
                          "authentication");
        return NULL;
    }
    struct ValkeyModuleBlockedClient *bc = moduleBlockCreate(ctx);
    bc->free_privdata = free_privdata;
    const char *refusal = apiAuthBlockRefusal(c);
    if (refusal) { /* the module unblocks the handle nevertheless */
        replyError(c, refusal);
        refused_to_wait = true;
        return bc;
    }
    struct waitingLogin *w = zmalloc(sizeof *w);
    bc->client = c;
    *w = (struct waitingLogin){waiting, c, reply_callback, asking, bc};
    waiting = w;
    moduleBlockClient(bc);
    return bc;
}

/* Runs a callback. w: the blocked client whose reply callback runs; NULL: the callback runs for
 * the first time. */
static enum authVerdict apiAuthRunCallback(struct authCallback *a, const struct waitingLogin *w,
                                           struct client *c, struct ValkeyModuleString *user,
                                           struct ValkeyModuleString *password, sds *err) {
    struct ValkeyModuleCtx ctx;
    struct ValkeyModuleString *why = NULL;
    contextOpen(&ctx, a->module, c, w ? CTX_BLOCKED_REPLY : 0);
    if (w) ctx.blocked = w->handle;
    asking = w ? NULL : a;
    refused_to_wait = false;
    int handled = w ? w->reply(&ctx, user, password, &why) : a->callback(&ctx, user, password, &why);
    asking = NULL;
    contextClose(&ctx);
    if (why) {
        *err = sdsnewstr(stringText(why));
        stringRelease(why);
    }
    return c->flags & CLIENT_BLOCKED || refused_to_wait ? AUTH_WAITS : apiAuthVerdictOf(handled, c);
}

/* Asks the callbacks. Meanwhile the client counts as not authenticated, so a callback that handles the
 * request without authenticating the client denies it. Afterwards it has its old state. */
static enum authVerdict apiAuthRunCallbacks(struct client *c, struct str user, struct str password, sds *err,
                                            const char **by) {
    struct waitingLogin *w = apiAuthTakeWaiting(c);
    if (!callbacks) {
        zfree(w);
        return AUTH_NOT_HANDLED;
    }
    struct authCallback *a = w && w->from ? w->from : callbacks;
    bool resumes = w && w->from && w->reply && !w->handle->aborted;
    uint32_t was = c->flags & CLIENT_AUTHENTICATED;
    struct ValkeyModuleString *u = stringNew(user), *p = stringNew(password);
    enum authVerdict verdict = AUTH_NOT_HANDLED;
    c->flags &= ~(uint32_t)CLIENT_AUTHENTICATED;
    if (w && w->from && !resumes) a = a->next; /* it has run already */
    for (struct authCallback *next; a && verdict == AUTH_NOT_HANDLED; a = next, resumes = false) {
        next = a->next;
        *by = a->module->name;
        verdict = apiAuthRunCallback(a, resumes ? w : NULL, c, u, p, err);
    }
    zfree(w);
    if (verdict == AUTH_NOT_HANDLED) *by = NULL;
    c->flags |= was;
    stringRelease(u);
    stringRelease(p);
    return verdict;
}

void vmRegisterAuthCallback(struct ValkeyModuleCtx *ctx, ValkeyModuleAuthCallback cb) {
    struct authCallback *a = zmalloc(sizeof *a);
    *a = (struct authCallback){callbacks, ctx->module, cb};
    callbacks = a;
}

/* ---- Unloading ---- */

/* Closes the clients whose changes the module wanted to see, because its callbacks become invalid. */
static void apiAuthForgetModule(struct module *m) {
    for (struct login *l = logins, *next; l; l = next) {
        next = l->next;
        if (l->module != m) continue;
        l->changed = NULL;
        authRevoke(l->client);
    }
    moduleListRemoveIf(struct authCallback, a, callbacks, a->module == m) {
        for (struct waitingLogin *w = waiting; w; w = w->next) {
            if (w->from == a) w->from = NULL;
        }
        zfree(a);
    }
}

void authPartInit(void) {
    auth_on_user_change = apiAuthCallUserChanged;
    clientOnFree(apiAuthCallUserChanged);
    clientOnFree(apiAuthForgetWaiting);
    auth_decide = apiAuthRunCallbacks;
    moduleOnUnload(apiAuthForgetModule);
}
