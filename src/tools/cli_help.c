/* cli_help.c - the help at the prompt, as the server tells it (COMMAND DOCS), and preferences. Part of cli.h.
 *
 * The documentation is asked for once per server and kept for help, hints and completion. */
#include "tools/cli_edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "tools/cli.h"

static const char overview[] =
    "At this prompt you can type\n"
    "  COMMAND [argument ...]   to send a command; quote arguments with blanks\n"
    "  N COMMAND ...            to send it N times\n"
    "  help COMMAND             to see what a command is for\n"
    "  help @GROUP              to see the commands of a group, such as @string\n"
    "  connect HOST PORT        to talk to another server\n"
    "  :set hints, :set nohints to switch hints on and off\n"
    "  clear                    to clear the screen\n"
    "  quit                     to leave\n"
    "The TAB key completes what you type, again and again: commands, subcommands,\n"
    "options, and help itself. Lines of ~/.valkeyclirc such as \":set nohints\"\n"
    "are your preferences.\n";

static struct cliDocs docs;

const struct cliDocs *cliDocsOf(struct cli *c) {
    const char *argv[] = {"COMMAND", "DOCS"};
    struct respReply reply;
    bool can_ask = c->link.fd != -1 && !c->in_multi && c->subscriptions == 0;
    if (docs.bytes || c->docs_tried || !can_ask) return &docs;
    c->docs_tried = true;
    if (!cliCall(c, &reply, 2, argv)) return &docs;
    respReplyFree(&reply);
    cliDocsSet(&docs, sdsnewlen(c->link.in, c->link.used));
    return &docs;
}

/* ---- help ---- */

static const char *colour(const char *code) {
    return isatty(STDOUT_FILENO) ? code : "";
}

static void printField(const struct respReply *doc, const char *name) {
    struct str text = cliDocsText(doc, name);
    if (text.len)
        printf("  %s%s:%s %.*s\n", colour("\033[33m"), name, colour("\033[0m"), (int)text.len, text.ptr);
}

static void printCommand(struct str name, const struct respReply *doc, bool with_group) {
    sds title = cliDocsTitle(name);
    const struct respReply *args = cliDocsField(doc, "arguments");
    sds synopsis = args ? cliDocsSynopsis(sdsempty(), args) : sdsempty();
    printf("\n  %s%s%s %s%s%s\n", colour("\033[1m"), title, colour("\033[0m"), colour("\033[90m"), synopsis,
           colour("\033[0m"));
    printField(doc, "summary");
    printField(doc, "since");
    if (with_group) printField(doc, "group");
    sdsfree(title);
    sdsfree(synopsis);
    const struct respReply *subs = cliDocsField(doc, "subcommands");
    for (size_t i = 0; subs && i + 1 < subs->elements; i += 2)
        printCommand(subs->element[i].str, &subs->element[i + 1], with_group);
}

/* `name` is "get" or "config|set". */
static bool printNamed(const struct respReply *tree, const char *name) {
    bool found = false;
    for (size_t i = 0; i + 1 < tree->elements; i += 2) {
        const struct respReply *doc = &tree->element[i + 1], *subs = cliDocsField(doc, "subcommands");
        bool same = strIs(tree->element[i].str, name);
        if (same) printCommand(tree->element[i].str, doc, true);
        found |= same;
        for (size_t j = 0; subs && j + 1 < subs->elements; j += 2) {
            if (!strIs(subs->element[j].str, name)) continue;
            printCommand(subs->element[j].str, &subs->element[j + 1], true);
            found = true;
        }
    }
    return found;
}

static bool printGroup(const struct respReply *tree, const char *group) {
    bool found = false;
    for (size_t i = 0; i + 1 < tree->elements; i += 2) {
        const struct respReply *doc = &tree->element[i + 1];
        if (!strIs(cliDocsText(doc, "group"), group)) continue;
        printCommand(tree->element[i].str, doc, false);
        found = true;
    }
    return found;
}

void cliHelp(struct cli *c, int argc, const sds *argv) {
    if (argc == 0) {
        printf("valkey-cli %s\n", VALKEY_VERSION);
        fputs(overview, stdout);
        return;
    }
    if (c->link.fd == -1) cliConnect(c);
    const struct cliDocs *d = cliDocsOf(c);
    if (!d->bytes) {
        printf("There is no help: the server does not answer COMMAND DOCS.\n");
        return;
    }
    sds name = sdsdup(argv[0]);
    for (int i = 1; i < argc; i++) name = sdscatprintf(name, "|%s", argv[i]);
    bool found = name[0] == '@' ? printGroup(&d->tree, name + 1) : printNamed(&d->tree, name);
    printf(found ? "\n" : "There is no help about that.\n");
    sdsfree(name);
}

/* ---- Preferences ---- */

void cliPreference(struct cli *c, int argc, const sds *argv) {
    bool set = argc == 2 && strcasecmp(argv[0], ":set") == 0;
    if (set && strcasecmp(argv[1], "hints") == 0)
        c->hints = true;
    else if (set && strcasecmp(argv[1], "nohints") == 0)
        c->hints = false;
    else if (set)
        printf("unknown valkey-cli preference '%s'\n", argv[1]);
    else
        printf("unknown valkey-cli internal command '%s'\n", argv[0]);
}

static sds preferencesPath(void) {
    const char *path = getenv("VALKEYCLI_RCFILE"), *home = getenv("HOME");
    if (!path) path = getenv("REDISCLI_RCFILE");
    if (path) return *path ? sdsnew(path) : NULL;
    return home && *home ? sdscatprintf(sdsempty(), "%s/.valkeyclirc", home) : NULL;
}

void cliLoadPreferences(struct cli *c) {
    sds path = preferencesPath();
    FILE *f = path ? fopen(path, "re") : NULL;
    sdsfree(path);
    if (!f) return;
    char *line = NULL;
    size_t cap = 0;
    for (ssize_t n; (n = getline(&line, &cap, f)) > 0;) {
        int argc;
        sds *argv = sdssplitargs(line, (size_t)n, &argc);
        if (!argv) continue;
        if (argc) cliPreference(c, argc, argv);
        sdsfreesplitres(argv, argc);
    }
    free(line);
    fclose(f);
}
