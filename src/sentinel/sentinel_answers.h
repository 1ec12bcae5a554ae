/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_answers.h - what commands that every server has answer in a Sentinel: ROLE, PUBLISH, INFO. */
#pragma once

void sentinelAnswersInit(void); /* when all commands are registered */
