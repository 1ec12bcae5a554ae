/* SPDX-License-Identifier: BSD-3-Clause */
/* module_info.h - INFO sections of modules for the crash report. */
#pragma once

#include "base/sds.h"

sds moduleInfoForCrash(void); /* the sections of all modules */
