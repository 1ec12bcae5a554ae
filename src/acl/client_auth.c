/* SPDX-License-Identifier: BSD-3-Clause */
/* client_auth.c - see client_auth.h.
 *
 * A connection is authenticated once, when it starts or by AUTH, and stays so when passwords change later.
 * Before that its user is the default one. */
#include "acl/client_auth.h"

#include "acl/acl.h"
#include "client/client_session.h"
#include "client/reply.h"
#include "command/admission.h"
#include "command/call.h"
#include "command/script_running.h"
#include "commands/cmd_connection.h"
#include "registry/server_events.h"

bool authPasswordSet(void) {
    return aclUserHasPassword(aclDefaultUser());
}

bool authRequired(void) {
    return authPasswordSet() || !aclUserIsOn(aclDefaultUser());
}

void authNewClient(struct client *c) {
    c->user = aclDefaultUser();
    if (!authRequired()) c->flags |= CLIENT_AUTHENTICATED;
}

static inline void clientAuthNotifyChange(struct client *c) {
    if (auth_on_user_change) auth_on_user_change(c);
}

void authSetUser(struct client *c, struct aclUser *u) {
    clientAuthNotifyChange(c);
    c->user = u;
    c->flags |= CLIENT_AUTHENTICATED;
}

static uint64_t revoked_client_id; /* the id of the client that was revoked by its own command */

static void clientAuthCloseRevoked(struct client *now) {
    (void)now;
    struct client *c = clientById(revoked_client_id);
    if (c) clientCloseAfterReply(c);
    callHookIdle(clientAuthCloseRevoked, true);
}

void authRevoke(struct client *c) {
    clientAuthNotifyChange(c);
    c->user = aclDefaultUser();
    c->flags &= ~(uint32_t)CLIENT_AUTHENTICATED;
    if (callOwner() != c) {
        clientClose(c);
        return;
    }
    revoked_client_id = c->id;
    callHookIdle(clientAuthCloseRevoked, false);
}

static void authLogout(struct client *c) {
    clientAuthNotifyChange(c);
    c->flags &= ~(uint32_t)CLIENT_AUTHENTICATED;
    authNewClient(c);
}

enum authVerdict (*auth_decide)(struct client *c, struct str user, struct str password, sds *err,
                                const char **by);
void (*auth_on_user_change)(struct client *c);

int authAsFirstUser(struct client *c, const sds *users, int count) {
    for (int i = 0; i < count; i++) {
        struct aclUser *u = aclFindUser(sdsview(users[i]));
        if (!u || !aclUserIsOn(u)) continue;
        c->user = u;
        c->flags |= CLIENT_AUTHENTICATED;
        return i;
    }
    aclNoteFailedCertificate(c, sdsview(users[count - 1]));
    return -1;
}

/* An unknown name takes as long as a wrong password. */
static bool clientAuthByPassword(struct client *c, struct str name, struct str password) {
    struct aclUser *u = aclFindUser(name);
    if (!aclUserAccepts(u ? u : aclDefaultUser(), password) || !u) {
        aclNoteFailedAuth(c, name);
        return false;
    }
    authSetUser(c, u);
    return true;
}

static void clientAuthReplyDenied(struct client *c, sds err) {
    if (!err)
        replyError(c, "WRONGPASS invalid username-password pair or user is disabled.");
    else if (*err == '-')
        replyErrorStr(c, strN(err + 1, sdslen(err) - 1));
    else
        replyErrorFmt(c, "ERR %s", err);
}

bool authLogin(struct client *c, struct str name, struct str password) {
    sds err = NULL;
    const char *by = NULL;
    enum authVerdict verdict = auth_decide ? auth_decide(c, name, password, &err, &by) : AUTH_NOT_HANDLED;
    if (verdict == AUTH_WAITS) return false;
    bool granted =
        verdict == AUTH_NOT_HANDLED ? clientAuthByPassword(c, name, password) : verdict == AUTH_GRANTED;
    if (!granted) clientAuthReplyDenied(c, err);
    sdsfree(err);
    serverEvent(SERVER_AUTH, 0, &(struct eventAuth){c, name, by, granted});
    return granted;
}

void authCommand(struct client *c) {
    if (c->argc > 3) {
        replySyntaxError(c);
        return;
    }
    bool named = c->argc == 3;
    if (!named && !authPasswordSet()) {
        replyError(c, "ERR AUTH <password> called without any password configured for the default user. Are "
                      "you sure your configuration is correct?");
        return;
    }
    if (authLogin(c, named ? c->argv[1] : STR("default"), c->argv[c->argc - 1])) replyOk(c);
}

/* Refuses requests of clients that have to log in, except those that log in. */
static enum admission clientAuthCheckAuth(struct client *c, struct request *r, enum requestOrigin origin) {
    (void)origin;
    bool known = c->flags & (CLIENT_AUTHENTICATED | CLIENT_FAKE);
    if (__builtin_expect(known, 1) || (r->cmd && r->cmd->flags & CMD_NO_AUTH)) return ADMITTED;
    replyError(c, "NOAUTH Authentication required.");
    serverEvent(SERVER_COMMAND_DENIED, aclReasonNumber(ACL_DENIED_AUTH), &(struct eventDenial){.client = c});
    return REFUSED;
}

/* Applies the user's rules. */
static enum admission clientAuthCheckRules(struct client *c, struct request *r, enum requestOrigin origin) {
    enum aclContext context = origin == ORIGIN_EXEC     ? ACL_EXEC
                              : origin == ORIGIN_SCRIPT ? ACL_SCRIPT
                              : origin != ORIGIN_MODULE ? ACL_TOPLEVEL
                              : script_run.name         ? ACL_WITHIN_SCRIPT
                                                        : ACL_MODULE;
    return aclAllows(c, r, context) ? ADMITTED : REFUSED;
}

static bool clientAuthIsKnown(const struct client *c, const struct request *r) {
    (void)r;
    return c->flags & CLIENT_AUTHENTICATED;
}

/* The rules are idle while no password is required and no user has limits. */
void authUsersChanged(void) {
    admissionIdle(RULE_AUTH, !authRequired());
    admissionIdle(RULE_ACL, !aclHasLimits());
}

/* HELLO [protocol] ... AUTH user password ... */
bool helloIsSecret(const struct str *argv, int argc, int i) {
    (void)argc;
    return (i > 2 && strIs(argv[i - 1], "auth")) || (i > 3 && strIs(argv[i - 2], "auth"));
}

static bool clientAuthUserExists(struct str name) {
    return aclFindUser(name) != NULL;
}

void authInit(void) {
    static const struct clientUsers users = {authRequired, authLogin, authLogout, aclUserName,
                                             clientAuthUserExists};
    client_users = &users;
    callAddHook(BETWEEN_CALLS, clientAuthCloseRevoked, true);
    admissionFill(RULE_AUTH, clientAuthCheckAuth);
    admissionFill(RULE_ACL, clientAuthCheckRules);
    admissionFillRead(RULE_AUTH, clientAuthIsKnown);
    admissionFillRead(RULE_ACL, aclAllowsSurely);
}
