/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_usage.c - the text of --help, and server addresses written as URIs. Part of cli.h. */
#define _GNU_SOURCE /* memrchr */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "tools/cli.h"
#include "tools/tool_uri.h"

static const char usage_start[] =
    "valkey-cli %s - talk to a Valkey server\n"
    "\n"
    "Usage: valkey-cli [options] [command [argument ...]]\n"
    "\n"
    "With a command, it is run and its reply printed. Without one, commands are read from a prompt,\n"
    "or line by line when standard input is not a terminal.\n"
    "\n"
    "Server\n"
    "  -h HOST            host name or address (127.0.0.1)\n"
    "  -p PORT            port (6379)\n"
    "  -4, -6             by IPv4 or by IPv6 only\n"
    "  --mptcp            by several paths at once, where both sides know MPTCP\n"
    "  -s PATH            unix socket, instead of host and port\n"
    "  -u URI             valkey://[user[:password]@]host[:port][/db], also redis://, or unix://path;\n"
    "                     valkeys:// and rediss:// for TLS\n"
    "  -n N               select database N\n"
    "  -t SECONDS         give up connecting after this time; decimals are fine\n"
    "  -c                 follow redirections of a cluster\n"
    "\n"
    "Credentials\n"
    "  -a, --pass WORD    password; better in the environment, as VALKEYCLI_AUTH or REDISCLI_AUTH\n"
    "  --user NAME        user, with -a\n"
    "  --askpass          ask for the password; has precedence over the others\n"
    "  --no-auth-warning  do not warn about a password on the command line\n"
    "\n";

static const char usage_end[] =
    "\n"
    "Command\n"
    "  -x                 the last argument is read from standard input\n"
    "  -X TAG             the argument TAG is replaced by what is read from standard input\n"
    "  --quoted-input     arguments in \"quotes\" may contain escapes such as \\n and \\x00\n"
    "  -r N               run the command N times; -1 is for ever\n"
    "  -i SECONDS         pause between the runs of -r; decimals are fine\n"
    "  --eval FILE ...    run a Lua script; key names follow, then a comma between blanks, then the\n"
    "                     other arguments\n"
    "  --ldb              run it under the debugger, on a copy of the data\n"
    "  --ldb-sync-mode    run it under the debugger in the server itself, which serves nobody else\n"
    "                     meanwhile; what the script writes stays\n"
    "  -e                 exit with status 1 on an error reply\n"
    "\n"
    "Replies\n"
    "  --raw              as they are; the default when standard output is not a terminal\n"
    "  --no-raw           for people, also when standard output is not a terminal\n"
    "  --csv              as comma separated values\n"
    "  --json             as JSON (with RESP3, unless -2 is given)\n"
    "  --quoted-json      the same in plain ASCII\n"
    "  -d STRING          between the elements of raw replies (a line end)\n"
    "  -D STRING          after each raw reply (a line end)\n"
    "  -2, -3             speak RESP2 or RESP3\n"
    "  --show-pushes YN   print what the server sends unasked in RESP3: yes or no; the default is yes\n"
    "                     when standard output is a terminal\n"
    "  --color WHEN       auto, always or never; auto is on a terminal, unless NO_COLOR is set\n"
    "  --no-table         on a terminal, lists such as CLIENT LIST not as tables\n"
    "  --no-pager         at the prompt, long replies not by a pager ($VALKEYCLI_PAGER, $PAGER, less)\n"
    "  --verbose          tell how long each command took\n"
    "\n"
    "Looking at the keys\n"
    "  --scan             the names of all keys, one a line\n"
    "  --bigkeys          the largest key of each type, by elements\n"
    "  --memkeys          the largest key of each type, by memory\n"
    "  --memkeys-samples N  the same; N elements of each key are looked at, 0 for all\n"
    "  --hotkeys          the keys used most; needs an LFU eviction policy\n"
    "  --hotkeys-count N  the same; so many are shown (16)\n"
    "  --pattern GLOB     only keys that match, for all of these\n"
    "  --quoted-pattern GLOB  the same in \"quotes\", which may contain escapes\n"
    "  --count N          keys that the server looks at in each step\n"
    "  -i SECONDS         pause between steps of --scan, and after 100 keys of the others\n"
    "\n"
    "Looking at the server\n"
    "  --stat             its load, a line a second, or each -i seconds\n"
    "  --latency          round trips of PING: minimum, maximum, average, as long as you watch; with\n"
    "                     --raw or --csv or without a terminal for one second or -i seconds\n"
    "  --latency-history  the same, a line for each 15 seconds or -i seconds\n"
    "  --latency-dist     the distribution in colours, a line for each second or -i seconds\n"
    "  --intrinsic-latency SECONDS  how long this machine keeps a process waiting; asks no server\n"
    "  --lru-test KEYS    load as of a cache with that many keys, 80% of it on 20% of them; the\n"
    "                     server should have a maxmemory\n"
    "\n"
    "Transfer\n"
    "  --pipe             send standard input as it is, count the replies\n"
    "  --pipe-timeout N   give up N seconds after the last byte either way (30); 0 is never\n"
    "  --replica          print what the server sends to its replicas\n"
    "  --rdb FILE         a copy of all data as an RDB file; \"-\" is standard output\n"
    "  --functions-rdb FILE  the same with the functions only\n"
    "\n"
    "Clusters\n"
    "  --cluster SUBCOMMAND ...  create, check, info, fix, reshard, rebalance, add-node, del-node, call,\n"
    "                     set-timeout, import or backup one; --cluster help says more\n"
    "\n"
    "  --help, -v, --version\n"
    "\n"
    "Examples\n"
    "  valkey-cli set greeting hello\n"
    "  valkey-cli -x set document < file.txt\n"
    "  valkey-cli -r 10 -i 0.5 --csv dbsize\n"
    "  valkey-cli --scan --pattern 'user:*'\n"
    "  valkey-cli --pipe < commands.txt\n"
    "  valkey-cli --eval move.lua from to , 10\n"
    "\n"
    "At the prompt: help, help COMMAND, connect HOST PORT, clear, quit. A number before a command\n"
    "repeats it. Lines are kept in ~/.valkeycli_history (or $VALKEYCLI_HISTFILE), except those with\n"
    "passwords. The lines of ~/.valkeyclirc are run first (:set nohints, nocolor, notable, nopager).\n";

