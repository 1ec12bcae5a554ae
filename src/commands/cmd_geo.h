/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_geo.h - the geo commands: their facts, and the handlers that these name. */
#pragma once

#include "commands/cmd_spec.h"

extern const struct commandSpec commandsGeo[];

commandProc geoaddCommand, geodistCommand, geohashCommand, geoposCommand, georadiusCommand,
    georadiusbymemberCommand, georadiusbymemberRoCommand, georadiusRoCommand, geosearchCommand,
    geosearchstoreCommand;

commandGetKeys georadiusGetKeys, georadiusbymemberGetKeys;
