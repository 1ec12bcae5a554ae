/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_options.c - the command line of valkey-cli; usage and URIs are in cli_usage.c. Part of cli.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/num.h"
#include "base/zmalloc.h"
#include "tools/cli/cli.h"

enum kind {
    FLAG,
    NUMBER,
    NUMBER64,
    SECONDS_MS,
    SECONDS_US,
    TEXT,
    WORD, /* as TEXT, but points to the word itself */
    PASSWORD,
    OUTPUT,
    PROTOCOL,
    MODE,
    MODE_TEXT, /* a mode with a text, with a number */
    MODE_NUMBER,
    FAMILY,
    SHOW_PUSHES,
    WHEN,   /* --color auto */
    SWITCH, /* switches a flag off */
    QUOTED,
    DOUBLE,
    WORDS,      /* all words up to the next option */
    SUBCOMMAND, /* the same, as a subcommand of the cluster manager */
    URI,
    HELP,
    VERSION
};

struct cliOption {
    const char *name;
    enum kind kind;
    void *to;
    int value; /* for OUTPUT, PROTOCOL and the modes */
};

void cliFail(const char *format, const char *what) {
    fprintf(stderr, format, what);
    fprintf(stderr, "\n");
    exit(1);
}

void cliSetText(sds *field, sds value) {
    sdsfree(*field);
    *field = value;
}

static int64_t cliOptionsParseInteger(const struct cliOption *opt, const char *value) {
    int64_t n;
    if (!string2ll(strOf(value), &n)) cliFail("A number is needed after '%s'", opt->name);
    return n;
}

static double cliOptionsParseSeconds(const struct cliOption *opt, const char *value) {
    double d;
    if (!string2d(strOf(value), &d) || d < 0 || d > 1e9) cliFail("Seconds are needed after '%s'", opt->name);
    return d;
}

static double cliOptionsParseNumber(const struct cliOption *opt, const char *value) {
    double d;
    if (!string2d(strOf(value), &d)) cliFail("A number is needed after '%s'", opt->name);
    return d;
}

static bool cliOptionsParseYesNo(const char *value) {
    if (strcasecmp(value, "y") == 0 || strcasecmp(value, "yes") == 0) return true;
    if (strcasecmp(value, "n") != 0 && strcasecmp(value, "no") != 0)
        cliFail("--show-pushes takes yes or no, not '%s'", value);
    return false;
}

static enum cliWhen cliOptionsParseWhen(const char *value) {
    if (strcmp(value, "always") == 0) return CLI_ALWAYS;
    if (strcmp(value, "never") == 0) return CLI_NEVER;
    if (strcmp(value, "auto") != 0) cliFail("Unknown --color value '%s' (valid: auto, always, never)", value);
    return CLI_AUTO;
}

static sds cliOptionsUnquote(const char *value) {
    sds out = cliUnquote(value);
    if (!out) cliFail("Invalid quoted string specified for --quoted-pattern: %s", value);
    return out;
}

/* ---- Options ---- */

