/* SPDX-License-Identifier: BSD-3-Clause */
/* turns.h - for fuzzers that talk to the server over sockets: a socket pair with one end for the server,
 * and turns of the event loop without waiting. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "commands.h"

static void turnLoop(void) {
    for (int i = 0; i < 3; i++) aeProcessEvents(server_el, AE_ALL_EVENTS | AE_CALL_HOOKS | AE_DONT_WAIT);
}

/* Reads and drops the server's output. */
static void turnDrain(int fd) {
    char bytes[4096];
    while (read(fd, bytes, sizeof bytes) > 0) continue;
}

/* Makes a socket pair. *ours is the server's connection; the client's end is returned. */
static int socketTo(struct connection **ours) {
    int fds[2];
    int failed = socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds);
    serverAssert(!failed);
    *ours = connCreateUnix(server_el, fds[0]);
    return fds[1];
}

/* Sends bytes to the server; returns false if it has closed its end. */
static bool turnSend(int fd, struct str bytes) {
    while (bytes.len) {
        ssize_t n = send(fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN) return false;
        if (n > 0) bytes = strN(bytes.ptr + n, bytes.len - (size_t)n);
        turnLoop();
        turnDrain(fd);
    }
    return true;
}
