/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_help.c - the help at the prompt, from COMMAND DOCS. Part of cli.h.
 *
 * The documentation is requested once per server and kept for help, hints and completion. */
#define _GNU_SOURCE /* strcasestr */
#include <stdio.h>
#include <string.h>

#include "base/zmalloc.h"
#include "tools/cli/cli.h"
#include "tools/cli/cli_docs.h"

#define OVERVIEW_WIDTH 88
#define SIMILAR_MAX    8

static const char overview[] =
    "At this prompt you can type\n"
    "  COMMAND [argument ...]   to send a command; quote arguments with blanks\n"
    "  N COMMAND ...            to send it N times\n"
    "  help COMMAND             to see what a command is for\n"
    "  help GROUP               to see the commands of a group, such as string or @string\n"
    "  connect HOST PORT        to connect to another server\n"
    "  :set                     to see your preferences: hints, color, table, pager;\n"
    "                           \":set nohints\" switches hints off\n"
    "  clear                    to clear the screen\n"
    "  quit                     to leave\n"
    "The TAB key completes commands, subcommands, options, names of keys, of directives, of users,\n"
    "and help itself; press it again for the next completion. Ctrl-C discards a line, or interrupts\n"
    "a command that waits. ~/.valkeyclirc stores preferences, in lines such as \":set nohints\".\n";

static struct cliDocs docs;

const struct cliDocs *cliLoadDocs(struct cli *c) {
    const char *argv[] = {"COMMAND", "DOCS"};
    struct respReply reply;
    bool can_ask = c->link.fd != -1 && !c->in_multi && c->subscriptions == 0;
    if (docs.bytes || c->docs_tried || !can_ask) return &docs;
    c->docs_tried = true;
    if (!cliCall(c, &reply, 2, argv)) return &docs;
    respReplyFree(&reply);
    cliDocsSet(&docs, sdsnewlen(c->link.in + c->link.at, c->link.used));
    return &docs;
}

/* ---- help ---- */

static sds cliHelpCatField(sds out, const struct cliPalette *p, const struct respReply *doc,
                           const char *name) {
    struct str text = respFieldText(doc, name);
    return text.len ? sdscatprintf(out, "  %s%s:%s %.*s\n", p->number, name, p->end, (int)text.len, text.ptr)
                    : out;
}

static sds cliHelpCatCommand(sds out, const struct cliPalette *p, struct str name,
                             const struct respReply *doc, bool with_group) {
    sds title = cliDocsTitle(name);
    const struct respReply *args = respField(doc, "arguments");
    sds synopsis = args ? cliDocsSynopsis(sdsempty(), args) : sdsempty();
    out = sdscatprintf(out, "\n  %s%s%s %s%s%s\n", p->head, title, p->end, p->faint, synopsis, p->end);
    out = cliHelpCatField(out, p, doc, "summary");
    out = cliHelpCatField(out, p, doc, "since");
    if (with_group) out = cliHelpCatField(out, p, doc, "group");
    sdsfree(title);
    sdsfree(synopsis);
    const struct respReply *subs = respField(doc, "subcommands");
    for (size_t i = 0; subs && i + 1 < subs->elements; i += 2)
        out = cliHelpCatCommand(out, p, subs->element[i].str, &subs->element[i + 1], with_group);
    return out;
}

/* Appends the help on a command; `name` is "get" or "config|set". */
static sds cliHelpCatNamed(sds out, const struct cliPalette *p, const struct respReply *tree,
                           const char *name) {
    for (size_t i = 0; i + 1 < tree->elements; i += 2) {
        const struct respReply *doc = &tree->element[i + 1], *subs = respField(doc, "subcommands");
        if (strIs(tree->element[i].str, name))
            out = cliHelpCatCommand(out, p, tree->element[i].str, doc, true);
        for (size_t j = 0; subs && j + 1 < subs->elements; j += 2) {
            if (strIs(subs->element[j].str, name))
                out = cliHelpCatCommand(out, p, subs->element[j].str, &subs->element[j + 1], true);
        }
    }
    return out;
}

