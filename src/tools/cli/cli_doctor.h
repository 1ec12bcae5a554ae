/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_doctor.h - what is wrong with a server, judged by facts that it has reported.
 *
 * Facts are a text in the format of INFO: lines of "name:value". They are INFO itself, followed by what
 * other commands replied, under names that INFO does not have:
 *
 *     used_memory:1487184                  INFO, CLUSTER INFO
 *     config.appendonly:yes                CONFIG GET
 *     memory.dataset.percentage:97.2       MEMORY STATS
 *     latency.fork:time=N,latest=N,max=N   LATENCY LATEST; a Unix time, milliseconds
 *     slowlog.entries:3                    SLOWLOG GET, also slowlog.usec and slowlog.command of the slowest
 *     acl.default:on nopass                ACL GETUSER default, its flags
 *
 * A fact may be missing, as servers differ and users may lack rights: a rule that needs it is silent then.
 *
 * A problem is a state that holds now, and that somebody should end now. Advice is a risk, or something
 * that has happened since the server's start. */
#pragma once

#include <stdbool.h>

#include "base/sds.h"

struct cliDoctorFinding {
    const char *rule; /* name of the rule, unique */
    bool is_problem;
    sds text;         /* whole sentences */
    const char *page; /* file and heading below docs/ */
};

struct cliDoctorReport {
    struct cliDoctorFinding *findings; /* problems first */
    int count, problems;
};

/* Applies all rules. It depends on the facts alone. Free the report with cliDoctorFree. */
struct cliDoctorReport cliDoctorExamine(struct str facts);
void cliDoctorFree(struct cliDoctorReport *report);
/* Returns the value of a fact, which is a part of `facts`; empty if it is missing. */
struct str cliDoctorFact(struct str facts, const char *name);
