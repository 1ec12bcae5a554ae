/* SPDX-License-Identifier: BSD-3-Clause */
/* valkey_cli.c - the program valkey-cli, which chooses between one command, a script, lines from
 * standard input and the prompt.
 *
 * The parts: cli_options.c reads the command line, cli_link.c holds the connection, cli_format.c turns
 * replies into text, cli_exec.c runs commands, cli_prompt.c is the interactive session, cli_help.c shows
 * the documentation of the server's commands; each mode (--stat and the like) has its own file. */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/num.h"
#include "base/zmalloc.h"
#include "tools/cli/cli.h"

static sds valkeyCliReadAll(FILE *f) {
    sds out = sdsempty();
    for (size_t n = 1; n;) {
        out = sdsMakeRoomFor(out, 64 * 1024);
        n = fread(out + sdslen(out), 1, sdsavail(out), f);
        sdssetlen(out, sdslen(out) + n);
    }
    return out;
}

struct cliCommand {
    int argc;
    sds *argv;
};

static void valkeyCliAddWord(struct cliCommand *cmd, sds word) {
    cmd->argv = zrealloc(cmd->argv, (size_t)(cmd->argc + 1) * sizeof(cmd->argv[0]));
    cmd->argv[cmd->argc++] = word;
}

static bool valkeyCliAddWords(struct cli *c, struct cliCommand *cmd, int count, char **words) {
    for (int i = 0; i < count; i++) {
        sds word = c->quoted_input ? cliUnquote(words[i]) : sdsnew(words[i]);
        if (word) {
            valkeyCliAddWord(cmd, word);
            continue;
        }
        printf("Invalid quoted string\n");
        return false;
    }
    return true;
}

/* Adds the argument that -x and -X read from standard input. */
static bool valkeyCliAddStdin(struct cli *c, struct cliCommand *cmd) {
    if (c->last_from_stdin) valkeyCliAddWord(cmd, valkeyCliReadAll(stdin));
    if (!c->stdin_tag) return true;
    for (int i = 1; i < cmd->argc; i++) {
        if (strcmp(cmd->argv[i], c->stdin_tag) != 0) continue;
        sdsfree(cmd->argv[i]);
        cmd->argv[i] = valkeyCliReadAll(stdin);
        return true;
    }
    fprintf(stderr, "No argument is the tag given with -X.\n");
    return false;
}

/* Makes EVAL script numkeys key ... arg ... of the words: file key ... , arg ... */
static bool valkeyCliScriptCommand(struct cli *c, struct cliCommand *cmd, int count, char **words) {
    FILE *f = fopen(c->eval_file, "re");
    if (!f) {
        fprintf(stderr, "The file '%s' cannot be opened: %s\n", c->eval_file, strerror(errno));
        return false;
    }
    valkeyCliAddWord(cmd, sdsnew("EVAL"));
    valkeyCliAddWord(cmd, valkeyCliReadAll(f));
    fclose(f);
    int keys = 0;
    while (keys < count && strcmp(words[keys], ",") != 0) keys++;
    valkeyCliAddWord(cmd, sdsfromll(keys));
    int rest = keys < count ? keys + 1 : count;
    return valkeyCliAddWords(c, cmd, keys, words) && valkeyCliAddWords(c, cmd, count - rest, words + rest);
}

static int valkeyCliRunCommand(struct cli *c, int count, char **words) {
    struct cliCommand cmd = {0};
    bool help = !c->eval_file && (strcasecmp(words[0], "help") == 0 || strcmp(words[0], "?") == 0);
    bool ok = c->eval_file ? valkeyCliScriptCommand(c, &cmd, count, words)
                           : valkeyCliAddWords(c, &cmd, count, words);
    if (ok && help)
        cliHelp(c, cmd.argc - 1, cmd.argv + 1);
    else
        ok = ok && valkeyCliAddStdin(c, &cmd) && cliConnect(c) && cliRun(c, cmd.argc, cmd.argv, c->repeat);
    sdsfreesplitres(cmd.argv, cmd.argc);
    return ok ? 0 : 1;
}

