/* acl.c - starts the room; see acl.h for what stands where. */
#include "core/acl_private.h"

void aclInit(void) {
    aclUsersInit();
    aclFileInit();
    aclLogInit();
}
