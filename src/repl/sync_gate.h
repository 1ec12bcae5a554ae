/* SPDX-License-Identifier: BSD-3-Clause */
/* sync_gate.h - min-replicas-sync: replies wait until so many replicas have acknowledged the changes that
 * they may tell about (client/reply_gate.h).
 *
 *     turn: changes up to offset 700 ─▶ stream, REPLCONF GETACK ─▶ ACK 700 of N replicas ─▶ replies leave
 *
 * Positions are offsets of the stream, plus one: 0 is less than what an empty primary has made, so that after
 * a start or a promotion nothing is covered before N replicas have synchronized. Commands of our own in the
 * stream (PING, GETACK) change nothing and move no position. In the mode `disk` what counts is the offset
 * that a replica has on its disk (FACK).
 *
 * When the time is over, or this server becomes a replica, the outcome is not known: the changes may or may
 * not survive. What is held back is dropped, the client gets NOTSYNCED, and its connection ends. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* min-replicas-sync; 0: off. Writes are refused while fewer replicas are good (rules.c). */
extern int64_t sync_gate_replicas;

void syncGateInit(bool (*changed)(const char **err)); /* changed: called when min-replicas-sync was set */
