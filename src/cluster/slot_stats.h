/* SPDX-License-Identifier: BSD-3-Clause */
/* slot_stats.h - statistics of single slots: CLUSTER SLOT-STATS. */
#pragma once

void slotStatsInit(void);
/* Called when the directive or owners of slots have changed. Figures of slots that
 * came or left start at zero. */
void slotStatsRecheck(void);
