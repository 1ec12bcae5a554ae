#!/usr/bin/env python3
"""malformed.py PORT PORT - sends malformed input to two servers, and prints where their replies differ.

Each input is sent over connections of its own: whole and byte by byte, followed by a request and by nothing. Then the
connection is half closed, so that the server knows that no more will arrive.

A server that closes while we still send may reset the connection, and its earlier replies are lost: the beginning of
a reply that ended so counts as the reply.
"""
import socket
import sys

BIG = b"9" * 30
INLINE_MAX = 64 * 1024
CASES = [
    # Counts
    b"*1\r\n$4\r\nPING\r\n", b"*0\r\n", b"*-1\r\n", b"*-99999\r\n", b"*\r\n", b"* 1\r\n", b"*1 \r\n", b"*+1\r\n$4\r\nPING\r\n",
    b"*01\r\n$4\r\nPING\r\n", b"*1x\r\n", b"*1.0\r\n", b"*abc\r\n", b"*" + BIG + b"\r\n", b"*-" + BIG + b"\r\n", b"*2147483647\r\n",
    b"*2147483648\r\n", b"*1048577\r\n", b"*1048576\r\n", b"*-2147483649\r\n", b"*11\r\n", b"*10\r\n", b"**1\r\n", b"*$\r\n", b"*1\n$4\nPING\n", b"*1\r$4\r\n",
    # Lengths
    b"*1\r\n$\r\n\r\n", b"*1\r\n$-1\r\n", b"*1\r\n$-2\r\n", b"*1\r\n$abc\r\n", b"*1\r\n$4x\r\nPING\r\n", b"*1\r\n$ 4\r\nPING\r\n",
    b"*1\r\n$04\r\nPING\r\n", b"*1\r\n$+4\r\nPING\r\n", b"*1\r\n$" + BIG + b"\r\n", b"*1\r\n$536870912\r\n", b"*1\r\n$536870913\r\n",
    b"*1\r\n$16384\r\n", b"*1\r\n$16385\r\n", b"*1\r\n$0\r\n\r\n", b"*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", b"*1\r\nPING\r\n", b"*1\r\n:4\r\n", b"*1\r\n\r\n", b"*1\r\n\n\n\r\n",
    b"*2\r\n$4\r\nECHO\r\nhi\r\n", b"*2\r\n$4\r\nECHO\r\n*1\r\n", b"*1\r\n$4\r\nPINGxx", b"*1\rX$4\r\nPING\r\n", b"*1\r\n$4\rXPING\r\n", b"*1\r\nX4\rX", b"*1\0\r\n$4\r\nPING\r\n", b"*1\r\n$4\0\r\nPING\r\n",
    b"*2\r\n$4\r\nECHO\r\n$40000\r\n" + b"a" * 40000 + b"\rX", b"*1\r\n$3\r\nPING\r\n", b"*1\r\n$5\r\nPING\r\n",
    b"*1\r\n$4\nPING\n", b"*1\r\n$4\r\nPI\x00G\r\n", b"*1\r\n$4\r\nPING\r\n\r\n\r\n", b"*1\r\n$-9223372036854775808\r\n",
    # Inline
    b"PING", b"PING\n", b"PING\r\n", b"PING\r\r\n", b"\r\nPING\r\n", b"\n", b"\r", b" \t \r\n", b"\x00\r\n", b"PING\x00\r\n", b"PI\x00NG\r\n", b"ping  a \r\n", b"ECHO \"a b\"\r\n",
    b"ECHO 'a b'\r\n", b"ECHO \"\\x41\\n\\\"\"\r\n", b"ECHO '\\''\r\n", b"ECHO \"a\"b\r\n", b"ECHO \"a\r\n", b"ECHO 'a\r\n", b"ECHO a\"b\"\r\n", b"ECHO a'b'c\r\n", b"ECHO 'it''s'\r\n", b"ECHO \"a\"b'c'\r\n", b"'*'1\r\n", b"ECHO 'a\\''b'\r\n", b"ECHO \"\"\r\n", b"''\r\n",
    b"\"\" x\r\n", b"$4\r\nPING\r\n", b"+PING\r\n", b"-ERR\r\n", b":1\r\n", b"%1\r\n", b"ECHO \xc3\xa4\r\n", b"ECHO " + b"x" * 20000 + b"\r\n", b"x" * 70000 + b"\r\n",
    b"NOSUCH " + b"a" * 200 + b"\r\n", b"N" * 200 + b"\r\n", b"GET\r\n", b"get a b\r\n", b"CONFIG\r\n", b"CONFIG nosuch\r\n", b"CONFIG " + b"n" * 200 + b"\r\n",
    b"NOSUCH a\tb \"c\\nd\" e\r\n", b"ACL WHOAMI x\r\n", b"POST / HTTP/1.1\r\n", b"Host: a\r\n", b"QUIT\r\n", b"QUIT x\r\n", b"quit\r\nPING\r\n",
    b"SELECT a\r\n", b"SELECT 99\r\n", b"SELECT -1\r\n", b"SELECT 99999999999999999999\r\n", b"SELECT\r\n", b"HELLO 4\r\n", b"HELLO x\r\n", b"HELLO 2 AUTH\r\n", b"HELLO 2 NOSUCH\r\n",
    b"HELLO 2 SETNAME\r\n", b"HELLO 2 SETNAME a\x7f\r\n", b"AUTH\r\n", b"AUTH a b c\r\n", b"AUTH a b\r\n", b"RESET\r\n", b"RESET x\r\n", b"EXEC\r\n", b"DISCARD\r\n",
    b"MULTI\r\nNOSUCH\r\nEXEC\r\n", b"MULTI\r\nSET\r\nEXEC\r\n", b"MULTI\r\n*1\r\n$x\r\n", b"UNWATCH x\r\n", b"SUBSCRIBE\r\n", b"SUBSCRIBE a\r\nGET a\r\nPING x\r\nPING\r\n",
    b"MONITOR x\r\n", b"CLIENT REPLY OFF\r\n*x\r\n", b"CLIENT REPLY SKIP\r\nPING\r\n", b"CLIENT REPLY nosuch\r\n", b"EVAL\r\n", b"EVAL x\r\n", b"EVAL x -1\r\n", b"EVAL x 1\r\n", b"EVAL ( 0\r\n",
    b"COMMAND GETKEYS\r\n", b"COMMAND nosuch\r\n", b"OBJECT\r\n", b"OBJECT ENCODING\r\n", b"DEBUG\r\n", b"SWAPDB a 1\r\n", b"SWAPDB 1 a\r\n", b"SWAPDB 0 99\r\n",
    b"MOVE a a\r\n", b"COPY a b DB x\r\n", b"COPY a a\r\n", b"EXPIRE a b\r\n", b"EXPIRE a 1 ZZ\r\n", b"SCAN x\r\n", b"SCAN 0 COUNT 0\r\n", b"SCAN 0 COUNT x\r\n", b"SCAN 0 NOSUCH\r\n", b"SORT\r\n", b"RESTORE a 0 x\r\n",
    b"RESTORE a -1 x\r\n", b"RESTORE a x x\r\n", b"SHUTDOWN x\r\n", b"FLUSHALL x\r\n", b"CONFIG SET\r\n", b"CONFIG GET\r\n", b"CLIENT KILL\r\n", b"CLIENT KILL x\r\n", b"CLIENT KILL ID x\r\n", b"CLIENT NO-EVICT\r\n",
    b"CLIENT NO-EVICT x\r\n", b"CLIENT PAUSE x\r\n", b"CLIENT PAUSE 1 x\r\n", b"CLIENT TRACKING x\r\n", b"CLIENT SETNAME \"a b\"\r\n", b"CLIENT UNBLOCK x\r\n", b"CLIENT LIST TYPE x\r\n", b"CLIENT LIST ID\r\n",
]


