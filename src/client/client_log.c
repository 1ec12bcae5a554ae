/* SPDX-License-Identifier: BSD-3-Clause */
/* client_log.c - see client_log.h. */
#include "client/client_log.h"

#include <string.h>

#include "base/log.h"
#include "client/client_info.h"
#include "client/client_session.h"
#include "net/connection.h"
#include "registry/config.h"

#define HIDDEN "*redacted*"

/* "... name=bob age=1" becomes "... name=*redacted* age=1": no value in the line contains a blank. */
static sds clientLogHideValue(sds line, const char *field) {
    char *start = strstr(line, field);
    if (!start) return line;
    start += strlen(field);
    const char *rest = start + strcspn(start, " ");
    sds hidden = sdscat(sdscat(sdsnewlen(line, (size_t)(start - line)), HIDDEN), rest);
    sdsfree(line);
    return hidden;
}

sds clientLogLine(struct client *c, sds s) {
    sds line = clientInfoLine(c, sdsempty());
    if (hide_user_data) line = clientLogHideValue(clientLogHideValue(line, " name="), " user=");
    s = sdscatstr(s, sdsview(line));
    sdsfree(line);
    return s;
}

static sds clientLogCatField(sds s, const char *name, struct str value) {
    return sdscatstr(sdscat(sdscat(sdscat(s, " "), name), "="), value);
}

static sds clientLogCatAddresses(struct client *c, sds s) {
    return sdscatprintf(s, "id=%llu addr=%s laddr=%s", (unsigned long long)c->id, clientPeerName(c),
                        clientSockName(c));
}

sds clientLogName(struct client *c, sds s) {
    struct str hidden = STR(HIDDEN);
    s = sdscatprintf(clientLogCatAddresses(c, s), " fd=%d", c->conn ? c->conn->fd : -1);
    s = clientLogCatField(s, "name", hide_user_data ? hidden : clientLabel(c, CLIENT_NAME));
    s = clientLogCatField(s, "user", hide_user_data ? hidden : client_users->name(c));
    s = clientLogCatField(s, "lib-name", clientLabel(c, CLIENT_LIB_NAME));
    return clientLogCatField(s, "lib-ver", clientLabel(c, CLIENT_LIB_VERSION));
}

sds clientLogAuthor(struct client *c, sds s) {
    return clientLogCatField(clientLogCatAddresses(c, s), "user", client_users->name(c));
}

void clientLogChange(struct client *c, struct str what) {
    sds who = clientLogAuthor(c, sdsempty());
    serverLog(LL_NOTICE, "%.*s (by %s)", (int)what.len, what.ptr, who);
    sdsfree(who);
}

sds clientLogError(struct str error, sds s) {
    static const char *const fixed[] = {"syntax error", "no such key", "index out of range"};
    bool made = error.len > 4 && memcmp(error.ptr, "ERR ", 4) == 0;
    struct str text = made ? strN(error.ptr + 4, error.len - 4) : error;
    for (size_t i = 0; made && i < sizeof fixed / sizeof *fixed; i++) made = !strEq(text, strOf(fixed[i]));
    return made ? sdscatstr(s, text) : sdscatstr(sdscat(s, "-"), error);
}

void clientLogInit(void) {
    static struct configDirective directives[] = {
        CONFIG_BOOL("hide-user-data-from-log", NULL, CONFIG_MODIFIABLE, &hide_user_data, true, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
}
