/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_options.c - the command line of valkey-benchmark.
 *
 * A table lists the options, each with the kind of its value and its destination. The first word that is
 * no option begins the command to benchmark. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/random.h"
#include "base/version.h"
#include "base/zmalloc.h"
#include "tools/benchmark/benchmark.h"

#define DEFAULT_REQUESTS 100000

static const char usage_start[] =
    "valkey-benchmark - measure a Valkey server under load\n"
    "\n"
    "Usage: valkey-benchmark [options] [command [argument ...]]\n"
    "\n"
    "Without a command, it runs a suite of common commands, one test after the other.\n"
    "In the arguments of a command, each __rand_int__ is replaced by a new random number (see -r),\n"
    "__rand_1st__, __rand_2nd__ ... __rand_9th__ by one that is the same everywhere in a command, and\n"
    "__data__ by a value of -d bytes. -- ends the options.\n"
    "Several commands, separated by ';', are sent one after the other; a number before a command\n"
    "repeats it.\n"
    "\n"
    "Server\n"
    "  -h HOST            host name or address (127.0.0.1)\n"
    "  -p PORT            port (6379)\n"
    "  -s PATH            Unix socket, instead of host and port\n"
    "  -a PASSWORD        authenticate with this password\n"
    "  --user NAME        the user to authenticate as; needs -a\n"
    "  -u URI             valkey://[user[:password]@]host[:port][/db], also redis://;\n"
    "                     valkeys:// and rediss:// for TLS\n"
    "  --mptcp            use several paths at once, if both sides support MPTCP\n"
    "  --cluster          the server is a node of a cluster: connections are distributed over all its\n"
    "                     primaries, and follow slots that move. In a command of your own, {tag} in\n"
    "                     the names of keys is replaced by a tag of a slot of the connection's node\n"
    "  --rfr no|yes|all   read from replicas of the cluster: not at all, only, or also (no)\n"
    "  --dbnum N          use database N (0)\n"
    "\n";

static const char usage_end[] =
    "\n"
    "Load\n"
    "  -c N               parallel connections (50)\n"
    "  -n N               commands per test, over all connections (100000)\n"
    "  -d N               bytes of __data__ and of the values in the suite (3)\n"
    "  -3                 use RESP3\n"
    "  --enable-tracking  send CLIENT TRACKING ON on all connections\n"
    "  -r N               random numbers are from 0 to N-1 and have 12 digits; without this option\n"
    "                     __rand_int__ is sent unchanged, so there is one key\n"
    "  -P N               commands sent together before waiting for replies (1)\n"
    "  -t NAMES           tests of the suite to run, separated by commas: ping (ping_inline,\n"
    "                     ping_mbulk), set, get, incr, lpush, rpush, lpop, rpop, sadd, hset, spop,\n"
    "                     zadd, zpopmin, lrange (lrange_100, _300, _500, _600), mset, mget, xadd,\n"
    "                     function_load, fcall\n"
    "  --num-functions N  functions in the library that function_load loads (10)\n"
    "  --num-keys-in-fcall N  keys that fcall sends (1)\n"
    "  --threads N        client threads (1; in a cluster one per node)\n"
    "  --mix LIST         instead of one test after the other, one load of several: get:80,set:20 draws\n"
    "                     commands by these weights; each is reported, too\n"
    "  --sequential       numbers are sequential instead of random\n"
    "  --keys KIND        distribution of the numbers: uniform; zipf or zipf:EXPONENT (0.99): lower\n"
    "                     ones more often, like keys of a cache; gauss or gauss:SHARE: around the middle,\n"
    "                     with this share of the range as deviation (0.17) (uniform)\n"
    "  --rps N            N commands per second, each due at a fixed moment from which its latency is\n"
    "                     counted, even if no connection was free; 0: as many as possible (0)\n"
    "  --duration N       each test takes N seconds, instead of -n commands\n"
    "  --warmup N         run each test for N seconds before it is measured\n"
    "  -x                 the last argument of the command is read from standard input\n"
    "  -I                 only connect the clients, and wait\n"
    "  --seed N           seed of the random numbers, to repeat a run\n"
    "  -k 0|1             0: a new connection for each batch (1)\n"
    "  -l                 repeat the tests until interrupted\n"
    "\n"
    "Output\n"
    "  -q                 one line per test\n"
    "  --csv              comma separated values, with a header line\n"
    "  --json             one object, with percentiles\n"
    "  --svg FILE         a chart of latency and rate over the time of each test\n"
    "  --precision N      decimals of milliseconds (3)\n"
    "  --show-server-errors, -e  show error replies and continue; otherwise the first one ends the test\n"
    "\n"
    "Fuzzing, for servers whose data may be lost\n"
    "  --fuzz             instead of tests, send -n commands that are generated from COMMAND DOCS\n"
    "  --fuzz-mode LIST   malformed-commands: some are malformed; config-commands: CONFIG SET, too\n"
    "  --fuzz-loglevel L  none, error (connections that break), info, debug (every error reply) (info)\n"
    "\n"
    "Comparison\n"
    "  --vs HOST:PORT     run every test against this server, too; may be given several times, also\n"
    "                     with the path of a unix socket\n"
    "  --rounds N         interleaved rounds of a comparison (5)\n"
    "  --name LABEL       name of a server in the table; the first is for -h/-p/-s, the next for the\n"
    "                     first --vs, and so on\n"
    "\n"
    "  --help, --version\n"
    "\n"
    "The exit status is 0 when every test ran to its end without an error reply.\n"
    "\n"
    "Examples\n"
    "  valkey-benchmark -t set,get -n 1000000 -r 100000 -P 16\n"
    "  valkey-benchmark --mix get:80,set:20 -r 1000000 --keys zipf --rps 50000 --svg load.svg\n"
    "  valkey-benchmark -r 1000 zadd board __rand_int__ player:__rand_int__\n"
    "  valkey-benchmark -p 6379 --vs 127.0.0.1:6380 --name new --name old -P 32 get key:1\n";

