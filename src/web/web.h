/* SPDX-License-Identifier: BSD-3-Clause */
/* web.h - the metrics port: what a server does, over HTTP, for Prometheus, for probes, and for people with a
 * browser.
 *
 *     GET /metrics     metrics.h        what Prometheus scrapes
 *     GET /healthz     the event loop turns
 *     GET /readyz      readiness.h      clients can be sent here; or why not
 *     GET /            page.html        a page for people, which asks for
 *     GET /api/stats   stats.h          figures as JSON
 *
 * The floor plan:
 *
 *     web.c            directives, sockets to listen on
 *     connections      who is connected: limits, time-outs, the turn in which an answer is made
 *     http             requests, by a library; base64
 *     access           whose rights count
 *     pages            path to answer
 *     metrics, readiness, stats     the answers; info_view, exposition, json: how they are read and written
 *     survey, hot_keys              what is only known while somebody looks: sizes of keys, keys in use
 *
 * With metrics-port 0, as it is by default, none of it runs. All runs in the main thread's loop: an answer is
 * bounded work, and takes a bounded share of the time (connections.c). */
#pragma once

void webInit(void);  /* directives */
void webStart(void); /* after the configuration; logs and exits when it cannot listen where it should */
void webStop(void);  /* closes everything */
