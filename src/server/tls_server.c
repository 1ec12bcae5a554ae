/* SPDX-License-Identifier: BSD-3-Clause */
/* tls_server.c - see tls_server.h.
 *
 * A change makes a new context from all directives, and replaces the old one only if it is complete.
 * Files are read again even if their names are the same: CONFIG SET tls-cert-file with the same name is
 * how a renewed certificate comes into use. While there is no TLS port, no context is made, so directives
 * can be set one by one. With tls-auto-reload-interval the files are checked periodically and reloaded
 * when they have changed. */
#include "server/tls_server.h"

#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "net/dial.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"

static struct tlsContext *context;
static bool (*in_use)(void);

static sds cert_file, key_file, key_pass;
static sds alt_cert_file, alt_key_file, alt_key_pass; /* in use when both files are given */
static sds client_cert_file, client_key_file, client_key_pass;
static sds ca_file, ca_dir, dh_params_file, protocols, ciphers, ciphersuites;
static int auth_clients, auth_user;
static bool prefer_server_ciphers, session_caching;
static int64_t session_cache_size, session_cache_timeout_s, reload_interval_s;

/* The certificates in use, for INFO. */
static struct tlsServerCertificate {
    const char *name;
    sds *path, *folder; /* with a folder: the certificate of both that expires first */
    sds *key;           /* the certificate is in use only with a key; NULL: it needs none */
    sds serial;         /* NULL: none */
    int64_t valid_until_s;
} certificates[] = {{.name = "server", .path = &cert_file},
                    {.name = "server_alt", .path = &alt_cert_file, .key = &alt_key_file},
                    {.name = "client", .path = &client_cert_file},
                    {.name = "ca", .path = &ca_file, .folder = &ca_dir}};
#define CERTIFICATE_COUNT (sizeof certificates / sizeof *certificates)

static struct tlsSettings tlsServerSettings(void) {
    return (struct tlsSettings){.cert_file = cert_file,
                                .key_file = key_file,
                                .key_pass = key_pass,
                                .alt_cert_file = alt_cert_file,
                                .alt_key_file = alt_key_file,
                                .alt_key_pass = alt_key_pass,
                                .ca_file = ca_file,
                                .ca_dir = ca_dir,
                                .peer = (enum tlsPeer)auth_clients,
                                .protocols = protocols,
                                .ciphers = ciphers,
                                .ciphersuites = ciphersuites,
                                .dh_params_file = dh_params_file,
                                .prefer_server_ciphers = prefer_server_ciphers,
                                .session_caching = session_caching,
                                .session_cache_size = session_cache_size,
                                .session_cache_timeout_s = session_cache_timeout_s};
}

/* Makes a context for connections that the server opens, which the caller frees. On failure it returns NULL
 * and sets *err. */
static struct tlsContext *tlsServerAsClient(sds *err) {
    struct tlsSettings s = tlsServerSettings();
    s.peer = TLS_PEER_CHECKED;
    if (client_cert_file && client_key_file) {
        s.cert_file = client_cert_file;
        s.key_file = client_key_file;
        s.key_pass = client_key_pass;
    }
    return tlsClientContext(&s, err);
}

/* Checks certificate and key for connections that the server opens, so that mistakes are reported now. */
static bool tlsServerCheckClientPair(sds *err) {
    if (!client_cert_file || !client_key_file) return true;
    struct tlsContext *c = tlsServerAsClient(err);
    if (c) tlsContextFree(c);
    return c != NULL;
}

static void tlsServerReadCertificates(void) {
    for (size_t i = 0; i < CERTIFICATE_COUNT; i++) {
        struct tlsServerCertificate *c = &certificates[i];
        sdsfree(c->serial);
        c->serial = NULL;
        if (c->key && !*c->key) continue;
        if (!c->folder && *c->path) (void)tlsCertificateFacts(*c->path, &c->serial, &c->valid_until_s);
        if (c->folder && *c->path) tlsCertificateFactsEarliest(*c->path, &c->serial, &c->valid_until_s);
        if (c->folder && *c->folder) tlsCertificateFactsEarliest(*c->folder, &c->serial, &c->valid_until_s);
    }
}