enum valueKind { FLAG, NUMBER, NUMBER64, TEXT, SERVER, LABEL, URI, HELP, VERSION };

struct option {
    const char *name;
    enum valueKind kind;
    void *to;
    int64_t min, max;
};

static void benchOptionsExit(const char *what, const char *value) {
    fprintf(stderr, "%s '%s'. Try valkey-benchmark --help.\n", what, value);
    exit(1);
}

static int64_t benchOptionsParseNumber(const struct option *opt, const char *value) {
    int64_t n;
    if (!string2ll(strOf(value), &n) || n < opt->min || n > opt->max) {
        fprintf(stderr, "Option %s takes a number from %lld to %lld, not '%s'.\n", opt->name,
                (long long)opt->min, (long long)opt->max, value);
        exit(1);
    }
    return n;
}

/* Adds a server given as "host:port", "[v6]:port", "port" or "/path". */
static void benchOptionsAddServer(struct benchOptions *o, const char *value) {
    if (o->server_count == BENCH_MAX_SERVERS) benchOptionsExit("Too many servers; cannot add", value);
    struct benchServer *s = &o->servers[o->server_count++];
    if (strchr(value, '/')) {
        s->socket = value;
        return;
    }
    const char *colon = strrchr(value, ':'), *port = colon ? colon + 1 : value;
    int64_t n;
    if (!string2ll(strOf(port), &n) || n < 1 || n > 65535)
        benchOptionsExit("Not a server as host:port or /path:", value);
    sds host = colon ? sdsnewlen(value, (size_t)(colon - value)) : sdsnew("127.0.0.1");
    if (sdslen(host) && host[0] == '[') sdsrange(host, 1, -2);
    s->host = host;
    s->port = (int)n;
}

static void benchOptionsAddLabel(struct benchOptions *o, const char *value) {
    for (int i = 0; i < BENCH_MAX_SERVERS; i++) {
        if (o->servers[i].label) continue;
        o->servers[i].label = value;
        return;
    }
}

static void benchOptionsApply(struct benchOptions *o, const struct option *opt, const char *value) {
    switch (opt->kind) {
    case FLAG: *(bool *)opt->to = true; break;
    case NUMBER: *(int *)opt->to = (int)benchOptionsParseNumber(opt, value); break;
    case NUMBER64: *(int64_t *)opt->to = benchOptionsParseNumber(opt, value); break;
    case TEXT: *(const char **)opt->to = value; break;
    case SERVER: benchOptionsAddServer(o, value); break;
    case LABEL: benchOptionsAddLabel(o, value); break;
    case URI: benchParseUri(o, value); break;
    case HELP:
        fputs(usage_start, stdout);
        fputs(tool_tls_usage, stdout);
        fputs(usage_end, stdout);
        exit(0);
    case VERSION: printf("valkey-benchmark %s\n", VALKEY_VERSION); exit(0);
    }
}

