/* client_auth.c - who may come in: the password of the default user.
 *
 * There is one user, "default"; `requirepass` is its password, and without one it lets everybody in. A
 * connection is authenticated once, when it starts or by AUTH, and stays so when the password changes later.
 * ACL users will come in behind these functions. */
#include "core/client_auth.h"

#include "commands/commands.h"
#include "core/command.h"
#include "core/config.h"
#include "core/info.h"
#include "core/reply.h"

#define DEFAULT_USER "default"

static sds requirepass; /* NULL: no password */
static uint64_t denied; /* failed attempts, for INFO */

bool authPasswordSet(void) {
    return requirepass;
}

bool authUserExists(struct str user) {
    return strEq(user, STR(DEFAULT_USER));
}

void authNewClient(struct client *c) {
    if (!authPasswordSet()) c->flags |= CLIENT_AUTHENTICATED;
}

void authLogout(struct client *c) {
    c->flags &= ~(uint32_t)CLIENT_AUTHENTICATED;
    sdsfree(c->user);
    c->user = NULL;
    authNewClient(c);
}

/* Takes as long as `given` is long, whatever of it is right: the time tells nothing about the password. */
static bool samePassword(struct str given, struct str want) {
    volatile size_t difference = given.len ^ want.len;
    for (size_t i = 0; i < given.len; i++) {
        difference |= (unsigned char)(given.ptr[i] ^ want.ptr[i % want.len]);
    }
    return difference == 0;
}

static bool credentialsOk(struct str user, struct str password) {
    if (user.len && !authUserExists(user)) return false;
    return !authPasswordSet() || samePassword(password, sdsview(requirepass));
}

bool authenticate(struct client *c, struct str user, struct str password) {
    if (!credentialsOk(user, password)) {
        denied++;
        replyError(c, "WRONGPASS invalid username-password pair or user is disabled.");
        return false;
    }
    c->flags |= CLIENT_AUTHENTICATED;
    return true;
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
    if (authenticate(c, named ? c->argv[1] : STR(""), c->argv[c->argc - 1])) replyOk(c);
}

/* Nobody gets past this without a password, but to give it. */
static bool authFilter(struct client *c, struct serverCommand *cmd) {
    if (c->flags & (CLIENT_AUTHENTICATED | CLIENT_SCRIPT | CLIENT_FAKE)) return true;
    if (cmd->flags & CMD_NO_AUTH || !authPasswordSet()) return true;
    replyError(c, "NOAUTH Authentication required.");
    return false;
}

static sds authInfo(sds s) {
    return infoField(s, "acl_access_denied_auth:%llu", (unsigned long long)denied);
}

static void authResetStats(void) {
    denied = 0;
}

void authInit(void) {
    static struct configDirective directives[] = {
        CONFIG_STRING("requirepass", NULL, CONFIG_MODIFIABLE | CONFIG_SENSITIVE | CONFIG_EMPTY_IS_NULL,
                      &requirepass, NULL, NULL, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    commandAddFilter(authFilter);
    infoRegister("stats", authInfo);
    configOnResetStat(authResetStats);
}
