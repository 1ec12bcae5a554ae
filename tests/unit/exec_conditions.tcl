# EXEC's conditions on keys: EXEC [IFEQ key value | IFNE key value | NX key | XX key] ... (9.2 §3).

source -encoding utf-8 $::support/cluster.tcl

# The reply of EXEC with these words after MULTI and INCR n: {} when the transaction was discarded.
proc exec_if {c args} {
    $c multi
    $c incr n
    return [$c exec {*}$args]
}

start_server {tags {multi}} {
    test {EXEC runs the queue when all conditions hold} {
        r mset a 1 text hello n 0
        r rpush l x
        foreach {conditions runs} {
            {nx none} 1  {nx a} 0  {nx l} 0  {xx a} 1  {xx l} 1  {xx none} 0  {nx nx} 1  {nx n} 0  {nx {}} 1
            {ifeq a 1} 1  {ifeq a 01} 0  {ifeq a 2} 0  {ifeq none 1} 0  {ifeq none {}} 0  {ifeq text hello} 1  {ifeq text hell} 0
            {ifne a 1} 0  {ifne a 2} 1  {ifne none 1} 1  {ifne none {}} 1  {ifne text hello} 0  {ifne text Hello} 1
            {IFEQ a 1 Nx none} 1  {xx a ifne a 2 nx none ifeq text hello} 1  {xx a nx a} 0  {nx a xx a} 0  {ifeq a 2 nx none} 0
            {nx none ifeq a 2} 0  {ifeq a 1 ifne a 1} 0  {xx a xx a} 1
        } {
            set n [r get n]
            assert_equal [expr {$runs ? $n + 1 : {}}] [exec_if r {*}$conditions] $conditions
            assert_equal [expr {$n + $runs}] [r get n] $conditions
            assert_error "ERR EXEC without MULTI" {r exec} $conditions
        }
    }

    test {EXEC: a condition that does not hold is replied as a null array} {
        foreach {resp null} {2 *-1 3 _} {
            r hello $resp
            r multi
            assert_equal $null [wire exec xx none]
            r multi
            assert_equal *0 [wire exec nx none]
        }
        r hello 2
    }

    test {EXEC: a condition that does not hold ends the transaction and the watch} {
        set c [valkey_client]
        r watch a
        r multi
        r set a 9
        assert_equal {} [r exec xx none]
        assert_equal {0 0} [list [s watching_clients] [s total_watched_keys]]
        $c set a 1
        assert_equal [expr {[r get n] + 1}] [exec_if r ifeq a 1 xx a ifne a 2 nx none] "neither a mark nor the queue has stayed"
        r watch a
        $c incr a
        assert_equal {} [exec_if r xx a] "a touched watch is as good as before"
        assert_equal 3 [r incr a]
        $c close
    }

    test {EXEC: conditions are about the state before the queue, in the database before it} {
        r flushall
        r multi
        r set a 1
        assert_equal OK [r exec nx a]
        r multi
        r select 1
        r set a 2
        assert_equal {OK OK} [r exec ifeq a 1]
        r multi
        r select 0
        assert_equal {} [r exec ifeq a 1]
        r flushdb
        r select 0
    }

    test {EXEC: an expired key is missing} {
        r set a 1 px 1
        r set n 0
        after 5
        assert_equal {} [exec_if r xx a]
        r set a 1 px 1
        after 5
        assert_equal {} [exec_if r ifeq a 1]
        r set a 1 px 1
        after 5
        assert_equal 1 [exec_if r ifne a 1]
        r set a 1 px 1
        after 5
        assert_equal 2 [exec_if r nx a]
        r watch a
        assert_equal 3 [exec_if r nx a] "missing from the start of the watch"
    }

    test {EXEC: values that are no strings} {
        r del l
        r rpush l x
        set why "EXECABORT Transaction discarded because of: WRONGTYPE Operation against a key holding the wrong kind of value"
        r set n 0
        foreach conditions {{ifeq l x} {ifne l x} {nx none ifne l x} {ifne l x xx none}} {
            assert_error $why {exec_if r {*}$conditions} $conditions
            assert_error "ERR EXEC without MULTI" {r exec} $conditions
        }
        assert_equal {} [exec_if r xx none ifne l x] "the first that does not hold decides"
        assert_equal 0 [r get n]
    }

    test {EXEC: errors of the syntax end the transaction, before any key is looked up} {
        r config resetstat
        r set a 1 px 1
        after 5
        foreach conditions {{x} {nx} {xx} {ifeq a} {ifne} {ifeq} {nx a b} {xx a ifeq a} {a nx} {nx a {}} {xx none nx}} {
            assert_error "EXECABORT Transaction discarded because of: syntax error" {exec_if r {*}$conditions} $conditions
            assert_error "ERR EXEC without MULTI" {r exec} $conditions
            assert_error "ERR EXEC without MULTI" {r exec {*}$conditions} $conditions
        }
        assert_equal {0 0} [list [s keyspace_hits] [s keyspace_misses]]
        r multi
        catch { r nosuch }
        assert_error "EXECABORT Transaction discarded because of previous errors." {r exec nx}
    }

    test {EXEC: conditions are refused in scripts, as EXEC is} {
        assert_error "ERR This Valkey command is not allowed from script*" {r eval {return redis.call('exec', 'nx', 'k')} 1 k}
    }

    test {COMMAND GETKEYS finds the keys of EXEC's conditions} {
        assert_equal {k a k2 b} [r command getkeys exec nx k ifeq a nx xx k2 IFNE b 1]
        assert_equal {{k {RO access}} {a {RO access}}} [r command getkeysandflags exec nx k ifne a 1]
        foreach words {{} nx {nx k x} {ifeq k}} { assert_error "ERR Invalid arguments*" {r command getkeys exec {*}$words} $words }
    }

    test {EXEC: a key that is looked up counts as a hit or a miss} {
        r flushall
        r set a 1
        r config resetstat
        r multi
        r exec xx a ifeq a 1 nx none
        assert_equal {2 1} [list [s keyspace_hits] [s keyspace_misses]]
    }

    test {MONITOR shows the conditions} {
        set m [valkey_deferring_client]
        $m monitor
        $m read
        r multi
        r ping
        r exec nx none
        set seen [lmap i {1 2 3} { lrange [$m read] 3 end }]
        assert_equal {{exec nx none} multi ping} [lsort $seen]
        $m close
    }
}

