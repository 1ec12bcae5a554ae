/* SPDX-License-Identifier: BSD-3-Clause */
/* api_auth.c - logging in by modules: callbacks that are asked before passwords are, clients that a module
 * has made somebody, and who is told when they become somebody else.
 *
 * A callback may have its client wait (BlockClientOnAuth). When that ends, AUTH or HELLO runs again, and goes
 * on where it was: with the reply callback, then with those that have not been asked. */
#include "acl/acl_others.h"
#include "acl/client_auth.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "client/reply.h"
#include "command/blocking.h"
#include "module/block.h"
#include "module/parts.h"
#include "module/users.h"

/* ---- Clients that modules have authenticated ---- */

struct login {
    struct login *next;
    struct client *client;
    struct module *module;
    ValkeyModuleUserChangedFunc changed; /* once; NULL: its module goes */
    void *privdata;
};
static struct login *logins;

/* Its user changes, or it goes: who has asked is told, and knows it no longer. */
static void apiAuthUserChanges(struct client *c) {
    for (struct login **at = &logins; *at; at = &(*at)->next) {
        struct login *l = *at;
        if (l->client != c) continue;
        *at = l->next;
        if (l->changed) l->changed(c->id, l->privdata);
        zfree(l);
        return;
    }
}

static int apiAuthBecome(struct ValkeyModuleCtx *ctx, struct aclUser *u, ValkeyModuleUserChangedFunc callback,
                         void *privdata, uint64_t *client_id) {
    struct client *c = ctx->client;
    bool is_closing = c && c->flags & CLIENT_CLOSE_ASAP; /* perhaps as it is freed: nobody would forget it */
    if (!u || !aclUserIsOn(u) || !c || !c->conn || is_closing) return VALKEYMODULE_ERR;
    authSetUser(c, u);
    if (!callback) return VALKEYMODULE_OK; /* nobody to tell: it stays when the module goes, as in 9.1.2 */
    struct login *l = zmalloc(sizeof *l);
    *l = (struct login){logins, c, ctx->module, callback, privdata};
    logins = l;
    if (client_id) *client_id = c->id;
    return VALKEYMODULE_OK;
}

int vmAuthenticateClientWithUser(struct ValkeyModuleCtx *ctx, struct ValkeyModuleUser *user,
                                 ValkeyModuleUserChangedFunc callback, void *privdata, uint64_t *client_id) {
    return apiAuthBecome(ctx, user->user, callback, privdata, client_id);
}

int vmAuthenticateClientWithACLUser(struct ValkeyModuleCtx *ctx, const char *name, size_t len,
                                    ValkeyModuleUserChangedFunc callback, void *privdata,
                                    uint64_t *client_id) {
    return apiAuthBecome(ctx, aclFindUser(strN(name, len)), callback, privdata, client_id);
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
    ValkeyModuleAuthCallback ask;
};
static struct authCallback *callbacks; /* the newest first */

static enum authVerdict apiAuthVerdictOf(int handled, const struct client *c) {
    if (handled != VALKEYMODULE_AUTH_HANDLED) return AUTH_NOT_HANDLED;
    return c->flags & CLIENT_AUTHENTICATED ? AUTH_GRANTED : AUTH_DENIED;
}

/* Who waits for the word of a module. */
struct waitingLogin {
    struct waitingLogin *next;
    struct client *client;
    ValkeyModuleAuthCallback reply;
    struct authCallback *asked; /* whose callback has had it wait; NULL: it has gone */
    struct ValkeyModuleBlockedClient *handle;
};
static struct waitingLogin *waiting;
static struct authCallback *asking; /* the callback that runs; NULL: none */

/* NULL: it does not wait. The caller's. */
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

static bool refused_to_wait; /* the callback that runs wanted its client to, and that has been answered */

/* Why it cannot wait; NULL: it can. */
static const char *apiAuthWhyNotWait(const struct client *c) {
    const uint32_t cannot = CLIENT_DENY_BLOCKING | CLIENT_FAKE | CLIENT_SCRIPT | CLIENT_PRIMARY;
    if (c->flags & CLIENT_IN_EXEC) return "ERR Blocking module command called from transaction";
    return c->flags & cannot ? "ERR Blocking module command called where its client cannot wait" : NULL;
}

