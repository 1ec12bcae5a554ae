/* acl.c - starts the room; see acl.h for what stands where. */
#include "acl/acl_private.h"

void aclInit(void) {
    aclUsersInit();
    aclFileInit();
    aclLogInit();
}
