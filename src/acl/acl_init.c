/* SPDX-License-Identifier: BSD-3-Clause */
/* acl_init.c - starts the module; acl.h lists the files. Part of acl.h. */
#include "acl/acl_private.h"

void aclInit(void) {
    aclUsersInit();
    aclFileInit();
    aclConfigInit();
    aclLogInit();
}
