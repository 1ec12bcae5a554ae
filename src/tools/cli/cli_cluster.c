/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_cluster.c - --cluster: subcommands, output and questions. Part of cli_cluster.h. */
#include "tools/cli/cli_cluster.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/num.h"

#define BAR_WIDTH 40

/* ---- Output and questions ---- */

static bool cliClusterHasColours(void) {
    const char *term = getenv("TERM");
    return term && strstr(term, "xterm");
}

void cliClusterPrint(enum clusterTone tone, const char *format, ...) {
    static const char *const colours[] = {
        [TONE_STEP] = "29", [TONE_OK] = "32", [TONE_WARNING] = "33", [TONE_ERROR] = "31"};
    va_list args;
    clusterProgressHide();
    if (cliClusterHasColours()) printf("\033[%s;1m", colours[tone]);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    if (cliClusterHasColours()) printf("\033[0m");
    fflush(stdout);
}

sds clusterReadLine(void) {
    char *line = NULL;
    size_t cap = 0;
    fflush(stdout);
    ssize_t n = getline(&line, &cap, stdin);
    sds out = n > 0 ? sdstrim(sdsnewlen(line, (size_t)n), " \t\r\n") : NULL;
    free(line);
    return out;
}

bool clusterConfirm(const char *question) {
    printf("%s (type 'yes' to accept): ", question);
    sds line = clusterReadLine();
    bool yes = line && strcasecmp(line, "yes") == 0;
    sdsfree(line);
    return yes;
}

bool clusterConfirmUnless(bool sure, const char *question) {
    return sure || clusterConfirm(question);
}

/* The bar is on the user's terminal, wherever the lines for scripts go. */
static bool progress_bar_is_shown;

bool cliClusterHasProgressBar(void) {
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

void clusterProgressHide(void) {
    fflush(stdout);
    if (progress_bar_is_shown) fprintf(stderr, "\r\033[K");
    progress_bar_is_shown = false;
}

void clusterProgress(const char *what, int64_t done, int64_t all) {
    char bar[BAR_WIDTH + 1];
    if (!cliClusterHasProgressBar()) return;
    clusterProgressHide();
    if (done >= all) return;
    size_t full = (size_t)(done * BAR_WIDTH / all);
    memset(bar, '.', BAR_WIDTH);
    memset(bar, '#', full);
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "[%s] %lld%% %s: %lld of %lld", bar, (long long)(done * 100 / all), what, (long long)done,
            (long long)all);
    fflush(stderr);
    progress_bar_is_shown = true;
}

/* ---- Subcommands ---- */

static const char cluster_usage[] =
    "valkey-cli --cluster SUBCOMMAND - create and fix clusters\n"
    "\n"
    "Any node of the cluster can be given, as HOST:PORT; for check, info, fix, reshard and rebalance also\n"
    "as HOST PORT. Changes are shown before they are made.\n"
    "\n"
    "  create HOST:PORT ...                 a new cluster of empty nodes\n"
    "      --cluster-replicas N                 replicas for each primary (0)\n"
    "  check HOST:PORT                      find disagreements, slots that are not served, open slots\n"
    "      --cluster-search-multiple-owners     also find slots with several owners\n"
    "  info HOST:PORT                       keys, slots and replicas of each primary\n"
    "  fix HOST:PORT                        check, and fix what can be fixed\n"
    "      --cluster-search-multiple-owners     as above\n"
    "      --cluster-fix-with-unreachable-primaries\n"
    "                                           even if primaries do not reply: their data may be lost\n"
    "  reshard HOST:PORT                    move slots; asks for values that no option gives\n"
    "      --cluster-from ID,... or all         from these nodes\n"
    "      --cluster-to ID                      to this node\n"
    "      --cluster-slots N                    the number of slots\n"
    "  rebalance HOST:PORT                  distribute slots over primaries by weight\n"
    "      --cluster-weight ID=W ...            weights, of nodes named by the beginning of their ids (1)\n"
    "      --cluster-use-empty-primaries        also for primaries without slots\n"
    "      --cluster-threshold PERCENT          move nothing below this difference (2)\n"
    "      --cluster-simulate                   show what would be moved, and move nothing\n"
    "    for both, and for moves by fix:\n"
    "      --cluster-use-atomic-slot-migration  the servers move whole ranges themselves\n"
    "      --cluster-pipeline N                 keys in one MIGRATE (10)\n"
    "      --cluster-timeout MS                 of one MIGRATE (60000)\n"
    "      --cluster-replace                    overwrite keys that exist on the target\n"
    "  add-node NEW-HOST:PORT HOST:PORT     add an empty node as a primary without slots\n"
    "      --cluster-replica                    as a replica instead\n"
    "      --cluster-primary-id ID              of this primary, not of the one with the fewest replicas\n"
    "  del-node HOST:PORT ID                remove a node that has no slots\n"
    "  call HOST:PORT COMMAND ...           run a command on every node\n"
    "      --cluster-only-primaries, --cluster-only-replicas\n"
    "  set-timeout HOST:PORT MS             change cluster-node-timeout on every node\n"
    "  import HOST:PORT                     import the keys of database 0 of a standalone server\n"
    "      --cluster-from HOST:PORT             that server\n"
    "      --cluster-from-user NAME, --cluster-from-pass WORD, --cluster-from-askpass\n"
    "      --cluster-copy                       keep the keys on that server\n"
    "      --cluster-replace                    overwrite keys of the cluster\n"
    "  backup HOST:PORT FOLDER              an RDB file of each primary, and nodes.json\n"
    "  help                                 this text\n"
    "\n"
    "  --cluster-yes                        do not ask before create and reshard\n"
    "\n"
    "Names of options may contain master and slave instead of primary and replica.\n";

