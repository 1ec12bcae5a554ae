/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_usage.c - the text of --help, and server addresses written as URIs. Part of cli.h. */
#define _GNU_SOURCE /* memrchr */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "tools/cli/cli.h"
#include "tools/tool_uri.h"

static const char usage_start[] =
    "valkey-cli %s - command line client for Valkey servers\n"
    "\n"
    "Usage: valkey-cli [options] [command [argument ...]]\n"
    "\n"
    "With a command, it sends the command and prints the reply. Without one, it shows a prompt, or reads\n"
    "commands line by line when standard input is not a terminal.\n"
    "\n"
    "Server\n"
    "  -h HOST            host name or address (127.0.0.1)\n"
    "  -p PORT            port (6379)\n"
    "  -4, -6             use only IPv4 or only IPv6\n"
    "  --mptcp            use several paths at once, if both sides support MPTCP\n"
    "  -s PATH            Unix socket, instead of host and port\n"
    "  -u URI             valkey://[user[:password]@]host[:port][/db], also redis://, or unix://path;\n"
    "                     valkeys:// and rediss:// for TLS\n"
    "  -n N               select database N\n"
    "  -t SECONDS         stop trying to connect after this time; decimals are allowed\n"
    "  -c                 follow redirections of a cluster\n"
    "\n"
    "Credentials\n"
    "  -a, --pass WORD    password; better in the environment, as VALKEYCLI_AUTH or REDISCLI_AUTH\n"
    "  --user NAME        user, with -a\n"
    "  --askpass          prompt for the password; overrides the other ways to give it\n"
    "  --no-auth-warning  do not warn about a password on the command line\n"
    "\n";

static const char usage_end[] =
    "\n"
    "Command\n"
    "  -x                 the last argument is read from standard input\n"
    "  -X TAG             replace the argument TAG by the contents of standard input\n"
    "  --quoted-input     arguments in \"quotes\" may contain escapes such as \\n and \\x00\n"
    "  -r N               run the command N times; -1: without end\n"
    "  -i SECONDS         pause between the runs of -r; decimals are allowed\n"
    "  --eval FILE ...    run a Lua script; key names follow, then a comma between blanks, then the\n"
    "                     other arguments\n"
    "  --ldb              run it under the debugger, on a copy of the data\n"
    "  --ldb-sync-mode    run it under the debugger in the server itself, which serves no other client\n"
    "                     meanwhile; changes by the script are kept\n"
    "  -e                 exit with status 1 on an error reply\n"
    "\n"
    "Replies\n"
    "  --raw              unformatted; the default when standard output is not a terminal\n"
    "  --no-raw           formatted, also when standard output is not a terminal\n"
    "  --csv              as comma separated values\n"
    "  --json             as JSON (with RESP3, unless -2 is given)\n"
    "  --quoted-json      the same in plain ASCII\n"
    "  -d STRING          separator of the elements of raw replies (a line end)\n"
    "  -D STRING          text after each raw reply (a line end)\n"
    "  -2, -3             use RESP2 or RESP3\n"
    "  --show-pushes YN   print push messages of RESP3: yes or no; the default is yes\n"
    "                     when standard output is a terminal\n"
    "  --color WHEN       auto, always or never; auto is on a terminal, unless NO_COLOR is set\n"
    "  --no-table         do not show lists such as CLIENT LIST as tables on a terminal\n"
    "  --no-pager         do not use a pager at the prompt ($VALKEYCLI_PAGER, $PAGER, less)\n"
    "  --verbose          print the time that each command took\n"
    "\n"
    "Keys\n"
    "  --scan             the names of all keys, one per line\n"
    "  --bigkeys          the largest key of each type, by elements\n"
    "  --memkeys          the largest key of each type, by memory\n"
    "  --memkeys-samples N  the same; N elements of each key are sampled, 0 for all\n"
    "  --hotkeys          the most used keys; needs an LFU eviction policy\n"
    "  --hotkeys-count N  the same; N keys are shown (16)\n"
    "  --pattern GLOB     only matching keys, for all of these options\n"
    "  --quoted-pattern GLOB  the same in \"quotes\", which may contain escapes\n"
    "  --count N          keys that the server scans in each step\n"
    "  -i SECONDS         pause between steps of --scan, and after 100 keys of the other options\n"
    "\n"
    "Measurements\n"
    "  --doctor           what is wrong with the server, from INFO, CONFIG GET, LATENCY LATEST, MEMORY STATS,\n"
    "                     SLOWLOG GET; the exit status is 2 if there is a problem\n"
    "  --stat             the load of the server, a line per second, or every -i seconds\n"
    "  --latency          round trips of PING: minimum, maximum, average, until interrupted; with\n"
    "                     --raw or --csv or without a terminal for one second or -i seconds\n"
    "  --latency-history  the same, a line for every 15 seconds or -i seconds\n"
    "  --latency-dist     the distribution in colours, a line for every second or -i seconds\n"
    "  --intrinsic-latency SECONDS  how long this machine keeps a process waiting; no server needed\n"
    "  --lru-test KEYS    the load of a cache with this many keys, 80% of it on 20% of them; the\n"
    "                     server should have a maxmemory\n"
    "\n"
    "Transfer\n"
    "  --pipe             send standard input unchanged, count the replies\n"
    "  --pipe-timeout N   stop N seconds after the last byte in either direction (30); 0: never\n"
    "  --replica          print what the server sends to its replicas\n"
    "  --rdb FILE         a copy of all data as an RDB file; \"-\" is standard output\n"
    "  --functions-rdb FILE  the same with the functions only\n"
    "\n"
    "Clusters\n"
    "  --cluster SUBCOMMAND ...  create, check, info, fix, reshard, rebalance, add-node, del-node, call,\n"
    "                     set-timeout, import or backup one; see --cluster help\n"
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
    "repeats it. The history is stored in ~/.valkeycli_history (or $VALKEYCLI_HISTFILE), without\n"
    "passwords. ~/.valkeyclirc is read at the start (:set nohints, nocolor, notable, nopager).\n";

void cliPrintUsage(FILE *f) {
    fprintf(f, usage_start, VALKEY_VERSION);
    fputs(tool_tls_usage, f);
    fputs(usage_end, f);
}

/* ---- URIs ---- */

/* Reads "user:password@" or "password@". */
static void cliUsageParseUserInfo(struct cli *c, const char *info, size_t len) {
    const char *colon = memchr(info, ':', len);
    const char *password = colon ? colon + 1 : info;
    if (colon && colon > info) cliSetText(&c->user, toolPercentDecode(info, (size_t)(colon - info)));
    cliSetText(&c->password, toolPercentDecode(password, (size_t)(info + len - password)));
}

/* Reads "host:port" or "[::1]:port"; either part may be missing. */
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
        cliFail("%s", "The scheme of the URI is unknown");
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
