/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_answers.h - how a Sentinel answers commands that every server has: ROLE, PUBLISH, INFO. */
#pragma once

void sentinelAnswersInit(void); /* called when all commands are registered */
