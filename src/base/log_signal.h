/* SPDX-License-Identifier: BSD-3-Clause */
/* log_signal.h - logs a line from a signal handler. */
#pragma once

/* Logs "pid:signal-handler (seconds) text". Async-signal-safe. */
void logSignal(const char *text);
