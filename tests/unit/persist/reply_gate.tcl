# appendfsync always: while an fsync hangs, nothing leaves the server that its end could take back, and the server goes
# on. The fsync is made to hang by tests/support/faults.c.
source $::support/faults.tcl

# After a slow fsync a thread makes the next one; after a fast one the server itself does, for a client that is alone.
proc fsync_by_thread {level} {
    faults fdatasync -20 0 1 incr.aof
    r $level set warm 1
    faults
}

# What has come on the connection so far.
proc bytes_of {client} {
    set f [$client channel]
    fconfigure $f -blocking 0
    set text [read $f]
    fconfigure $f -blocking 1
    return $text
}

tags {aof external:skip valgrind:skip} {
    if {![faults_possible]} {
        test {appendfsync always: replies wait for the disk} { skip "not with a sanitizer" }
        return
    }
    set program [faults_build]
    faults

    set active {io-threads 3 io-threads-always-active yes}
    foreach threads [list {} $active [concat $active {parallel-reads yes parallel-reads-always yes}]] {
        start_server [list executable $program overrides [concat {appendonly yes appendfsync always save {}} $threads]] {
            test "an fsync that hangs holds replies to writes and reads back, in order, and pushes [list $threads]" {
                r set k 0
                set writer [valkey_deferring_client]
                set reader [valkey_deferring_client]
                set subscriber [valkey_deferring_client]
                $subscriber subscribe ch
                $subscriber read
                set popper [valkey_deferring_client]
                $popper blpop list 0
                wait_for_condition 100 20 {[s blocked_clients] == 1} else { fail "it does not block" }
                # With I/O threads, threads have the connections; with parallel-reads they answer reads themselves.
                if {$threads ne {}} {
                    wait_for_condition 100 50 {[regexp -all { io-thread=[12] } [r client list]] >= 4} else { fail "not offloaded" }
                    $reader get k
                    assert_equal 0 [$reader read]
                }
                fsync_by_thread 0
                faults fdatasync -1500 0 1 incr.aof
                set started [clock milliseconds]
                $writer set k 1
                wait_for_condition 100 5 {[faults_seen] == 1} else { fail "no fsync" }
                $writer incr k
                $writer multi
                $writer incr k
                $writer rpush list x
                $writer publish ch message
                $writer exec
                $writer eval {return redis.call('incr', 'k')} 0
                $reader get k
                $reader ping
                after 300
                # Nobody has got anything.
                foreach c [list $writer $reader $subscriber $popper] { assert_equal {} [bytes_of $c] }
                assert_equal {OK 2 OK QUEUED QUEUED QUEUED} [list [$writer read] [$writer read] [$writer read] [$writer read] [$writer read] [$writer read]]
                assert_morethan_equal [expr {[clock milliseconds] - $started}] 1400
                assert_equal {3 1 1} [$writer read]
                assert_equal 4 [$writer read]
                assert_equal {message ch message} [$subscriber read]
                assert_equal {list x} [$popper read]
                assert {[$reader read] >= 1}
                assert_equal PONG [$reader read]
                assert_equal 0 [s reply_held_clients]
                assert_morethan [s reply_gate_waits] 0
                foreach c [list $writer $reader $subscriber $popper] { $c close }
            }

            test "one fsync is for all that was written meanwhile [list $threads]" {
                faults fdatasync -300 0 1000000 incr.aof
                set clients {}
                for {set i 0} {$i < 20} {incr i} { lappend clients [valkey_deferring_client] }
                set started [clock milliseconds]
                foreach c $clients { $c incr together ; after 5 }
                foreach c $clients { $c read }
                assert_lessthan [expr {[clock milliseconds] - $started}] 1500
                after 1500 ;# none was ordered for later
                assert_lessthan [faults_seen] 5 "fsyncs for 20 writes"
                faults
                foreach c $clients { $c close }
                assert_equal 20 [r get together]
            }

            test "CONFIG SET appendfsync and CLIENT KILL while replies wait [list $threads]" {
                set d [valkey_deferring_client]
                $d client id
                set id [$d read]
                fsync_by_thread 0
                faults fdatasync -800 0 1 incr.aof
                $d set k killed
                wait_for_condition 100 5 {[faults_seen] == 1} else { fail "no fsync" }
                r client kill id $id
                assert_error "*" {$d read}
                $d close
                set d [valkey_deferring_client]
                fsync_by_thread 0
                faults fdatasync -800 0 1 incr.aof
                $d set k everysec
                wait_for_condition 100 5 {[faults_seen] == 1} else { fail "no fsync" }
                set started [clock milliseconds]
                assert_equal OK [r config set appendfsync everysec]
                assert_morethan_equal [expr {[clock milliseconds] - $started}] 500
                assert_equal OK [$d read]
                faults fdatasync -5000 0 1 nothing
                assert_equal everysec [r get k]
                r config set appendfsync always
                $d set k off
                assert_equal OK [$d read]
                r config set appendonly no
                $d set k none
                assert_equal OK [$d read]
                assert_equal 0 [s reply_held_clients]
                $d close
            }
        }
    }

    test {what a full socket has not taken stays approved, and later output follows it} {
        start_server [list executable $program overrides {appendonly yes appendfsync always save {}}] {
            r set big [string repeat x 1000000]
            set d [valkey_deferring_client]
            for {set i 0} {$i < 20} {incr i} { $d get big }
            $d flush
            wait_for_condition 100 20 {[regexp {omem=[1-9]\d{6}} [r client list]]} else { fail "the socket took it all" }
            $d echo later
            $d flush
            wait_for_condition 100 20 {[regexp {cmd=echo} [r client list]]} else { fail "it does not run" }
            for {set i 0} {$i < 20} {incr i} { assert_equal 1000000 [string length [$d read]] }
            assert_equal later [$d read]
            $d close
        }
    }

    test {a kill while an fsync hangs loses nothing that was answered} {
        start_server [list executable $program overrides {appendonly yes appendfsync always save {}}] {
            for {set i 0} {$i < 50} {incr i} { r rpush l $i }
            fsync_by_thread 0
            faults fdatasync -600000 0 1000000 incr.aof
            set d [valkey_deferring_client]
            $d rpush l unknown
            $d flush
            wait_for_condition 100 5 {[faults_seen] == 1} else { fail "no fsync" }
            after 100
            assert_equal {} [bytes_of $d]
            faults
            restart_server 0 KILL
            assert_morethan_equal [r llen l] 50
            $d close
        }
    }

    test {BGREWRITEAOF while an fsync hangs: what the next file has waits for the fsync of that one} {
        start_server [list executable $program overrides {appendonly yes appendfsync always save {} auto-aof-rewrite-percentage 0}] {
            set d [valkey_deferring_client]
            set rewriter [valkey_deferring_client]
            # Of the file so far, of that once more when it is closed, of the next one.
            fsync_by_thread 0
            faults fdatasync -500 0 3 incr.aof
            set started [clock milliseconds]
            $d set k 1
            $d flush
            wait_for_condition 100 5 {[faults_seen] == 1} else { fail "no fsync" }
            $rewriter bgrewriteaof
            $rewriter flush
            wait_for_condition 100 5 {[llength [glob -nocomplain [srv dir]/appendonlydir/*.incr.aof]] == 2} else { fail "no next file" }
            $d set k 2
            $d flush
            assert_equal {OK OK} [list [$d read] [$d read]]
            assert_morethan_equal [expr {[clock milliseconds] - $started}] 1450
            assert_match "Background*" [$rewriter read]
            restart_server 0 KILL
            assert_equal 2 [r get k]
            $d close
            $rewriter close
        }
    }

    test {a replica gets what the disk of its primary has} {
        start_server [list executable $program overrides {appendonly yes appendfsync always save {}}] {
            start_server {overrides {save {}}} {
                r replicaof [srv -1 host] [srv -1 port]
                wait_for_condition 200 50 {[s master_link_status] eq "up"} else { fail "no link" }
                r -1 set k 1
                wait_for_condition 100 20 {[r get k] == 1} else { fail "it does not arrive" }
                fsync_by_thread -1
                faults fdatasync -1200 0 1 incr.aof
                set d [valkey_deferring_client -1]
                $d set k 2
                wait_for_condition 100 5 {[faults_seen] == 1} else { fail "no fsync" }
                after 300
                assert_equal 1 [r get k]
                assert_equal OK [$d read]
                wait_for_condition 100 20 {[r get k] == 2} else { fail "it does not arrive" }
                $d close
            }
        }
    }
}