static bool cliClusterReadAddress(const char *text, sds *host, int *port) {
    return toolAddressParse(strOf(text), host, port, NULL) && sdslen(*host);
}

/* Reads "host:port", or two words; exits for anything else. */
static bool cliClusterReadTarget(int argc, char **argv, sds *host, int *port) {
    if (cliClusterReadAddress(argv[0], host, port)) return true;
    int64_t n;
    if (argc > 1 && string2ll(strOf(argv[1]), &n) && n > 0 && n < 65536) {
        *host = sdsnew(argv[0]);
        *port = (int)n;
        return true;
    }
    fprintf(stderr,
            "[ERR] Invalid arguments: you need to pass either a valid address (ie. 120.0.0.1:7000) or space "
            "separated IP and port (ie. 120.0.0.1 7000)\n");
    return false;
}

static int cliClusterRunCreate(struct cluster *c, int argc, char **argv) {
    return clusterCreate(c, argc, argv);
}

static int cliClusterRunCheck(struct cluster *c, int argc, char **argv) {
    (void)argc, (void)argv;
    clusterPrintInfo(c);
    return clusterCheck(c, false, false) ? 0 : 1;
}

static int cliClusterRunInfo(struct cluster *c, int argc, char **argv) {
    (void)argc, (void)argv;
    clusterPrintInfo(c);
    return 0;
}

static int cliClusterRunFix(struct cluster *c, int argc, char **argv) {
    (void)argc, (void)argv;
    clusterPrintInfo(c);
    return clusterCheck(c, true, false) ? 0 : 1;
}

static int cliClusterRunReshard(struct cluster *c, int argc, char **argv) {
    (void)argc, (void)argv;
    return clusterReshard(c);
}

static int cliClusterRunRebalance(struct cluster *c, int argc, char **argv) {
    (void)argc, (void)argv;
    return clusterRebalance(c);
}

/* Adds a node; the second address is a node of the cluster. */
static int cliClusterRunAddNode(struct cluster *c, int argc, char **argv) {
    (void)argc;
    sds host, new_host;
    int port, new_port;
    if (!cliClusterReadTarget(1, argv, &new_host, &new_port)) return 1;
    if (!cliClusterReadTarget(1, argv + 1, &host, &port)) {
        sdsfree(new_host);
        return 1;
    }
    cliClusterPrint(TONE_STEP, ">>> Adding node %s:%d to cluster %s:%d\n", new_host, new_port, host, port);
    int status = clusterLoad(c, host, port) ? clusterAddNode(c, new_host, new_port) : 1;
    sdsfree(host);
    sdsfree(new_host);
    return status;
}

static int cliClusterRunDelNode(struct cluster *c, int argc, char **argv) {
    (void)argc;
    sds host;
    int port;
    if (!cliClusterReadTarget(1, argv, &host, &port)) return 1;
    cliClusterPrint(TONE_STEP, ">>> Removing node %s from cluster %s:%d\n", argv[1], host, port);
    int status = clusterLoad(c, host, port) ? clusterDelNode(c, argv[1]) : 1;
    sdsfree(host);
    return status;
}