start_server {overrides {replica-serve-stale-data no} tags {multi external:skip}} {
    test {EXEC: conditions read, so a replica without data refuses them} {
        r replicaof 127.0.0.1 1
        r multi
        r client id
        assert_match {[0-9]*} [r exec]
        r multi
        r client id
        assert_error "EXECABORT Transaction discarded because of: MASTERDOWN *" {r exec nx a}
        r replicaof no one
    }
}

start_server {tags {multi acl external:skip}} {
    proc client_of {args} {
        r acl setuser bob reset on >p {*}$args
        set c [valkey_client]
        $c auth bob p
        return $c
    }

    test {EXEC: the keys of conditions need the right to read} {
        set c [client_of +@all ~n ~a %R~read %W~write]
        set denied "EXECABORT Transaction discarded because of: No permissions to access a key"
        foreach {conditions said} {{nx a} {} {nx read} {} {ifne a 1 nx read} {} {nx b} denied {nx write} denied {ifeq a 1 nx b} denied {xx write} denied} {
            catch {exec_if $c {*}$conditions} reply
            if {$said ne {}} { assert_match "EXECABORT Transaction discarded because of: NOPERM No permissions to access a key*" $reply $conditions; assert_error "ERR EXEC without*" {$c exec} }
            if {$said eq {}} { assert_match {[0-9]*} $reply $conditions }
        }
        assert_equal OK [r acl dryrun bob exec nx a]
        assert_match "*access the 'b' key*" [r acl dryrun bob exec nx a xx b]
        $c close
    }

    test {EXEC: conditions need the right to the database that they are about} {
        set c [client_of +@all allkeys db=1]
        $c multi
        $c select 1
        $c set a 1
        assert_equal {OK OK} [$c exec] "without conditions EXEC reads nothing"
        r acl setuser bob db=0,1
        $c select 0
        r acl setuser bob resetdbs db=1
        $c multi
        $c select 1
        $c set a 1
        assert_error "EXECABORT Transaction discarded because of: NOPERM No permissions to access database*" {$c exec nx a}
        r acl setuser bob db=0
        $c multi
        r acl setuser bob resetdbs db=0
        $c ping
        assert_equal PONG [$c exec nx a]
        $c close
    }
}

start_server {overrides {cluster-enabled yes} tags {multi cluster external:skip}} {
    r cluster addslotsrange 0 8000
    r config set cluster-require-full-coverage no
    wait_for_condition 100 50 {![catch {r get b}]} else { fail "it is down" }

    # b (slot 3300) is here, foo and a are nowhere.
    test {EXEC: a cluster counts the keys of conditions like those of the queue} {
        foreach {queued conditions said} {
            {get b} {nx b} {{}}  {get b} {xx b} {}  ping {nx {{b}1} nx {{b}2}} PONG  {get b} {nx {{b}none}} {{}}
            {get b} {nx c} CROSSSLOT*  {get b} {nx foo} CROSSSLOT*  ping {nx b nx c} CROSSSLOT*  ping {ifeq foo nx} CLUSTERDOWN*
            ping {nx foo nx} EXECABORT*  ping {ifeq b nx} {}  ping {ifne b nx} PONG
        } {
            r multi
            r {*}$queued
            catch {r exec {*}$conditions} reply
            assert_match $said $reply "$queued, $conditions"
            assert_error "ERR EXEC without MULTI" {r exec}
        }
    }

    test {EXEC: conditions count for the statistics of their slot} {
        r config set cluster-slot-stats-enabled yes
        r multi
        r ping
        r exec nx b
        assert_morethan [dict get [lindex [r cluster slot-stats slotsrange 3300 3300] 0 1] network-bytes-in] 0
    }
}

start_server {overrides {appendonly yes appendfsync always save {}} tags {multi external:skip}} {
    test {EXEC: files and replicas get EXEC without conditions} {
        start_server {} {
            r replicaof [srv -1 host] [srv -1 port]
            wait_for_condition 100 50 {[s master_link_status] eq "up"} else { fail "no link" }
            r -1 set gone 1 px 1
            after 5
            r -1 multi
            r -1 set a 1
            r -1 set b 1
            assert_equal {OK OK} [r -1 exec nx gone nx a]
            r -1 multi
            r -1 set c 1
            assert_equal {} [r -1 exec nx a]
            wait_for_condition 100 50 {[r get b] == 1} else { fail "not replicated" }
            assert_equal {1 1 {} {}} [r mget a b c gone]
        }
        set text [string map {\r {}} [exec cat {*}[glob [srv dir]/appendonlydir/*.incr.aof]]]
        assert_match "*\n\$4\nEXEC\n*" [string toupper $text]\n
        assert_no_match "*\nNX\n*" [string toupper $text]
    }
}