static int valkeyCliRunLines(struct cli *c) {
    c->by_line = true;
    if (!cliConnect(c)) return 1;
    c->error_exit = false; /* lines are independent; -e is for a single command */
    char *line = NULL;
    size_t cap = 0;
    bool more = true;
    for (ssize_t n; more && (n = getline(&line, &cap, stdin)) > 0;) {
        if (line[n - 1] == '\n') n--;
        more = cliRunLine(c, line, (size_t)n);
    }
    free(line);
    return 0;
}

static int valkeyCliRunPrompt(struct cli *c) {
    c->by_line = true;
    cliConnect(c); /* the prompt starts without a server, too: "connect" may help */
    cliPrompt(c);
    return 0;
}

/* Runs a mode that only needs a connection. */
static int valkeyCliRunMode(struct cli *c) {
    static int (*const modes[])(struct cli *) = {
        [CLI_PIPE] = cliPipe,
        [CLI_STAT] = cliStat,
        [CLI_LATENCY] = cliLatency,
        [CLI_LATENCY_HISTORY] = cliLatency,
        [CLI_LATENCY_DIST] = cliLatencySpectrum,
        [CLI_INTRINSIC_LATENCY] = cliIntrinsicLatency,
        [CLI_LRU_TEST] = cliLruTest,
        [CLI_REPLICA] = cliReplica,
        [CLI_RDB] = cliTransfer,
        [CLI_FUNCTIONS_RDB] = cliTransfer,
        [CLI_BIGKEYS] = cliSampleKeys,
        [CLI_MEMKEYS] = cliSampleKeys,
        [CLI_HOTKEYS] = cliSampleKeys,
        [CLI_SCAN] = cliScan,
        [CLI_DOCTOR] = cliDoctor,
        [CLI_CLUSTER] = cliCluster,
        [CLI_TEST_HINT] = cliTestHint,
        [CLI_TEST_HINT_FILE] = cliTestHintFile,
    };
    bool connects = c->mode != CLI_INTRINSIC_LATENCY && c->mode != CLI_CLUSTER;
    if (connects && !cliConnect(c)) return 1;
    return modes[c->mode](c);
}

/* Runs debugger sessions until the user asks for no more; then commands. */
static int valkeyCliRunDebugger(struct cli *c, int count, char **words) {
    enum cliDebugEnd end = CLI_DEBUG_RESTART;
    c->output = CLI_TTY; /* the debugger is interactive */
    while (end == CLI_DEBUG_RESTART) {
        struct cliCommand cmd = {0};
        cliDisconnect(c);
        bool ready = valkeyCliScriptCommand(c, &cmd, count, words) && cliConnect(c);
        end = ready ? cliDebug(c, cmd.argc, cmd.argv) : CLI_DEBUG_FAILED;
        sdsfreesplitres(cmd.argv, cmd.argc);
        if (end != CLI_DEBUG_DONE) continue;
        cliDisconnect(c);
        int status = isatty(STDIN_FILENO) ? valkeyCliRunPrompt(c) : valkeyCliRunLines(c);
        if (!c->debug_again) return status;
        end = CLI_DEBUG_RESTART;
    }
    return end == CLI_DEBUG_FAILED;
}

static void valkeyCliReadPassword(sds *password) {
    char *word = getpass("Please input password: ");
    if (!word) return;
    cliSetText(password, sdsnew(word));
    memset(word, 0, strlen(word));
}

int main(int argc, char **argv) {
    static struct cli cli;
    int first = cliParseOptions(&cli, argc, argv);
    bool prompt = cli.mode == CLI_COMMANDS && first == argc && isatty(STDIN_FILENO);
    if (cli.terminal || prompt) setlocale(LC_CTYPE, "");
    if (cli.terminal || prompt) cliLoadPreferences(&cli);
    if (cli.ask_password) valkeyCliReadPassword(&cli.password);
    if (cli.cluster_manager.ask_from_password) valkeyCliReadPassword(&cli.cluster_manager.from_password);
    int status;
    if (cli.mode != CLI_COMMANDS)
        status = valkeyCliRunMode(&cli);
    else if (cli.debug || cli.debug_sync)
        status = valkeyCliRunDebugger(&cli, argc - first, argv + first);
    else if (first < argc || cli.eval_file)
        status = valkeyCliRunCommand(&cli, argc - first, argv + first);
    else
        status = isatty(STDIN_FILENO) ? valkeyCliRunPrompt(&cli) : valkeyCliRunLines(&cli);
    cliDisconnect(&cli);
    return status;
}
