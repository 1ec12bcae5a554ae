/* SPDX-License-Identifier: BSD-3-Clause */
/* view.h - fills in data/server_state/cluster_view.h. */
#pragma once

void viewInit(void);
