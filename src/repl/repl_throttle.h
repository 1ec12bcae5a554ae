/* SPDX-License-Identifier: BSD-3-Clause */
/* repl_throttle.h - repl-throttling-enabled: clients that write wait when a replica cannot keep up, so that
 * its output buffer stays below client-output-buffer-limit. The rate is decided in throttle_rate.h;
 * command/throttle.h applies it. While it does, a replica may stay above the soft limit for some time longer.
 */
#pragma once

void replThrottleInit(void);