struct ValkeyModuleBlockedClient *
vmBlockClientOnAuth(struct ValkeyModuleCtx *ctx, ValkeyModuleAuthCallback reply_callback,
                    void (*free_privdata)(struct ValkeyModuleCtx *, void *)) {
    struct client *c = ctx->client;
    /* A client that an earlier callback has blocked is being run again: this one may block it anew. */
    if (!asking || !c || c->flags & CLIENT_BLOCKED) {
        if (c)
            replyError(c, "ERR Module blocking client on auth when not currently undergoing module "
                          "authentication");
        return NULL;
    }
    struct ValkeyModuleBlockedClient *bc = blockedNew(ctx);
    bc->free_privdata = free_privdata;
    const char *refusal = apiAuthWhyNotWait(c);
    if (refusal) { /* the module lets go of the handle all the same */
        replyError(c, refusal);
        refused_to_wait = true;
        return bc;
    }
    struct waitingLogin *w = zmalloc(sizeof *w);
    bc->client = c;
    *w = (struct waitingLogin){waiting, c, reply_callback, asking, bc};
    waiting = w;
    blockedWait(bc);
    return bc;
}

/* w: whose handle comes with it; NULL: it is asked for the first time. */
static enum authVerdict apiAuthAsk(struct authCallback *a, const struct waitingLogin *w, struct client *c,
                                   struct ValkeyModuleString *user, struct ValkeyModuleString *password,
                                   sds *err) {
    struct ValkeyModuleCtx ctx;
    struct ValkeyModuleString *why = NULL;
    contextOpen(&ctx, a->module, c, w ? CTX_BLOCKED_REPLY : 0);
    if (w) ctx.blocked = w->handle;
    asking = w ? NULL : a;
    refused_to_wait = false;
    int handled = w ? w->reply(&ctx, user, password, &why) : a->ask(&ctx, user, password, &why);
    asking = NULL;
    contextClose(&ctx);
    if (why) {
        *err = sdsnewstr(stringText(why));
        stringRelease(why);
    }
    return c->flags & CLIENT_BLOCKED || refused_to_wait ? AUTH_WAITS : apiAuthVerdictOf(handled, c);
}

/* Whoever is somebody already is nobody while it is asked about anew: what a callback says without having
 * made the client somebody is a denial. It stays who it was, then. */
static enum authVerdict apiAuthDecide(struct client *c, struct str user, struct str password, sds *err,
                                      const char **by) {
    struct waitingLogin *w = apiAuthTakeWaiting(c);
    if (!callbacks) {
        zfree(w);
        return AUTH_NOT_HANDLED;
    }
    struct authCallback *a = w && w->asked ? w->asked : callbacks;
    bool goes_on = w && w->asked && w->reply && !w->handle->aborted;
    uint32_t was = c->flags & CLIENT_AUTHENTICATED;
    struct ValkeyModuleString *u = stringNew(user), *p = stringNew(password);
    enum authVerdict verdict = AUTH_NOT_HANDLED;
    c->flags &= ~(uint32_t)CLIENT_AUTHENTICATED;
    if (w && w->asked && !goes_on) a = a->next; /* it has had its say */
    for (struct authCallback *next; a && verdict == AUTH_NOT_HANDLED; a = next, goes_on = false) {
        next = a->next;
        *by = a->module->name;
        verdict = apiAuthAsk(a, goes_on ? w : NULL, c, u, p, err);
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

/* ---- Their end ---- */

/* The clients that the module wants to hear of are closed: what it would hear by goes. */
static void apiAuthForget(struct module *m) {
    for (struct login *l = logins, *next; l; l = next) {
        next = l->next;
        if (l->module != m) continue;
        l->changed = NULL;
        authRevoke(l->client);
    }
    moduleListRemoveIf(struct authCallback, a, callbacks, a->module == m) {
        for (struct waitingLogin *w = waiting; w; w = w->next) {
            if (w->asked == a) w->asked = NULL;
        }
        zfree(a);
    }
}

void authPartInit(void) {
    auth_on_user_change = apiAuthUserChanges;
    clientOnFree(apiAuthUserChanges);
    clientOnFree(apiAuthForgetWaiting);
    auth_decide = apiAuthDecide;
    moduleOnUnload(apiAuthForget);
}
