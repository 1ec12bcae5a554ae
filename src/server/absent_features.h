/* SPDX-License-Identifier: BSD-3-Clause */
/* absent_features.h - what users of Valkey expect and this version does not have yet: replication, the
 * cluster, I/O threads, modules ... Their directives are known, so that a configuration file which serves
 * Valkey serves us, and their INFO fields say what they say where the feature is idle. */
#pragma once

void absentFeaturesRegister(void);
/* After the configuration is loaded: tells all that it asks for in vain, at once. What must not be ignored
 * ends the program with code 1. */
void absentFeaturesReport(void);
