/* SPDX-License-Identifier: BSD-3-Clause */
/* info_order.h - the order of fields within a section of INFO. */
#pragma once

/* Returns names, ending with NULL. NULL: the section shows its fields in order of registration. */
const char *const *infoOrder(const char *section);
