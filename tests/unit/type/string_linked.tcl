# Long strings are not copied into replies: reply and key share the bytes (min-string-size-avoid-copy-reply). Whatever
# happens to the key while a client has not read its reply, the reply keeps the value of when the command ran.
#
# There are two ways to have replies that refer to a value: a client that reads late, with values that no socket takes
# at once; and requests sent at once, whose replies wait for the end of the turn.

set big [string repeat 0123456789abcde 700000] ;# 10.5 MB

# A client that has sent a command, and not read its reply: a part of the reply is still in the server.
proc asked_for {args} {
    set c [valkey_deferring_client]
    $c client setname late
    $c read
    $c client id
    set id [$c read]
    $c {*}$args
    wait_for_condition 100 20 {[late_bytes " id=$id "] > 1000000} else { fail "the reply of $args does not wait" }
    return $c
}

# Memory of clients of that name, or of one of them.
proc late_bytes {{which {}}} {
    set sum 0
    foreach line [split [r client list] \n] {
        if {[string match "*$which*" " $line"] && [string match "* name=late *" $line] && [regexp {tot-mem=(\d+)} $line - bytes]} { incr sum $bytes }
    }
    return $sum
}

proc used {} {
    wait_for_condition 100 20 {[s lazyfree_pending_objects] == 0} else { fail "lazy freeing goes on" }
    return [s used_memory]
}

# Runs the body, then reads the reply of `asked`.
proc reply_after {asked body} {
    set c [asked_for {*}$asked]
    uplevel 1 $body
    set reply [$c read]
    $c close
    return $reply
}

# assert_equal would print megabytes.
proc assert_same {expected actual} {
    assert {$expected eq $actual}
}

proc digest {} { r debug digest }

