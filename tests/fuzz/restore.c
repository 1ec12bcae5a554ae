/* SPDX-License-Identifier: BSD-3-Clause */
/* restore.c - libFuzzer target for values in the RDB encoding, as RESTORE and RDB files bring them.
 *
 *     make fuzz-restore FUZZ_SECONDS=600
 *
 * An input is | flags | type | value |: see exerciseFuzzed. What it finds goes into corpus/restore, which the
 * unit test types/rdb_hooks_test.c replays. */
#include "command/command.h"
#include "commands/cmd_hash.h"
#include "commands/cmd_list.h"
#include "commands/cmd_pathhash.h"
#include "commands/cmd_set.h"
#include "commands/cmd_sorted_set.h"
#include "commands/cmd_stream.h"
#include "commands/cmd_string.h"
#include "registry/cron.h"
#include "types/rdb_exercise.h"

/* The modules register command tables of higher layers, which are not linked. */
const struct commandSpec commandsString[] = {{0}}, commandsList[] = {{0}}, commandsSet[] = {{0}},
                         commandsHash[] = {{0}}, commandsSortedSet[] = {{0}}, commandsStream[] = {{0}},
                         commandsPathHash[] = {{0}};

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    exerciseInit();
    cmd_time_ms = 1700000000000;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    exerciseFuzzed(strN((const char *)data, size));
    return 0;
}