def ask(port, request, piece):
    """The answer, and whether it may have been cut off."""
    with socket.create_connection(("127.0.0.1", port), 30) as s:
        s.settimeout(60)
        data, cut = b"", False
        try:
            for at in range(0, len(request), piece or len(request)):
                s.sendall(request[at:at + piece] if piece else request)
            s.shutdown(socket.SHUT_WR)
        except TimeoutError:
            raise
        except OSError:
            cut = True
        try:
            while part := s.recv(65536):
                data += part
        except ConnectionError:
            cut = True
    return data, cut


def same(a, b):
    """Two answers, each with whether it was cut off."""
    return a[0] == b[0] or (a[1] and b[0].startswith(a[0])) or (b[1] and a[0].startswith(b[0]))


def main():
    ports = [int(a) for a in sys.argv[1:3]]
    different = 0
    for case in CASES:
        # A long line with an end: too long, or a request, as the end arrives with the read that passes the limit or
        # after it.
        if len(case) > INLINE_MAX and case[:1] != b"*" and b"\n" in case:
            continue
        for piece in (0, 1 if len(case) < 1000 else 997):
            for tail in (b"\r\nECHO the-end\r\n", b""):
                ours, theirs = [ask(port, case + tail, piece) for port in ports]
                if not same(ours, theirs):
                    different += 1
                    print("%r in pieces of %d, then %r\n    first  %r\n    second %r" % (case[:100], piece, tail, ours, theirs))
    print("%d inputs, %d differences" % (len(CASES), different))
    return 1 if different else 0


sys.exit(main())
