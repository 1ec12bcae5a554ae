# Data of Redis 7.4 to 8.6: what the living Redis 8 writes is loaded here, key by key the same; and what is made by hand after
# the bytes that it writes. The servers in between wrote version 12, which is 13 without idempotence records.
source [file join [file dirname [info script]] rdb_util.tcl]
source [file join [file dirname [info script]] aof_util.tcl]
source $::support/values.tcl

# What a key holds, and when it and its fields expire.
proc whole_content {level key} {
    set all [list [content $level $key] [r $level pexpiretime $key]]
    if {[r $level type $key] ne "hash"} { return $all }
    set fields [lsort [r $level hkeys $key]]
    return [list {*}$all [r $level hpexpiretime $key fields [llength $fields] {*}$fields]]
}

proc assert_same_contents {from to} {
    set keys [lsort [r $from keys *]]
    assert_equal $keys [lsort [r $to keys *]]
    foreach key $keys { assert_equal [whole_content $from $key] [whole_content $to $key] $key }
}

# Hashes of random sizes, from a random number of whose fields the expiry has been set, and removed from some again.
proc fill_expiring_hashes {level count} {
    for {set i 0} {$i < $count} {incr i} {
        set fields {}
        set n [expr {1 + int(pow(2, rand() * 10))}]
        for {set f 0} {$f < $n} {incr f} { lappend fields [expr {rand() < 0.2 ? $f * 1001 : "field:$f"}] }
        r $level hset expiring:$i {*}[concat {*}[lmap f $fields { list $f [randstring 0 [expr {rand() < 0.01 ? 300 : 20}]] }]]
        for {set times [expr {int(rand() * 5)}]} {$times > 0} {incr times -1} {
            set some [lrange $fields 0 [expr {int(rand() * $n)}]]
            set at [expr {4102444800000 + int(rand() * (rand() < 0.5 ? 1000 : 1e11))}]
            r $level hpexpireat expiring:$i $at fields [llength $some] {*}$some
            set some [lrange $fields [expr {int(rand() * $n)}] end]
            if {rand() < 0.3} { r $level hpersist expiring:$i fields [llength $some] {*}$some }
        }
    }
}

proc fill_redis8 {level} {
    r $level flushall
    fill_all $level
    r $level del {*}[r $level keys stream*]
    fill_expiring_hashes $level 60
    r $level set expires v pxat 4102444800123
    r $level hset expires:hash a 1 b 2
    r $level pexpireat expires:hash 4102444800456
    r $level hpexpireat expires:hash 4102444800789 fields 1 b
    r $level function load replace "#!lua name=lib\nredis.register_function('f', function() return 'from there' end)"
}

start_servers {
    theirs {kind redis8 overrides {save {} aof-use-rdb-preamble yes auto-aof-rewrite-percentage 0}}
    ours {kind ours overrides {save {}}}
} {
    set theirs [at theirs]
    set ours [at ours]

    proc load_theirs {theirs ours} {
        r $theirs save
        file copy -force [srv $theirs dir]/dump.rdb [srv $ours dir]/dump.rdb
        r $ours debug reload nosave
    }

    foreach policy {noeviction allkeys-lru allkeys-lfu} {
        test "a file of Redis 8, maxmemory-policy $policy" {
            r $theirs config set maxmemory-policy $policy
            fill_redis8 $theirs
            r $theirs select 9
            r $theirs set other database
            load_theirs $theirs $ours
            r $ours select 9
            assert_equal database [r $ours get other]
            r $theirs flushdb
            r $theirs select 0
            r $ours select 0
            assert_same_contents $theirs $ours
            assert_equal {from there} [r $ours fcall f 0]
            lassign [check_rdb [srv $theirs dir]/dump.rdb] code output
            assert_equal 0 $code
            assert_match "*redis-ver = '8.*looks OK!*1 functions*" $output
            # It can be saved again in our format.
            r $ours debug reload
            assert_same_contents $theirs $ours
        }
    }

    test {RESTORE of what DUMP of Redis 8 returns} {
        r $theirs config set maxmemory-policy noeviction
        fill_redis8 $theirs
        r $ours flushall
        foreach key [r $theirs keys *] {
            set at [r $theirs pexpiretime $key]
            assert_equal OK [r $ours restore $key [expr {max($at, 0)}] [r $theirs dump $key] absttl]
        }
        assert_same_contents $theirs $ours
    }

    test {hashes of Redis 8 with fields that expire: encodings, and fields that are over} {
        r $theirs flushall
        r $theirs debug set-active-expire 0
        r $theirs hset small a 1 b 2
        r $theirs hpexpireat small 4102444800000 fields 1 a
        r $theirs hset large a [string repeat x 100] b 2 c 3
        r $theirs hpexpireat large 4102444800000 fields 1 a
        assert_equal {listpackex hashtable} [list [r $theirs object encoding small] [r $theirs object encoding large]]
        foreach {key field} {small:over a large:over b} {
            r $theirs hset $key a [string repeat x [expr {$key eq "small:over" ? 1 : 100}]] b 2
            r $theirs hpexpire $key 1 fields 1 $field
        }
        r $theirs hset all:over a 1
        r $theirs hpexpire all:over 1 fields 1 a
        after 5
        load_theirs $theirs $ours
        assert_equal {large large:over small small:over} [lsort [r $ours keys *]]
        assert_equal {listpack hashtable} [list [r $ours object encoding small] [r $ours object encoding large]]
        assert_equal {b 2} [r $ours hgetall small:over]
        assert_equal [list a [string repeat x 100]] [r $ours hgetall large:over]
        r $theirs debug set-active-expire 1
    }

    test {an append-only file of Redis 8: base and increments} {
        fill_redis8 $theirs
        r $theirs config set appendonly yes
        wait_for_condition 200 50 {[s $theirs aof_rewrite_in_progress] == 0 && [s $theirs aof_rewrite_scheduled] == 0} else {
            fail "the rewrite does not end"
        }
        r $theirs config set aof-timestamp-enabled yes
        r $theirs set later 1 px 100000000
        r $theirs hset expiring:new a 1 b 2 c 3 d 4 e 5
        r $theirs hexpire expiring:new 100000 fields 2 a b
        r $theirs hpexpire expiring:new 1 fields 1 c
        r $theirs hsetex expiring:new ex 5000 fields 2 x 1 y 2
        r $theirs hgetex expiring:new persist fields 1 a
        r $theirs hgetdel expiring:new fields 1 d
        r $theirs rename list:100 list:renamed
        r $theirs lpop list:3000 5
        r $theirs incrbyfloat float 1.5
        r $theirs spop set:texts:1000 10
        r $theirs zpopmin zset:2000 3
        r $theirs getex expires persist
        r $theirs multi
        r $theirs set in transaction
        r $theirs incr counter
        r $theirs exec
        r $theirs eval {redis.call('set', KEYS[1], 'script')} 1 scripted
        after 20
        assert_equal 0 [r $theirs hexists expiring:new c]
        set dir $::work_dir/redis8_aof
        file delete -force $dir
        file mkdir $dir
        file copy [srv $theirs dir]/appendonlydir $dir/appendonlydir
        r $theirs config set appendonly no
        assert_match "*startoffset*" [read_file $dir/appendonlydir/appendonly.aof.manifest]
        start_server [list overrides [list appendonly yes dir $dir]] {
            set theirs [at theirs]
            assert_same_contents $theirs 0
            r set after restart
            r bgrewriteaof
            aof_wait_rewrite
            restart_server
            r del after
            assert_same_contents $theirs 0
        }
    }
}
