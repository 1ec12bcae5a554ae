/* SPDX-License-Identifier: BSD-3-Clause */
/* latency_commands.h - LATENCY: spikes (registry/latency.h) and the histograms of commands
 * (command/latency_histogram.h) for people to read; INFO latencystats. */
#pragma once

void latencyInit(void);      /* latency-monitor-threshold, and latencyStatsInit */
void latencyStatsInit(void); /* latency_histogram_command.c */
