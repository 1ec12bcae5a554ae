/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_setslot.h - slots that are handed over key by key (CLUSTER SETSLOT). */
#pragma once

void setslotInit(void); /* open slots are sent to replicas with the data */
