# Clients that a module blocks in a keyspace event (tests/modules/holding.c): their command runs, its reply is held
# back.

source -encoding utf-8 $::support/module.tcl

with_modules {holding} {} {
    # A client that has sent a command whose reply is held back as `how` says (hold.how).
    proc held {how args} {
        r hold.how [lindex $how 0] [expr {[llength $how] > 1 ? [lindex $how 1] : 0}]
        set before [s blocked_clients]
        set c [valkey_deferring_client]
        $c client id
        set ::held_id [$c read]
        $c {*}$args
        wait_for_condition 50 50 {[s blocked_clients] > $before} else { fail "it does not wait" }
        r hold.how - 0
        return $c
    }
    # 9.1.2 sends what was held back at the timeout together with the next reply.
    proc answers {c count} {
        $c ping
        set list {}
        for {set i 0} {$i <= $count} {incr i} {
            if {[catch { $c read } reply]} { set reply "error: $reply" }
            lappend list $reply
        }
        assert_equal PONG [lindex $list end]
        $c close
        return [lrange $list 0 end-1]
    }

    test {a command runs, and its reply is sent when the module releases it} {
        foreach {how told} {
            x {}
            r {{reply set/3 10 data}}
            rf {{reply set/3 10 data} {free data gone=0}}
        } {
            set c [held $how set hold1 v]
            assert_equal v [r get hold1]
            assert_match "*flags=b *cmd=set *" [r client list id $::held_id]
            assert_equal 0 [r hold.go]
            assert_equal OK [lindex [answers $c 1] 0]
            assert_equal [list {event set hold1 held} {*}$told] [r hold.told]
        }
    }

    test {replies of callbacks and of later commands come after the held reply} {
        foreach {how more} {R more E {error: ERR late} n aside rn aside} {
            set c [held $how rpush hold2 a]
            r hold.go
            assert_equal [list 1 $more] [answers $c 2]
            r del hold2
        }
        r hold.told
    }

    test {later requests wait; errors and long replies are held back too} {
        set c [held r get holdnone]
        $c incr other
        $c mget a b
        r hold.go
        assert_equal {{} 1 {{} {}}} [answers $c 3]
        assert_equal {{event keymiss holdnone held} {reply get/2 10 data}} [r hold.told]

        r set hold3 [string repeat x 100000]
        set c [held r getdel hold3]
        assert_equal 0 [r exists hold3]
        r hold.go
        assert_equal 100000 [string length [lindex [answers $c 1] 0]]
        r hold.told

        set big [valkey_deferring_client]
        r set big [string repeat y 300000]
        r hold.how r 0
        $big get big
        $big set hold4 v
        $big get big
        assert_equal 300000 [string length [$big read]]
        wait_for_condition 50 50 {[s blocked_clients] == 1} else { fail "it does not wait" }
        r hold.how - 0
        r hold.go
        assert_equal OK [$big read]
        assert_equal 300000 [string length [$big read]]
        $big close
        r hold.told
    }

    test {earlier replies of the same turn are not held back} {
        r set before 1
        r hold.how r 0
        set c [valkey_deferring_client]
        $c write "GET before\r\nSET hold9 v\r\nGET before\r\n"
        assert_equal 1 [$c read]
        wait_for_condition 50 50 {[s blocked_clients] == 1} else { fail "it does not wait" }
        r hold.how - 0
        r hold.go
        assert_equal {OK 1} [list [$c read] [$c read]]
        $c close
        r hold.told
    }

    test {only one hold at a time is possible} {
        set c [held r mset hold5 a hold6 b]
        r hold.go
        assert_equal OK [lindex [answers $c 1] 0]
        assert_equal {{event set hold5 held} {event set hold6 ENOTSUP} {reply mset/5 10 data}} [r hold.told]
        assert_equal {} [r hold.go]
    }

    test {transactions, scripts and internal calls are not held} {
        r hold.how r 0
        r multi
        r set hold7 1
        assert_equal OK [r exec]
        r eval {redis.call('set', KEYS[1], 2)} 1 hold7
        r hold.how - 0
        set expired [s expired_keys]
        r psetex hold8 500 v
        r hold.how r 0
        wait_for_condition 100 50 {[s expired_keys] > $expired} else { fail "it does not expire" }
        r hold.how - 0
        assert_equal {{event set hold7 EINVAL} {event set hold7 EINVAL} {event expired hold8 EINVAL}} [r hold.told]
        assert_equal 0 [s blocked_clients]
    }

    test {a timeout ends a hold} {
        foreach {how replies told} {
            r OK {}
            rt OK {{timeout set/3 01 -}}
            rT {OK late} {{timeout set/3 01 -}}
        } {
            set c [held [list $how 200] set hold1 v]
            wait_for_condition 50 50 {[s blocked_clients] == 0} else { fail "it waits" }
            assert_equal $replies [answers $c [llength $replies]]
            assert_equal [list {event set hold1 held} {*}$told] [r hold.told]
            assert_equal 0 [r hold.go] ;# the module has to, all the same
        }
    }

    test {CLIENT UNBLOCK} {
        set c [held r set hold1 v]
        assert_equal 0 [r client unblock $::held_id] ;# there is no timeout callback
        r hold.go
        assert_equal OK [lindex [answers $c 1] 0]
        r hold.told

        set c [held rTf set hold1 v]
        assert_equal 1 [r client unblock $::held_id]
        assert_equal {OK late} [answers $c 2]
        assert_equal {{event set hold1 held} {timeout set/3 01 -}} [r hold.told]
        r hold.go
        after 100
        assert_equal {{free data gone=1}} [r hold.told]

        set c [held rt set hold1 v]
        assert_equal 1 [r client unblock $::held_id error]
        if {$kind eq {ours}} { ;# it has a reply: another one would be taken for the next command's
            assert_equal OK [lindex [answers $c 1] 0]
        } else {
            assert_equal {OK {error: UNBLOCKED client unblocked via CLIENT UNBLOCK}} [answers $c 2]
        }
        r hold.go
        r hold.told
    }

    test {a hold ends when the client disconnects or the module aborts it} {
        set c [held rdf set hold1 v]
        r client kill id $::held_id
        wait_for_condition 50 50 {[s blocked_clients] == 0} else { fail "it waits" }
        r hold.go
        after 100
        assert_equal {{event set hold1 held} {disconnect } {free data gone=1}} [r hold.told]
        $c close

        set c [held rd set hold1 v]
        r hold.go abort
        assert_equal OK [lindex [answers $c 1] 0]
        assert_equal {{event set hold1 held}} [r hold.told]
    }

    test {a held command counts once} {
        r config resetstat
        set c [held r set hold1 v]
        assert_equal v [r get hold1]
        r hold.go
        answers $c 1
        regexp {cmdstat_set:(\S+)} [r info commandstats] - stats
        assert_match "calls=1,*failed_calls=0*" $stats
        r hold.told
    }

    test {a module with clients that wait stays} {
        set c [held r set hold1 v]
        assert_error "*the module has blocked clients*" { r module unload holding }
        r hold.go
        answers $c 1
        after 100
        assert_equal OK [r module unload holding]
    }
}