static int cliClusterRunCall(struct cluster *c, int argc, char **argv) {
    return clusterCallAll(c, argc - 1, argv + 1);
}

static int cliClusterRunSetTimeout(struct cluster *c, int argc, char **argv) {
    (void)argc;
    int64_t ms;
    if (!string2ll(strOf(argv[1]), &ms) || ms < 100) {
        fprintf(stderr, "Setting a node timeout of less than 100 milliseconds is a bad idea.\n");
        return 1;
    }
    sds host;
    int port;
    if (!cliClusterReadTarget(1, argv, &host, &port)) return 1;
    int status = clusterLoad(c, host, port) ? clusterSetTimeout(c, argv[1]) : 1;
    sdsfree(host);
    return status;
}

/* Loads the cluster itself, after it has checked its own options. */
static int cliClusterRunImport(struct cluster *c, int argc, char **argv) {
    sds host, from;
    int port, from_port;
    if (!c->options->from) {
        fprintf(stderr, "[ERR] Option '--cluster-from' is required for subcommand 'import'.\n");
        return 1;
    }
    if (!cliClusterReadAddress(c->options->from, &from, &from_port)) {
        fprintf(
            stderr,
            "[ERR] Invalid --cluster-from host. You need to pass a valid address (ie. 120.0.0.1:7000).\n");
        return 1;
    }
    if (!cliClusterReadTarget(argc, argv, &host, &port)) return 1;
    cliClusterPrint(TONE_STEP, ">>> Importing data from %s:%d to cluster %s:%d\n", from, from_port, host,
                    port);
    int status = clusterLoad(c, host, port) ? clusterImport(c) : 1;
    sdsfree(host);
    sdsfree(from);
    return status;
}

static int cliClusterRunBackup(struct cluster *c, int argc, char **argv) {
    (void)argc;
    return clusterBackup(c, argv[1]);
}

static const struct subcommand {
    const char *name;
    int min, max; /* number of arguments; max 0: no limit */
    bool loads;   /* whether the cluster of the first node named is loaded before */
    int (*run)(struct cluster *c, int argc, char **argv);
} subcommands[] = {
    {"create", 1, 0, false, cliClusterRunCreate},    {"check", 1, 0, true, cliClusterRunCheck},
    {"info", 1, 0, true, cliClusterRunInfo},         {"fix", 1, 0, true, cliClusterRunFix},
    {"reshard", 1, 0, true, cliClusterRunReshard},   {"rebalance", 1, 0, true, cliClusterRunRebalance},
    {"add-node", 2, 2, false, cliClusterRunAddNode}, {"del-node", 2, 2, false, cliClusterRunDelNode},
    {"call", 2, 0, true, cliClusterRunCall},         {"set-timeout", 2, 2, false, cliClusterRunSetTimeout},
    {"import", 1, 1, false, cliClusterRunImport},    {"backup", 2, 2, true, cliClusterRunBackup},
};

static const struct subcommand *cliClusterFindSubcommand(const char *name) {
    for (size_t i = 0; i < sizeof(subcommands) / sizeof(subcommands[0]); i++) {
        if (strcasecmp(subcommands[i].name, name) == 0) return &subcommands[i];
    }
    return NULL;
}

static int cliClusterRunSubcommand(struct cluster *c, const struct subcommand *s, int argc, char **argv) {
    sds host = NULL;
    int port, status = 1;
    if (!s->loads || (cliClusterReadTarget(argc, argv, &host, &port) && clusterLoad(c, host, port)))
        status = s->run(c, argc, argv);
    sdsfree(host);
    fflush(stdout);
    return status;
}

int cliCluster(struct cli *cli) {
    const struct cliCluster *o = &cli->cluster_manager;
    struct cluster c = {.cli = cli, .options = o};
    const char *name = o->command.argv[0];
    int argc = o->command.argc - 1;
    if (strcasecmp(name, "help") == 0) {
        fputs(cluster_usage, stdout);
        return 1; /* as Valkey's valkey-cli does */
    }
    const struct subcommand *s = cliClusterFindSubcommand(name);
    if (!s) {
        fprintf(stderr, "Unknown --cluster subcommand\n");
        return 1;
    }
    if (argc < s->min || (s->max && argc > s->max)) {
        fprintf(stderr, "[ERR] Wrong number of arguments for specified --cluster sub command\n");
        return 1;
    }
    int status = cliClusterRunSubcommand(&c, s, argc, o->command.argv + 1);
    clusterFree(&c);
    return status;
}