static sds cliHelpCatGroup(sds out, const struct cliPalette *p, const struct respReply *tree,
                           struct str group) {
    for (size_t i = 0; i + 1 < tree->elements; i += 2) {
        const struct respReply *doc = &tree->element[i + 1];
        if (strEq(respFieldText(doc, "group"), group))
            out = cliHelpCatCommand(out, p, tree->element[i].str, doc, false);
    }
    return out;
}

/* Appends "string (27), list (22)", wrapped. */
static sds cliHelpCatGroups(sds out, const struct cliDocs *d) {
    int count;
    struct cliDocsGroupCount *groups = cliDocsGroups(d, &count);
    size_t column = 0;
    for (int i = 0; i < count; i++) {
        sds one = sdscatprintf(sdsempty(), "%.*s (%d)%s", (int)groups[i].name.len, groups[i].name.ptr,
                               groups[i].commands, i + 1 < count ? "," : "");
        bool wrap = column + sdslen(one) > OVERVIEW_WIDTH;
        out = sdscatprintf(out, "%s%s", wrap ? "\n  " : column ? " " : "  ", one);
        column = (wrap ? 0 : column) + sdslen(one) + 1;
        sdsfree(one);
    }
    zfree(groups);
    return sdscat(out, count ? "\n" : "");
}

/* Appends the commands with the word in their names. */
static sds cliHelpCatSimilar(sds out, const struct respReply *tree, const char *word) {
    int found = 0;
    for (size_t i = 0; i + 1 < tree->elements && found < SIMILAR_MAX; i += 2) {
        sds title = cliDocsTitle(tree->element[i].str);
        if (*word && strcasestr(title, word))
            out = sdscatprintf(out, "%s%s", found++ ? ", " : "Perhaps: ", title);
        sdsfree(title);
    }
    return found ? sdscat(out, "\n") : out;
}

/* Returns the help on a word. A command has precedence over a group of that name, which is then
 * mentioned in a line. */
static sds cliHelpText(const struct cliDocs *d, const struct cliPalette *p, int argc, const sds *argv) {
    sds name = sdsdup(argv[0]), words = sdsdup(argv[0]);
    for (int i = 1; i < argc; i++) {
        name = sdscatprintf(name, "|%s", argv[i]);
        words = sdscatprintf(words, " %s", argv[i]);
    }
    struct str group = cliDocsFindGroup(d, words);
    sds out = name[0] == '@' ? sdsempty() : cliHelpCatNamed(sdsempty(), p, &d->tree, name);
    bool command = sdslen(out) > 0;
    if (!command && group.len) out = cliHelpCatGroup(out, p, &d->tree, group);
    bool found = sdslen(out) > 0;
    out = sdscat(out, found ? "\n" : "There is no help about that.\n");
    if (command && group.len)
        out = sdscatprintf(out, "help @%.*s lists the commands of that group.\n", (int)group.len, group.ptr);
    if (!found) out = cliHelpCatSimilar(out, &d->tree, words[0] == '@' ? words + 1 : words);
    if (!found) out = cliHelpCatGroups(sdscat(out, "Groups of commands:\n"), d);
    sdsfree(name);
    sdsfree(words);
    return out;
}

static sds cliHelpOverviewText(const struct cliDocs *d) {
    sds out = sdscatprintf(sdsempty(), "valkey-cli %s\n%s", VALKEY_VERSION, overview);
    return d->bytes ? cliHelpCatGroups(sdscat(out, "Groups of commands:\n"), d) : out;
}

void cliHelp(struct cli *c, int argc, const sds *argv) {
    if (c->link.fd == -1 && argc) cliConnect(c);
    const struct cliDocs *d = cliLoadDocs(c);
    sds text;
    if (argc == 0)
        text = cliHelpOverviewText(d);
    else if (d->bytes)
        text = cliHelpText(d, cliPalette(c->colour), argc, argv);
    else
        text = sdsnew("There is no help: the server does not support COMMAND DOCS.\n");
    cliShow(c, text);
    sdsfree(text);
}
