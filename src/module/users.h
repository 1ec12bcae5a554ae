/* SPDX-License-Identifier: BSD-3-Clause */
/* users.h - users as modules hold them. */
#pragma once

#include <stdbool.h>

struct aclUser;

/* What a module holds: a user of its own, or one of everybody's. */
struct ValkeyModuleUser {
    struct aclUser *user;
    bool own;
};
/* Whose rights these are. */
struct aclUser *moduleUserAcl(const struct ValkeyModuleUser *u);
