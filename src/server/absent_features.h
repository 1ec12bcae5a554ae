/* SPDX-License-Identifier: BSD-3-Clause */
/* absent_features.h - directives of Valkey for features that this server does not have, such as RDMA. They
 * are known, so that a configuration file made for Valkey can be used here, but have no effect. */
#pragma once

void absentFeaturesRegister(void);
/* Runs after the configuration has been loaded: logs all such directives that are not at their
 * defaults, at once. */
void absentFeaturesReport(void);
