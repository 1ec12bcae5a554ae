/* SPDX-License-Identifier: BSD-3-Clause */
/* acl_init.c - starts the room; see acl.h for what stands where. Part of acl.h. */
#include "acl/acl_private.h"

void aclInit(void) {
    aclUsersInit();
    aclFileInit();
    aclLogInit();
}