void cliPrintUsage(FILE *f) {
    fprintf(f, usage_start, VALKEY_VERSION);
    fputs(tool_tls_usage, f);
    fputs(usage_end, f);
}

/* ---- URIs ---- */

/* "user:password@" or "password@" */
static void cliUsageParseUserInfo(struct cli *c, const char *info, size_t len) {
    const char *colon = memchr(info, ':', len);
    const char *password = colon ? colon + 1 : info;
    if (colon && colon > info) cliSetText(&c->user, toolPercentDecode(info, (size_t)(colon - info)));
    cliSetText(&c->password, toolPercentDecode(password, (size_t)(info + len - password)));
}

/* "host:port", "[::1]:port"; either part may be missing. */
static void cliUsageParseHostPort(struct cli *c, const char *p, size_t len) {
    const char *end = p + len, *host_end, *close = len && *p == '[' ? memchr(p, ']', len) : NULL;
    const char *colon = memrchr(close ? close : p, ':', (size_t)(end - (close ? close : p)));
    host_end = close ? close : colon ? colon : end;
    if (close) p++;
    if (host_end > p) cliSetText(&c->host, toolPercentDecode(p, (size_t)(host_end - p)));
    if (!colon) return;
    int64_t port;
    if (!string2ll(strN(colon + 1, (size_t)(end - colon - 1)), &port) || port < 1 || port > 65535)
        cliFail("Not a port in the URI: '%s'", colon + 1);
    c->port = (int)port;
}

static bool cliUsageSkipScheme(const char **uri, const char *scheme) {
    size_t len = strlen(scheme);
    if (strncasecmp(*uri, scheme, len) != 0) return false;
    *uri += len;
    return true;
}

void cliParseUri(struct cli *c, const char *uri) {
    if (cliUsageSkipScheme(&uri, "unix://")) {
        cliSetText(&c->socket, toolPercentDecode(uri, strlen(uri)));
        return;
    }
    if (cliUsageSkipScheme(&uri, "valkeys://") || cliUsageSkipScheme(&uri, "rediss://"))
        c->tls.on = true;
    else if (!cliUsageSkipScheme(&uri, "valkey://") && !cliUsageSkipScheme(&uri, "redis://"))
        cliFail("%s", "The scheme of the URI is not known");
    const char *at = strrchr(uri, '@');
    if (at) {
        cliUsageParseUserInfo(c, uri, (size_t)(at - uri));
        uri = at + 1;
    }
    const char *slash = strchr(uri, '/');
    cliUsageParseHostPort(c, uri, slash ? (size_t)(slash - uri) : strlen(uri));
    if (slash && slash[1]) c->db = atoi(slash + 1);
}

/* ---- Quotes ---- */

sds cliUnquote(const char *word) {
    if (word[0] != '"' && word[0] != '\'') return sdsnew(word);
    int count;
    sds *words = sdssplitargs(word, strlen(word), &count);
    sds out = words && count == 1 ? sdsdup(words[0]) : NULL;
    if (words) sdsfreesplitres(words, count);
    return out;
}
