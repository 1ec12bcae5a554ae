/* SPDX-License-Identifier: BSD-3-Clause */
/* web.h - the metrics port: the state of the server over HTTP, for Prometheus, probes, and people
 * with a browser.
 *
 *     GET /metrics     metrics.h        for Prometheus
 *     GET /healthz                      200 while the event loop runs
 *     GET /readyz      readiness.h      whether clients can be sent here, with reasons
 *     GET /            page.html        a page for people, which requests
 *     GET /api/stats   stats.h          its data as JSON
 *     GET /api/history recent.h         the last five minutes of some of them
 *
 *     web.c            directives, listening sockets
 *     connections      connections: limits, time-outs, when answers are made
 *     http, base64     requests, by a library
 *     access           rights
 *     pages            from paths to answers
 *     metrics, readiness, stats     the answers; info_view, exposition, json: how they are read and written
 *     warnings, warning_facts       what an operator should know, in sentences
 *     survey, hot_keys              data that is only collected while somebody watches
 *     recent                        data that is collected while the port is open
 *
 * With metrics-port 0, the default, none of it runs. All of it runs in the event loop of the main thread: an
 * answer is bounded work, and answers take a bounded share of the time (connections.c). */
#pragma once

void webInit(void);  /* directives */
void webStart(void); /* after the configuration; logs and exits if it cannot listen */
void webStop(void);  /* closes everything */
