/* cli_help.c - help at the prompt, told by the server itself (COMMAND DOCS), and command names to complete.
 *
 * In RESP2 a map comes as an array of names and values, so a map and an array are read alike here. */
#include "tools/cli.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/zmalloc.h"

static const char overview[] = "At this prompt you can type\n"
                               "  COMMAND [argument ...]   to send a command; quote arguments with blanks\n"
                               "  N COMMAND ...            to send it N times\n"
                               "  help COMMAND             to see what a command is for\n"
                               "  help @GROUP              to see the commands of a group, such as @string\n"
                               "  connect HOST PORT        to talk to another server\n"
                               "  :set hints, :set nohints to switch hints on and off\n"
                               "  clear                    to clear the screen\n"
                               "  quit                     to leave\n";

static const struct respReply *field(const struct respReply *map, const char *name) {
    for (size_t i = 0; i + 1 < map->elements; i += 2) {
        if (strIs(map->element[i].str, name)) return &map->element[i + 1];
    }
    return NULL;
}

static struct str textField(const struct respReply *map, const char *name) {
    const struct respReply *value = field(map, name);
    return value ? value->str : STR("");
}

static bool hasFlag(const struct respReply *arg, const char *flag) {
    const struct respReply *flags = field(arg, "flags");
    for (size_t i = 0; flags && i < flags->elements; i++) {
        if (strIs(flags->element[i].str, flag)) return true;
    }
    return false;
}

/* ---- The arguments of a command, as people write them down ---- */

static sds appendArgs(sds out, const struct respReply *args, const char *between);

static sds argCore(const struct respReply *arg) {
    const struct respReply *inner = field(arg, "arguments");
    struct str type = textField(arg, "type");
    struct str shown = textField(arg, "display_text");
    if (strEq(type, STR("oneof")) && inner) return appendArgs(sdsempty(), inner, "|");
    if (strEq(type, STR("block")) && inner) return appendArgs(sdsempty(), inner, " ");
    if (strEq(type, STR("pure-token"))) return sdsempty();
    return sdsnewstr(shown.len ? shown : textField(arg, "name"));
}

static sds appendArg(sds out, const struct respReply *arg) {
    sds core = argCore(arg);
    struct str token = textField(arg, "token");
    bool optional = hasFlag(arg, "optional");
    sds one = sdscatstr(sdsempty(), token);
    if (sdslen(one) && sdslen(core)) one = sdscat(one, " ");
    one = sdscatlen(one, core, sdslen(core));
    if (optional) out = sdscat(out, "[");
    out = sdscatlen(out, one, sdslen(one));
    if (hasFlag(arg, "multiple")) {
        sds again = hasFlag(arg, "multiple_token") ? one : core;
        out = sdscatprintf(out, " [%s ...]", again);
    }
    if (optional) out = sdscat(out, "]");
    sdsfree(core);
    sdsfree(one);
    return out;
}

static sds appendArgs(sds out, const struct respReply *args, const char *between) {
    for (size_t i = 0; i < args->elements; i++) {
        if (i) out = sdscat(out, between);
        out = appendArg(out, &args->element[i]);
    }
    return out;
}

/* ---- One command ---- */

static sds upperName(struct str name) {
    sds out = sdsnewstr(name);
    sdstoupper(out);
    for (char *bar = out; (bar = strchr(bar, '|'));) *bar = ' ';
    return out;
}

static void printField(const struct respReply *doc, const char *name) {
    struct str text = textField(doc, name);
    if (text.len) printf("  %s: %.*s\n", name, (int)text.len, text.ptr);
}

static void printCommand(struct str name, const struct respReply *doc) {
    sds title = upperName(name);
    const struct respReply *args = field(doc, "arguments");
    sds synopsis = args ? appendArgs(sdsempty(), args, " ") : sdsempty();
    printf("\n  %s %s\n", title, synopsis);
    printField(doc, "summary");
    printField(doc, "since");
    printField(doc, "group");
    sdsfree(title);
    sdsfree(synopsis);
    const struct respReply *subs = field(doc, "subcommands");
    for (size_t i = 0; subs && i + 1 < subs->elements; i += 2)
        printCommand(subs->element[i].str, &subs->element[i + 1]);
}

/* `name` is "get" or "config|set". */
static void printNamed(const struct respReply *docs, const char *name) {
    for (size_t i = 0; i + 1 < docs->elements; i += 2) {
        const struct respReply *doc = &docs->element[i + 1];
        struct str found = docs->element[i].str;
        if (strIs(found, name)) printCommand(found, doc);
        const struct respReply *subs = field(doc, "subcommands");
        for (size_t j = 0; subs && j + 1 < subs->elements; j += 2) {
            if (strIs(subs->element[j].str, name)) printCommand(subs->element[j].str, &subs->element[j + 1]);
        }
    }
}

static void printGroup(const struct respReply *docs, const char *group) {
    for (size_t i = 0; i + 1 < docs->elements; i += 2) {
        const struct respReply *doc = &docs->element[i + 1];
        if (strIs(textField(doc, "group"), group)) printCommand(docs->element[i].str, doc);
    }
}

static bool askDocs(struct cli *c, const char *command, struct respReply *docs) {
    const char *argv[] = {"COMMAND", "DOCS", command};
    if (c->link.fd == -1 && !cliConnect(c)) return false;
    if (!cliCall(c, docs, command ? 3 : 2, argv)) return false;
    if (docs->type == RESP_T_ARRAY || docs->type == RESP_T_MAP) return true;
    printf("The server has no help: %.*s\n", (int)docs->str.len, docs->str.ptr);
    respReplyFree(docs);
    return false;
}

void cliHelp(struct cli *c, int argc, const sds *argv) {
    if (argc == 0) {
        fputs(overview, stdout);
        return;
    }
    struct respReply docs;
    bool group = argv[0][0] == '@';
    sds name = sdsdup(argv[0]);
    for (int i = 1; i < argc; i++) name = sdscatprintf(name, "|%s", argv[i]);
    if (askDocs(c, group ? NULL : argv[0], &docs)) {
        if (group)
            printGroup(&docs, argv[0] + 1);
        else
            printNamed(&docs, name);
        printf("\n");
        respReplyFree(&docs);
    }
    sdsfree(name);
}

/* ---- Names to complete ---- */

static sds *names;
static size_t names_count;

/* COMMAND: an array of arrays that begin with the name. */
static void loadNames(struct cli *c) {
    const char *argv[] = {"COMMAND"};
    struct respReply reply;
    if (names || c->link.fd == -1 || c->in_multi || !cliCall(c, &reply, 1, argv)) return;
    names = zmalloc((reply.elements + 1) * sizeof(names[0]));
    for (size_t i = 0; i < reply.elements; i++) {
        const struct respReply *command = &reply.element[i];
        if (command->elements == 0) continue;
        names[names_count] = sdsnewstr(command->element[0].str);
        sdstoupper(names[names_count++]);
    }
    respReplyFree(&reply);
}

const char *cliCommandName(struct cli *c, const char *prefix, int n) {
    loadNames(c);
    for (size_t i = 0; i < names_count; i++) {
        if (strncasecmp(names[i], prefix, strlen(prefix)) == 0 && n-- == 0) return names[i];
    }
    return NULL;
}
