/* SPDX-License-Identifier: BSD-3-Clause */
/* exec_conditions.h - EXEC's conditions on keys. */
#pragma once

void execConditionsInit(void); /* before the first EXEC */
