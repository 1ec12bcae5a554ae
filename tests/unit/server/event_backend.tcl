# event-backend: the same traffic with epoll and with io_uring, where connections' bytes are read ahead of the server by the
# kernel and many replies leave with one system call: what is large, slow, broken off or in pieces; and the choice between them.

proc backend_now {} { return [s multiplexing_api] }

# Reads to the end of a file: {} when the other side has closed in peace.
proc rest_of {channel} {
    if {[catch {read $channel} rest]} { return "" }
    return $rest
}

# PROG ARGS with io_uring_setup(2) refused, as in containers.
proc without_rings {args} {
    return [list python3 -S -c {
import ctypes, os, struct, sys
def op(code, jt, jf, k): return struct.pack("HBBI", code, jt, jf, k)
program = op(0x20, 0, 0, 0) + op(0x15, 0, 1, 425) + op(0x06, 0, 0, 0x00050001) + op(0x06, 0, 0, 0x7fff0000)
filters = ctypes.create_string_buffer(program)
class Prog(ctypes.Structure): _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Prog(4, ctypes.addressof(filters))), 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execv(sys.argv[1], sys.argv[1:])
    } {*}$args]
}

# What a server with these options logs, up to when it is ready.
proc log_of_start {args} {
    set log $::work_dir/start.log
    file delete $log
    set pid [exec {*}$args --port [free_port] --save {} --dir $::work_dir --logfile $log --loglevel verbose &]
    wait_for_condition 100 50 {[file exists $log] && [string match "*Ready to accept*" [read_file $log]]} else {
        exec kill -KILL $pid
        fail "it did not start"
    }
    exec kill $pid
    wait_for_condition 100 50 {[string match "*bye bye*" [read_file $log]]} else { fail "it did not stop" }
    return [read_file $log]
}

test {event-backend auto logs its choice and the reason} {
    set log [log_of_start $::options(server) --event-backend auto]
    assert_match "*the event loop uses *" $log
}

test {where io_uring is forbidden: no message with auto, a warning with io_uring} {
    if {[auto_execok python3] eq {} || $::tcl_platform(machine) ne "x86_64"} { skip "no python3, or another machine" }
    set log [log_of_start {*}[without_rings $::options(server) --event-backend auto]]
    assert_match "* - io_uring is not available (*), so the event loop uses epoll*" $log
    set log [log_of_start {*}[without_rings $::options(server) --event-backend io_uring]]
    assert_match "* # WARNING: event-backend is io_uring, which is not available (*), so the event loop uses epoll.*" $log
}

test {other words are refused} {
    assert_equal 1 [catch {exec $::options(server) --port 0 --event-backend kqueue 2>@1} out]
    assert_match "*'event-backend*" $out
}

set backends {epoll}
start_server {overrides {event-backend io_uring} tags {net external:skip}} {
    if {[backend_now] eq "io_uring"} { lappend backends io_uring } else { test {io_uring} { skip "no io_uring here" } }
}

