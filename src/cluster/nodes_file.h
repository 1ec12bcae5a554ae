/* SPDX-License-Identifier: BSD-3-Clause */
/* nodes_file.h - nodes.conf on disk: read, locked, replaced. */
#pragma once

#include <stdbool.h>

#include "cluster/topology.h"

/* Opens and locks it. Exits when it is another node's, or corrupt. True: there was one, and it is read. */
bool nodesFileLoad(struct topology *t);
/* False: that failed, and the reason is logged. With `sync` it is on disk when this returns. */
bool nodesFileSave(const struct topology *t, bool sync);
