/* cli_options.c - the command line of valkey-cli, and server addresses written as URIs. */
#define _GNU_SOURCE /* memrchr */
#include "tools/cli.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/num.h"

static const char usage_text[] =
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
    "  -s PATH            unix socket, instead of host and port\n"
    "  -u URI             valkey://[user[:password]@]host[:port][/db], also redis://, or unix://path\n"
    "  -n N               select database N\n"
    "  -t SECONDS         give up connecting after this time; decimals are fine\n"
    "  -c                 follow redirections of a cluster\n"
    "\n"
    "Credentials\n"
    "  -a, --pass WORD    password; better in the environment, as VALKEYCLI_AUTH or REDISCLI_AUTH\n"
    "  --user NAME        user, with -a\n"
    "  --askpass          ask for the password; has precedence over the others\n"
    "  --no-auth-warning  do not warn about a password on the command line\n"
    "\n"
    "Command\n"
    "  -x                 the last argument is read from standard input\n"
    "  -X TAG             the argument TAG is replaced by what is read from standard input\n"
    "  --quoted-input     arguments in \"quotes\" may contain escapes such as \\n and \\x00\n"
    "  -r N               run the command N times; -1 is for ever\n"
    "  -i SECONDS         pause between the runs of -r; decimals are fine\n"
    "  --eval FILE ...    run a Lua script; key names follow, then a comma between blanks, then the\n"
    "                     other arguments\n"
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
    "  --verbose          tell how long each command took\n"
    "\n"
    "  --help, -v, --version\n"
    "\n"
    "Examples\n"
    "  valkey-cli set greeting hello\n"
    "  valkey-cli -x set document < file.txt\n"
    "  valkey-cli -r 10 -i 0.5 --csv dbsize\n"
    "  valkey-cli --eval move.lua from to , 10\n"
    "\n"
    "At the prompt: help, help COMMAND, connect HOST PORT, clear, quit. A number before a command\n"
    "repeats it. Lines are kept in ~/.valkeycli_history (or $VALKEYCLI_HISTFILE), except those with\n"
    "passwords.\n";

enum kind {
    FLAG,
    NUMBER,
    NUMBER64,
    SECONDS_MS,
    SECONDS_US,
    TEXT,
    PASSWORD,
    OUTPUT,
    PROTOCOL,
    URI,
    HELP,
    VERSION
};

struct option {
    const char *name;
    enum kind kind;
    void *to;
    int value; /* of OUTPUT and PROTOCOL */
};

static void badUsage(const char *format, const char *what) {
    fprintf(stderr, format, what);
    fprintf(stderr, "\n");
    exit(1);
}

static void setText(sds *field, sds value) {
    sdsfree(*field);
    *field = value;
}

static int64_t numberOf(const struct option *opt, const char *value) {
    int64_t n;
    if (!string2ll(strOf(value), &n)) badUsage("A number is needed after '%s'", opt->name);
    return n;
}

static double secondsOf(const struct option *opt, const char *value) {
    double d;
    if (!string2d(strOf(value), &d) || d < 0 || d > 1e9) badUsage("Seconds are needed after '%s'", opt->name);
    return d;
}

/* ---- URIs ---- */

static sds percentDecode(const char *p, size_t len) {
    sds out = sdsempty();
    for (size_t i = 0; i < len; i++) {
        char byte = p[i];
        if (byte == '%' && i + 2 < len && isxdigit((unsigned char)p[i + 1]) &&
            isxdigit((unsigned char)p[i + 2])) {
            byte = (char)strtol((char[]){p[i + 1], p[i + 2], '\0'}, NULL, 16);
            i += 2;
        }
        out = sdscatlen(out, &byte, 1);
    }
    return out;
}

/* "user:password@" or "password@" */
static void parseUserInfo(struct cli *c, const char *info, size_t len) {
    const char *colon = memchr(info, ':', len);
    const char *password = colon ? colon + 1 : info;
    if (colon && colon > info) setText(&c->user, percentDecode(info, (size_t)(colon - info)));
    setText(&c->password, percentDecode(password, (size_t)(info + len - password)));
}

/* "host:port", "[::1]:port"; either part may be missing. */
static void parseHostPort(struct cli *c, const char *p, size_t len) {
    const char *end = p + len, *host_end, *close = len && *p == '[' ? memchr(p, ']', len) : NULL;
    const char *colon = memrchr(close ? close : p, ':', (size_t)(end - (close ? close : p)));
    host_end = close ? close : colon ? colon : end;
    if (close) p++;
    if (host_end > p) setText(&c->host, percentDecode(p, (size_t)(host_end - p)));
    if (!colon) return;
    int64_t port;
    if (!string2ll(strN(colon + 1, (size_t)(end - colon - 1)), &port) || port < 1 || port > 65535)
        badUsage("Not a port in the URI: '%s'", colon + 1);
    c->port = (int)port;
}

static bool skipScheme(const char **uri, const char *scheme) {
    size_t len = strlen(scheme);
    if (strncasecmp(*uri, scheme, len) != 0) return false;
    *uri += len;
    return true;
}

static void parseUri(struct cli *c, const char *uri) {
    if (skipScheme(&uri, "unix://")) {
        setText(&c->socket, percentDecode(uri, strlen(uri)));
        return;
    }
    if (strncasecmp(uri, "valkeys://", 10) == 0 || strncasecmp(uri, "rediss://", 9) == 0)
        badUsage("This build has no TLS: '%s'", uri);
    if (!skipScheme(&uri, "valkey://") && !skipScheme(&uri, "redis://")) badUsage("%s", "Invalid URI scheme");
    const char *at = strrchr(uri, '@');
    if (at) {
        parseUserInfo(c, uri, (size_t)(at - uri));
        uri = at + 1;
    }
    const char *slash = strchr(uri, '/');
    parseHostPort(c, uri, slash ? (size_t)(slash - uri) : strlen(uri));
    if (slash && slash[1]) c->db = atoi(slash + 1);
}

