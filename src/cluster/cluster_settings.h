/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_settings.h - the directives cluster-*. */
#pragma once

void clusterSettingsInit(void);
/* Copies directives into the engine, and announced addresses and names into myself. */
void clusterSettingsApply(void);

int clusterBusPort(void); /* the port on which this node listens */
