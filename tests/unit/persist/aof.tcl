# The append-only file: its contents, loading, rewriting, and damaged files.
source [file join [file dirname [info script]] aof_util.tcl]

tags {external:skip} {
    start_server {overrides {appendonly yes appendfsync always}} {
        test {a change is in the file when its reply arrives} {
            r set k value
            assert_equal [list {SELECT 0} {set k value}] [aof_commands]
        }

        test {another database is selected once} {
            r select 9
            r set a 1
            r set b 2
            r select 0
            r set c 3
            assert_equal [list {SELECT 9} {set a 1} {set b 2} {SELECT 0} {set c 3}] [lrange [aof_commands] 2 end]
        }

        test {a transaction is one unit, and without changes nothing at all} {
            set before [llength [aof_commands]]
            r multi
            r set t 1
            r incr t
            r exec
            r multi
            r get t
            r exec
            assert_equal [list MULTI {set t 1} {incr t} EXEC] [lrange [aof_commands] $before end]
        }

        test {commands that depend on time or chance are written by their effect} {
            set before [llength [aof_commands]]
            r set volatile x ex 1000
            r sadd s a
            r spop s
            r incrbyfloat f 1.5
            r expire k 100
            r eval {redis.call('set', 'from', 'script'); redis.call('set', 'and', 'more')} 0
            assert_match {{set volatile x PXAT *} {sadd s a} {SREM s a} {SET f 1.5 KEEPTTL} {PEXPIREAT k *} MULTI {set from script} {set and more} EXEC} \
                [lrange [aof_commands] $before end]
        }

        test {messages are for replicas: they cause no transaction in the file} {
            set before [llength [aof_commands]]
            foreach commands {{{publish c m} {publish c m}} {{publish c m} {set t 2}} {{set t 3} {publish c m} {set t 4}}} {
                r multi
                foreach command $commands { r {*}$command }
                r exec
            }
            assert_equal [list {set t 2} MULTI {set t 3} {set t 4} EXEC] [lrange [aof_commands] $before end]
        }

        test {messages in a transaction with a replica cause no empty transaction in the file} {
            start_server {} {
                r replicaof [srv -1 host] [srv -1 port]
                wait_for_condition 200 50 {[s master_link_status] eq {up}} else { fail "the replica does not follow" }
                r -1 set t 5
                r -1 multi
                r -1 publish c m
                r -1 publish c m
                r -1 exec
                r -1 set t 6
            }
            assert_equal [list {set t 5} {set t 6}] [lrange [aof_commands] end-1 end]
        }

        test {keys that SCAN and RANDOMKEY find expired are not written as a transaction} {
            r debug set-active-expire 0
            foreach {command expected} {
                {scan 0 count 1000} {{UNLINK e1} {UNLINK e2} {UNLINK e3}}
                {randomkey} {{UNLINK e1} {UNLINK e2} {UNLINK e3}}
                {mget e1 e2 e3} {EXEC MULTI {UNLINK e1} {UNLINK e2} {UNLINK e3}}
                {eval {return redis.call('scan', 0, 'count', 1000)} 0} {EXEC MULTI {UNLINK e1} {UNLINK e2} {UNLINK e3}}
            } {
                r select 10
                r flushdb
                foreach key {e1 e2 e3} { r set $key v px 1 }
                if {$command eq {randomkey}} { r set stays v }
                after 5
                set before [llength [aof_commands]]
                for {set i 0} {$i < 1000 && [llength [aof_commands]] < $before + 3} {incr i} { r {*}$command }
                assert_equal $expected [lsort [lrange [aof_commands] $before end]] $command
            }
            r flushdb
            r select 0
            r debug set-active-expire 1
        }

        test {DEBUG POPULATE is not written, and counts as no change} {
            set before [list [llength [aof_commands]] [s rdb_changes_since_last_save]]
            r debug populate 10 populated
            assert_equal $before [list [llength [aof_commands]] [s rdb_changes_since_last_save]]
            assert_equal 10 [r del {*}[r keys populated:*]]
        }

        # Replayed, they would do the same: but not on a replica with other numbers, or other clients.
        test {commands that waited or computed a value are written by their effect} {
            set before [llength [aof_commands]]
            r xadd x 5-* f v
            r hset n a 1.5
            r hincrbyfloat n a 0.25
            r rpush waited 1 2 3 4
            r blmove waited waited left right 0
            r brpoplpush waited waited 0
            r blpop waited 0
            r blmpop 0 1 waited right
            r zadd zwaited 1 a 2 b 3 c
            r bzpopmax zwaited 0
            r bzmpop 0 1 zwaited max
            assert_equal [list {xadd x 5-0 f v} {hset n a 1.5} {HSET n a 1.75} {rpush waited 1 2 3 4} {LMOVE waited waited left right} \
                {RPOPLPUSH waited waited} {LPOP waited} {RPOP waited 1} {zadd zwaited 1 a 2 b 3 c} {ZPOPMAX zwaited} {ZPOPMAX zwaited 1}] [lrange [aof_commands] $before end]
            r del x n waited zwaited
        }

        test {SPOP of many names up to 1024 of them in a command} {
            r sadd many {*}[lmap i [lrepeat 2500 x] { incr n }]
            foreach {count expected} {1024 1024 1025 {MULTI 1024 1 EXEC} 400 400} {
                set before [llength [aof_commands]]
                set popped [lsort [r spop many $count]]
                set written [lrange [aof_commands] $before end]
                assert_equal $expected [lmap c $written { expr {[llength $c] > 1 ? [llength $c] - 2 : $c} }]
                assert_equal $popped [lsort [concat {*}[lmap c $written { lrange $c 2 end }]]]
            }
            r del many
        }

        test {commands that fail or change nothing are not written} {
            set before [llength [aof_commands]]
            assert_error WRONGTYPE* { r lpush k x }
            r del nothing
            r get k
            assert_equal $before [llength [aof_commands]]
        }

        test {a restart loads everything} {
            r rpush list a b c
            set digest [r debug digest]
            restart_server
            assert_equal 0 [s rdb_changes_since_last_save]
            assert_equal $digest [r debug digest]
            assert_equal {a b c} [r lrange list 0 -1]
            wait_for_log "*Dataset loaded from the append-only file in*"
        }

        test {kill -9: acknowledged writes are there} {
            foreach policy {always everysec no} {
                r config set appendfsync $policy
                for {set i 0} {$i < 100} {incr i} { r set key:$i $policy:$i }
                restart_server 0 KILL
                for {set i 0} {$i < 100} {incr i} { assert_equal $policy:$i [r get key:$i] }
            }
        }

        # The reply of the command before it leaves while the script runs; what the script has written stays a whole unit.
        test {kill -9 during a busy script: acknowledged writes are there, and nothing of the script} {
            foreach {policy writes} {always {} always {redis.call('set', 'a', 1) redis.call('set', 'b', 1)} everysec {redis.call('set', 'a', 1)}} {
                r config set appendfsync $policy
                r config set busy-reply-threshold 20
                set before [llength [aof_commands]]
                set c [valkey_deferring_client]
                set value [incr n]
                $c write "[resp::encode [list set answered $value]][resp::encode [list eval "$writes while true do end" 0]]"
                assert_equal OK [$c read]
                wait_for_condition 500 20 {[catch { r ping } message] && [string match BUSY* $message]} else { fail "the server is not busy" }
                set path [srv dir]/appendonlydir
                set written [aof_commands [lindex [lsort [glob $path/*.incr.aof]] end]]
                assert_equal [list set answered $value] [lindex $written end]
                assert_equal -1 [lsearch [lrange $written $before end] MULTI]
                restart_server 0 KILL
                assert_equal [list $value 0] [list [r get answered] [r exists a b]]
                $c close
            }
        }

        test {expired keys are not resurrected, and not deleted before the file says so} {
            r set gone x px 1
            after 5
            assert_equal {} [r get gone]
            r set short x px 1
            r persist short
            restart_server
            assert_equal 0 [r exists gone]
        }

        test {the first command after a rewrite selects its database} {
            r select 9
            r set before 1
            r bgrewriteaof
            aof_wait_rewrite
            r set behind 2
            assert_equal [list {SELECT 9} {set behind 2}] [aof_commands]
            restart_server
            assert_equal {0 1 2} [list [r exists behind] [r select 9; r get before] [r get behind]]
            r select 0
        }

        test {INFO} {
            assert_equal 1 [s aof_enabled]
            assert_equal ok [s aof_last_write_status]
            assert_equal [s aof_current_size] [expr {[file size [aof_path base]] + [file size [aof_path incr]]}]
        }
    }

    foreach preamble {yes no} {
        start_server [list overrides [list appendonly yes aof-use-rdb-preamble $preamble auto-aof-rewrite-percentage 0]] {
            test "BGREWRITEAOF, preamble $preamble: the same data in fewer bytes" {
                aof_fill
                for {set i 0} {$i < 1000} {incr i} { r incr counter }
                set digest [r debug digest]
                set size [s aof_current_size]
                assert_match "Background append only file rewriting started*" [r bgrewriteaof]
                aof_wait_rewrite
                assert_equal ok [s aof_last_bgrewrite_status]
                assert_lessthan [s aof_current_size] $size
                assert_equal [s aof_base_size] [s aof_current_size]
                set head [string range [read_file [aof_path base]] 0 4]
                assert_equal [expr {$preamble ? {VALKE} : "*2\r\n$"}] $head
                restart_server
                assert_equal $digest [r debug digest]
            }

            test "preamble $preamble: writes during a rewrite are in the new increment, old files are deleted" {
                set c [valkey_deferring_client]
                r bgrewriteaof
                for {set i 0} {$i < 200} {incr i} { $c set during:$i $i }
                for {set i 0} {$i < 200} {incr i} { $c read }
                $c close
                aof_wait_rewrite
                wait_for_condition 200 50 {[llength [glob [config_get dir]/appendonlydir/*]] == 3} else {
                    fail [glob [config_get dir]/appendonlydir/*]
                }
                wait_for_condition 100 50 {[s aof_buffer_length] == 0} else { fail "an fsync does not end" }
                set digest [r debug digest]
                restart_server 0 KILL
                assert_equal $digest [r debug digest]
            }
        }
    }

    start_server {overrides {appendonly no}} {
        test {switched on while running: the server does not end before the first base is written, unless it is forced} {
            r set k v
            r config set rdb-key-save-delay 60000000
            r config set appendonly yes
            wait_for_condition 200 50 {[s aof_rewrite_in_progress]} else { fail "no rewrite" }
            assert_error "ERR Errors trying to SHUTDOWN*" { r shutdown }
            exec kill -TERM [srv pid]
            wait_for_condition 200 50 {[count_log_message "Errors trying to shut down the server"] == 2} else { fail "no second refusal" }
            assert_equal PONG [r ping]
            assert_error "I/O error*" { r shutdown force }
            assert {[wait_file [srv dir]/exit 15000]}
            assert_equal 0 [exit_code [srv dir]]
        }
    }

    start_server {overrides {appendonly no}} {
        test {switched on while running: a first base is written, then it counts} {
            aof_fill
            r config set appendonly yes
            r set while-waiting 1
            aof_wait_rewrite
            wait_for_condition 200 50 {[s aof_enabled] && [aof_state_files] eq {b i}} else { fail [aof_manifest] }
            r set afterwards 1
            set digest [r debug digest]
            r config rewrite
            restart_server
            assert_equal $digest [r debug digest]
        }

        test {switched off: nothing is written any more} {
            r config set appendonly no
            assert_equal 0 [s aof_enabled]
            set size [file size [aof_path incr]]
            r set not-there 1
            assert_equal $size [file size [aof_path incr]]
        }
    }

    start_server {overrides {appendonly no}} {
        test {DEBUG LOADAOF without files is an error, and the data stays} {
            r set k 1
            assert_error "ERR Error trying to load the AOF files, check server logs." { r debug loadaof }
            assert_equal 1 [r get k]
        }

        test {switched off, BGREWRITEAOF writes a base, and DEBUG LOADAOF reads it} {
            r bgrewriteaof
            aof_wait_rewrite
            r set k 2
            assert_equal OK [r debug loadaof]
            assert_equal 1 [r get k]
            r del k
            assert_equal {OK 1} [list [r debug loadaof] [r get k]]
        }

        test {switched off since the start, a rewrite replaces the existing files under another name} {
            set before [aof_manifest]
            restart_server
            r set k 3
            r bgrewriteaof
            aof_wait_rewrite
            assert_match "*appendonly.aof.1.base.rdb*" $before
            assert_match "file appendonly.aof.2.base.rdb seq 2 type b\n*" [aof_manifest]
        }
    }

    start_server {overrides {appendonly yes auto-aof-rewrite-percentage 100 auto-aof-rewrite-min-size 50kb}} {
        test {the file is rewritten automatically when it has grown} {
            for {set i 0} {$i < 100 && ![s aof_rewrite_in_progress] && ![s aof_rewrites]} {incr i} {
                for {set j 0} {$j < 40} {incr j} { r set k [string repeat x 40] }
            }
            wait_for_condition 200 50 {[s aof_rewrites] > 0 && ![s aof_rewrite_in_progress]} else { fail "no rewrite" }
            wait_for_log "*The append-only file has grown by *%, so it is rewritten*"
            assert_lessthan [file size [aof_path base]] 50000
        }
    }

    test {an old file becomes the base} {
        aof_with_files [list appendonly.aof [aof_text {SET k v} {RPUSH l a b}]] {} {
            assert_equal v [r get k]
            assert_equal {a b} [r lrange l 0 -1]
            wait_for_log "*The append-only file * of an older version now lies in the directory*"
            assert_equal 0 [file exists [config_get dir]/appendonly.aof]
            assert_match "file appendonly.aof seq 1 type b\n*" [aof_manifest]
            r set more 1
            restart_server
            assert_equal 1 [r get more]
        }
    }

    test {several increments, comments and times} {
        set files [list \
            appendonlydir/appendonly.aof.1.base.aof [aof_text {SET a 1}] \
            appendonlydir/appendonly.aof.1.incr.aof "#TS:1628217470\r\n[aof_text {INCR a}]# a remark\r\n" \
            appendonlydir/appendonly.aof.2.incr.aof [aof_text {INCR a} MULTI {INCR a} EXEC] \
            appendonlydir/appendonly.aof.manifest \
            "# comment\nfile appendonly.aof.1.base.aof seq 1 type b\nfile appendonly.aof.1.incr.aof seq 1 type i\nfile appendonly.aof.2.incr.aof seq 2 type i\n"]
        aof_with_files $files {} { assert_equal 4 [r get a] }
    }

    test {half a command, half a transaction: cut off} {
        foreach tail [list "*3\r\n\$3\r\nSET\r\n\$1\r\na" [aof_text MULTI {SET a 2}] [aof_text MULTI {SET a 2}]*1\r\n "*"] {
            aof_with_files [aof_one_file "[aof_text {SET a 1}]$tail"] {} {
                assert_equal 1 [r get a]
                wait_for_log "*The append-only file * ends in the middle of a command*"
                assert_equal [string length [aof_text {SET a 1}]] [file size [aof_path incr]]
                r set b 1
                restart_server
                assert_equal {1 1} [r mget a b]
            }
        }
    }

    test {half a command, and aof-load-truncated no: no start, the file untouched} {
        set text "[aof_text {SET a 1}]*3\r\n\$3\r\nSET"
        aof_refused [aof_one_file $text] {aof-load-truncated no} "*Unexpected end of file reading the append only file*"
    }

    # Only the last file may have been cut off by the end of a server.
    test {half a command at the end of a file that is not the last: no start, the files untouched} {
        aof_refused [list appendonlydir/appendonly.aof.1.incr.aof "[aof_text {SET a 1}]*3\r\n\$3\r\nSET" \
            appendonlydir/appendonly.aof.2.incr.aof [aof_text {SET b 1}] \
            appendonlydir/appendonly.aof.manifest "file appendonly.aof.1.incr.aof seq 1 type i\nfile appendonly.aof.2.incr.aof seq 2 type i\n"] \
            {aof-load-truncated yes} "*Unexpected end of file reading the append only file*"
    }

    # Followed by a thousand good commands, which must not be lost with it.
    set command "*3\r\n\$3\r\nSET\r\n\$1\r\na\r\n\$1\r\n1\r\n"
    foreach {what bad} [list \
        "a NUL in a length" [string map [list "\$3\r" "\$3\0\r"] $command] \
        "a NUL in a count" [string map [list "*3\r" "*3\0\r"] $command] \
        "a NUL in place of a digit" [string map [list "*3\r" "*\0\r"] $command] \
        "no line end behind a value" [string range $command 0 end-2]XX \
        "a command without arguments" "*0\r\n" \
        "half a line end behind a length" [string map [list "*3\r\n" "*3\rX"] $command] \
        "blanks" "   "] {
        test "$what between commands: no start, nothing is cut off" {
            aof_refused [aof_one_file $command$bad[string repeat $command 1000]] {} \
                "*is good up to offset 27*Bad file format reading the append only file*"
        }
    }

    foreach {what tail} [list "NUL bytes" [string repeat "\0" 4096] "a length of NUL bytes" "*3\r\n\$3[string repeat "\0" 100]" \
                             "a length that is none" "*3\r\n\$x" "a count that is none" "*-"] {
        test "$what at the end: no start, nothing is cut off" {
            aof_refused [aof_one_file $command$tail] {} "*Bad file format reading the append only file*"
        }
    }

    # Redis 8.6 takes the same limit: a tail has to be shorter. Further good commands may lie in it.
    foreach {what tail} [list "NUL bytes" [string repeat "\0" 500] "a count below zero" "*-1\r\n" "no command, then one" "xxxx[aof_text {SET z z}]" \
                             "a transaction with no end" "[aof_text MULTI {SET a 2}]garbage\r\n" "a length that is none" "*3\r\n\$x"] {
        test "aof-load-corrupt-tail-max-size: $what at the end" {
            set length [string length $tail]
            aof_refused [aof_one_file $command$tail] [list aof-load-corrupt-tail-max-size $length] "*Bad file format reading the append only file*"
            aof_with_files [aof_one_file $command$tail] [list aof-load-corrupt-tail-max-size [expr {$length + 1}] aof-load-truncated no] {
                assert_equal {1 1} [list [r get a] [r dbsize]]
                wait_for_log "*The append-only file * is corrupt from offset 27 on; these last $length bytes are cut off*"
                assert_equal 27 [file size [aof_path incr]]
                r set b 1
                restart_server
                assert_equal {1 1} [r mget a b]
            }
        }
    }

    test {aof-load-corrupt-tail-max-size: neither half a command, nor an unknown one, nor another file than the last} {
        set limit {aof-load-corrupt-tail-max-size 100000}
        aof_refused [aof_one_file "$command*3\r\n\$3\r\nSET"] [concat $limit {aof-load-truncated no}] "*Unexpected end of file reading the append only file*"
        aof_refused [aof_one_file $command[aof_text {NOSUCH a}]] $limit "*was refused: unknown command 'NOSUCH'*"
        aof_refused [list appendonlydir/appendonly.aof.1.incr.aof "${command}xxxx" appendonlydir/appendonly.aof.2.incr.aof [aof_text {SET b 1}] \
            appendonlydir/appendonly.aof.manifest "file appendonly.aof.1.incr.aof seq 1 type i\nfile appendonly.aof.2.incr.aof seq 2 type i\n"] \
            $limit "*Bad file format reading the append only file*"
    }

    test {an error that a command of the file gives is logged} {
        aof_with_files [aof_one_file [aof_text {SET a 1} {LPUSH a x} {SET b 2}]] {} {
            wait_for_log "*== CRITICAL ==*to its AOF-loading-client: '-WRONGTYPE Operation*' after processing the command 'lpush'*"
            assert_equal {1 2} [r mget a b]
        }
    }

    # Files of Redis before 7 have scripts in them. What runs here already ran there: nothing that this server would refuse
    # a client is a reason not to apply it.
    set script {return redis.call('set', KEYS[1], ARGV[1])}
    set library "#!lua name=lib\nredis.register_function('put', function(keys, args) return redis.call('set', keys\[1\], args\[1\]) end)"
    set scripts [aof_one_file [aof_text {SET a 100} [list EVAL $script 1 a 102] [list EVAL "#!lua\n$script" 1 b 1] [list FUNCTION LOAD $library] \
        {FCALL put 1 c 2} [list SCRIPT LOAD $script] [list EVALSHA 55b22c0d0cedf3866879ce7c854970626dcef0c3 1 d 3] MULTI [list EVAL $script 1 e 4] {FCALL put 1 f 5} EXEC]]
    foreach {what overrides} {
        "a primary" {} "a read-only replica" {replicaof {127.0.0.1 1}}
        "a replica that must not show old data" {replicaof {127.0.0.1 1} replica-serve-stale-data no}
        "a primary that misses replicas" {min-replicas-to-write 1} "a server over its limit of memory" {maxmemory 1 maxmemory-policy noeviction}
        "a server with a password" {requirepass secret} "a node without slots" {cluster-enabled yes cluster-require-full-coverage no}
    } {
        test "scripts, functions and transactions in the file are applied by $what" {
            aof_with_files $scripts $overrides {
                if {[dict exists $overrides requirepass]} { r auth secret }
                if {[dict exists $overrides replica-serve-stale-data]} { r config set replica-serve-stale-data yes }
                if {[dict exists $overrides cluster-enabled]} { wait_for_condition 200 50 {[string match *cluster_state:ok* [r cluster info]]} else { fail "no cluster" } }
                assert_equal {102 1 2 3 4 5} [lmap k {a b c d e f} { r get $k }]
                assert_equal 0 [count_log_message "CRITICAL"]
            }
        }
    }

    test {DEBUG LOADAOF applies scripts while writes are refused with MISCONF} {
        aof_with_files $scripts {save {1000000 1}} {
            file mkdir [config_get dir]/dump.rdb/in-the-way
            catch { r bgsave }
            wait_for_condition 500 20 {[s rdb_last_bgsave_status] eq "err"} else { fail "the save succeeds" }
            assert_error "MISCONF*" { r set k v }
            r debug loadaof
            assert_equal {102 1} [r mget a b]
            file delete -force [config_get dir]/dump.rdb
        }
    }

    test {an error that a command of the file gives ends the start with propagation-error-behavior panic} {
        set dir $::work_dir/files.[incr ::server_count]
        aof_put_files $dir [aof_one_file [aof_text {SET a 1} {LPUSH a x} {SET b 2}]]
        lassign [run_to_end_quietly --port [free_port] --bind 127.0.0.1 --appendonly yes --dir $dir --propagation-error-behavior panic] code output
        assert {$code ne 0}
        assert_match "*This server is configured to panic on errors of the append-only file*" $output
        aof_with_files [aof_one_file [aof_text {SET a 1} {LPUSH a x} {SET b 2}]] {propagation-error-behavior panic-on-replicas} {
            assert_equal {1 2} [r mget a b]
        }
    }

    test {an error of a script in the file is logged} {
        aof_with_files [aof_one_file [aof_text {SET a 1} {EVAL {return redis.call('lpush', KEYS[1], 'x')} 1 a} {SET b 2}]] {} {
            wait_for_log "*== CRITICAL ==*to its AOF-loading-client: '-WRONGTYPE Operation*' after processing the command 'eval'*"
            assert_equal {1 2} [r mget a b]
        }
    }

    test {unfinished files of a killed server are removed} {
        set folder appendonlydir
        set left {temp-rewriteaof-12.aof temp-rewriteaof-bg-12.aof temp-appendonly.aof.manifest temp-appendonly.aof.incr}
        set others {temp-rewriteaof-bg-x.aof temp-other.aof.incr temp-12.rdb appendonly.aof.9.incr.aof}
        set files [aof_one_file [aof_text {SET a 1}]]
        foreach name [concat $left $others] { lappend files $folder/$name x }
        aof_with_files $files {} {
            set dir [config_get dir]/$folder
            foreach name $left { assert_equal 0 [file exists $dir/$name] }
            foreach name $others { assert_equal 1 [file exists $dir/$name] }
        }
    }

    foreach {what tail pattern} [list \
        garbage "hello\r\n" "*good up to offset 27*Bad file format reading the append only file*" \
        "an unknown command" [aof_text {NOSUCH a b}] \
        "*A command in the append-only file appendonly.aof.1.incr.aof was refused: unknown command 'NOSUCH', with args beginning with: 'a' 'b'*" \
        "a wrong number of arguments" [aof_text {SET a}] \
        "*A command in the append-only file appendonly.aof.1.incr.aof was refused: wrong number of arguments for 'set' command*" \
        "a broken length" "*2\r\n\$x\r\n" "*Bad file format reading the append only file*"] {
        test "$what: no start, the file untouched" {
            aof_refused [aof_one_file "[aof_text {SET a 1}]$tail"] {} $pattern
        }
    }

    foreach {what text} {
        "no files" ""
        "no type" "file appendonly.aof.1.incr.aof seq 1\n"
        "a path" "file ../x.aof seq 1 type i\n"
        "a bad number" "file appendonly.aof.1.incr.aof seq x type i\n"
        "a number that has no next one" "file appendonly.aof.1.incr.aof seq 9223372036854775807 type i\n"
        "a name that is no file's" "file \"a\\x00b\" seq 1 type i\n"
        "a name of 256 bytes" "file LONG seq 1 type i\n"
        "an unknown type" "file appendonly.aof.1.incr.aof seq 1 type z\n"
        "two bases" "file a seq 1 type b\nfile b seq 2 type b\n"
        "falling numbers" "file a seq 2 type i\nfile b seq 1 type i\n"
        "an empty line" "file a seq 2 type i\n\n"
    } {
        test "a manifest with $what is refused" {
            set text [string map [list LONG [string repeat a 256]] $text]
            aof_refused [list appendonlydir/appendonly.aof.manifest $text] {} "*the AOF manifest file*is not valid*"
        }
    }

    test {a file that the manifest names is missing} {
        aof_refused [list appendonlydir/appendonly.aof.manifest "file gone.aof seq 1 type i\n"] {} \
            "*The AOF file gone.aof that the manifest names cannot be read*"
    }

    start_server {overrides {appendonly yes aof-timestamp-enabled yes}} {
        test {timestamps are written when they change} {
            r set a 1
            after 1100
            r set b 2
            set marks [regexp -all -inline -line {^#TS:(\d+)\r$} [read_file [aof_path incr]]]
            assert_equal 4 [llength $marks]
            assert_morethan [lindex $marks 3] [lindex $marks 1]
            restart_server
            assert_equal {1 2} [r mget a b]
        }

        test {timestamps are written before a base of commands} {
            r config set aof-use-rdb-preamble no
            r bgrewriteaof
            aof_wait_rewrite
            assert_match "#TS:\[0-9\]*\r\n\*2\r\n\$6\r\nSELECT\r\n*" [read_file [aof_path base]]
            r debug loadaof
            assert_equal {1 2} [r mget a b]
        }

        test {no timestamps are written within a transaction} {
            r multi
            r incr a
            r incr a
            r debug sleep 1.1
            r incr a
            r exec
            set text [read_file [aof_path incr]]
            assert_equal [aof_text MULTI {SELECT 0} {incr a} {incr a} {incr a} EXEC] [string range $text [string first "*1\r\n\$5\r\nMULTI" $text] end]
        }
    }

    start_server {overrides {appendonly yes}} {
        test {DEBUG LOADAOF reads files with timestamps} {
            aof_fill
            set digest [r debug digest]
            r debug loadaof
            assert_equal $digest [r debug digest]
            r set after 1
            r debug loadaof
            assert_equal 1 [r get after]
        }

        test {a snapshot that a command of the file has taken is not newer than the data} {
            foreach command {save bgsave} {
                set file [open [aof_path incr] a]
                puts -nonewline $file [aof_text {set saved 1} $command]
                close $file
                r debug loadaof
                wait_for_condition 100 50 {[s rdb_bgsave_in_progress] == 0} else { fail "BGSAVE does not end" }
                assert_equal 0 [s rdb_changes_since_last_save] $command
                r set saved 2
                assert_equal 1 [s rdb_changes_since_last_save] $command
            }
        }

        # What INFO counts for the file's own commands; MY is the code of an error that a script raises.
        foreach {what commands failed processed errors unexpected} {
            "commands" {{SET s x} {SET t y} {LPUSH s 1}} {} 0 {WRONGTYPE 1} 1
            "a transaction" {{SET s x} MULTI {LPUSH s 1} {SET b 1} {INCR s} EXEC} {lpush 1 incr 1} 3 {ERR 1 WRONGTYPE 1} 2
            "a script" {{SET s x} {EVAL "redis.pcall('lpush', 's', '1') redis.call('set', 'q', '1') return 1" 0}} {lpush 1} 2 {WRONGTYPE 1} 0
            "a script in a transaction" {MULTI {EVAL "redis.call('set', 'q', '1') return redis.error_reply('MY ERR')" 0} EXEC} {eval 1} 2 {MY 1} 1
            "what a script may not do" {{EVAL "redis.pcall('set', 's') return 1" 0}} {set r1} 0 {ERR 1} 0
            "EXEC without MULTI" {{SET s x} EXEC {SET t y}} {} 0 {ERR 1} 1
        } {
            test "commands of a file do not count as calls, and in INFO only as 9.1.2 counts them: $what" {
                set file [open [aof_path incr] w]
                puts -nonewline $file [aof_text {FLUSHALL} {*}$commands]
                close $file
                r config resetstat
                r debug loadaof
                set info [r info everything]
                set found {}
                foreach {_ name rejected failed_calls} [regexp -all -inline {cmdstat_([a-z]+):calls=0,[^\r]*rejected_calls=(\d+),failed_calls=(\d+)} $info] {
                    lappend found $name [expr {$rejected ? "r$rejected" : $failed_calls}]
                }
                assert_equal [lsort -stride 2 $failed] [lsort -stride 2 $found]
                assert_equal {} [regexp -inline {cmdstat_(?:set|lpush|incr|eval|multi|exec):calls=[1-9]} $info]
                set counted {}
                foreach {_ code count} [regexp -all -inline {errorstat_(\w+):count=(\d+)} $info] { lappend counted $code $count }
                assert_equal $errors $counted
                foreach {field value} [list unexpected_error_replies $unexpected total_commands_processed [expr {$processed + 2}]] {
                    assert_match "*\r\n$field:$value\r\n*" $info $field
                }
            }
        }

        foreach {what text} [list "MULTI with an argument" [aof_text {SET a 2} {MULTI x} {SET b 2} EXEC] \
            "EXEC with an argument" [aof_text {SET a 2} MULTI {SET b 2} {EXEC x}] "an unknown command in a transaction" [aof_text {SET a 2} MULTI {SET b 2} NOSUCH EXEC] \
            "a transaction without its end" [aof_text {SET a 2} MULTI {SET b 2}] "half a command" [string range [aof_text {SET a 2} {SET b 2}] 0 end-4]] {
            test "DEBUG LOADAOF of $what is an error, and the commands before it are loaded" {
                set path [aof_path incr]
                set file [open $path w]
                puts -nonewline $file "[aof_text FLUSHALL]$text"
                close $file
                r config resetstat
                assert_error "ERR Error trying to load the AOF files, check server logs." { r debug loadaof }
                assert_equal {2 {}} [r mget a b]
                assert_equal {errorstat_ERR:count=1} [regexp -inline {errorstat_\w+:count=\d+} [r info errorstats]] "that of LOADAOF"
                assert_equal {} [regexp -inline {cmdstat_(?:multi|exec|set):[^\r]*} [r info commandstats]]
                close [open $path w]
                r debug loadaof
            }
        }

        test {DEBUG LOADAOF within a transaction keeps the transaction's earlier changes} {
            r multi
            r set amid 1
            r debug loadaof
            r incr amid
            r exec
            assert_equal 2 [r get amid]
            r debug loadaof
            assert_equal 2 [r get amid]
        }

        test {switched off and on within a transaction: nothing is written twice} {
            r multi
            r incr amid
            r config set appendonly no
            r incr amid
            r config set appendonly yes
            r incr amid
            r incr amid
            r exec
            aof_wait_rewrite
            assert_equal 6 [r get amid]
            r debug loadaof
            assert_equal 6 [r get amid]
        }
    }

    # Found by tests/simulation/run: all three commands are of one turn, so the end of the child is noticed within the last.
    start_server {overrides {appendonly no bgsave-default-method fork} tags {needs:debug}} {
        test {appendonly is switched on when a rewrite has just ended} {
            r set k v
            r write "BGREWRITEAOF\r\nDEBUG SLEEP 1\r\nCONFIG SET appendonly yes\r\n"
            assert_match "*started*" [r read]
            assert_equal {OK OK} [list [r read] [r read]]
            aof_wait_rewrite
            r set l w
            r debug loadaof
            assert_equal {v w} [r mget k l]
        }
    }

    start_server {overrides {appendonly yes}} {
        test {a rewrite names its files in the log} {
            r set k v
            wait_for_log "Ready to accept"
            r bgrewriteaof
            wait_for_log "AOF rewrite complete: the new files are in use"
            assert_match "*The AOF rewrite has written its temporary base file temp-rewriteaof-bg-*.aof\n*The temporary AOF base file temp-rewriteaof-bg-*.aof is now appendonly.aof.2.base.rdb\n*" [read_file [srv log]]
        }
    }

    start_server {} {
        test {names are names, not paths} {
            foreach directive {appendfilename appenddirname} {
                set port [free_port]
                lassign [run_to_end_quietly --port $port --$directive a/b] code output
                assert_equal 1 $code
                assert_match "*can't be a path, just a *name*" $output
            }
        }
    }
}
