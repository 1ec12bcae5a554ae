/* SPDX-License-Identifier: BSD-3-Clause */
/* server_events.c - see server_events.h. */
#include "registry/server_events.h"

uint32_t server_events_wanted;
serverEventSink *server_event_sink;
