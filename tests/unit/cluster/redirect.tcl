# Where a cluster redirects a request: every kind of client sends every kind of request while a slot is stable, while
# it is migrating, and while the cluster is down. The table at the end has the expected replies; a running Valkey 9.1,
# where there is one, must give the same.

source -encoding utf-8 $::support/cluster.tcl

# Node 0 owns b and all keys with its tag (@ in this file), node 1 foo; a has no owner; node 2 is node 0's replica. A
# request that begins with multi is a transaction of those that follow. No script here uses keys of two slots in one
# command: after that, Valkey 9.1.2 refuses other scripts as well.
set requests {
    {get b} {get @none} {set @none v xx} {get foo} {get a} {mget b @2} {mget b @none} {mget @none @none}
    {mget @none @none2} {mget b foo} {mget a b} {exists @none} {watch b} {object encoding b}
    {copy b @3 db 0} {copy b @3 db 1} {copy @none @3} {move @none 0} {migrate 127.0.0.1 1 @none 0 100} {sort @none store @none2}
    {restore-asking @none 0 x} {spublish b m} {spublish foo m} {publish foo m} {xread streams b foo 0 0} {blpop @none 0.01}
    {multi {get b} {get @2}} {multi {get b} {get @none}} {multi {get @none}} {multi {get b} {get c}} {multi {get foo}}
    {multi {mget b foo} {get b}} {multi {copy b @3 db 0}} {multi ping} {multi {eval {return 1} 1 b}} {multi {set @none v xx}}
    {eval {return 1} 0} {eval {return 1} 1 b} {eval {return 1} 1 foo} {eval {return 1} 2 b foo} {eval {return 1} 2 b @none}
    {eval {return server.call('get','b')} 0} {eval {return server.call('get','foo')} 0} {eval {return server.call('get','@none')} 0}
    {eval {return server.call('get','b')} 1 @2} {eval {return server.call('get','c')} 1 b} {eval_ro {return server.call('set','foo',1)} 0}
    {eval "#!lua\nreturn 1" 1 b} {eval "#!lua flags=no-writes\nreturn 1" 1 b} {eval "#!lua\nreturn server.call('get','c')" 1 b}
    {eval "#!lua\nserver.call('get','b') return server.call('get','c')" 0}
    {eval "#!lua flags=allow-cross-slot-keys\nserver.call('get','b') return server.call('get','c')" 0}
    {eval "#!lua flags=no-cluster\nreturn 1" 0} {fcall_ro nothing 1 foo}
}