static const struct option *benchOptionsFindOption(const struct option *options, const char *name) {
    for (; options->name; options++) {
        if (strcmp(options->name, name) == 0) return options;
    }
    return NULL;
}

static void benchOptionsParseWords(struct benchOptions *o, const struct option *options, int argc,
                                   char **argv) {
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        const struct option *opt = benchOptionsFindOption(options, argv[i]);
        if (opt == NULL) benchOptionsExit("Unknown option", argv[i]);
        bool has_value = opt->kind >= NUMBER && opt->kind <= URI;
        if (has_value && i + 1 == argc) benchOptionsExit("A value is missing after", argv[i]);
        if (has_value) i++;
        benchOptionsApply(o, opt, argv[i]);
    }
    o->argc = argc - i;
    o->argv = argv + i;
}

static enum benchReadFrom benchOptionsReadFrom(const char *replicas) {
    if (strcmp(replicas, "no") == 0) return BENCH_FROM_PRIMARIES;
    if (strcmp(replicas, "yes") == 0) return BENCH_FROM_REPLICAS;
    if (strcmp(replicas, "all") != 0) benchOptionsExit("--rfr takes no, yes or all, not", replicas);
    return BENCH_FROM_ALL;
}

/* Appends the argument that -x reads from standard input. */
static void benchOptionsAddStdin(struct benchOptions *o) {
    char **argv = zcalloc((size_t)o->argc + 1, sizeof(argv[0]));
    memcpy(argv, o->argv, (size_t)o->argc * sizeof(argv[0]));
    sds text = sdsempty();
    for (size_t n = 1; n;) {
        text = sdsMakeRoomFor(text, 64 * 1024);
        n = fread(text + sdslen(text), 1, sdsavail(text), stdin);
        sdssetlen(text, sdslen(text) + n);
    }
    argv[o->argc++] = text;
    o->argv = argv;
}

static void benchOptionsDefaultLabels(struct benchOptions *o) {
    for (int i = 0; i < o->server_count; i++) {
        struct benchServer *s = &o->servers[i];
        if (s->label) continue;
        s->label = s->host ? sdscatprintf(sdsempty(), "%s:%d", s->host, s->port) : s->socket;
    }
}