static void cliOptionsApply(struct cli *c, const struct cliOption *opt, const char *value) {
    switch (opt->kind) {
    case FLAG: *(bool *)opt->to = true; break;
    case NUMBER: *(int *)opt->to = (int)cliOptionsParseInteger(opt, value); break;
    case NUMBER64: *(int64_t *)opt->to = cliOptionsParseInteger(opt, value); break;
    case SECONDS_MS: *(int *)opt->to = (int)(cliOptionsParseSeconds(opt, value) * 1e3); break;
    case SECONDS_US: *(int64_t *)opt->to = (int64_t)(cliOptionsParseSeconds(opt, value) * 1e6); break;
    case PASSWORD:
    case TEXT: cliSetText(opt->to, sdsnew(value)); break;
    case WORD: *(const char **)opt->to = value; break;
    case OUTPUT: c->output = (enum cliOutput)opt->value; break;
    case PROTOCOL:
        if (c->resp && c->resp != opt->value)
            cliFail("%s", "Only one of the options -2 and -3 can be given.");
        c->resp = opt->value;
        break;
    case MODE_NUMBER:
        *(int64_t *)opt->to = cliOptionsParseInteger(opt, value);
        c->mode = (enum cliMode)opt->value;
        break;
    case MODE_TEXT:
        cliSetText(opt->to, sdsnew(value));
        c->mode = (enum cliMode)opt->value;
        break;
    case FAMILY:
        if (c->way.family && c->way.family != opt->value)
            cliFail("%s", "Only one of the options -4 and -6 can be given.");
        c->way.family = opt->value;
        break;
    case MODE: c->mode = (enum cliMode)opt->value; break;
    case WHEN: c->colour_when = cliOptionsParseWhen(value); break;
    case SWITCH: *(bool *)opt->to = false; break;
    case SHOW_PUSHES: c->show_pushes = cliOptionsParseYesNo(value); break;
    case QUOTED: cliSetText(opt->to, cliOptionsUnquote(value)); break;
    case DOUBLE: *(double *)opt->to = cliOptionsParseNumber(opt, value); break;
    case SUBCOMMAND: c->mode = CLI_CLUSTER; break; /* its words are taken when they come */
    case WORDS: break;
    case URI: cliParseUri(c, value); break;
    case HELP: cliPrintUsage(stdout); exit(0);
    case VERSION: printf("valkey-cli %s\n", VALKEY_VERSION); exit(0);
    }
}

static const struct cliOption *cliOptionsFindOption(const struct cliOption *options, const char *name) {
    for (; options->name; options++) {
        if (strcmp(options->name, name) == 0) return options;
    }
    return NULL;
}

static bool cliOptionsNeedsValue(const struct cliOption *opt) {
    return opt->kind != FLAG && opt->kind != SWITCH && opt->kind != OUTPUT && opt->kind != PROTOCOL &&
           opt->kind != FAMILY && opt->kind != MODE && opt->kind != HELP && opt->kind != VERSION;
}

/* Appends the words up to the next option to those that the option had; returns how many. */
static int cliOptionsTakeWords(struct cliWords *words, int argc, char **argv) {
    int count = 1;
    while (count < argc && argv[count][0] != '-') count++;
    words->argv = zrealloc(words->argv, (size_t)(words->argc + count) * sizeof(words->argv[0]));
    memcpy(words->argv + words->argc, argv, (size_t)count * sizeof(words->argv[0]));
    words->argc += count;
    return count;
}

static int cliOptionsParseWords(struct cli *c, const struct cliOption *options, int argc, char **argv,
                                bool *unsafe) {
    int i = 1;
    for (; i < argc && argv[i][0] == '-' && !(c->eval_file && !cliOptionsFindOption(options, argv[i])); i++) {
        const struct cliOption *opt = cliOptionsFindOption(options, argv[i]);
        bool value_missing = opt && cliOptionsNeedsValue(opt) && i + 1 == argc;
        if (!opt || value_missing) cliFail("The option '%s' is not known, or lacks an argument", argv[i]);
        if (cliOptionsNeedsValue(opt)) i++;
        cliOptionsApply(c, opt, argv[i]);
        if (opt->kind == WORDS || opt->kind == SUBCOMMAND)
            i += cliOptionsTakeWords(opt->to, argc - i, argv + i) - 1;
        if (opt->kind == PASSWORD || (opt->kind == URI && c->password)) *unsafe = true;
    }
    return i;
}

static void cliOptionsCheckCombination(const struct cli *c) {
    if ((c->debug || c->debug_sync) && !c->eval_file) {
        cliFail("Options --ldb and --ldb-sync-mode require %s.\nTry valkey-cli --help for more information.",
                "--eval");
    }
    if (c->last_from_stdin && c->stdin_tag) cliFail("%s", "Only one of the options -x and -X can be given.");
    if (c->mode == CLI_LRU_TEST && c->lru_keys < 1) cliFail("%s", "--lru-test needs at least one key.");
    if (c->mode == CLI_INTRINSIC_LATENCY && c->intrinsic_s < 1)
        cliFail("%s", "--intrinsic-latency needs at least one second.");
    if (c->mode == CLI_MEMKEYS && c->memory_samples < -1)
        cliFail("%s", "--memkeys-samples needs a number that is not negative.");
    if (c->mode == CLI_HOTKEYS && (c->hot_keys < 1 || c->hot_keys > CLI_HOT_KEYS_MAX))
        cliFail("%s", "--hotkeys-count needs a number from 1 to 10000.");
    const struct cliCluster *m = &c->cluster_manager;
    if (m->replicas < 0 || m->timeout_ms < 0 || m->pipeline < 0 || m->threshold < 0 || m->slots < 0)
        cliFail("%s", "The numbers of the --cluster options cannot be negative.");
    if (c->scan_count < 0) cliFail("%s", "--count needs a positive number.");
}

