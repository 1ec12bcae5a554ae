/* SPDX-License-Identifier: BSD-3-Clause */
/* evict_admission.h - what limits of memory mean for requests: before each one keys and clients are evicted,
 * and one that needs memory which cannot be freed is refused. Eviction itself: data/lifetime/evict.h,
 * client/client_evict.h. */
#pragma once

void evictAdmissionInit(void); /* the rows RULE_EVICTED and RULE_OOM */
