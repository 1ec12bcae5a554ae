/* client_log.c - see client_log.h. */
#include "client/client_log.h"

#include <string.h>

#include "acl/acl.h"
#include "registry/config.h"
#include "net/connection.h"

#define HIDDEN "*redacted*"

bool hide_user_data;

/* "... name=bob age=1" becomes "... name=*redacted* age=1": no value in the line has a blank in it. */
static sds hideValue(sds line, const char *field) {
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
    if (hide_user_data) line = hideValue(hideValue(line, " name="), " user=");
    s = sdscatstr(s, sdsview(line));
    sdsfree(line);
    return s;
}

sds clientLogName(struct client *c, sds s) {
    struct str user = hide_user_data ? STR(HIDDEN) : aclUserName(c);
    return sdscatprintf(
        s, "id=%llu addr=%s laddr=%s fd=%d name=%s user=%.*s lib-name=%s lib-ver=%s",
        (unsigned long long)c->id, clientPeerName(c), clientSockName(c), c->conn ? c->conn->fd : -1,
        hide_user_data ? HIDDEN
        : c->name      ? c->name
                       : "",
        (int)user.len, user.ptr, c->lib_name ? c->lib_name : "", c->lib_ver ? c->lib_ver : "");
}

void clientLogInit(void) {
    static struct configDirective directives[] = {
        CONFIG_BOOL("hide-user-data-from-log", NULL, CONFIG_MODIFIABLE, &hide_user_data, true, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
}
