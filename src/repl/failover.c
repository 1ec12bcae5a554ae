/* failover.c - see failover.h. */
#include "repl/failover.h"

#include "client/reply.h"
#include "command/command.h"
#include "commands/replication.h"
#include "registry/info.h"
#include "repl/link.h"
#include "repl/replicas.h"

/* What follows a word of FAILOVER: -1 when it is not all there. */
static int failoverOperands(struct str word) {
    if (strIs(word, "to")) return 2;
    return strIs(word, "timeout") ? 1 : 0;
}

static bool failoverNumber(struct client *c, struct str word, struct str value) {
    int64_t v;
    bool timeout = strIs(word, "timeout");
    if (!argRange(c, value, INT32_MIN, INT32_MAX, &v, NULL)) return false;
    if (timeout && v <= 0) replyError(c, "ERR FAILOVER timeout must be greater than 0");
    return !timeout || v > 0;
}

void failoverCommand(struct client *c) {
    enum { TO, ABORT, TIMEOUT, FORCE, WORDS };
    static const char *const words[WORDS] = {"to", "abort", "timeout", "force"};
    unsigned seen = 0;
    for (int i = 1; i < c->argc; i++) {
        int k = 0, operands = failoverOperands(c->argv[i]);
        while (k < WORDS && !strIs(c->argv[i], words[k])) k++;
        if (k == WORDS || seen & 1u << k || i + operands >= c->argc) {
            replySyntaxError(c);
            return;
        }
        seen |= 1u << k;
        if (operands && !failoverNumber(c, c->argv[i], c->argv[i + operands])) return;
        i += operands;
    }
    if (!(seen & 1u << ABORT))
        replyError(c, "ERR FAILOVER requires connected replicas.");
    else if (c->argc == 2)
        replyError(c, "ERR No failover in progress.");
    else
        replySyntaxError(c);
}

bool failoverRunning(void) {
    return false;
}

static sds failoverInfo(sds s) {
    return infoField(s, "master_failover_state:no-failover");
}

void failoverInit(void) {
    infoRegister("replication", failoverInfo);
}
