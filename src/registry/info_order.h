/* SPDX-License-Identifier: BSD-3-Clause */
/* info_order.h - in which order the fields of a section of INFO are shown. */
#pragma once

/* Names, ending with NULL. NULL: the section shows its fields as its rooms have registered. */
const char *const *infoOrder(const char *section);
