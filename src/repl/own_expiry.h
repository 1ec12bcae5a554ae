/* SPDX-License-Identifier: BSD-3-Clause */
/* own_expiry.h - keys to which the clients of a writable replica (replica-read-only no) have given an expiry.
 *
 * Keys that a primary has written expire when the primary deletes them. The primary does not know of keys
 * that were written here, so these are remembered by name and a slow job deletes them. A key that the primary
 * has overwritten meanwhile may be deleted as well; with writable replicas the data differ in any case. */
#pragma once

#include <stdbool.h>

/* new ones are remembered; the known ones are deleted while this is a replica */
void ownExpiryEnable(bool on);
void ownExpiryInit(void); /* job, INFO field */
