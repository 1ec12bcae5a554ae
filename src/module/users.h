/* SPDX-License-Identifier: BSD-3-Clause */
/* users.h - ACL users as modules hold them. */
#pragma once

#include <stdbool.h>

struct aclUser;

/* A module's handle of a user, which it has created itself (own) or which exists in the server. */
struct ValkeyModuleUser {
    struct aclUser *user;
    bool own;
};
