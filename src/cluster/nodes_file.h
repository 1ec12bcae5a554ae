/* SPDX-License-Identifier: BSD-3-Clause */
/* nodes_file.h - nodes.conf on disk: reading, locking, replacing. */
#pragma once

#include <stdbool.h>

#include "cluster/topology.h"

/* Opens and locks the file. Returns whether it had contents, which have been read. Exits when another node
 * uses it, or when it is corrupt. */
bool nodesFileLoad(struct topology *t);
/* Returns false after the reason has been logged. With `sync` the file is on disk when this returns. */
bool nodesFileSave(const struct topology *t, bool sync);