# Names of answers, in the order in which they are tried.
set answers {
    moved     {MOVED *}
    ask       {ASK *}
    tryagain  {TRYAGAIN Multiple keys request during rehashing of slot}
    cross     {CROSSSLOT Keys in request don't hash to the same slot}
    unserved  {CLUSTERDOWN Hash slot not served}
    down      {CLUSTERDOWN The cluster is down}
    writes    {CLUSTERDOWN The cluster is down and only accepts read commands}
    nonlocal  {ERR Attempted to access a non local key in a cluster node script: on *}
    slots     {ERR Script attempted to access keys that do not hash to the same slot script: on *}
    s-down    {ERR Can not execute a command '*' while the cluster is down script: on *}
    s-writes  {ERR Can not execute a write command 'set' while the cluster is down and readonly script: on *}
    refused   {ERR Can not run script on cluster, 'no-cluster' flag is set.}
    readonly  {READONLY You can't write against a read only replica.}
    aborted   {EXECABORT Transaction discarded because of previous errors.}
}

proc name_of {reply} {
    foreach {name pattern} $::answers {
        if {[string match $pattern $reply]} { return $name }
    }
    return runs
}

proc tell_client {c args} {
    $c {*}[lmap word $args { string map {@ "{b}"} $word }]
    if {[catch {$c read} reply]} { return $reply }
    return $reply
}

# For a transaction, the reply of EXEC.
proc ask_client {kind c request} {
    if {[string match *asking $kind]} { tell_client $c asking }
    if {[lindex $request 0] ne "multi"} { return [name_of [tell_client $c {*}$request]] }
    tell_client $c multi
    foreach queued [lrange $request 1 end] { tell_client $c {*}$queued }
    return [name_of [tell_client $c exec]]
}

set kinds_of_clients {owner 0 owner-asking 0 other 1 other-asking 1 replica 2 replica-readonly 2}

# The replies to clients of these kinds: a dict of request to their replies, in order.
proc ask_clients {kinds} {
    set found {}
    foreach kind $kinds {
        set c [valkey_deferring_client [n [dict get $::kinds_of_clients $kind]]]
        if {$kind eq "replica-readonly"} { tell_client $c readonly }
        foreach request $::requests { dict lappend found $request [ask_client $kind $c $request] }
        $c close
    }
    return $found
}

proc with_down {reads body} {
    config_set cluster-allow-reads-when-down $reads [n 0]
    config_set cluster-require-full-coverage yes [n 0]
    r [n 0] cluster delslots 100
    wait_for_condition 100 20 {[cluster_info 0 cluster_state] eq "fail"} else { fail "it is not down" }
    uplevel 1 $body
    config_set cluster-require-full-coverage no [n 0]
    r [n 0] cluster addslots 100
    wait_for_condition 200 20 {[cluster_info 0 cluster_state] eq "ok"} else { fail "it is down" }
}

proc fill_slot {} {
    r [n 0] set b v
    r [n 0] set {{b}2} v
    wait_for_offset n2 n0
}

# A dict of state to what ask_clients finds.
proc ask_in_states {} {
    for {set k 0} {$k < 3} {incr k} { catch { r [n $k] cluster delslots 15495 } }
    fill_slot
    dict set found whole [ask_clients [dict keys $::kinds_of_clients]]
    r [n 1] cluster setslot 3300 importing [cluster_id 0]
    r [n 0] cluster setslot 3300 migrating [cluster_id 1]
    dict set found open [ask_clients {owner owner-asking other other-asking}]
    foreach k {0 1} { r [n $k] cluster setslot 3300 stable }
    with_down no { dict set found down [ask_clients {owner owner-asking}] }
    with_down yes { dict set found reads [ask_clients {owner owner-asking}] }
    return $found
}

proc differences {expected found} {
    set out {}
    dict for {state answers} $expected {
        dict for {request words} $answers {
            set said [dict get $found $state $request]
            if {$said ne $words} { lappend out "$state: $request: $said, not $words" }
        }
    }
    return $out
}

# For each request its replies: in state whole those to all kinds of clients, in the order of kinds_of_clients, in
# state open (b's slot is migrating to node 1) the first four, and while the cluster is down (without and with
# cluster-allow-reads-when-down) those of node 0.
set expected {
    whole {
        {get b} {runs runs moved moved moved runs}
        {get @none} {runs runs moved moved moved runs}
        {set @none v xx} {runs runs moved moved moved moved}
        {get foo} {moved moved runs runs moved moved}
        {get a} {unserved unserved unserved unserved unserved unserved}
        {mget b @2} {runs runs moved moved moved runs}
        {mget b @none} {runs runs moved moved moved runs}
        {mget @none @none} {runs runs moved moved moved runs}
        {mget @none @none2} {runs runs moved moved moved runs}
        {mget b foo} {cross cross cross cross cross cross}
        {mget a b} {cross cross cross cross cross cross}
        {exists @none} {runs runs moved moved moved runs}
        {watch b} {runs runs moved moved moved runs}
        {object encoding b} {runs runs moved moved moved runs}
        {copy b @3 db 0} {runs runs moved moved moved moved}
        {copy b @3 db 1} {runs runs moved moved moved moved}
        {copy @none @3} {runs runs moved moved moved moved}
        {move @none 0} {runs runs moved moved moved moved}
        {migrate 127.0.0.1 1 @none 0 100} {runs runs moved moved moved moved}
        {sort @none store @none2} {runs runs moved moved moved moved}
        {restore-asking @none 0 x} {runs runs moved moved moved moved}
        {spublish b m} {runs runs moved moved runs runs}
        {spublish foo m} {moved moved runs runs moved moved}
        {publish foo m} {runs runs runs runs runs runs}
        {xread streams b foo 0 0} {cross cross cross cross cross cross}
        {blpop @none 0.01} {runs runs moved moved moved moved}
        {multi {get b} {get @2}} {runs runs aborted aborted aborted runs}
        {multi {get b} {get @none}} {runs runs aborted aborted aborted runs}
        {multi {get @none}} {runs runs aborted aborted aborted runs}
        {multi {get b} {get c}} {cross cross aborted aborted aborted cross}
        {multi {get foo}} {aborted aborted runs runs aborted aborted}
        {multi {mget b foo} {get b}} {aborted aborted aborted aborted aborted aborted}
        {multi {copy b @3 db 0}} {runs runs aborted aborted aborted aborted}
        {multi ping} {runs runs runs runs runs runs}
        {multi {eval {return 1} 1 b}} {runs runs aborted aborted aborted runs}
        {multi {set @none v xx}} {runs runs aborted aborted aborted aborted}
        {eval {return 1} 0} {runs runs runs runs runs runs}
        {eval {return 1} 1 b} {runs runs moved moved moved runs}
        {eval {return 1} 1 foo} {moved moved runs runs moved moved}
        {eval {return 1} 2 b foo} {cross cross cross cross cross cross}
        {eval {return 1} 2 b @none} {runs runs moved moved moved runs}
        {eval {return server.call('get','b')} 0} {runs runs nonlocal nonlocal nonlocal runs}
        {eval {return server.call('get','foo')} 0} {nonlocal nonlocal runs runs nonlocal nonlocal}
        {eval {return server.call('get','@none')} 0} {runs runs nonlocal nonlocal nonlocal runs}
        {eval {return server.call('get','b')} 1 @2} {runs runs moved moved moved runs}
        {eval {return server.call('get','c')} 1 b} {runs runs moved moved moved runs}
        {eval_ro {return server.call('set','foo',1)} 0} {nonlocal nonlocal runs runs nonlocal nonlocal}
        {eval "#!lua\nreturn 1" 1 b} {runs runs moved moved moved moved}
        {eval "#!lua flags=no-writes\nreturn 1" 1 b} {runs runs moved moved moved runs}
        {eval "#!lua\nreturn server.call('get','c')" 1 b} {slots slots moved moved moved moved}
        {eval "#!lua\nserver.call('get','b') return server.call('get','c')" 0} {slots slots nonlocal nonlocal readonly readonly}
        {eval "#!lua flags=allow-cross-slot-keys\nserver.call('get','b') return server.call('get','c')" 0} {runs runs nonlocal nonlocal readonly readonly}
        {eval "#!lua flags=no-cluster\nreturn 1" 0} {refused refused refused refused readonly readonly}
        {fcall_ro nothing 1 foo} {moved moved runs runs moved moved}
    }
    open {
        {get b} {runs runs moved runs}
        {get @none} {ask ask moved runs}
        {set @none v xx} {ask ask moved runs}
        {get foo} {moved moved runs runs}
        {get a} {unserved unserved unserved unserved}
        {mget b @2} {runs runs moved tryagain}
        {mget b @none} {tryagain tryagain moved tryagain}
        {mget @none @none} {ask ask moved runs}
        {mget @none @none2} {ask ask moved tryagain}
        {mget b foo} {cross cross cross cross}
        {mget a b} {cross cross cross cross}
        {exists @none} {ask ask moved runs}
        {watch b} {runs runs moved runs}
        {object encoding b} {runs runs moved runs}
        {copy b @3 db 0} {runs runs moved tryagain}
        {copy b @3 db 1} {tryagain tryagain tryagain tryagain}
        {copy @none @3} {tryagain tryagain moved tryagain}
        {move @none 0} {tryagain tryagain tryagain tryagain}
        {migrate 127.0.0.1 1 @none 0 100} {runs runs runs runs}
        {sort @none store @none2} {ask ask moved tryagain}
        {restore-asking @none 0 x} {ask ask runs runs}
        {spublish b m} {runs runs moved runs}
        {spublish foo m} {moved moved runs runs}
        {publish foo m} {runs runs runs runs}
        {xread streams b foo 0 0} {cross cross cross cross}
        {blpop @none 0.01} {ask ask moved runs}
        {multi {get b} {get @2}} {runs runs aborted tryagain}
        {multi {get b} {get @none}} {tryagain tryagain aborted tryagain}
        {multi {get @none}} {ask ask aborted runs}
        {multi {get b} {get c}} {cross cross aborted aborted}
        {multi {get foo}} {aborted aborted runs runs}
        {multi {mget b foo} {get b}} {aborted aborted aborted aborted}
        {multi {copy b @3 db 0}} {runs runs aborted tryagain}
        {multi ping} {runs runs runs runs}
        {multi {eval {return 1} 1 b}} {runs runs aborted runs}
        {multi {set @none v xx}} {ask ask aborted runs}
        {eval {return 1} 0} {runs runs runs runs}
        {eval {return 1} 1 b} {runs runs moved runs}
        {eval {return 1} 1 foo} {moved moved runs runs}
        {eval {return 1} 2 b foo} {cross cross cross cross}
        {eval {return 1} 2 b @none} {tryagain tryagain moved tryagain}
        {eval {return server.call('get','b')} 0} {runs runs nonlocal runs}
        {eval {return server.call('get','foo')} 0} {nonlocal nonlocal runs runs}
        {eval {return server.call('get','@none')} 0} {nonlocal nonlocal nonlocal runs}
        {eval {return server.call('get','b')} 1 @2} {runs runs moved runs}
        {eval {return server.call('get','c')} 1 b} {runs runs moved nonlocal}
        {eval_ro {return server.call('set','foo',1)} 0} {nonlocal nonlocal runs runs}
        {eval "#!lua\nreturn 1" 1 b} {runs runs moved runs}
        {eval "#!lua flags=no-writes\nreturn 1" 1 b} {runs runs moved runs}
        {eval "#!lua\nreturn server.call('get','c')" 1 b} {slots slots moved nonlocal}
        {eval "#!lua\nserver.call('get','b') return server.call('get','c')" 0} {slots slots nonlocal nonlocal}
        {eval "#!lua flags=allow-cross-slot-keys\nserver.call('get','b') return server.call('get','c')" 0} {runs runs nonlocal nonlocal}
        {eval "#!lua flags=no-cluster\nreturn 1" 0} {refused refused refused refused}
        {fcall_ro nothing 1 foo} {moved moved runs runs}
    }
    down {
        {get b} {down down}
        {get @none} {down down}
        {set @none v xx} {down down}
        {get foo} {down down}
        {get a} {unserved unserved}
        {mget b @2} {down down}
        {mget b @none} {down down}
        {mget @none @none} {down down}
        {mget @none @none2} {down down}
        {mget b foo} {cross cross}
        {mget a b} {cross cross}
        {exists @none} {down down}
        {watch b} {down down}
        {object encoding b} {down down}
        {copy b @3 db 0} {down down}
        {copy b @3 db 1} {down down}
        {copy @none @3} {down down}
        {move @none 0} {down down}
        {migrate 127.0.0.1 1 @none 0 100} {down down}
        {sort @none store @none2} {down down}
        {restore-asking @none 0 x} {down down}
        {spublish b m} {runs runs}
        {spublish foo m} {moved moved}
        {publish foo m} {runs runs}
        {xread streams b foo 0 0} {cross cross}
        {blpop @none 0.01} {down down}
        {multi {get b} {get @2}} {aborted aborted}
        {multi {get b} {get @none}} {aborted aborted}
        {multi {get @none}} {aborted aborted}
        {multi {get b} {get c}} {aborted aborted}
        {multi {get foo}} {aborted aborted}
        {multi {mget b foo} {get b}} {aborted aborted}
        {multi {copy b @3 db 0}} {aborted aborted}
        {multi ping} {runs runs}
        {multi {eval {return 1} 1 b}} {aborted aborted}
        {multi {set @none v xx}} {aborted aborted}
        {eval {return 1} 0} {runs runs}
        {eval {return 1} 1 b} {down down}
        {eval {return 1} 1 foo} {down down}
        {eval {return 1} 2 b foo} {cross cross}
        {eval {return 1} 2 b @none} {down down}
        {eval {return server.call('get','b')} 0} {s-down s-down}
        {eval {return server.call('get','foo')} 0} {s-down s-down}
        {eval {return server.call('get','@none')} 0} {s-down s-down}
        {eval {return server.call('get','b')} 1 @2} {down down}
        {eval {return server.call('get','c')} 1 b} {down down}
        {eval_ro {return server.call('set','foo',1)} 0} {s-down s-down}
        {eval "#!lua\nreturn 1" 1 b} {down down}
        {eval "#!lua flags=no-writes\nreturn 1" 1 b} {down down}
        {eval "#!lua\nreturn server.call('get','c')" 1 b} {down down}
        {eval "#!lua\nserver.call('get','b') return server.call('get','c')" 0} {s-down s-down}
        {eval "#!lua flags=allow-cross-slot-keys\nserver.call('get','b') return server.call('get','c')" 0} {s-down s-down}
        {eval "#!lua flags=no-cluster\nreturn 1" 0} {refused refused}
        {fcall_ro nothing 1 foo} {down down}
    }
    reads {
        {get b} {runs runs}
        {get @none} {runs runs}
        {set @none v xx} {writes writes}
        {get foo} {moved moved}
        {get a} {unserved unserved}
        {mget b @2} {runs runs}
        {mget b @none} {runs runs}
        {mget @none @none} {runs runs}
        {mget @none @none2} {runs runs}
        {mget b foo} {cross cross}
        {mget a b} {cross cross}
        {exists @none} {runs runs}
        {watch b} {runs runs}
        {object encoding b} {runs runs}
        {copy b @3 db 0} {writes writes}
        {copy b @3 db 1} {writes writes}
        {copy @none @3} {writes writes}
        {move @none 0} {writes writes}
        {migrate 127.0.0.1 1 @none 0 100} {writes writes}
        {sort @none store @none2} {writes writes}
        {restore-asking @none 0 x} {writes writes}
        {spublish b m} {runs runs}
        {spublish foo m} {moved moved}
        {publish foo m} {runs runs}
        {xread streams b foo 0 0} {cross cross}
        {blpop @none 0.01} {writes writes}
        {multi {get b} {get @2}} {runs runs}
        {multi {get b} {get @none}} {runs runs}
        {multi {get @none}} {runs runs}
        {multi {get b} {get c}} {cross cross}
        {multi {get foo}} {aborted aborted}
        {multi {mget b foo} {get b}} {aborted aborted}
        {multi {copy b @3 db 0}} {aborted aborted}
        {multi ping} {runs runs}
        {multi {eval {return 1} 1 b}} {runs runs}
        {multi {set @none v xx}} {aborted aborted}
        {eval {return 1} 0} {runs runs}
        {eval {return 1} 1 b} {runs runs}
        {eval {return 1} 1 foo} {moved moved}
        {eval {return 1} 2 b foo} {cross cross}
        {eval {return 1} 2 b @none} {runs runs}
        {eval {return server.call('get','b')} 0} {runs runs}
        {eval {return server.call('get','foo')} 0} {nonlocal nonlocal}
        {eval {return server.call('get','@none')} 0} {runs runs}
        {eval {return server.call('get','b')} 1 @2} {runs runs}
        {eval {return server.call('get','c')} 1 b} {runs runs}
        {eval_ro {return server.call('set','foo',1)} 0} {s-writes s-writes}
        {eval "#!lua\nreturn 1" 1 b} {writes writes}
        {eval "#!lua flags=no-writes\nreturn 1" 1 b} {runs runs}
        {eval "#!lua\nreturn server.call('get','c')" 1 b} {writes writes}
        {eval "#!lua\nserver.call('get','b') return server.call('get','c')" 0} {slots slots}
        {eval "#!lua flags=allow-cross-slot-keys\nserver.call('get','b') return server.call('get','c')" 0} {runs runs}
        {eval "#!lua flags=no-cluster\nreturn 1" 0} {refused refused}
        {fcall_ro nothing 1 foo} {moved moved}
    }
}

proc with_values {keys} {
    set pairs {}
    foreach key $keys { lappend pairs $key v }
    return $pairs
}

# Cases that the table does not cover: requests after a redirection, and requests that are refused whatever the keys.
proc test_redirections {whose} {
    uplevel 1 [string map [list @whose $whose] {
        test "@whose: redirections name the slot and the address" {
            assert_error "MOVED 12182 127.0.0.1:[srv [n 1] port]" {r [n 0] get foo}
            assert_error "MOVED 3300 127.0.0.1:[srv [n 0] port]" {r [n 2] get b}
            r [n 0] cluster setslot 3300 migrating [cluster_id 1]
            assert_error "ASK 3300 127.0.0.1:[srv [n 1] port]" {r [n 0] get {{b}none}}
            r [n 0] cluster setslot 3300 stable
        }

        test "@whose: ASKING is valid for one command, a transaction, or a blocked command" {
            r [n 1] cluster setslot 3300 importing [cluster_id 0]
            set c [valkey_client [n 1]]
            foreach words {ping {nosuch} {get} {select 0}} {
                $c asking
                catch {$c {*}$words}
                assert_error "MOVED 3300 *" {$c get b} $words
            }
            $c asking
            $c multi
            assert_equal QUEUED [$c get b]
            assert_equal {{}} [$c exec]
            assert_error "MOVED 3300 *" {$c get b}
            $c asking
            assert_equal {} [$c blpop b 0.05]
            assert_error "MOVED 3300 *" {$c get b}
            $c close
            r [n 1] cluster setslot 3300 stable
        }

        test "@whose: ASKING waits for its command as long as that takes" {
            r [n 1] cluster setslot 3300 importing [cluster_id 0]
            set patient [valkey_client [n 1]]
            set c [valkey_client [n 1]]
            foreach pause_ms {0 2500} {
                $patient asking
                $c asking
                assert_equal {} [$c get b]
                after $pause_ms
                assert_error "MOVED 3300 *" {$c get b}
                assert_equal {} [$patient get b]
                assert_error "MOVED 3300 *" {$patient get b}
            }
            $c close
            $patient close
            r [n 1] cluster setslot 3300 stable
        }

        test "@whose: each of many keys is checked" {
            foreach count {2 10 16 17 40} {
                set keys [lmap i [numbers 1 $count] {string cat "{b}" $i}]
                assert_equal $count [llength [r [n 0] mget {*}$keys]]
                assert_equal OK [r [n 0] mset {*}[with_values $keys]]
                assert_equal $count [r [n 0] del {*}$keys]
                assert_error "MOVED 3300 *" {r [n 1] mget {*}$keys}
                foreach place [list 0 [expr {$count / 2}] [expr {$count - 1}]] {
                    foreach other {foo c} {
                        set mixed [lreplace $keys $place $place $other]
                        assert_error "CROSSSLOT *" {r [n 0] mget {*}$mixed} "$count $place"
                        assert_error "CROSSSLOT *" {r [n 0] mset {*}[with_values $mixed]} "$count $place"
                    }
                }
            }
        }

        test "@whose: a transaction that cannot succeed drops its queue" {
            set c [valkey_client [n 0]]
            set id [$c client id]
            $c multi
            $c set b v
            assert_error "MOVED *" {$c get foo}
            $c set c v
            assert_match "*multi=0 *" [r [n 0] client list id $id]
            assert_error "EXECABORT Transaction discarded because of previous errors." {$c exec}
            $c watch b
            $c multi
            $c set b v
            r [n 0] set b other
            assert_match "*multi=0 *" [r [n 0] client list id $id]
            $c set c v
            assert_equal {} [$c exec]
            assert_equal other [r [n 0] get b]
            $c close
        }

        test "@whose: SORT reads only keys of its own slot" {
            foreach {pattern fine} {x* 0 {{b}x*} 1 {x*{b}} 0 {{b*}} 0 {{b}[*} 1 {{b}*->f} 1 *{b}* 0} {
                foreach {option words} [list BY [list by $pattern] GET [list by nosort get $pattern]] {
                    set error "ERR $option option of SORT denied in Cluster mode when keys formed by the pattern may be in different slots."
                    if {$fine} {
                        assert_equal {} [r [n 0] sort {{b}none} {*}$words] $words
                    } else {
                        assert_error $error {r [n 0] sort {{b}none} {*}$words} $words
                    }
                }
            }
            assert_equal {} [r [n 0] sort {{b}none} by nosort get #]
            assert_equal {} [r [n 0] sort {{b}none} by nosort]
        }

        test "@whose: commands that nodes of a cluster do not allow are refused" {
            foreach words {{replicaof no one} {replicaof 127.0.0.1 1} {slaveof no one}} {
                foreach k {0 2} { assert_error "ERR REPLICAOF not allowed in cluster mode." {r [n $k] {*}$words} }
            }
            foreach words {failover {failover abort} {failover nonsense}} {
                assert_error "ERR FAILOVER not allowed in cluster mode. Use CLUSTER FAILOVER command instead." {r [n 0] {*}$words}
            }
            foreach words {{swapdb 0 0} {swapdb x y}} { assert_error "ERR SWAPDB is not allowed in cluster mode" {r [n 0] {*}$words} }
            r [n 0] multi
            assert_equal QUEUED [r [n 0] swapdb 0 0]
            assert_match "*SWAPDB is not allowed in cluster mode*" [r [n 0] exec]
        }

        test "@whose: HELLO and INFO show cluster mode" {
            assert_equal cluster [dict get [r [n 0] hello] mode]
            assert_match "*server_mode:cluster*" [r [n 0] info server]
        }

        test "@whose: clients that wait get a redirection when their slot moves" {
            r [n 0] flushall
            set waiting [list [valkey_deferring_client [n 0]] [valkey_deferring_client [n 2]] [valkey_deferring_client [n 0]]]
            lassign $waiting pop reader other
            $pop blpop b 0
            tell_client $reader readonly
            $reader xread block 0 streams b $
            $other blpop c 0
            foreach {k count} {0 2 2 1} {
                wait_for_condition 100 20 {[string match "*blocked_clients:$count\r*" [r [n $k] info clients]]} else { fail "node $k" }
            }
            r [n 1] cluster setslot 3300 node [cluster_id 1]
            r [n 0] cluster setslot 3300 node [cluster_id 1]
            assert_equal "MOVED 3300 127.0.0.1:[srv [n 1] port]" [answer_of $pop]
            assert_equal "MOVED 3300 127.0.0.1:[srv [n 1] port]" [answer_of $reader]
            r [n 0] cluster delslots 7365
            assert_equal "CLUSTERDOWN Hash slot not served" [answer_of $other]
            r [n 0] cluster addslots 7365
            foreach c $waiting { $c close }
        }

        test "@whose: clients that wait get an error when the cluster goes down" {
            set c [valkey_deferring_client [n 0]]
            $c blpop c 0
            wait_for_condition 100 20 {[string match "*blocked_clients:1\r*" [r [n 0] info clients]]} else { fail "it does not wait" }
            with_down no { assert_equal "CLUSTERDOWN The cluster is down" [answer_of $c] }
            $c close
        }
    }]
}

proc answer_of {c} {
    catch {$c read} reply
    return $reply
}

start_cluster {kinds {ours ours ours} primaries 2 overrides {cluster-require-full-coverage no}} {
    test "each request in each state is redirected to the right node" {
        assert_equal {} [differences $expected [ask_in_states]]
    }
    test_redirections ours

    test "a script with keys of two slots in one command is refused, and no other" {
        foreach script {{return server.call('mget','b','foo')} "#!lua\nreturn server.call('mget','b','foo')"} {
            assert_error "ERR Attempted to access a non local key in a cluster node*" {r [n 0] eval $script 0}
        }
        assert_equal 1 [r [n 0] eval {return server.call('exists','c') + 1} 0]
    }
}

start_cluster {kinds {valkey valkey valkey} primaries 2 overrides {cluster-require-full-coverage no}} {
    test "Valkey redirects them to the same nodes" {
        assert_equal {} [differences $expected [ask_in_states]]
    }
    test_redirections Valkey
}

test "replicaof is refused in cluster mode" {
    set dir [file join $::work_dir nobodys]
    file mkdir $dir
    catch {exec $::options(server) --port [free_port] --dir $dir --cluster-enabled yes --replicaof 127.0.0.1 1 2>@1} output
    assert_match "*FATAL CONFIG FILE ERROR (Version *replicaof directive not allowed in cluster mode*" $output
    assert_equal {} [glob -nocomplain $dir/nodes*]
}

# The replies to a transaction of these requests at the source of slot 3300, in which {b}0 is in database 0, {b}1 in
# database 1, and {b} in both.
set transactions {
    {{get @1}} ask  {{get @0} {get @1}} tryagain  {{select 1} {get @1}} runs  {{select 1} {get @0}} ask
    {{get @0} {select 1} {get @1}} runs  {{get @1} {select 1} {get @0}} ask  {{get b} {select 1} {get b}} runs
    {{get @0} {select 1} {get @0}} tryagain  {{select 1} {get @1} {select 0} {get @0}} runs  {{select 1} {get @0} {get @1}} tryagain
    {{select x} {get @0}} runs  {{select 4} {get @0}} runs  {{get @0} {select 1}} runs  {{select 1} {select 0} {get @0}} runs
}

foreach kind {ours valkey} {
    start_cluster [list kinds [list $kind $kind] overrides {cluster-databases 4}] {
        test "$kind: a transaction checks keys in the databases that it selects" {
            foreach db {0 1} {
                r [n 0] select $db
                foreach key [list "{b}$db" b] { r [n 0] set $key v }
            }
            r [n 0] select 0
            r [n 1] cluster setslot 3300 importing [cluster_id 0]
            r [n 0] cluster setslot 3300 migrating [cluster_id 1]
            set c [valkey_deferring_client [n 0]]
            foreach {requests answer} $::transactions {
                assert_equal "$requests $answer" "$requests [ask_client plain $c [list multi {*}$requests]]"
                $c select 0
                $c read
            }
            $c close
        }
    }
}
