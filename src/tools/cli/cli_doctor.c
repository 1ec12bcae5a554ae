/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_doctor.c - --doctor: says what is wrong with the server. Part of cli.h.
 *
 * It asks the server for facts (cli_doctor.h), with commands that only read; cli_doctor_rules.c judges
 * them. What the server does not know, or does not let this user ask, is left out, and named at the end.
 *
 * The exit status is 0 if there is no problem, whatever advice there is; 1 if the server could not be
 * asked; 2 if there is a problem. */
#include "tools/cli/cli_doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "tools/cli/cli.h"

#define SLOWLOG_ENTRIES "128"
#define SHOWN_WORDS     4  /* of a slow command */
#define SHOWN_BYTES     40 /* of each of them */
#define LINE_COLUMNS    100
#define INDENT          "    "

struct doctorExam {
    struct cli *cli;
    sds facts;
    sds refused; /* commands that the server refused, ", " between them */
};

/* ---- Facts ---- */

/* Asks the server. Returns false for an error reply; ends the program when the connection breaks. The
 * reply is to be freed in either case. */
static bool doctorAsk(struct doctorExam *e, struct respReply *reply, int argc, const char *const *argv) {
    if (!cliCall(e->cli, reply, argc, argv)) cliFail("Error: %s", "The connection to the server broke");
    return reply->type != RESP_T_ERROR;
}

static void doctorAddRefused(struct doctorExam *e, const char *command) {
    e->refused = sdscatprintf(e->refused, "%s%s", sdslen(e->refused) ? ", " : "", command);
}

/* Appends a text as one line: what is not printable is escaped. */
static void doctorCatLine(struct doctorExam *e, const char *prefix, struct str name, struct str value) {
    e->facts = cliCatReadable(sdscat(e->facts, prefix), name, false);
    e->facts = sdscat(cliCatReadable(sdscat(e->facts, ":"), value, false), "\n");
}

/* Adds a reply that has the format of facts. */
static bool doctorAddText(struct doctorExam *e, int argc, const char *const *argv) {
    struct respReply reply;
    bool ok = doctorAsk(e, &reply, argc, argv);
    if (ok) e->facts = sdscat(sdscatstr(e->facts, reply.str), "\n");
    respReplyFree(&reply);
    return ok;
}

static void doctorAddConfig(struct doctorExam *e) {
    static const char *const names[] = {"appendonly",     "bind", "min-replicas-to-write",       "port",
                                        "protected-mode", "save", "stop-writes-on-bgsave-error", "tls-port"};
    bool refused = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !refused; i++) {
        struct respReply reply;
        refused = !doctorAsk(e, &reply, 3, (const char *[]){"CONFIG", "GET", names[i]});
        if (!refused && reply.elements == 2)
            doctorCatLine(e, "config.", reply.element[0].str, reply.element[1].str);
        respReplyFree(&reply);
    }
    if (refused) doctorAddRefused(e, "CONFIG GET");
}

/* Adds the names and values of MEMORY STATS; maps within it, of each database, are left out. */
static void doctorAddMemory(struct doctorExam *e) {
    struct respReply reply;
    if (!doctorAsk(e, &reply, 2, (const char *[]){"MEMORY", "STATS"})) doctorAddRefused(e, "MEMORY STATS");
    for (size_t i = 0; i + 1 < reply.elements; i += 2) {
        const struct respReply *value = &reply.element[i + 1];
        char number[LONG_STR_SIZE];
        if (value->type == RESP_T_INTEGER)
            doctorCatLine(e, "memory.", reply.element[i].str,
                          strN(number, ll2string(number, value->integer)));
        else if (value->str.len)
            doctorCatLine(e, "memory.", reply.element[i].str, value->str);
    }
    respReplyFree(&reply);
}

