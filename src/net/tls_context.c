/* SPDX-License-Identifier: BSD-3-Clause */
/* tls_context.c - creates contexts from settings: certificates, keys, trusted authorities, protocols,
 * ciphers, sessions. Part of tls.h.
 *
 * A context is created completely or not at all: a step that fails reports why in one line, and the
 * unfinished context is freed. So a server can try new settings and keep the old ones. */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/str.h"
#include "net/openssl.h"
#include "net/tls.h"
#include "net/tls_private.h"

#define ERROR_TEXT_MAX 256

static const char session_id[] = "valkey";

static bool tlsContextIsGiven(const char *s) {
    return s && *s;
}

/* The oldest of OpenSSL's errors is the cause of the later ones. */
sds tlsTakeError(void) {
    char text[ERROR_TEXT_MAX];
    ERR_error_string_n(ERR_peek_error(), text, sizeof text);
    ERR_clear_error();
    return sdsnew(text);
}

static bool tlsContextFail(sds *err, const char *what, const char *which) {
    sds reason = tlsTakeError();
    *err = sdscatprintf(sdsempty(), "%s%s%s: %s", what, which ? ": " : "", which ? which : "", reason);
    sdsfree(reason);
    return false;
}

static bool tlsContextFailWithText(sds *err, const char *text) {
    *err = sdsnew(text);
    return false;
}

/* ---- Steps ---- */

static int tlsContextGivePassword(char *buf, int size, int rwflag, void *password) {
    (void)rwflag;
    size_t len = strlen(password);
    if (len > (size_t)size) return -1;
    memcpy(buf, password, len);
    return (int)len;
}

/* Loads a key for the certificate that was loaded last. A key of another algorithm has a place of its own, to
 * which the context then turns, maybe with the certificate of another pair. */
static bool tlsContextLoadKey(SSL_CTX *ctx, const char *file, sds *err) {
    const X509 *certificate = SSL_CTX_get0_certificate(ctx);
    if (SSL_CTX_use_PrivateKey_file(ctx, file, SSL_FILETYPE_PEM) != 1)
        return tlsContextFail(err, "Loading the private key failed", file);
    if (SSL_CTX_get0_certificate(ctx) == certificate) return true;
    *err = sdscatprintf(sdsempty(), "The private key is of another algorithm than the certificate: %s", file);
    return false;
}

/* A key that needs a password is refused when there is none, rather than asking for it on the terminal. */
static bool tlsContextLoadFiles(SSL_CTX *ctx, const char *cert_file, const char *key_file,
                                const char *key_pass, sds *err) {
    SSL_CTX_set_default_passwd_cb(ctx, tlsContextGivePassword);
    SSL_CTX_set_default_passwd_cb_userdata(ctx, (void *)(key_pass ? key_pass : ""));
    bool ok = SSL_CTX_use_certificate_chain_file(ctx, cert_file) == 1
                  ? tlsContextLoadKey(ctx, key_file, err)
                  : tlsContextFail(err, "Loading the certificate failed", cert_file);
    SSL_CTX_set_default_passwd_cb_userdata(ctx, (void *)"");
    return ok;
}

static bool tlsContextLoadPair(SSL_CTX *ctx, const struct tlsSettings *s, sds *err) {
    return tlsContextLoadFiles(ctx, s->cert_file, s->key_file, s->key_pass, err);
}

/* Loads the second pair. A context has one certificate for each algorithm, and the handshake takes the one
 * that the client can check, so one of the first pair's algorithm would replace the first. */
static bool tlsContextLoadAlternative(SSL_CTX *ctx, const struct tlsSettings *s, sds *err) {
    if (!tlsContextIsGiven(s->alt_cert_file) || !tlsContextIsGiven(s->alt_key_file)) return true;
    X509 *first = SSL_CTX_get0_certificate(ctx);
    X509_up_ref(first);
    bool ok = tlsContextLoadFiles(ctx, s->alt_cert_file, s->alt_key_file, s->alt_key_pass, err);
    if (ok && SSL_CTX_select_current_cert(ctx, first) != 1) {
        ERR_clear_error();
        ok = tlsContextFailWithText(
            err, "tls-alt-cert-file has a certificate of the same algorithm as tls-cert-file");
    }
    X509_free(first);
    return ok;
}

static bool tlsContextLoadTrusted(SSL_CTX *ctx, const struct tlsSettings *s, sds *err) {
    if (!tlsContextIsGiven(s->ca_file) && !tlsContextIsGiven(s->ca_dir)) {
        if (s->ca_of_system && SSL_CTX_set_default_verify_paths(ctx) != 1)
            return tlsContextFail(err, "Using the default paths of CA certificates failed", NULL);
        return true;
    }
    if (SSL_CTX_load_verify_locations(ctx, tlsContextIsGiven(s->ca_file) ? s->ca_file : NULL,
                                      tlsContextIsGiven(s->ca_dir) ? s->ca_dir : NULL) == 1)
        return true;
    return tlsContextFail(err, "Loading the CA certificates failed", NULL);
}