static void cliOptionsSetDefaults(struct cli *c) {
    bool tty = isatty(STDOUT_FILENO) || getenv("FAKETTY");
    *c = (struct cli){.port = 6379,
                      .repeat = 1,
                      .output = tty ? CLI_TTY : CLI_RAW,
                      .show_pushes = tty,
                      .hints = true,
                      .tables = true,
                      .table_hint = true,
                      .pager = true,
                      .memory_samples = -1,
                      .hot_keys = 16,
                      .pipe_timeout_s = 30,
                      .cluster_manager = {.threshold = 2}};
    c->link.fd = -1;
    c->host = sdsnew("127.0.0.1");
    c->delimiter = sdsnew("\n");
    c->terminator = sdsnew("\n");
    const char *password = getenv("VALKEYCLI_AUTH") ? getenv("VALKEYCLI_AUTH") : getenv("REDISCLI_AUTH");
    if (password && *password) c->password = sdsnew(password);
}

int cliParseOptions(struct cli *c, int argc, char **argv) {
    cliOptionsSetDefaults(c);
    struct cliCluster *m = &c->cluster_manager;
    const struct cliOption options[] = {
        {"-h", TEXT, &c->host, 0},
        {"-p", NUMBER, &c->port, 0},
        {"-4", FAMILY, NULL, AF_INET},
        {"-6", FAMILY, NULL, AF_INET6},
        {"--mptcp", FLAG, &c->way.mptcp, 0},
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
        {"--tls", FLAG, &c->tls.on, 0},
        {"--sni", WORD, &c->tls.sni, 0},
        {"--cacert", WORD, &c->tls.ca_file, 0},
        {"--cacertdir", WORD, &c->tls.ca_dir, 0},
        {"--insecure", FLAG, &c->tls.insecure, 0},
        {"--cert", WORD, &c->tls.cert, 0},
        {"--key", WORD, &c->tls.key, 0},
        {"--tls-ciphers", WORD, &c->tls.ciphers, 0},
        {"--tls-ciphersuites", WORD, &c->tls.ciphersuites, 0},
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
        {"--show-pushes", SHOW_PUSHES, NULL, 0},
        {"--color", WHEN, NULL, 0},
        {"--no-table", SWITCH, &c->tables, 0},
        {"--no-pager", SWITCH, &c->pager, 0},
        {"--stat", MODE, NULL, CLI_STAT},
        {"--latency", MODE, NULL, CLI_LATENCY},
        {"--latency-history", MODE, NULL, CLI_LATENCY_HISTORY},
        {"--latency-dist", MODE, NULL, CLI_LATENCY_DIST},
        {"--intrinsic-latency", MODE_NUMBER, &c->intrinsic_s, CLI_INTRINSIC_LATENCY},
        {"--lru-test", MODE_NUMBER, &c->lru_keys, CLI_LRU_TEST},
        {"--replica", MODE, NULL, CLI_REPLICA},
        {"--slave", MODE, NULL, CLI_REPLICA},
        {"--rdb", MODE_TEXT, &c->file, CLI_RDB},
        {"--functions-rdb", MODE_TEXT, &c->file, CLI_FUNCTIONS_RDB},
        {"--test_hint", MODE_TEXT, &c->hint_line, CLI_TEST_HINT},
        {"--test_hint_file", MODE_TEXT, &c->file, CLI_TEST_HINT_FILE},
        {"--pipe", MODE, NULL, CLI_PIPE},
        {"--pipe-timeout", NUMBER64, &c->pipe_timeout_s, 0},
        {"--bigkeys", MODE, NULL, CLI_BIGKEYS},
        {"--memkeys", MODE, NULL, CLI_MEMKEYS},
        {"--memkeys-samples", MODE_NUMBER, &c->memory_samples, CLI_MEMKEYS},
        {"--hotkeys", MODE, NULL, CLI_HOTKEYS},
        {"--hotkeys-count", MODE_NUMBER, &c->hot_keys, CLI_HOTKEYS},
        {"--scan", MODE, NULL, CLI_SCAN},
        {"--doctor", MODE, NULL, CLI_DOCTOR},
        {"--pattern", TEXT, &c->pattern, 0},
        {"--quoted-pattern", QUOTED, &c->pattern, 0},
        {"--count", NUMBER64, &c->scan_count, 0},
        {"--ldb", FLAG, &c->debug, 0},
        {"--ldb-sync-mode", FLAG, &c->debug_sync, 0},
        {"--cluster", SUBCOMMAND, &m->command, 0},
        {"--cluster-replicas", NUMBER, &m->replicas, 0},
        {"--cluster-search-multiple-owners", FLAG, &m->search_owners, 0},
        {"--cluster-fix-with-unreachable-primaries", FLAG, &m->fix_with_unreachable, 0},
        {"--cluster-fix-with-unreachable-masters", FLAG, &m->fix_with_unreachable, 0},
        {"--cluster-from", WORD, &m->from, 0},
        {"--cluster-to", WORD, &m->to, 0},
        {"--cluster-slots", NUMBER, &m->slots, 0},
        {"--cluster-yes", FLAG, &m->yes, 0},
        {"--cluster-timeout", NUMBER, &m->timeout_ms, 0},
        {"--cluster-pipeline", NUMBER, &m->pipeline, 0},
        {"--cluster-replace", FLAG, &m->replace, 0},
        {"--cluster-use-atomic-slot-migration", FLAG, &m->atomic, 0},
        {"--cluster-weight", WORDS, &m->weights, 0},
        {"--cluster-use-empty-primaries", FLAG, &m->use_empty, 0},
        {"--cluster-use-empty-masters", FLAG, &m->use_empty, 0},
        {"--cluster-simulate", FLAG, &m->simulate, 0},
        {"--cluster-threshold", DOUBLE, &m->threshold, 0},
        {"--cluster-replica", FLAG, &m->replica, 0},
        {"--cluster-slave", FLAG, &m->replica, 0},
        {"--cluster-primary-id", WORD, &m->primary_id, 0},
        {"--cluster-primaries-id", WORD, &m->primary_id, 0},
        {"--cluster-master-id", WORD, &m->primary_id, 0},
        {"--cluster-only-primaries", FLAG, &m->only_primaries, 0},
        {"--cluster-only-masters", FLAG, &m->only_primaries, 0},
        {"--cluster-only-replicas", FLAG, &m->only_replicas, 0},
        {"--cluster-only-slaves", FLAG, &m->only_replicas, 0},
        {"--cluster-from-user", TEXT, &m->from_user, 0},
        {"--cluster-from-pass", TEXT, &m->from_password, 0},
        {"--cluster-from-askpass", FLAG, &m->ask_from_password, 0},
        {"--cluster-copy", FLAG, &m->copy, 0},
        {"--verbose", FLAG, &c->verbose, 0},
        {"--help", HELP, NULL, 0},
        {"-v", VERSION, NULL, 0},
        {"--version", VERSION, NULL, 0},
        {NULL, FLAG, NULL, 0},
    };
    bool unsafe = false;
    int first = cliOptionsParseWords(c, options, argc, argv, &unsafe);
    cliOptionsCheckCombination(c);
    toolTlsStart(&c->tls);
    if (unsafe && !c->no_auth_warning)
        fprintf(stderr, "Warning: Using a password with '-a' or '-u' option on the command line interface "
                        "may not be safe.\n");
    c->terminal = c->output == CLI_TTY && isatty(STDOUT_FILENO);
    c->colour = cliWantsColour(c->colour_when);
    bool json = c->output == CLI_JSON || c->output == CLI_QUOTED_JSON;
    if (json && c->resp == 0) {
        c->resp = 3;
        c->resp_is_optional = true;
    }
    return first;
}
