/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_recorder.h - an environment for tests of one supervisor. It records the supervisor's requests line
 * by line, and connects at once unless the test makes it refuse.
 *
 *     connect 6379 cmd              to the port of the first owner of the link
 *     6379 cmd> PING                sent
 *     close 6379 pubsub
 *     +slave slave 127.0.0.1:6380 127.0.0.1 6380 @ m 127.0.0.1 6379
 *     script /path a b
 *     log: a line
 *     save */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "sentinel/supervisor_private.h"

#define TEST_NOW  1000000000LL
#define TEST_MYID "mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm"

struct sentinelRecorder {
    sds text; /* the record; NULL: nothing since recorderForget */
    bool refuse_connect, refuse_save, no_own_ip, quiet;
    uint64_t chance;
};
extern struct sentinelRecorder recorder;
extern struct supervisor recorded_supervisor; /* the supervisor under test */

/* Setup and teardown of a test: the supervisor monitors primary "m" at 127.0.0.1:6379. */
int recorderSetup(void **state);
int recorderTeardown(void **state);
/* Applies one line of sentinel.conf, with single blanks between its words. NULL, or why it was refused. */
const char *recorderConfigLine(const char *text);
void recorderTickAt(int64_t since_start_ms);
/* Passes the next answer on the command channel of an instance; `wire` is in RESP. */
void recorderAnswer(struct instance *i, const char *wire);
void recorderForget(void); /* clears the record */

/* Asserts that exactly this has been recorded since the record was cleared, and clears it. */
#define expectRecord(expected)                                                                               \
    do {                                                                                                     \
        assert_string_equal(recorder.text ? recorder.text : "", expected);                                   \
        recorderForget();                                                                                    \
    } while (0)
