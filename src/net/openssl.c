/* SPDX-License-Identifier: BSD-3-Clause */
/* openssl.c - see openssl.h. */
#define OPENSSL_ITSELF
#include "net/openssl.h"

#include <dlfcn.h>

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)
#define CRYPTO     "libcrypto.so." TEXT(OPENSSL_SHLIB_VERSION)
#define SSL        "libssl.so." TEXT(OPENSSL_SHLIB_VERSION)

struct openssl openssl;

struct named {
    const char *name;
    void **address;
};

#define NAMED(name) {#name, (void **)&openssl.name},
static const struct named crypto_functions[] = {OPENSSL_CRYPTO_FUNCTIONS(NAMED){NULL, NULL}};
static const struct named ssl_functions[] = {OPENSSL_SSL_FUNCTIONS(NAMED){NULL, NULL}};

static bool opensslLoadFrom(const char *library, const struct named *functions, sds *err) {
    void *handle = dlopen(library, RTLD_NOW);
    bool ok = handle != NULL;
    for (const struct named *f = functions; ok && f->name; f++)
        ok = (*f->address = dlsym(handle, f->name)) != NULL;
    if (!ok) *err = sdscatprintf(sdsempty(), "OpenSSL cannot be loaded: %s", dlerror());
    return ok;
}

bool opensslLoad(sds *err) {
    static bool loaded;
    if (!loaded)
        loaded = opensslLoadFrom(CRYPTO, crypto_functions, err) && opensslLoadFrom(SSL, ssl_functions, err);
    return loaded;
}