void benchParseOptions(struct benchOptions *o, int argc, char **argv) {
    int keepalive = 1;
    int64_t seed = -1;
    const char *replicas = "no", *keys = NULL;
    const char *fuzz_modes = NULL;
    *o = (struct benchOptions){.server_count = 1,
                               .clients = 50,
                               .pipeline = 1,
                               .data_size = 3,
                               .rounds = 5,
                               .precision = 3,
                               .fuzz_level = "info",
                               .functions = 10,
                               .function_keys = 1,
                               .range = -1,
                               .requests = -1};
    o->servers[0] = (struct benchServer){.host = "127.0.0.1", .port = 6379};
    o->password = getenv("VALKEYCLI_AUTH") ? getenv("VALKEYCLI_AUTH") : getenv("REDISCLI_AUTH");
    const struct option options[] = {
        {"-h", TEXT, &o->servers[0].host, 0, 0},
        {"-p", NUMBER, &o->servers[0].port, 1, 65535},
        {"-s", TEXT, &o->servers[0].socket, 0, 0},
        {"-a", TEXT, &o->password, 0, 0},
        {"--user", TEXT, &o->user, 0, 0},
        {"--tls", FLAG, &o->tls.on, 0, 0},
        {"--sni", TEXT, &o->tls.sni, 0, 0},
        {"--cacert", TEXT, &o->tls.ca_file, 0, 0},
        {"--cacertdir", TEXT, &o->tls.ca_dir, 0, 0},
        {"--insecure", FLAG, &o->tls.insecure, 0, 0},
        {"--cert", TEXT, &o->tls.cert, 0, 0},
        {"--key", TEXT, &o->tls.key, 0, 0},
        {"--tls-ciphers", TEXT, &o->tls.ciphers, 0, 0},
        {"--tls-ciphersuites", TEXT, &o->tls.ciphersuites, 0, 0},
        {"--dbnum", NUMBER, &o->db, 0, INT_MAX},
        {"-c", NUMBER, &o->clients, 1, 1000000},
        {"-n", NUMBER64, &o->requests, 1, INT64_MAX / 2},
        {"-d", NUMBER, &o->data_size, 1, 1024 * 1024 * 1024},
        {"-r", NUMBER64, &o->range, 0, 1000000000000},
        {"-P", NUMBER, &o->pipeline, 1, 1000000},
        {"-t", TEXT, &o->tests, 0, 0},
        {"--threads", NUMBER, &o->threads, 1, BENCH_MAX_THREADS},
        {"--seed", NUMBER64, &seed, 0, INT64_MAX},
        {"-k", NUMBER, &keepalive, 0, 1},
        {"-u", URI, NULL, 0, 0},
        {"-3", FLAG, &o->resp3, 0, 0},
        {"-x", FLAG, &o->last_from_stdin, 0, 0},
        {"-I", FLAG, &o->idle, 0, 0},
        {"--enable-tracking", FLAG, &o->tracking, 0, 0},
        {"--mix", TEXT, &o->mix, 0, 0},
        {"--keys", TEXT, &keys, 0, 0},
        {"--json", FLAG, &o->json, 0, 0},
        {"--svg", TEXT, &o->svg, 0, 0},
        {"--sequential", FLAG, &o->sequential, 0, 0},
        {"--rps", NUMBER64, &o->rps, 0, 1000000000},
        {"--duration", NUMBER, &o->duration_s, 1, 1000000},
        {"--warmup", NUMBER, &o->warmup_s, 0, 1000000},
        {"--precision", NUMBER, &o->precision, 0, 9},
        {"--show-server-errors", FLAG, &o->show_errors, 0, 0},
        {"--num-functions", NUMBER, &o->functions, 1, 100000},
        {"--num-keys-in-fcall", NUMBER, &o->function_keys, 1, 100000},
        {"--mptcp", FLAG, &o->mptcp, 0, 0},
        {"--cluster", FLAG, &o->cluster, 0, 0},
        {"--fuzz", FLAG, &o->fuzz, 0, 0},
        {"--fuzz-mode", TEXT, &fuzz_modes, 0, 0},
        {"--fuzz-loglevel", TEXT, &o->fuzz_level, 0, 0},
        {"--rfr", TEXT, &replicas, 0, 0},
        {"-l", FLAG, &o->loop, 0, 0},
        {"-q", FLAG, &o->quiet, 0, 0},
        {"--csv", FLAG, &o->csv, 0, 0},
        {"-e", FLAG, &o->show_errors, 0, 0},
        {"--vs", SERVER, NULL, 0, 0},
        {"--rounds", NUMBER, &o->rounds, 1, 10000},
        {"--name", LABEL, NULL, 0, 0},
        {"--help", HELP, NULL, 0, 0},
        {"--version", VERSION, NULL, 0, 0},
        {"-v", VERSION, NULL, 0, 0},
        {NULL, FLAG, NULL, 0, 0},
    };
    benchOptionsParseWords(o, options, argc, argv);
    if (o->requests > 0 && o->duration_s)
        benchOptionsExit("Only one of these can be given: -n and", "--duration");
    o->read_from = benchOptionsReadFrom(replicas);
    if (keys && !benchDrawParse(&o->draw, keys))
        benchOptionsExit("--keys takes uniform, zipf or gauss, not", keys);
    if (keys && o->range < 1) benchOptionsExit("The range of the numbers, -r, is required for", "--keys");
    if (keys && o->sequential) benchOptionsExit("Only one of these can be given: --keys and", "--sequential");
    if (o->range > 0) benchDrawPrepare(&o->draw, o->range);
    if (o->mix && (o->argc || o->tests))
        benchOptionsExit("Only one load can be given: -t or a command, or", "--mix");
    if (o->csv && o->json) benchOptionsExit("Only one output format can be given: --csv and", "--json");
    if (o->svg && o->server_count > 1)
        benchOptionsExit("A chart shows only one server, not those of", "--vs");
    if (o->cluster && o->server_count > 1)
        benchOptionsExit("Only single servers are compared, not with", "--cluster");
    if (fuzz_modes && !benchFuzzModes(fuzz_modes)) exit(1);
    if (o->requests < 0) o->requests = DEFAULT_REQUESTS;
    if (o->servers[0].socket) o->servers[0].host = NULL;
    if (o->threads == 0 && (!o->cluster || o->idle || o->fuzz)) o->threads = 1;
    if (o->threads > o->clients) o->threads = o->clients;
    o->seed = seed >= 0 ? (uint64_t)seed : randomU64();
    o->keepalive = keepalive;
    if (o->last_from_stdin && o->argc == 0) benchOptionsExit("There is no command for", "-x");
    if (o->last_from_stdin) benchOptionsAddStdin(o);
    toolTlsStart(&o->tls);
    benchOptionsDefaultLabels(o);
}