start_server {tags {string} overrides {save {} maxmemory-policy noeviction}} {
    # What happens to the key; the value that it has then ({}: none).
    set changes {
        set         {r set k new}                                         new
        setex       {r setex k 1000 new}                                  new
        mset        {r mset k new}                                        new
        append      {r append k tail}                                     {${big}tail}
        setrange    {r setrange k 5000 XYZ}                               {[string replace $big 5000 5002 XYZ]}
        longer      {r setrange k [string length $big] XYZ}               {${big}XYZ}
        setbit      {r setbit k 7 1}                                      {[string replace $big 0 0 1]}
        bitfield    {r bitfield k set u8 8 90}                            {[string replace $big 1 1 Z]}
        del         {r del k}                                             {}
        unlink      {r unlink k}                                          {}
        flushall    {r flushall async}                                    {}
        flushsync   {r flushall sync}                                     {}
        flushdb     {r flushdb async}                                     {}
        expire      {r pexpire k 1; after 50; r exists k}                 {}
        expireat    {r expireat k 1}                                      {}
        ttl         {r expire k 1000}                                     {$big}
        getset      {assert_same $big [r getset k new]}                   new
        setget      {assert_same $big [r set k new get]}                  new
        getdel      {assert_same $big [r getdel k]}                       {}
        getex       {assert_same $big [r getex k px 1]; after 50}         {}
        restore     {r restore k 0 [r dump small] replace}                little
        rename      {r rename small k}                                    little
        renamed     {r rename k l; r append l x; r rename l k}            {${big}x}
        copied      {r copy k l; r append k x; assert_same $big [r get l]} {${big}x}
        overcopied  {r copy small k replace}                              little
        moved       {r move k 9; r select 9; r append k x; r del k; r select 0} {}
        swapped     {r swapdb 0 8; r select 8; r append k x; r swapdb 0 8; r select 0} {${big}x}
        incr        {catch {r incr k}}                                    {$big}
        bitop       {r bitop not k small}                                 {[r bitop not l small; r get l]}
        pfcount     {catch {r pfcount k}}                                 {$big}
        reload      {r debug reload}                                      {$big}
        defrag      {r debug defrag-all}                                  {$big}
        defragged   {r debug defrag-all; r append k x; r debug defrag-all} {${big}x}
        script      {r eval {redis.call('append', KEYS[1], redis.call('getrange', KEYS[1], 0, 9))} 1 k} {${big}0123456789}
        transaction {r multi; r append k x; r get k; r del k; assert_same ${big}x [lindex [r exec] 1]} {}
        list        {r del k; r lpush k a; r del k}                       {}
    }

    foreach {what change then} $changes {
        test "A delayed reply, and its key: $what" {
            r flushall
            r set small little
            r set k $big
            set before [used]
            set reply [reply_after {get k} $change]
            assert_same $big $reply
            assert_same [subst $then] [expr {[r exists k] ? [r get k] : {}}]
            r flushall
            set rest [expr {[used] - $before + [string length $big]}]
            if {[string match jemalloc* [s mem_allocator]]} { assert_lessthan $rest 2000000 }
        } {} needs:debug
    }

    foreach asked {
        {get k} {mget small k k} {getrange k 1 -2} {getrange k 0 9000000} {getex k persist} {getset k new} {set k new get}
        {set k new keepttl get} {getdel k} {substr k 5 -1}
    } {
        test "A delayed reply: [lindex $asked 0], as [join $asked]" {
            r set small little
            r set k $big
            set expected [switch [lindex $asked 0] {
                mget { list little $big $big }
                getrange - substr { string range $big [lindex $asked 2] [string map {-1 end -2 end-1} [lindex $asked 3]] }
                default { set big }
            }]
            assert_same $expected [reply_after $asked {
                r append k tail
                r set k another
                r del k
            }]
        }
    }

    test {A delayed reply in RESP3, and one of a transaction} {
        r set k $big
        set c [valkey_deferring_client]
        $c hello 3
        $c read
        $c multi
        $c get k
        $c setrange k 0 X
        $c get k
        $c del k
        $c exec
        wait_for_condition 100 20 {![r exists k]} else { fail "EXEC did not run" }
        assert_equal OK [$c read]
        foreach unused {1 2 3 4} { $c read }
        lassign [$c read] first length second gone
        $c close
        assert_same $big $first
        assert_same [string replace $big 0 0 X] $second
        assert_equal [list [string length $big] 1] [list $length $gone]
    }

    test {Many delayed replies of one changing value cost only its versions} {
        r flushall
        r set k $big
        set before [used]
        set late {}
        foreach version {0 1 2} {
            foreach unused {1 2 3 4} { lappend late [asked_for get k] }
            r append k $version
        }
        if {[string match jemalloc* [s mem_allocator]]} { assert_lessthan [expr {[used] - $before}] 40000000 }
        assert_morethan [late_bytes] 60000000
        set i 0
        foreach c $late {
            assert_same $big[string range 012 0 [expr {$i / 4 - 1}]] [$c read]
            $c close
            incr i
        }
        assert_same ${big}012 [r get k]
    }

    test {Delayed readers that are killed or disconnect release the value} {
        r flushall
        r set k $big
        set before [used]
        set killed [asked_for get k]
        set gone [asked_for get k]
        set overwritten [asked_for get k]
        r set k [string repeat x 100]
        $gone close
        foreach line [split [r client list] \n] {
            if {[regexp {^id=(\d+) .*name=late} $line - id]} { r client kill id $id }
        }
        wait_for_condition 100 20 {[late_bytes] == 0} else { fail "late clients are still there" }
        $killed close
        $overwritten close
        if {[string match jemalloc* [s mem_allocator]]} { assert_lessthan [expr {[used] - $before}] -9000000 }
        assert_equal [string repeat x 100] [r get k]
    }

    test {client-output-buffer-limit and maxmemory-clients count values that replies refer to} {
        foreach {directive limit} {client-output-buffer-limit "normal 2mb 0 0" maxmemory-clients 2mb} {
            set was [config_get $directive]
            r set k $big
            config_set $directive $limit
            set c [valkey_deferring_client]
            $c client setname late
            $c read
            $c get k
            wait_for_condition 100 20 {![string match *name=late* [r client list]]} else { fail "$directive: not closed" }
            assert_error * {$c read}
            $c close
            config_set $directive [expr {$directive eq "maxmemory-clients" ? 0 : "normal 0 0 0"}]
            assert_same $big [r get k]
        }
    }

    test {A delayed reply survives the eviction of its key} {
        r flushall
        r set k $big
        assert_same $big [reply_after {get k} {
            config_set maxmemory-policy allkeys-random
            config_set maxmemory 1
            assert_error OOM* {r set other x}
            assert_equal 0 [r exists k]
            config_set maxmemory 0
            config_set maxmemory-policy noeviction
        }]
    }

    test {Snapshots and dumps work while a reply is delayed} {
        r flushall
        r set k $big
        set plain [r dump k]
        set digest [digest]
        set c [asked_for get k]
        assert_same $plain [r dump k]
        assert_equal $digest [digest]
        r bgsave
        r append k x
        wait_for_condition 100 50 {[s rdb_bgsave_in_progress] == 0} else { fail "the save goes on" }
        r debug reload nosave
        assert_equal $digest [digest]
        assert_same $big [$c read]
        $c close
    } {} needs:debug

    test {min-string-size-avoid-copy-reply is the smallest size without copying; 0: never} {
        foreach {size copied} {0 1 20000000 1 16384 0 10500000 0} {
            r flushall
            r config set min-string-size-avoid-copy-reply $size
            r set k $big
            set before [used]
            set c [asked_for get k]
            set more [expr {[used] - $before}]
            if {[string match jemalloc* [s mem_allocator]]} {
                assert_equal $copied [expr {$more > 8000000}] "at $size: $more bytes more"
            }
            $c close
            wait_for_condition 100 20 {[late_bytes] == 0} else { fail "the late client is still there" }
        }
        r config set min-string-size-avoid-copy-reply 16384
    }

    test {The encoding and memory of a linked value after it was read} {
        r set k [string repeat x 20000]
        set size [r memory usage k]
        r get k
        assert_encoding raw k
        assert_range [expr {[r memory usage k] - $size}] 0 64
        assert_equal 20000 [r strlen k]
    }
}
