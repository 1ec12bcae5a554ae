/* SPDX-License-Identifier: BSD-3-Clause */
/* own_expiry.h - keys of a writable replica (replica-read-only no) that its own clients gave an expiry.
 *
 * What a replica's primary has written expires when the primary says so. Of what was written here the primary
 * knows nothing: such keys are remembered by name, and a slow job deletes them. A key that the primary has
 * overwritten meanwhile may be deleted with them; with writable replicas data differ anyway. */
#pragma once

#include <stdbool.h>

void ownExpiryOn(bool on); /* are new ones remembered? Those that are, are reaped while this is a replica */
void ownExpiryInit(void);  /* job, INFO field */