/* Computes a number that changes when one of the files does. It uses the inode's change time, because a
 * copied file may keep its old modification time. */
static uint64_t tlsServerFilesState(void) {
    sds files[] = {cert_file,        key_file,        alt_cert_file, alt_key_file,
                   client_cert_file, client_key_file, ca_file,       ca_dir};
    uint64_t state = 0;
    struct stat st;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (!files[i] || stat(files[i], &st) != 0) continue;
        state = (state ^ (uint64_t)st.st_ctim.tv_nsec ^ (uint64_t)st.st_ino) * 1000003 +
                (uint64_t)st.st_ctim.tv_sec;
    }
    return state;
}
static uint64_t loaded_state; /* tlsServerFilesState() when the context was made */

bool tlsServerConfigure(void) {
    loaded_state = tlsServerFilesState();
    struct tlsSettings s = tlsServerSettings();
    sds err = NULL;
    struct tlsContext *fresh = tlsServerContext(&s, &err);
    if (fresh && tlsServerCheckClientPair(&err)) {
        if (context) tlsContextFree(context);
        context = fresh;
        tlsServerReadCertificates();
        return true;
    }
    serverLog(LL_WARNING, "%s", err);
    sdsfree(err);
    if (fresh) tlsContextFree(fresh);
    return false;
}

bool tlsServerIsWanted(void) {
    return in_use();
}

struct tlsContext *tlsServerCurrent(void) {
    return context;
}

sds *tlsServerUsers(const struct connection *conn, int *count) {
    return tlsPeerNames(conn, (enum tlsName)auth_user, count);
}

/* Reloads changed files. A failure is logged once, and the old certificate stays in use. */
static void tlsServerReloadChanged(void) {
    static int64_t checked_s;
    int64_t now_s = ustime() / 1000000;
    if (reload_interval_s == 0 || !context || now_s - checked_s < reload_interval_s) return;
    checked_s = now_s;
    if (tlsServerFilesState() != loaded_state && tlsServerConfigure())
        serverLog(LL_NOTICE, "TLS certificates have changed, and were loaded again");
}

static sds tlsInfo(sds s) {
    int64_t now_s = ustime() / 1000000;
    for (size_t i = 0; i < CERTIFICATE_COUNT; i++) {
        const struct tlsServerCertificate *c = &certificates[i];
        bool used = c->serial && in_use();
        int64_t left_s = used && c->valid_until_s > now_s ? c->valid_until_s - now_s : 0;
        s = infoField(s, "tls_%s_cert_serial:%s", c->name, used ? c->serial : "none");
        s = infoField(s, "tls_%s_cert_expires_in_seconds:%lld", c->name, (long long)left_s);
    }
    return s;
}

/* Makes a context if TLS is on; without one, the change is refused. */
static bool tlsServerApplyIf(bool on, const char **err) {
    if (!on || tlsServerConfigure()) return true;
    *err = "Unable to update TLS configuration. Check server logs.";
    return false;
}
static bool tlsServerApply(const char **err) {
    return tlsServerApplyIf(in_use(), err);
}
static bool tlsServerApplyReplication(const char **err) {
    return tlsServerApplyIf(dial_settings.replication_tls, err);
}
static bool tlsServerApplyCluster(const char **err) {
    return tlsServerApplyIf(dial_settings.cluster_tls, err);
}

#define TLS_TEXT(name, var)                                                                                  \
    CONFIG_STRING(name, NULL, CONFIG_MODIFIABLE | CONFIG_EMPTY_IS_NULL, var, NULL, NULL, tlsServerApply)
#define TLS_FILE(name, var)                                                                                  \
    CONFIG_STRING(name, NULL, CONFIG_MODIFIABLE | CONFIG_EMPTY_IS_NULL | CONFIG_VOLATILE, var, NULL, NULL,   \
                  tlsServerApply)