foreach backend $backends {
    start_server [list overrides [list event-backend $backend unixsocket $::work_dir/s-$backend save {}] tags {net external:skip}] {
        test "$backend: it can be configured, and not changed later" {
            assert_equal $backend [config_get event-backend]
            assert_error "ERR *immutable*" {r config set event-backend auto}
        }

        test "$backend: values up to 64 MB are written and read" {
            foreach size {1 100 4095 4096 4097 16384 131072 1000000 67108864} {
                set value [string repeat "0123456789abcdef" [expr {$size / 16 + 1}]]
                set value [string range $value 0 [expr {$size - 1}]]
                r set k $value
                assert_equal $size [r strlen k]
                assert {[r get k] eq $value}
            }
            r del k
        }

        test "$backend: a pipeline in two pieces, split at every byte" {
            set requests [resp::encode {set k v1}][resp::encode {get k}][resp::encode [list append k [string repeat x 50]]]
            append requests "PING\r\n" [resp::encode {strlen k}]
            set c [valkey_client]
            for {set at 1} {$at < [string length $requests]} {incr at} {
                $c write [string range $requests 0 $at-1]
                r ping
                $c write [string range $requests $at end]
                assert_equal {OK v1 52 PONG 52} [list [$c read] [$c read] [$c read] [$c read] [$c read]] "split at $at"
            }
            $c close
        }

        test "$backend: a long pipeline in one go, from many at once" {
            set clients {}
            for {set i 0} {$i < 20} {incr i} { lappend clients [valkey_deferring_client] }
            foreach c $clients { $c write [string repeat [resp::encode {incr n}][resp::encode {echo 0123456789}] 2000] }
            foreach c $clients {
                set last 0
                for {set i 0} {$i < 2000} {incr i} {
                    set n [$c read]
                    assert_morethan $n $last
                    set last $n
                    assert_equal 0123456789 [$c read]
                }
            }
            foreach c $clients { $c close }
            assert_equal 40000 [r get n]
        }

        test "$backend: requests of 20 KB that come faster than they are executed" {
            set value [string repeat y 20000]
            set clients {}
            for {set i 0} {$i < 10} {incr i} { lappend clients [valkey_deferring_client] }
            foreach c $clients { $c write [string repeat [resp::encode [list set big $value]] 30] }
            foreach c $clients {
                for {set i 0} {$i < 30} {incr i} { assert_equal OK [$c read] }
                $c close
            }
        }

        # A read ends at urgent data. The bytes after it have arrived already, so there is no further event for them.
        test "$backend: urgent data in the middle of a large value are ignored and cause no delay" {
            if {[auto_execok python3] eq {}} { skip "no python3" }
            exec python3 -S -c {
import os, signal, socket, sys, time
port, pid = map(int, sys.argv[1:])
s = socket.create_connection(("127.0.0.1", port), 10)
s.sendall(b"*3\r\n$3\r\nSET\r\n$1\r\nu\r\n$1000000\r\n" + b"u" * 500000)
time.sleep(0.1)
os.kill(pid, signal.SIGSTOP)
try:
    s.sendall(b"v" * 100000)
    s.send(b"!", socket.MSG_OOB)
    s.sendall(b"w" * 400000 + b"\r\n")
finally:
    os.kill(pid, signal.SIGCONT)
assert s.recv(100) == b"+OK\r\n"
            } [srv port] [srv pid]
            assert {[r get u] eq "[string repeat u 500000][string repeat v 100000][string repeat w 400000]"}
            r del u
        }

        test "$backend: a client that does not read is closed at its output limit, others continue" {
            r set k [string repeat z 1000000]
            config_set client-output-buffer-limit "normal 8mb 0 0"
            set slow [valkey_deferring_client]
            $slow write [string repeat [resp::encode {get k}] 100]
            wait_for_condition 100 50 {[s client_output_buffer_limit_disconnections] == 1} else { fail "it is still there" }
            assert_equal PONG [r ping]
            $slow close
            config_set client-output-buffer-limit "normal 0 0 0"
            set slow [valkey_deferring_client]
            $slow write [string repeat [resp::encode {strlen k}][resp::encode {get k}] 30]
            after 200
            for {set i 0} {$i < 30} {incr i} {
                assert_equal 1000000 [$slow read]
                assert_equal 1000000 [string length [$slow read]]
            }
            $slow close
        }

        test "$backend: a client that sends requests and closes its half gets its replies" {
            set c [valkey_deferring_client]
            $c write [string repeat [resp::encode {incr half}] 100]
            chan close [$c channel] write
            rest_of [$c channel]
            $c close
            wait_for_condition 50 50 {[r get half] == 100} else { fail "half has [r get half]" }
            wait_for_condition 50 50 {[s connected_clients] == 1} else { fail "it is still there" }
        }

        test "$backend: many clients connect, send and disconnect" {
            r del came
            for {set round 0} {$round < 10} {incr round} {
                set channels {}
                for {set i 0} {$i < 60} {incr i} {
                    set fd [socket [srv host] [srv port]]
                    fconfigure $fd -translation binary
                    puts -nonewline $fd [resp::encode {incr came}][string range [resp::encode {set k v}] 0 [expr {$i % 20}]]
                    flush $fd
                    if {$i % 3 == 0} { gets $fd }
                    lappend channels $fd
                }
                foreach fd $channels { close $fd }
            }
            wait_for_condition 100 50 {[s connected_clients] == 1} else { fail "[s connected_clients] are there" }
            assert_range [r get came] 200 600
            assert_equal 0 [s blocked_clients]
        }

        test "$backend: CLIENT KILL of a client whose bytes are in transit" {
            set c [valkey_deferring_client]
            $c client id
            set id [$c read]
            $c write [string repeat x 3000]
            assert_equal 1 [r client kill id $id]
            rest_of [$c channel]
            assert [eof [$c channel]]
            $c close
        }

        test "$backend: publishing to many, and MONITOR" {
            set subscribers {}
            for {set i 0} {$i < 100} {incr i} {
                set c [valkey_deferring_client]
                $c subscribe news
                $c read
                lappend subscribers $c
            }
            set watcher [valkey_deferring_client]
            $watcher monitor
            assert_equal OK [$watcher read]
            foreach size {10 1000 40000} { assert_equal 100 [r publish news [string repeat n $size]] }
            foreach size {10 1000 40000} {
                foreach c $subscribers { assert_equal [list message news [string repeat n $size]] [$c read] }
                assert_match "*\"publish\" \"news\"*" [$watcher read]
            }
            foreach c $subscribers { $c close }
            $watcher close
        }

        test "$backend: blocked clients: served, disconnected, and with later requests" {
            set a [blocked_client blpop queue 0]
            set b [valkey_deferring_client]
            $b write [resp::encode {blpop queue 0}][resp::encode {ping}][resp::encode [list echo [string repeat e 30000]]]
            wait_for_blocked 2
            set gone [blocked_client blpop queue 0]
            wait_for_blocked 3
            $gone close
            wait_for_blocked 2
            r rpush queue 1 2 3
            assert_equal {queue 1} [answer $a]
            assert_equal {queue 2} [$b read]
            assert_equal PONG [$b read]
            assert_equal 30000 [string length [$b read]]
            assert_equal 3 [r lpop queue]
            $b close
        }

        test "$backend: a paused client sends much without loss" {
            set c [valkey_deferring_client]
            r del paused
            r client pause 300 write
            $c write [string repeat [resp::encode [list append paused [string repeat p 1000]]] 500]
            for {set i 1} {$i <= 500} {incr i} { assert_equal [expr {$i * 1000}] [$c read] }
            $c close
        }

        test "$backend: unix sockets" {
            if {![file exists [tool_path valkey-cli]]} { skip "no valkey-cli" }
            set cli [list exec [tool_path valkey-cli] -s $::work_dir/s-$backend]
            assert_equal OK [{*}$cli set via unix]
            assert_equal unix [{*}$cli get via]
            assert_equal OK [{*}$cli set via [string repeat u 40000]]
            assert_equal 40000 [string length [{*}$cli get via]]
        }

        test "$backend: while a child saves, connections continue and end" {
            for {set i 0} {$i < 2000} {incr i} { r set key:$i [string repeat v 200] }
            config_set rdb-key-save-delay 500
            r bgsave
            set others {}
            for {set i 0} {$i < 20} {incr i} { lappend others [valkey_client] }
            for {set round 0} {$round < 20} {incr round} {
                foreach c $others { assert_equal [expr {[$c append during x] > 0}] 1 }
            }
            foreach c $others { $c close }
            wait_for_condition 50 50 {[s connected_clients] == 1} else { fail "the child keeps them" }
            config_set rdb-key-save-delay 0
            wait_for_condition 200 50 {[s rdb_bgsave_in_progress] == 0} else { fail "it saves for ever" }
            assert_equal ok [s rdb_last_bgsave_status]
        }

        test "$backend: during a slow script other clients get BUSY" {
            set busy [valkey_deferring_client]
            config_set busy-reply-threshold 50
            $busy eval {while true do end} 0
            wait_for_condition 100 20 {[catch {r ping} out] && [string match BUSY* $out]} else { fail "nobody said so" }
            r script kill
            assert_error "*killed*" {$busy read}
            assert_equal PONG [r ping]
            $busy close
        }

        test "$backend: more connections after CONFIG SET maxclients" {
            config_set maxclients 12000
            set others {}
            for {set i 0} {$i < 30} {incr i} { lappend others [valkey_client] }
            foreach c $others { assert_equal PONG [$c ping] }
            foreach c $others { $c close }
            config_set maxclients 10000
        }

        test "$backend: after CONFIG SET port the old port is free at once" {
            set port [srv port]
            set other [free_port]
            config_set port $other
            config_set port $port
            set c [valkey_client]
            assert_equal PONG [$c ping]
            $c close
        }

        test "$backend: after SHUTDOWN with clients that send the port is free at once" {
            set c [valkey_deferring_client]
            $c write [string repeat [resp::encode {incr n}] 1000]
            restart_server
            assert_equal PONG [r ping]
            $c close
            restart_server 0 KILL
            assert_equal PONG [r ping]
        }
    }
}

# Each I/O thread has a loop of its own.
test {io_uring: an idle loop takes little memory for its buffers} {
    if {"io_uring" ni $backends} { skip "no io_uring here" }
    foreach backend $backends {
        start_server [list overrides [list event-backend $backend io-threads 17 io-threads-always-active yes]] {
            set cs [lmap i [lrepeat 32 {}] { valkey_client }]
            for {set i 0} {$i < 50} {incr i} { foreach c $cs { $c ping } }
            set allocator [s mem_allocator]
            regexp {VmRSS:\s+(\d+) kB} [read_file /proc/[srv pid]/status] -> resident($backend)
            foreach c $cs { $c close }
        }
    }
    if {$allocator eq "libc"} { skip "sanitizers have memory of their own for whatever is touched" }
    assert_lessthan [expr {$resident(io_uring) - $resident(epoll)}] 5000
} {} {external:skip}
