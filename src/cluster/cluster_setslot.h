/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_setslot.h - slots that are handed over key by key. */
#pragma once

void setslotInit(void); /* what is open goes to replicas with the data */