static void doctorAddLatency(struct doctorExam *e) {
    struct respReply reply;
    if (!doctorAsk(e, &reply, 2, (const char *[]){"LATENCY", "LATEST"}))
        doctorAddRefused(e, "LATENCY LATEST");
    for (size_t i = 0; i < reply.elements; i++) {
        const struct respReply *event = &reply.element[i];
        if (event->elements < 4) continue;
        char text[128];
        int len = snprintf(text, sizeof(text), "time=%lld,latest=%lld,max=%lld",
                           (long long)event->element[1].integer, (long long)event->element[2].integer,
                           (long long)event->element[3].integer);
        doctorCatLine(e, "latency.", event->element[0].str, strN(text, (size_t)len));
    }
    respReplyFree(&reply);
}

/* Returns the first words of a command, each of them shortened. */
static sds doctorShortCommand(const struct respReply *words) {
    sds out = sdsempty();
    for (size_t i = 0; i < words->elements && i < SHOWN_WORDS; i++) {
        struct str word = words->element[i].str;
        bool cut = word.len > SHOWN_BYTES;
        if (i) out = sdscat(out, " ");
        out = cliCatWord(out, cut ? strN(word.ptr, SHOWN_BYTES) : word);
        if (cut) out = sdscat(out, "...");
    }
    return words->elements > SHOWN_WORDS ? sdscat(out, " ...") : out;
}

static void doctorAddSlowLog(struct doctorExam *e) {
    struct respReply reply;
    if (!doctorAsk(e, &reply, 3, (const char *[]){"SLOWLOG", "GET", SLOWLOG_ENTRIES}))
        doctorAddRefused(e, "SLOWLOG GET");
    const struct respReply *slowest = NULL;
    for (size_t i = 0; i < reply.elements; i++) {
        const struct respReply *entry = &reply.element[i];
        if (entry->elements < 4) continue;
        if (!slowest || entry->element[2].integer > slowest->element[2].integer) slowest = entry;
    }
    if (slowest) {
        sds command = doctorShortCommand(&slowest->element[3]);
        e->facts = sdscatprintf(e->facts, "slowlog.entries:%zu\nslowlog.usec:%lld\n", reply.elements,
                                (long long)slowest->element[2].integer);
        doctorCatLine(e, "slowlog.", STR("command"), sdsview(command));
        sdsfree(command);
    }
    respReplyFree(&reply);
}

static void doctorAddUser(struct doctorExam *e) {
    struct respReply reply;
    bool ok = doctorAsk(e, &reply, 3, (const char *[]){"ACL", "GETUSER", "default"});
    const struct respReply *flags = ok ? respField(&reply, "flags") : NULL;
    sds words = sdsempty();
    for (size_t i = 0; flags && i < flags->elements; i++)
        words = sdscat(sdscatstr(words, flags->element[i].str), " ");
    if (ok)
        doctorCatLine(e, "acl.", STR("default"), sdsview(words));
    else
        doctorAddRefused(e, "ACL GETUSER");
    sdsfree(words);
    respReplyFree(&reply);
}

static bool doctorIs(const struct doctorExam *e, const char *fact, const char *value) {
    return strIs(cliDoctorFact(sdsview(e->facts), fact), value);
}

/* Asks for everything. A Sentinel knows INFO alone; a server that loads its data replies to little else. */
static void doctorAddFacts(struct doctorExam *e) {
    struct respReply reply;
    if (!doctorAsk(e, &reply, 1, (const char *[]){"INFO"})) {
        fprintf(stderr, "Error from the server: %.*s\n", (int)reply.str.len, reply.str.ptr);
        exit(1);
    }
    e->facts = sdscat(sdscatstr(e->facts, reply.str), "\n");
    respReplyFree(&reply);
    bool sentinel = doctorIs(e, "redis_mode", "sentinel") || doctorIs(e, "server_mode", "sentinel");
    if (sentinel || doctorIs(e, "loading", "1")) return;
    doctorAddConfig(e);
    doctorAddUser(e);
    doctorAddMemory(e);
    doctorAddLatency(e);
    doctorAddSlowLog(e);
    if (doctorIs(e, "cluster_enabled", "1") && !doctorAddText(e, 2, (const char *[]){"CLUSTER", "INFO"}))
        doctorAddRefused(e, "CLUSTER INFO");
}

