# Client-side caching: the invalidations of CLIENT TRACKING, their receivers, their time, and their protocol.

proc tracker {args} {
    set c [valkey_client]
    $c hello 3
    $c client tracking on {*}$args
    return $c
}

# The messages that have arrived: those kept while replies were read, and those before the reply to a PING.
proc told {c} {
    set all $::resp::state($c,pushes)
    set ::resp::state($c,pushes) {}
    $c deferred 1
    $c ping
    while {[set message [$c read]] ne "PONG"} { lappend all $message }
    $c deferred 0
    return $all
}

# The keys that c has received as invalid, in order; `all` for all of them.
proc void_keys {c} {
    set keys {}
    foreach message [told $c] {
        lassign $message verb names
        assert_equal invalidate $verb
        lappend keys {*}[expr {$names eq {} ? "all" : $names}]
    }
    return $keys
}

# A client that has closed its connection may stay for a moment.
proc wait_for_trackers {n} {
    wait_for_condition 400 25 {[s tracking_clients] == $n} else { fail "[s tracking_clients] clients track" }
}

proc tracking_flags {c} { return [dict get [$c client trackinginfo] flags] }

start_server {tags {tracking}} {
    test {CLIENT TRACKING refuses wrong arguments} {
        set c [valkey_client]
        set id [$c client id]
        foreach {args error} [list \
            {what} "ERR syntax error" {on what} "ERR syntax error" {on redirect} "ERR syntax error" \
            {on bcast prefix} "ERR syntax error" {on redirect x} "ERR value is not an integer or out of range" \
            {on redirect 99999} "ERR The client ID you want redirect to does not exist" \
            {off redirect 99999} "ERR The client ID you want redirect to does not exist" \
            "on redirect $id redirect $id" "ERR A client can only redirect to a single other client" \
            {on prefix a} "ERR PREFIX option requires BCAST mode to be enabled" \
            {on optin optout} "ERR You can't specify both OPTIN mode and OPTOUT mode" \
            {on bcast optin} "ERR OPTIN and OPTOUT are not compatible with BCAST" \
            {on bcast prefix foo prefix foobar} "ERR Prefix 'foo' overlaps with another provided prefix 'foobar'.\
                Prefixes for a single client must not overlap." \
            {on bcast prefix a prefix a} "ERR Prefix 'a' overlaps with another provided prefix 'a'. Prefixes*"] {
            assert_error $error {$c client tracking {*}$args} $args
        }
        assert_equal {flags off redirect -1 prefixes {}} [$c client trackinginfo]
        assert_equal -1 [$c client getredir]
        assert_equal 0 [s tracking_clients]
        $c close
    }

    test {CLIENT TRACKING: modes cannot be switched while it is on} {
        set c [tracker optin]
        assert_error "ERR You can't switch BCAST mode on/off before disabling tracking*" {$c client tracking on bcast}
        assert_error "ERR You can't switch OPTIN/OPTOUT mode before disabling*" {$c client tracking on optout}
        $c client tracking on
        assert_equal on [tracking_flags $c]
        $c client tracking off
        $c client tracking on bcast prefix foo
        assert_error "ERR You can't switch BCAST mode*" {$c client tracking on}
        assert_error "ERR Prefix 'fo' overlaps with an existing prefix 'foo'.*" {$c client tracking on bcast prefix fo}
        assert_error "ERR Prefix 'foo' overlaps with an existing*" {$c client tracking on bcast prefix foo}
        $c client tracking on bcast prefix bar
        assert_equal {flags {on bcast} redirect 0 prefixes {bar foo}} [$c client trackinginfo]
        assert_equal 2 [s tracking_total_prefixes]
        $c client tracking on bcast noloop
        assert_equal {flags {on bcast noloop} redirect 0 prefixes {{} bar foo}} [$c client trackinginfo]
        $c close
        wait_for_condition 200 50 {[s tracking_total_prefixes] == 0} else { fail "prefixes of a client that is gone" }
        assert_equal 0 [s tracking_clients]
    }

    test {A key that was read is invalidated once, when it changes} {
        set c [tracker]
        r set k 1
        assert_equal {} [void_keys $c]
        $c get k
        r set k 2
        assert_equal k [void_keys $c]
        r set k 3
        assert_equal {} [void_keys $c]
        $c mget k a k b
        assert_equal 3 [s tracking_total_keys]
        r mset a 1 b 1
        assert_equal {a b} [void_keys $c]
        r del k
        assert_equal k [void_keys $c]
        assert_equal {0 0} [list [s tracking_total_keys] [s tracking_total_items]]
        $c close
    }

    test {Several clients hold the same key} {
        set cs {}
        for {set i 0} {$i < 9} {incr i} { lappend cs [tracker] }
        foreach c [concat [lreverse $cs] $cs] { $c get k }
        assert_equal {1 9} [list [s tracking_total_keys] [s tracking_total_items]]
        [lindex $cs 4] client tracking off
        r set k 1
        foreach c $cs { assert_equal [expr {$c eq [lindex $cs 4] ? "" : "k"}] [void_keys $c] }
        assert_equal {0 0} [list [s tracking_total_keys] [s tracking_total_items]]
        foreach c $cs { $c close }
    }

    test {Read-only commands track each of their keys} {
        set c [tracker]
        $c set own 1
        $c getex own
        $c getset own 2
        $c set own 3 get
        assert_equal 0 [s tracking_total_keys]
        $c object encoding o
        $c zunion 2 za zb
        $c xread streams s1 s2 0 0
        $c sort_ro l
        $c exists e
        $c type t
        assert_equal 8 [s tracking_total_keys]
        $c client tracking off
        $c close
    }

    test {The message comes after the reply of the command that caused it} {
        r flushall
        set c [tracker]
        $c deferred 1
        foreach {commands replies} {
            {{get k} {set k 1}} {{} OK {invalidate k}}
            {{get k} {set k 1 get}} {1 1 {invalidate k}}
            {{get k} multi {set k 2} {get k} {set k 3} exec} {1 OK QUEUED QUEUED QUEUED {OK 2 OK} {invalidate k} {invalidate k}}
            {{get k} flushall} {3 OK {invalidate {}}}
            {{get a} {eval {redis.call('set', 'a', 1); redis.call('get', 'a'); return redis.call('incr', 'a')} 1 a}}
                {{} 2 {invalidate a} {invalidate a}}
            {{get a} {expire a 100} {get a} {persist a} {get a} {del a}}
                {2 1 {invalidate a} 2 1 {invalidate a} 2 1 {invalidate a}}
        } {
            foreach command $commands { $c {*}$command }
            set got {}
            foreach reply $replies { lappend got [$c read] }
            assert_equal [join $replies |] [join $got |] $commands
        }
        $c close
    }

    test {Keys read in transactions and by scripts are tracked} {
        set c [tracker]
        $c multi
        $c get a
        $c get b
        $c exec
        $c eval {return redis.call('get', KEYS[1])} 1 c
        $c eval_ro {return redis.call('get', 'd')} 1 declared
        r mset a 1 b 1 c 1 d 1 declared 1
        assert_equal {a b c d} [void_keys $c]
        $c close
    }

    test {Flushing a database invalidates all keys, with one message} {
        set c [tracker]
        foreach command {flushall flushdb {flushall async}} {
            $c get k
            r {*}$command
            assert_equal all [void_keys $c] $command
            assert_equal 0 [s tracking_total_keys]
        }
        $c deferred 1
        $c flushall
        assert_equal {+OK >2 {$10} invalidate _} [lmap i {1 2 3 4 5} { $c rawread }]
        $c close
    }

    test {Swapping databases invalidates all keys too} {
        set c [tracker]
        r swapdb 0 1
        assert_equal all [void_keys $c]
        r swapdb 0 1
        $c close
    }

    test {Keys are tracked by name, whatever the database} {
        set c [tracker]
        $c get k
        r select 3
        r set k 1
        assert_equal k [void_keys $c]
        r flushdb
        r select 0
        $c close
    }

    test {Expired keys are invalidated, by a read or without one} {
        set c [tracker]
        r set k 1 px 300
        $c get k
        wait_for_condition 200 50 {[s expired_keys] > 0} else { fail "not expired" }
        assert_equal k [void_keys $c]
        r debug set-active-expire 0
        r set k 1 px 300
        $c get k
        after 400
        r get k
        assert_equal k [void_keys $c]
        r debug set-active-expire 1
        $c close
    } {} {needs:debug}

    test {Evicted keys: the message about the old value comes before the new reply} {
        r flushall
        set c [tracker]
        $c set k [string repeat x 100000]
        $c get k
        config_set maxmemory-policy allkeys-lru
        config_set maxmemory 1
        $c deferred 1
        $c ping
        assert_equal {invalidate k} [$c read]
        assert_equal PONG [$c read]
        config_set maxmemory 0
        config_set maxmemory-policy noeviction
        $c close
    }

    test {NOLOOP: no messages for own changes, but for those of others and for expiry} {
        set c [tracker noloop]
        assert_equal {on noloop} [tracking_flags $c]
        $c get k
        $c set k 1
        $c get k
        $c eval {return redis.call('set', 'k', 2)} 1 k
        $c get k
        $c multi
        $c set k 3
        $c exec
        assert_equal {} [void_keys $c]
        $c get k
        r set k 4
        assert_equal k [void_keys $c]
        $c flushall
        assert_equal all [void_keys $c]
        r debug set-active-expire 0
        $c set k 1 px 300
        $c get k
        after 400
        $c get k
        assert_equal k [void_keys $c]
        r debug set-active-expire 1
        $c close
    } {} {needs:debug}

    test {OPTIN: only the keys of the next request} {
        set c [tracker optin]
        assert_error "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode." {$c client caching no}
        assert_error "ERR syntax error" {$c client caching what}
        $c get a
        $c client caching yes
        assert_equal {on optin caching-yes} [tracking_flags $c]
        $c get b
        assert_equal {on optin} [tracking_flags $c]
        $c get c
        r mset a 1 b 1 c 1
        assert_equal b [void_keys $c]
        foreach between {ping nosuchcommand} {
            $c client caching yes
            catch {$c $between}
            $c get a
            r set a 1
            assert_equal {} [void_keys $c] "$between came first"
        }
        $c client caching yes
        $c multi
        $c get a
        $c get b
        $c exec
        $c get c
        r mset a 2 b 2 c 2
        assert_equal {a b} [void_keys $c]
        $c close
    }

    test {OPTOUT: all but the keys of the next request} {
        set c [tracker optout]
        assert_error "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode." {$c client caching yes}
        $c get a
        $c client caching no
        assert_equal {on optout caching-no} [tracking_flags $c]
        $c get b
        $c get c
        r mset a 1 b 1 c 1
        assert_equal {a c} [void_keys $c]
        $c close
        assert_error "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode\
            enabled" {r client caching yes}
    }

    test {BCAST: changed keys by prefix are collected, whether they were read or not} {
        set c [tracker bcast prefix foo prefix ba]
        r set other 1
        r set foo 1
        r mset bar 1 baz 2 fo 3
        assert_equal {foo bar baz} [void_keys $c]
        assert_equal 0 [s tracking_total_keys]
        $c deferred 1
        $c write "SET foo2 1\r\nSET foo1 1\r\nSET foo2 2\r\nDEL bar\r\n"
        assert_equal {OK OK OK 1 {invalidate bar} {invalidate {foo1 foo2}}} [lmap i {1 2 3 4 5 6} { $c read }]
        $c deferred 0
        r flushdb
        assert_equal all [void_keys $c]
        $c close
    }

    test {BCAST without a prefix gets an invalidation for every key} {
        set c [tracker bcast]
        set d [tracker bcast prefix {}]
        r mset a 1 b 1
        assert_equal {a b} [void_keys $c]
        assert_equal {a b} [void_keys $d]
        assert_equal 1 [s tracking_total_prefixes]
        $c close
        $d close
    }

    test {BCAST with NOLOOP: the changes of others only} {
        set c [tracker bcast noloop]
        set d [tracker bcast]
        $c set a 1
        $d set b 1
        assert_equal b [void_keys $c]
        assert_equal {a b} [void_keys $d]
        $c set a 2
        assert_equal {} [void_keys $c]
        $c close
        $d close
    }

    test {BCAST: prefixes of many lengths, added and removed} {
        wait_for_trackers 0
        set c [tracker bcast prefix a prefix bb prefix ccc prefix dddd prefix eeeee]
        set d [tracker bcast prefix bbb prefix ffffff]
        assert_equal 7 [s tracking_total_prefixes]
        r mset a 1 b 1 bb1 1 bbb 1 ccc 1 dddd1 1 eeee 1 ffffff 1
        assert_equal {a bb1 bbb ccc dddd1} [void_keys $c]
        assert_equal {bbb ffffff} [void_keys $d]
        $c client tracking off
        assert_equal 2 [s tracking_total_prefixes]
        r mset a 2 bbbb 2 ffffff 2
        assert_equal {bbbb ffffff} [void_keys $d]
        assert_equal {} [void_keys $c]
        $c close
        $d close
    }

    test {Redirection to a subscriber of RESP2} {
        set c [valkey_client]
        set d [valkey_client]
        set id [$d client id]
        $c client tracking on redirect $id
        assert_equal $id [$c client getredir]
        assert_match "*flags=t *redir=$id *" [$c client info]
        $c get k
        r set k 1
        $d subscribe __redis__:invalidate
        $c get k
        r set k 2
        assert_equal {message __redis__:invalidate k} [$d read]
        $c get k
        $c set k 3
        assert_equal {message __redis__:invalidate k} [$d read]
        $c get k
        r flushall
        assert_equal {*3 {$7} message {$20} __redis__:invalidate {$-1}} [lmap i {1 2 3 4 5 6} { $d rawread }]
        $c client tracking off
        $c client tracking on bcast prefix p redirect $id
        r mset p1 1 q 2 p2 3
        assert_equal {message __redis__:invalidate {p1 p2}} [$d read]
        $c close
        $d close
    }

    test {Redirection to a client of RESP3} {
        set c [valkey_client]
        set d [valkey_client]
        $d hello 3
        $c client tracking on redirect [$d client id]
        $c get k
        r set k 1
        assert_equal {invalidate k} [$d push]
        $c close
        $d close
    }

    test {A redirection to a client that has disconnected is broken} {
        set d [valkey_client]
        set id [$d client id]
        set c [tracker redirect $id]
        $c get k
        $d close
        wait_for_condition 200 50 {[r client list id $id] eq {}} else { fail "still here" }
        assert_equal on [tracking_flags $c]
        r set k 1
        assert_equal [list [list tracking-redir-broken $id]] [told $c]
        assert_equal {on broken_redirect} [tracking_flags $c]
        assert_match "*flags=tR *redir=$id *" [$c client info]
        $c get k
        $c deferred 1
        $c set k 2
        assert_equal [list OK [list tracking-redir-broken $id]] [list [$c read] [$c read]]
        $c deferred 0
        $c client tracking on
        assert_equal {flags on redirect 0 prefixes {}} [$c client trackinginfo]
        $c close
    }

    test {A client with RESP2 and without redirection gets no invalidations} {
        set c [valkey_client]
        $c client tracking on
        $c get k
        r set k 1
        r flushall
        assert_equal {} [told $c]
        $c close
    }

    test {Messages come although replies are off} {
        set c [tracker]
        $c get k
        $c deferred 1
        $c client reply off
        $c client info
        r set k 1
        assert_equal {invalidate k} [$c read]
        $c close
    }

    test {RESET ends tracking} {
        wait_for_trackers 0
        set c [tracker]
        $c get k
        $c reset
        assert_equal {flags off redirect -1 prefixes {}} [$c client trackinginfo]
        assert_equal 0 [s tracking_clients]
        $c close
    }

    test {tracking-table-max-keys: keys beyond it are dropped, and their clients get invalidations} {
        wait_for_trackers 0
        set c [tracker]
        for {set i 0} {$i < 50} {incr i} { $c get key:$i }
        assert_equal 50 [s tracking_total_keys]
        config_set tracking-table-max-keys 10
        wait_for_condition 200 50 {[s tracking_total_keys] == 10} else { fail "[s tracking_total_keys] keys" }
        set dropped [void_keys $c]
        assert_equal 40 [llength [lsort -unique $dropped]]
        r set [lindex $dropped 0] 1
        assert_equal {} [void_keys $c]
        for {set i 0} {$i < 50} {incr i} { $c get key:$i }
        wait_for_condition 200 50 {[s tracking_total_keys] == 10} else { fail "[s tracking_total_keys] keys" }
        config_set tracking-table-max-keys 1000000
        $c close
    }

    test {Without tracking clients the table becomes empty} {
        set c [tracker]
        for {set i 0} {$i < 500} {incr i} { $c get key:$i }
        $c close
        wait_for_condition 200 50 {[s tracking_total_keys] == 0} else { fail "[s tracking_total_keys] keys" }
        assert_equal 0 [s tracking_total_items]
    }

    test {CLIENT LIST marks clients that track} {
        wait_for_trackers 0
        set c [tracker bcast]
        assert_match "*flags=tB *redir=0 *" [$c client info]
        assert_match "*redir=-1 *" [r client info]
        assert_equal 1 [s tracking_clients]
        $c close
    }
}

# A naive model: per client, the keys that it has read and that have not changed since.
start_server {tags {tracking}} {
    test {Random reads and writes against a model} {
        set n 4
        for {set i 0} {$i < $n} {incr i} {
            set client($i) [tracker]
            set held($i) {}
        }
        for {set step 0} {$step < 2000} {incr step} {
            set i [randomInt $n]
            set key key:[randomInt 20]
            if {rand() < 0.6} {
                $client($i) get $key
                if {$key ni $held($i)} { lappend held($i) $key }
                continue
            }
            r incr $key
            for {set j 0} {$j < $n} {incr j} {
                set at [lsearch -exact $held($j) $key]
                assert_equal [expr {$at >= 0 ? $key : ""}] [void_keys $client($j)] "client $j, step $step"
                if {$at >= 0} { set held($j) [lreplace $held($j) $at $at] }
            }
        }
        set keys {}
        set items 0
        for {set j 0} {$j < $n} {incr j} {
            lappend keys {*}$held($j)
            incr items [llength $held($j)]
        }
        assert_equal [list [llength [lsort -unique $keys]] $items] [list [s tracking_total_keys] [s tracking_total_items]]
        for {set i 0} {$i < $n} {incr i} { $client($i) close }
    }
}