static bool tlsContextLimitProtocols(SSL_CTX *ctx, const char *names, sds *err) {
    static const struct {
        const char *name;
        uint64_t off;
    } all[] = {{"TLSv1", SSL_OP_NO_TLSv1},
               {"TLSv1.1", SSL_OP_NO_TLSv1_1},
               {"TLSv1.2", SSL_OP_NO_TLSv1_2},
               {"TLSv1.3", SSL_OP_NO_TLSv1_3}};
    uint64_t off = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) off |= all[i].off;
    if (!tlsContextIsGiven(names)) names = "TLSv1.2 TLSv1.3";
    int count;
    sds *words = sdssplitargs(names, strlen(names), &count);
    bool ok = words != NULL;
    for (int w = 0; ok && w < count; w++) {
        size_t i = 0;
        while (i < sizeof all / sizeof *all && !strIs(sdsview(words[w]), all[i].name)) i++;
        ok = i < sizeof all / sizeof *all;
        if (ok) off &= ~all[i].off;
    }
    if (words) sdsfreesplitres(words, count);
    if (!ok)
        return tlsContextFailWithText(
            err, "tls-protocols names an unknown protocol. It takes any of 'TLSv1', 'TLSv1.1', 'TLSv1.2' and "
                 "'TLSv1.3'.");
    SSL_CTX_set_options(ctx, off);
    return true;
}

static bool tlsContextLimitCiphers(SSL_CTX *ctx, const struct tlsSettings *s, sds *err) {
    const char *what = NULL, *value = NULL;
    if (tlsContextIsGiven(s->ciphers) && SSL_CTX_set_cipher_list(ctx, s->ciphers) != 1)
        what = "Setting the ciphers failed", value = s->ciphers;
    else if (tlsContextIsGiven(s->ciphersuites) && SSL_CTX_set_ciphersuites(ctx, s->ciphersuites) != 1)
        what = "Setting the ciphersuites failed", value = s->ciphersuites;
    ERR_clear_error();
    if (what) *err = sdscatprintf(sdsempty(), "%s: %s", what, value);
    return what == NULL;
}

static bool tlsContextLoadDh(SSL_CTX *ctx, const char *path, sds *err) {
    if (!tlsContextIsGiven(path))
        return SSL_CTX_set_dh_auto(ctx, 1) == 1 ||
               tlsContextFail(err, "Setting the DH parameters failed", NULL);
    BIO *file = BIO_new_file(path, "r");
    if (!file) {
        *err = sdscatprintf(sdsempty(), "Loading %s failed: %s", path, strerror(errno));
        ERR_clear_error();
        return false;
    }
    EVP_PKEY *dh = PEM_read_bio_Parameters(file, NULL);
    BIO_free(file);
    if (!dh) return tlsContextFail(err, "Reading the DH parameters failed", path);
    if (SSL_CTX_set0_tmp_dh_pkey(ctx, dh) == 1) return true; /* the context owns it now */
    EVP_PKEY_free(dh);
    return tlsContextFail(err, "Loading the file of DH parameters failed", path);
}

/* Without caching there are no tickets either, as they would resume a session, too. */
static void tlsContextKeepSessions(SSL_CTX *ctx, const struct tlsSettings *s) {
    SSL_CTX_set_session_id_context(ctx, (const unsigned char *)session_id, sizeof session_id - 1);
    if (!s->session_caching) {
        SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
        SSL_CTX_set_num_tickets(ctx, 0);
        return;
    }
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_SERVER);
    SSL_CTX_sess_set_cache_size(ctx, s->session_cache_size);
    SSL_CTX_set_timeout(ctx, s->session_cache_timeout_s);
}

/* ---- Whole contexts ---- */

/* Reading ahead takes many records, or a header and its record, with one system call. The buffers of idle
 * connections are freed, 2 x 17 KiB each. A peer that just closes its socket counts as ended, as over TCP. */