/* ---- The report ---- */

/* Prints the text. At a terminal, lines are broken between words, and indented from the second one on. */
static void doctorPrintText(const struct cli *c, struct str text, size_t used) {
    size_t width = cliTerminalWidth() < LINE_COLUMNS ? cliTerminalWidth() : LINE_COLUMNS;
    while (text.len) {
        const char *blank = memchr(text.ptr, ' ', text.len);
        struct str word = strN(text.ptr, blank ? (size_t)(blank - text.ptr) : text.len);
        if (c->terminal && used + 1 + cliColumns(word) > width) {
            printf("\n" INDENT);
            used = strlen(INDENT);
        } else {
            printf(" ");
            used++;
        }
        fwrite(word.ptr, 1, word.len, stdout);
        used += cliColumns(word);
        text = strN(text.ptr + word.len + (blank != NULL), text.len - word.len - (blank != NULL));
    }
    printf("\n");
}

static void doctorPrintFindings(const struct cli *c, const struct cliDoctorReport *report) {
    const struct cliPalette *p = cliPalette(c->colour);
    for (int i = 0; i < report->count; i++) {
        const struct cliDoctorFinding *f = &report->findings[i];
        const char *label = f->is_problem ? "problem:" : "advice:";
        printf("%s%s%s", f->is_problem ? p->error : p->head, label, p->end);
        doctorPrintText(c, sdsview(f->text), strlen(label));
        printf(INDENT "%s[%s] See docs/%s%s\n", p->faint, f->rule, f->page, p->end);
    }
}

static void doctorPrintHead(const struct doctorExam *e) {
    static const char *const servers[][2] = {
        {"skipstone_version", "Skipstone"}, {"valkey_version", "Valkey"}, {"redis_version", "Redis"}};
    struct str facts = sdsview(e->facts), version = STR("");
    const char *name = "";
    for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]) && !version.len; i++) {
        version = cliDoctorFact(facts, servers[i][0]);
        name = servers[i][1];
    }
    struct str role = cliDoctorFact(facts, "role"), seconds = cliDoctorFact(facts, "uptime_in_seconds");
    const char *kind = !role.len ? "a Sentinel" : strIs(role, "master") ? "a primary" : "a replica";
    sds address = cliAddress(e->cli);
    printf("%s: %s %.*s, %s, up for %.*s seconds\n\n", address, name, (int)version.len, version.ptr, kind,
           (int)seconds.len, seconds.ptr);
    sdsfree(address);
}

static void doctorPrintEnd(const struct doctorExam *e, const struct cliDoctorReport *report) {
    int advice = report->count - report->problems;
    if (report->count) printf("\n");
    if (sdslen(e->refused))
        printf("The server refused %s, so this report lacks what depends on it.\n", e->refused);
    if (report->problems)
        printf("%d %s, ", report->problems, report->problems == 1 ? "problem" : "problems");
    else
        printf("No problem was found, ");
    printf("%d %s of advice\n", advice, advice == 1 ? "piece" : "pieces");
}

int cliDoctor(struct cli *c) {
    struct doctorExam e = {.cli = c, .facts = sdsempty(), .refused = sdsempty()};
    doctorAddFacts(&e);
    struct cliDoctorReport report = cliDoctorExamine(sdsview(e.facts));
    doctorPrintHead(&e);
    doctorPrintFindings(c, &report);
    doctorPrintEnd(&e, &report);
    int status = report.problems ? 2 : 0;
    cliDoctorFree(&report);
    sdsfree(e.facts);
    sdsfree(e.refused);
    return status;
}
