# A primary that knows more commands than this server, as Redis 8 does (vector sets) and servers with modules do.
source [file join [file dirname [info script]] link_util.tcl]
tags {replication external:skip needs:debug} {

set port [primary_listen]
proc unknown_lines {} { return [count_log_message "which this server does not know and has not applied"] }

start_server {} {
    r replicaof 127.0.0.1 $port
    set fd [primary_accept]
    primary_greet $fd
    primary_sync $fd $::id_a 1000 {k1 v1}
    wait_for_offset 1000

    test {A command that this server does not know: the log names it, once in a row, and the stream goes on} {
        set at [s master_repl_offset]
        set stream [command VADD v VALUES 1 1 a][command VADD v VALUES 1 2 b][command SET behind 1]
        primary_send $fd $stream
        wait_for_offset [expr {$at + [string length $stream]}]
        assert_equal 1 [r get behind]
        assert_equal 2 [count_log_message "== CRITICAL == This replica is sending an error to its primary: 'unknown command 'VADD', with args beginning with:"]
        wait_for_log {The primary has sent the command "VADD", which this server does not know and has not applied, so*}
        assert_equal 1 [unknown_lines]
        primary_send $fd [command VREM v a][command vadd v VALUES 1 1 a][command SET behind 2]
        wait_for_condition 50 50 {[r get behind] == 2} else { fail "stopped" }
        assert_equal 3 [unknown_lines]
        assert_equal 4 [s unexpected_error_replies]
        assert_equal up [s master_link_status]
    }

    test {Errors of commands that it knows are not reported so} {
        primary_send $fd [command LPUSH k1 x][command SET behind 3]
        wait_for_condition 50 50 {[r get behind] == 3} else { fail "stopped" }
        assert_equal 3 [unknown_lines]
    }

    test {In a transaction it takes the other commands with it} {
        primary_send $fd [command MULTI][command SET inside 1][command VCARD v][command EXEC][command SET behind 4]
        wait_for_condition 50 50 {[r get behind] == 4} else { fail "stopped" }
        assert_equal {} [r get inside]
        assert_equal 4 [unknown_lines]
        wait_for_log "*-EXECABORT Transaction discarded because of previous errors.' after processing the command 'exec'*"
    }

    test {A long name is cut, and one with a line end is quoted} {
        primary_send $fd [command [string repeat X 300]][command "A\nB"][command SET behind 5]
        wait_for_condition 50 50 {[r get behind] == 5} else { fail "stopped" }
        wait_for_log "The primary has sent the command \"[string repeat X 128]\", which*"
        wait_for_log {The primary has sent the command "A\\nB", which*}
    }

    test {Hexadecimal scores, which Redis accepts, are taken from the primary and from an append-only file, not from clients} {
        assert_equal OK [r config set appendonly yes]
        wait_for_condition 100 50 {![s aof_rewrite_in_progress]} else { fail "no file" }
        primary_send $fd [command ZADD z 0x1p3 a][command ZINCRBY z -0x10 b][command ZADD z 0xg c 1e400 d][command SET behind 6]
        wait_for_condition 50 50 {[r get behind] == 6} else { fail "stopped" }
        assert_equal {b -16 a 8} [r zrange z 0 -1 withscores]
        r debug loadaof
        assert_equal {b -16 a 8} [r zrange z 0 -1 withscores]
        r config set appendonly no
        r config set replica-read-only no
        assert_error "ERR value is not a valid float" { r zadd z 0x1p3 c }
        assert_error "ERR value is not a valid float*" { r eval {return redis.call('zadd', 'z', '0x1p3', 'c')} 0 }
        r config set replica-read-only yes
    }

    test {A new link reports it again} {
        set lines [unknown_lines]
        primary_send $fd [command VADD v VALUES 1 1 a]
        wait_for_condition 50 50 {[unknown_lines] == $lines + 1} else { fail "not reported" }
        close $fd
        set fd [primary_accept]
        primary_greet $fd
        primary_send $fd "+CONTINUE\r\n[command VADD v VALUES 1 1 a]"
        wait_for_condition 50 50 {[unknown_lines] == $lines + 2} else { fail "not reported" }
        close $fd
    }
}
primary_close

start_server {overrides {propagation-error-behavior panic} crash 1} {
    test {propagation-error-behavior panic stops the server instead} {
        set pid [srv pid]
        r replicaof 127.0.0.1 [primary_listen]
        set fd [primary_accept]
        primary_greet $fd
        primary_sync $fd $::id_a 1000 {k1 v1}
        wait_for_offset 1000
        primary_send $fd [command VADD v VALUES 1 1 a]
        wait_for_condition 100 50 {![file exists /proc/$pid]} else { fail "it goes on" }
    }
}
primary_close
}

start_servers {
    theirs {kind redis8 overrides {save {} repl-diskless-sync-delay 0}}
    ours {kind ours overrides {save {}}}
} {
    test {A vector set of a living Redis 8: its commands are reported, its snapshot is refused, or loaded without it} {
        set theirs [at theirs]
        set ours [at ours]
        r $theirs set k v
        r $ours replicaof [srv $theirs host] [srv $theirs port]
        wait_for_condition 200 50 {[s $ours master_link_status] eq "up"} else { fail "no synchronization" }
        r $theirs vadd vectors VALUES 2 1 2 a
        r $theirs set behind 1
        wait_for_condition 100 50 {[r $ours get behind] == 1} else { fail "stopped" }
        wait_for_log {The primary has sent the command "vadd", which this server does not know*} 0 100 50 $ours
        r $ours replicaof no one
        r $ours config set rdb-skip-unknown-types no hide-user-data-from-log no
        r $ours debug change-repl-id
        r $ours replicaof [srv $theirs host] [srv $theirs port]
        wait_for_log {*Loading failed*key "vectors"*} 0 200 50 $ours
        assert_equal down [s $ours master_link_status]
        r $ours config set rdb-skip-unknown-types yes
        wait_for_condition 200 50 {[s $ours master_link_status] eq "up"} else { fail "no synchronization" }
        assert_equal {v 1 {}} [r $ours mget k behind vectors]
    }
}
