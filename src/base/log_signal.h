/* SPDX-License-Identifier: BSD-3-Clause */
/* log_signal.h - a line in the log from a signal handler. */
#pragma once

/* pid:signal-handler (seconds) text. Async-signal-safe. */
void logSignal(const char *text);
