/* SPDX-License-Identifier: BSD-3-Clause */
/* event_backend.h - the backend of event loops: epoll or io_uring, by the directive `event-backend`. */
#pragma once

void eventBackendRegister(void);
/* Chooses the backend and logs the reason. Runs after the configuration has been loaded and before the first
 * loop is made. */
void eventBackendChoose(void);