static SSL_CTX *tlsContextCreate(bool server, sds *err) {
    if (!opensslLoad(err)) return NULL;
    tlsPrepare();
    ERR_clear_error();
    SSL_CTX *ctx = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
    if (!ctx) return tlsContextFail(err, "SSL_CTX_new", NULL), NULL;
    SSL_CTX_set_options(ctx, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(ctx, 1);
    return ctx;
}

static bool tlsContextFillServer(SSL_CTX *ctx, const struct tlsSettings *s, sds *err) {
    static const int modes[] = {[TLS_PEER_UNCHECKED] = SSL_VERIFY_NONE,
                                [TLS_PEER_CHECKED] = SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                                [TLS_PEER_CHECKED_IF_GIVEN] = SSL_VERIFY_PEER};
    SSL_CTX_set_verify(ctx, modes[s->peer], NULL);
    if (s->prefer_server_ciphers) SSL_CTX_set_options(ctx, SSL_OP_CIPHER_SERVER_PREFERENCE);
    tlsContextKeepSessions(ctx, s);
    return tlsContextLimitProtocols(ctx, s->protocols, err) && tlsContextLoadPair(ctx, s, err) &&
           tlsContextLoadAlternative(ctx, s, err) && tlsContextLoadTrusted(ctx, s, err) &&
           tlsContextLimitCiphers(ctx, s, err) && tlsContextLoadDh(ctx, s->dh_params_file, err);
}

static bool tlsContextFillClient(SSL_CTX *ctx, const struct tlsSettings *s, sds *err) {
    SSL_CTX_set_verify(ctx, s->peer == TLS_PEER_UNCHECKED ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    return tlsContextLimitProtocols(ctx, s->protocols, err) && tlsContextLoadTrusted(ctx, s, err) &&
           (!tlsContextIsGiven(s->cert_file) || tlsContextLoadPair(ctx, s, err)) &&
           tlsContextLimitCiphers(ctx, s, err);
}

static struct tlsContext *tlsContextFinish(SSL_CTX *ctx, bool ok) {
    if (ok) return (struct tlsContext *)ctx;
    SSL_CTX_free(ctx);
    return NULL;
}

struct tlsContext *tlsServerContext(const struct tlsSettings *s, sds *err) {
    if (!tlsContextIsGiven(s->cert_file))
        return tlsContextFailWithText(err, "tls-cert-file is not set"), NULL;
    if (!tlsContextIsGiven(s->key_file)) return tlsContextFailWithText(err, "tls-key-file is not set"), NULL;
    if (s->peer != TLS_PEER_UNCHECKED && !tlsContextIsGiven(s->ca_file) && !tlsContextIsGiven(s->ca_dir))
        return tlsContextFailWithText(
                   err, "tls-cluster, tls-replication and tls-auth-clients need tls-ca-cert-file or "
                        "tls-ca-cert-dir"),
               NULL;
    SSL_CTX *ctx = tlsContextCreate(true, err);
    return ctx ? tlsContextFinish(ctx, tlsContextFillServer(ctx, s, err)) : NULL;
}

struct tlsContext *tlsClientContext(const struct tlsSettings *s, sds *err) {
    SSL_CTX *ctx = tlsContextCreate(false, err);
    return ctx ? tlsContextFinish(ctx, tlsContextFillClient(ctx, s, err)) : NULL;
}

void tlsContextFree(struct tlsContext *ctx) {
    if (ctx) SSL_CTX_free((SSL_CTX *)ctx);
}

static sds tlsContextSerialText(const X509 *cert) {
    BIGNUM *number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(cert), NULL);
    char *hex = number ? BN_bn2hex(number) : NULL;
    sds text = sdsnew(hex ? hex : "");
    OPENSSL_free(hex);
    BN_free(number);
    return text;
}

/* Reads the next certificate of the file. */
static bool tlsReadFacts(FILE *f, sds *serial, int64_t *good_until_s) {
    struct tm tm;
    X509 *cert = PEM_read_X509(f, NULL, NULL, NULL);
    bool ok = cert && ASN1_TIME_to_tm(X509_get0_notAfter(cert), &tm);
    if (ok) {
        *serial = tlsContextSerialText(cert);
        *good_until_s = timegm(&tm);
    }
    X509_free(cert);
    ERR_clear_error();
    return ok;
}

bool tlsCertificateFacts(const char *path, sds *serial, int64_t *good_until_s) {
    FILE *f = fopen(path, "re");
    bool ok = f && tlsReadFacts(f, serial, good_until_s);
    if (f) fclose(f);
    return ok;
}

static void tlsUpdateFactsFromFile(const char *path, sds *serial, int64_t *good_until_s) {
    FILE *f = fopen(path, "re");
    sds next;
    int64_t next_s;
    while (f && tlsReadFacts(f, &next, &next_s)) {
        if (!*serial || next_s < *good_until_s) {
            sdsfree(*serial);
            *serial = next;
            *good_until_s = next_s;
        } else {
            sdsfree(next);
        }
    }
    if (f) fclose(f);
}

void tlsCertificateFactsEarliest(const char *path, sds *serial, int64_t *good_until_s) {
    DIR *folder = opendir(path);
    if (!folder) {
        tlsUpdateFactsFromFile(path, serial, good_until_s);
        return;
    }
    for (struct dirent *e; (e = readdir(folder));) {
        sds file = sdscatprintf(sdsempty(), "%s/%s", path, e->d_name);
        tlsUpdateFactsFromFile(file, serial, good_until_s);
        sdsfree(file);
    }
    closedir(folder);
}
