/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_view.c - see cluster_view.h. */
#include "data/server_state/cluster_view.h"

struct clusterView cluster_view;
const char *(*cluster_view_keeps_slots)(void);
void (*cluster_view_message)(const char *from, uint64_t module, uint8_t type, struct str payload);
