# Messages in a cluster: PUBLISH reaches every node, SPUBLISH those of the shard, and shard channels leave with their slot.
# Channel b (slot 3300) is of node 0, foo of node 1; node 2 is node 0's replica.

source -encoding utf-8 $::support/cluster.tcl

proc listener {k args} {
    set c [valkey_deferring_client [n $k]]
    if {[llength $args]} { ask_it $c {*}$args }
    return $c
}

proc ask_it {c args} {
    $c {*}$args
    catch {$c read} reply
    return $reply
}

# The next messages, in any order.
proc messages {c count} {
    set all {}
    for {set i 0} {$i < $count} {incr i} { lappend all [$c read] }
    return [lsort $all]
}

# No other message arrived before this reply.
proc assert_silent {c} {
    set reply [ask_it $c ping]
    assert {$reply in {PONG {pong {}}}} "got $reply"
}

proc test_messages {whose} {
    uplevel 1 [string map [list @whose $whose] {
        test "@whose: PUBLISH reaches subscribers of every node, SPUBLISH those of the shard" {
            set all [lmap k {0 1 2} { listener $k subscribe b }]
            set patterns [listener 1 psubscribe b*]
            set shard [lmap k {0 2} { listener $k ssubscribe b }]
            set other [listener 1 ssubscribe foo]
            assert_equal 1 [r [n 0] publish b m0]
            assert_equal 2 [r [n 1] publish b m1]
            assert_equal 1 [r [n 2] publish b m2]
            assert_equal {0 1} [list [r [n 0] publish nobody m] [r [n 0] eval {return server.call('publish','b','m3')} 0]]
            foreach c $all { assert_equal {{message b m0} {message b m1} {message b m2} {message b m3}} [messages $c 4] }
            assert_equal {{pmessage b* b m0} {pmessage b* b m1} {pmessage b* b m2} {pmessage b* b m3}} [messages $patterns 4]
            assert_equal 1 [r [n 0] spublish b s0]
            assert_equal 1 [r [n 2] spublish b s2]
            assert_error "MOVED 3300 *" {r [n 1] spublish b s1}
            r [n 0] multi
            r [n 0] spublish b s3
            assert_equal 1 [r [n 0] exec]
            foreach c $shard { assert_equal {{smessage b s0} {smessage b s2} {smessage b s3}} [messages $c 3] }
            foreach c [concat $all [list $patterns $other]] { assert_silent $c }
            foreach c [concat $all $shard [list $patterns $other]] { $c close }
        }

        test "@whose: no message is sent to replicas in their stream" {
            r [n 0] set b v
            wait_for_offset n2 n0
            set offset [s [n 0] master_repl_offset]
            r [n 0] publish b m
            r [n 0] spublish b m
            assert {[s [n 0] master_repl_offset] - $offset < 50}
        }

        test "@whose: a subscriber to a shard channel is redirected to its node" {
            set c [listener 0]
            assert_equal "MOVED 12182 127.0.0.1:[srv [n 1] port]" [ask_it $c ssubscribe foo]
            assert_equal "MOVED 12182 127.0.0.1:[srv [n 1] port]" [ask_it $c sunsubscribe foo]
            assert_match "CROSSSLOT *" [ask_it $c ssubscribe b foo]
            assert_equal {sunsubscribe {} 0} [ask_it $c sunsubscribe]
            assert_equal QUEUED [lindex [list [ask_it $c multi] [ask_it $c ssubscribe b]] 1]
            assert_equal {{ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client}} [ask_it $c exec]
            $c close
        }

        test "@whose: keyspace events reach this node's clients only" {
            config_set notify-keyspace-events KEA [n 0]
            set here [listener 0 psubscribe __key*]
            set there [listener 1 psubscribe __key*]
            r [n 0] set b v
            assert_equal {{pmessage __key* __keyevent@0__:set b} {pmessage __key* __keyspace@0__:b set}} [messages $here 2]
            r [n 0] publish __keyother m
            assert_equal {{pmessage __key* __keyother m}} [messages $there 1]
            config_set notify-keyspace-events {} [n 0]
            $here close
            $there close
        }

        test "@whose: a shard channel moves with its slot, and its subscribers are unsubscribed" {
            set plain [listener 0 ssubscribe b]
            ask_it $plain ssubscribe {{b}2}
            ask_it $plain ssubscribe c
            set new [listener 0 hello 3]
            ask_it $new ssubscribe b
            set far [listener 2 ssubscribe b]
            r [n 1] cluster setslot 3300 importing [cluster_id 0]
            r [n 0] cluster setslot 3300 migrating [cluster_id 1]
            assert_silent $plain
            r [n 0] del b
            r [n 1] cluster setslot 3300 node [cluster_id 1]
            r [n 0] cluster setslot 3300 node [cluster_id 1]
            set left [messages $plain 2]
            assert_equal {1 2} [lsort [lmap m $left { lindex $m 2 }]]
            assert_equal {b {{b}2}} [lmap m $left { lindex $m 1 }]
            assert_equal {sunsubscribe b 0} [$new read]
            assert_equal {sunsubscribe b 0} [$far read]
            assert_equal c [r [n 0] pubsub shardchannels]
            assert_equal {} [r [n 2] pubsub shardchannels]
            assert_match "MOVED 12182 *" [ask_it $new get foo]
            assert_equal PONG [ask_it $far ping]
            assert_equal 0 [r [n 1] spublish b m]
            foreach c [list $plain $new $far] { $c close }
        }

        test "@whose: a shard channel whose slot has no owner ends too" {
            set c [listener 0 ssubscribe c]
            r [n 0] cluster delslots 7365
            assert_equal {sunsubscribe c 0} [$c read]
            assert_equal "CLUSTERDOWN Hash slot not served" [ask_it $c ssubscribe c]
            r [n 0] cluster addslots 7365
            $c close
        }

        test "@whose: while the cluster is down, shard channels may continue" {
            set c [listener 0 ssubscribe c]
            foreach allowed {yes no} {
                config_set cluster-allow-pubsubshard-when-down $allowed [n 0]
                config_set cluster-require-full-coverage yes [n 0]
                r [n 0] cluster delslots 100
                wait_for_condition 100 20 {[cluster_info 0 cluster_state] eq "fail"} else { fail "it is not down" }
                if {$allowed} {
                    assert_equal 1 [r [n 0] spublish c m]
                    assert_equal {smessage c m} [$c read]
                } else {
                    assert_error "CLUSTERDOWN The cluster is down" {r [n 0] spublish c m}
                }
                assert_equal 0 [r [n 0] publish nobody m]
                assert_silent $c
                config_set cluster-require-full-coverage no [n 0]
                r [n 0] cluster addslots 100
                wait_for_condition 200 20 {[cluster_info 0 cluster_state] eq "ok"} else { fail "it is down" }
            }
            $c close
        }
    }]
}

foreach {whose kinds} {
    ours {ours ours ours} Valkey {valkey valkey valkey} "ours, then Valkey" {ours valkey valkey} "Valkey, then ours" {valkey ours ours}
} {
    start_cluster [list kinds $kinds primaries 2 overrides {cluster-require-full-coverage no}] { test_messages $whose }
}
