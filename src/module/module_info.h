/* SPDX-License-Identifier: BSD-3-Clause */
/* module_info.h - for the crash report. */
#pragma once

#include "base/sds.h"

sds moduleInfoForCrash(void); /* what all modules have to say */
