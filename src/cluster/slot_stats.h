/* SPDX-License-Identifier: BSD-3-Clause */
/* slot_stats.h - how single slots are used: CLUSTER SLOT-STATS. */
#pragma once

void slotStatsInit(void);
/* The directive, or who owns what, has changed: figures of slots that left or came begin anew. */
void slotStatsRecheck(void);