/* ---- Options ---- */

static void apply(struct cli *c, const struct option *opt, const char *value) {
    switch (opt->kind) {
    case FLAG: *(bool *)opt->to = true; break;
    case NUMBER: *(int *)opt->to = (int)numberOf(opt, value); break;
    case NUMBER64: *(int64_t *)opt->to = numberOf(opt, value); break;
    case SECONDS_MS: *(int *)opt->to = (int)(secondsOf(opt, value) * 1e3); break;
    case SECONDS_US: *(int64_t *)opt->to = (int64_t)(secondsOf(opt, value) * 1e6); break;
    case PASSWORD:
    case TEXT: setText(opt->to, sdsnew(value)); break;
    case OUTPUT: c->output = (enum cliOutput)opt->value; break;
    case PROTOCOL:
        if (c->resp && c->resp != opt->value) badUsage("%s", "Options -2 and -3 are mutually exclusive.");
        c->resp = opt->value;
        break;
    case URI: parseUri(c, value); break;
    case HELP: printf(usage_text, VALKEY_VERSION); exit(0);
    case VERSION: printf("valkey-cli %s\n", VALKEY_VERSION); exit(0);
    }
}

static const struct option *findOption(const struct option *options, const char *name) {
    for (; options->name; options++) {
        if (strcmp(options->name, name) == 0) return options;
    }
    return NULL;
}

static bool takesValue(const struct option *opt) {
    return opt->kind != FLAG && opt->kind != OUTPUT && opt->kind != PROTOCOL && opt->kind != HELP &&
           opt->kind != VERSION;
}

static int parseWords(struct cli *c, const struct option *options, int argc, char **argv, bool *unsafe) {
    int i = 1;
    for (; i < argc && argv[i][0] == '-' && !c->eval_file; i++) {
        const struct option *opt = findOption(options, argv[i]);
        bool value_missing = opt && takesValue(opt) && i + 1 == argc;
        if (!opt || value_missing) badUsage("Unrecognized option or bad number of args for: '%s'", argv[i]);
        if (takesValue(opt)) i++;
        apply(c, opt, argv[i]);
        if (opt->kind == PASSWORD || (opt->kind == URI && c->password)) *unsafe = true;
    }
    return i;
}

static void setDefaults(struct cli *c) {
    bool tty = isatty(STDOUT_FILENO) || getenv("FAKETTY");
    *c = (struct cli){.port = 6379, .repeat = 1, .output = tty ? CLI_TTY : CLI_RAW, .show_pushes = tty};
    c->link.fd = -1;
    c->host = sdsnew("127.0.0.1");
    c->delimiter = sdsnew("\n");
    c->terminator = sdsnew("\n");
    const char *password = getenv("VALKEYCLI_AUTH") ? getenv("VALKEYCLI_AUTH") : getenv("REDISCLI_AUTH");
    if (password && *password) c->password = sdsnew(password);
}

int cliParseOptions(struct cli *c, int argc, char **argv) {
    setDefaults(c);
    const struct option options[] = {
        {"-h", TEXT, &c->host, 0},
        {"-p", NUMBER, &c->port, 0},
        {"-s", TEXT, &c->socket, 0},
        {"-u", URI, NULL, 0},
        {"-n", NUMBER, &c->db, 0},
        {"-t", SECONDS_MS, &c->connect_timeout_ms, 0},
        {"-c", FLAG, &c->cluster, 0},
        {"-a", PASSWORD, &c->password, 0},
        {"--pass", PASSWORD, &c->password, 0},
        {"--user", TEXT, &c->user, 0},
        {"--askpass", FLAG, &c->ask_password, 0},
        {"--no-auth-warning", FLAG, &c->no_auth_warning, 0},
        {"-x", FLAG, &c->last_from_stdin, 0},
        {"-X", TEXT, &c->stdin_tag, 0},
        {"--quoted-input", FLAG, &c->quoted_input, 0},
        {"-r", NUMBER64, &c->repeat, 0},
        {"-i", SECONDS_US, &c->interval_us, 0},
        {"--eval", TEXT, &c->eval_file, 0},
        {"-e", FLAG, &c->error_exit, 0},
        {"--raw", OUTPUT, NULL, CLI_RAW},
        {"--no-raw", OUTPUT, NULL, CLI_TTY},
        {"--csv", OUTPUT, NULL, CLI_CSV},
        {"--json", OUTPUT, NULL, CLI_JSON},
        {"--quoted-json", OUTPUT, NULL, CLI_QUOTED_JSON},
        {"-d", TEXT, &c->delimiter, 0},
        {"-D", TEXT, &c->terminator, 0},
        {"-2", PROTOCOL, NULL, 2},
        {"-3", PROTOCOL, NULL, 3},
        {"--verbose", FLAG, &c->verbose, 0},
        {"--help", HELP, NULL, 0},
        {"-v", VERSION, NULL, 0},
        {"--version", VERSION, NULL, 0},
        {NULL, FLAG, NULL, 0},
    };
    bool unsafe = false;
    int first = parseWords(c, options, argc, argv, &unsafe);
    if (unsafe && !c->no_auth_warning)
        fprintf(stderr, "Warning: Using a password with '-a' or '-u' option on the command line interface "
                        "may not be safe.\n");
    bool json = c->output == CLI_JSON || c->output == CLI_QUOTED_JSON;
    if (json && c->resp == 0) {
        c->resp = 3;
        c->resp_is_wish = true;
    }
    return first;
}
