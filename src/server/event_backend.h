/* SPDX-License-Identifier: BSD-3-Clause */
/* event_backend.h - what the event loops work with: epoll or io_uring, by the directive `event-backend`. */
#pragma once

void eventBackendRegister(void);
/* After the configuration, before the first loop is made: takes one, and says in the log why. */
void eventBackendChoose(void);
