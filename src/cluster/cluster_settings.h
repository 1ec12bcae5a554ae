/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_settings.h - the directives cluster-*. */
#pragma once

void clusterSettingsInit(void);
/* Puts directives into the engine, and what is announced into myself. */
void clusterSettingsApply(void);

int clusterBusPort(void); /* where this node listens */