#define TLS_PASSWORD(name, var)                                                                              \
    CONFIG_STRING(name, NULL, CONFIG_MODIFIABLE | CONFIG_EMPTY_IS_NULL | CONFIG_SENSITIVE, var, NULL, NULL,  \
                  tlsServerApply)

void tlsServerRegister(bool (*wanted)(void)) {
    static const struct configEnum auth_names[] = {{"no", TLS_PEER_UNCHECKED},
                                                   {"yes", TLS_PEER_CHECKED},
                                                   {"optional", TLS_PEER_CHECKED_IF_GIVEN},
                                                   {NULL, 0}};
    static const struct configEnum user_names[] = {
        {"CN", TLS_NAME_CN}, {"URI", TLS_NAME_URI}, {"off", TLS_NAME_NONE}, {NULL, 0}};
    static struct configDirective directives[] = {
        TLS_FILE("tls-cert-file", &cert_file),
        TLS_FILE("tls-key-file", &key_file),
        TLS_PASSWORD("tls-key-file-pass", &key_pass),
        TLS_FILE("tls-alt-cert-file", &alt_cert_file),
        TLS_FILE("tls-alt-key-file", &alt_key_file),
        TLS_PASSWORD("tls-alt-key-file-pass", &alt_key_pass),
        TLS_FILE("tls-client-cert-file", &client_cert_file),
        TLS_FILE("tls-client-key-file", &client_key_file),
        TLS_PASSWORD("tls-client-key-file-pass", &client_key_pass),
        TLS_FILE("tls-dh-params-file", &dh_params_file),
        TLS_FILE("tls-ca-cert-file", &ca_file),
        TLS_FILE("tls-ca-cert-dir", &ca_dir),
        TLS_TEXT("tls-protocols", &protocols),
        TLS_TEXT("tls-ciphers", &ciphers),
        TLS_TEXT("tls-ciphersuites", &ciphersuites),
        CONFIG_ENUM("tls-auth-clients", NULL, CONFIG_MODIFIABLE, &auth_clients, TLS_PEER_CHECKED, auth_names,
                    tlsServerApply),
        CONFIG_ENUM("tls-auth-clients-user", NULL, CONFIG_MODIFIABLE, &auth_user, TLS_NAME_NONE, user_names,
                    NULL),
        CONFIG_BOOL("tls-prefer-server-ciphers", NULL, CONFIG_MODIFIABLE, &prefer_server_ciphers, false,
                    tlsServerApply),
        CONFIG_BOOL("tls-session-caching", NULL, CONFIG_MODIFIABLE, &session_caching, true, tlsServerApply),
        CONFIG_INT("tls-session-cache-size", NULL, CONFIG_MODIFIABLE, &session_cache_size, 20480, 0,
                   INT32_MAX, tlsServerApply),
        CONFIG_INT("tls-session-cache-timeout", NULL, CONFIG_MODIFIABLE, &session_cache_timeout_s, 300, 0,
                   INT32_MAX, tlsServerApply),
        CONFIG_INT("tls-auto-reload-interval", NULL, CONFIG_MODIFIABLE, &reload_interval_s, 0, 0, INT32_MAX,
                   NULL),
    };
    static struct configDirective between_servers[] = {
        CONFIG_BOOL("tls-replication", NULL, CONFIG_MODIFIABLE, &dial_settings.replication_tls, false,
                    tlsServerApplyReplication),
        CONFIG_BOOL("tls-cluster", NULL, CONFIG_MODIFIABLE, &dial_settings.cluster_tls, false,
                    tlsServerApplyCluster),
    };
    in_use = wanted;
    dial_settings.tlsContext = tlsServerAsClient;
    infoRegister("tls", tlsInfo);
    cronRegister(tlsServerReloadChanged, 1000);
    configRegister(between_servers, sizeof between_servers / sizeof *between_servers);
    if (tlsAvailable()) configRegister(directives, sizeof directives / sizeof *directives);
}
