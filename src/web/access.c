/* SPDX-License-Identifier: BSD-3-Clause */
/* access.c - see access.h.
 *
 * If clients need no password, users of this machine need none here, either. However, any page can make a
 * browser on this machine send requests here, by a name whose address was changed to ours (DNS rebinding).
 * Therefore a request without credentials must name us in a way that no other host can have: localhost, or
 * an address. A request that came through a proxy is not from this machine, even if the proxy is. */
#include "web/access.h"

#include <arpa/inet.h>

#include "acl/acl.h"
#include "acl/client_auth.h"
#include "base/sha256.h"
#include "client/client.h"
#include "client/client_session.h"
#include "command/command.h"
#include "data/keyspace/db.h"
#include "registry/config.h"
#include "web/base64.h"
#include "web/http.h"

static sds metrics_user, metrics_token;
static struct client *peer_client; /* represents the peer in checks of rules and in ACL LOG */

/* ---- Rights ---- */

static bool accessMayRun(const struct aclUser *user, const struct str *argv, int argc, int db) {
    struct request r = {.argv = (struct str *)argv, .argc = argc, .cmd = commandLookup(argv, argc)};
    if (!r.cmd) return false; /* the command was renamed */
    peer_client->user = (struct aclUser *)user;
    peer_client->db = dbGet(db);
    bool may = aclMayRun(peer_client, &r);
    peer_client->user = aclDefaultUser();
    peer_client->db = dbGet(0);
    return may;
}

bool accessAllows(const struct access *access, const struct str *argv, int argc, int db) {
    return access->user && accessMayRun(access->user, argv, argc, db);
}

static struct access accessAsUser(const struct aclUser *user) {
    bool may = accessMayRun(user, (struct str[]){STR("INFO")}, 1, 0);
    return (struct access){.verdict = may ? ACCESS_GRANTED : ACCESS_FORBIDDEN, .user = user};
}

/* ---- Credentials ---- */

/* Compares in time that does not depend on how much is equal. */
static bool accessSameSecret(struct str a, struct str b) {
    char hash_a[SHA256_HEX_LEN + 1], hash_b[SHA256_HEX_LEN + 1];
    sha256Hex(hash_a, a.ptr, a.len);
    sha256Hex(hash_b, b.ptr, b.len);
    volatile unsigned char difference = 0;
    for (int i = 0; i < SHA256_HEX_LEN; i++) difference |= (unsigned char)(hash_a[i] ^ hash_b[i]);
    return difference == 0;
}

static struct access accessRefuse(bool failed_login, struct str name) {
    struct str command = STR("HTTP"); /* shown in ACL LOG in the place of AUTH */
    peer_client->argv = &command;
    if (failed_login) aclNoteFailedAuth(peer_client, name);
    peer_client->argv = NULL;
    return (struct access){.verdict = ACCESS_DENIED, .failed_login = failed_login};
}

static struct access accessByToken(struct str token) {
    if (metrics_token && accessSameSecret(token, sdsview(metrics_token)))
        return (struct access){.verdict = ACCESS_GRANTED};
    return accessRefuse(true, STR("(metrics-token)"));
}

/* Users without a password are accepted only on this machine. An unknown name takes as long as
 * a wrong password. */
static struct access accessByPassword(struct str name, struct str password, bool local) {
    const struct aclUser *user = aclFindUser(name);
    bool named = !metrics_user || strEq(name, sdsview(metrics_user));
    bool right = aclUserAccepts(user ? user : aclDefaultUser(), password) && user && named;
    if (!right || (!aclUserHasPassword(user) && !local)) return accessRefuse(true, name);
    return accessAsUser(user);
}

static struct access accessByBasic(struct str text, bool local) {
    sds decoded = base64Decode(text);
    const char *colon = decoded ? memchr(decoded, ':', sdslen(decoded)) : NULL;
    struct access access = {.verdict = ACCESS_DENIED, .failed_login = true};
    if (colon) {
        size_t n = (size_t)(colon - decoded);
        struct str name = n ? strN(decoded, n) : STR("default"); /* like AUTH with a password only */
        access = accessByPassword(name, strN(colon + 1, sdslen(decoded) - n - 1), local);
    }
    sdsfree(decoded);
    return access;
}

/* Returns what follows the word in "Basic xyz"; ptr NULL: the header has another word. */
static struct str accessCredentials(struct str header, const char *word) {
    size_t n = strlen(word);
    if (header.len <= n || strncasecmp(header.ptr, word, n) != 0 || header.ptr[n] != ' ')
        return (struct str){0};
    while (n < header.len && header.ptr[n] == ' ') n++;
    return strN(header.ptr + n, header.len - n);
}

/* ---- Without credentials ---- */

/* Accepts "localhost:9121", "127.0.0.1", "[::1]:9121". */
static bool accessNamesThisMachine(struct str host) {
    char name[64];
    const char *colon;
    if (!host.len) return true;          /* HTTP/1.0 */
    if (host.ptr[0] == '[') return true; /* brackets contain addresses only */
    if ((colon = memchr(host.ptr, ':', host.len))) host.len = (size_t)(colon - host.ptr);
    if (host.len >= sizeof name) return false;
    memcpy(name, host.ptr, host.len);
    name[host.len] = '\0';
    return strIs(host, "localhost") || inet_pton(AF_INET, name, &(struct in_addr){0}) == 1;
}

static bool accessIsOpen(void) {
    return !authRequired() && !metrics_user && !metrics_token;
}

static struct access accessAnonymous(const struct httpRequest *q, bool local) {
    if (!accessIsOpen() || !local || q->forwarded) return accessRefuse(false, STR(""));
    if (!accessNamesThisMachine(sdsview(q->host))) return (struct access){.verdict = ACCESS_MISDIRECTED};
    return accessAsUser(aclDefaultUser());
}

struct access accessCheck(const struct httpRequest *q, bool local_peer, struct str peer) {
    struct str header = sdsview(q->authorization), secret;
    bool local = local_peer && !q->forwarded;
    clientSetLabel(peer_client, CLIENT_NAME, peer);
    if (!header.len) return accessAnonymous(q, local);
    if ((secret = accessCredentials(header, "Bearer")).ptr) return accessByToken(secret);
    if ((secret = accessCredentials(header, "Basic")).ptr) return accessByBasic(secret, local);
    return accessRefuse(true, STR(""));
}

/* ---- Start ---- */

void accessStart(void) {
    peer_client = clientCreate(NULL);
    peer_client->user = aclDefaultUser();
}

void accessInit(void) {
    static struct configDirective directives[] = {
        CONFIG_STRING("metrics-user", NULL, CONFIG_MODIFIABLE | CONFIG_EMPTY_IS_NULL, &metrics_user, NULL,
                      NULL, NULL),
        CONFIG_STRING("metrics-token", NULL, CONFIG_MODIFIABLE | CONFIG_SENSITIVE | CONFIG_EMPTY_IS_NULL,
                      &metrics_token, NULL, NULL, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
}
