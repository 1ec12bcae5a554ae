/* SPDX-License-Identifier: BSD-3-Clause */
/* debug_defrag.c - DEBUG subcommands that move all data in memory. Part of debug_command.h. */
#include "client/client.h"
#include "client/reply.h"
#include "data/lifetime/defrag.h"
#include "registry/debug.h"
#include "server/debug_command.h"

static void debugDefragAll(struct client *c) {
    defragAll();
    replyOk(c);
}

static void debugDefragStress(struct client *c) {
    defragStress(strIs(c->argv[2], "1"));
    replyOk(c);
}

static const char *const all_help[] = {"DEFRAG-ALL", "    Move every allocation of the data in memory, once.",
                                       NULL};
static const char *const stress_help[] = {"DEFRAG-STRESS <0|1>",
                                          "    Go on moving everything, half of the time.", NULL};
static const struct debugSubcommand subcommands[] = {
    {"defrag-all", 0, 0, debugDefragAll, all_help},
    {"defrag-stress", 1, 1, debugDefragStress, stress_help},
};

void debugDefragInit(void) {
    for (size_t i = 0; i < sizeof subcommands / sizeof *subcommands; i++) debugRegister(&subcommands[i]);
}
