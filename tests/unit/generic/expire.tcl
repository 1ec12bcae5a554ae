# Expiry: setting, reading, conditions, and keys that expire.

start_server {tags {expire}} {
    test {EXPIRE and its relatives; TTL and its relatives} {
        set at [expr {[clock seconds] + 100}]
        foreach {command value} [list expire 100 pexpire 100000 expireat $at pexpireat ${at}000] {
            r set k v
            assert_equal 1 [r $command k $value]
            assert_range [r ttl k] 98 100 $command
            assert_range [r pttl k] 98000 100000 $command
            assert_range [r expiretime k] [expr {$at - 1}] [expr {$at + 3}] $command
            assert_range [r pexpiretime k] [expr {$at * 1000 - 1000}] [expr {$at * 1000 + 3000}] $command
            assert_equal v [r get k]
            assert_equal 0 [r $command nosuch $value]
            assert_error "ERR value is not an integer or out of range" {r $command k abc}
            assert_error "ERR wrong number of arguments for '$command' command" {r $command k}
        }
        foreach command {ttl pttl expiretime pexpiretime} {
            assert_equal -2 [r $command nosuch]
            r set forever v
            assert_equal -1 [r $command forever]
        }
    }

    test {TTL rounds to the nearest second} {
        r set k v px 1400
        assert_equal 1 [r ttl k]
        r set k v px 2900
        assert_equal 3 [r ttl k]
    }

    test {times in the past delete at once} {
        foreach {command value} {expire 0 expire -1 pexpire -1 expireat 1 pexpireat 1 expire -9223372036854775} {
            r set k v
            assert_equal 1 [r $command k $value]
            assert_equal 0 [r exists k] "$command $value"
        }
    }

    test {times out of range are refused} {
        r set k v
        foreach {command value} {
            expire 9223372036854775807 expire -9223372036854775808 expire 9223372036854775
            pexpire 9223372036854775807 expireat 9223372036854775807
        } { assert_error "ERR invalid expire time in '$command' command" {r $command k $value} "$command $value" }
        assert_equal -1 [r ttl k]
        assert_equal 1 [r pexpireat k 9223372036854775807]
        assert_equal 9223372036854775807 [r pexpiretime k]
        after 300
        assert_equal 1 [r exists k]
    }

    test {NX, XX, GT and LT} {
        r set k v
        foreach {value condition answer ttl} {
            100 xx 0 -1    100 gt 0 -1    100 nx 1 100   200 nx 0 100   200 xx 1 200   100 gt 0 200   300 gt 1 300
            250 gt 0 300   400 lt 0 300   200 lt 1 200   100 {xx lt} 1 100   50 {xx gt} 0 100
        } {
            assert_equal $answer [r expire k $value {*}$condition] "$value $condition"
            assert_equal $ttl [r ttl k] "$value $condition"
        }
        r persist k
        assert_equal {1 100} [list [r expire k 100 lt] [r ttl k]]
        foreach bad {{nx xx} {nx gt} {nx lt}} {
            assert_error "ERR NX and XX, GT or LT options at the same time are not compatible" {r expire k 1 {*}$bad}
        }
        assert_error "ERR GT and LT options at the same time are not compatible" {r expire k 1 gt lt}
        assert_error "ERR Unsupported option what" {r expire k 1 what}
        assert_equal {1 0} [list [r expire k -1 lt] [r exists k]]
        r set k v
        assert_equal {0 1} [list [r expire k -1 xx] [r exists k]]
    }

    test {PERSIST} {
        r set k v ex 100
        assert_equal {1 0 0} [list [r persist k] [r persist k] [r persist nosuch]]
        assert_equal {-1 v} [list [r ttl k] [r get k]]
    }

    test {adding and removing an expiry keeps values of every encoding} {
        foreach {name setup} {
            int {r set int 12345} empty {r set empty {}} short {r set short abc}
            embedded {r set embedded [string repeat e 63]} pointer {r set pointer [string repeat p 64]}
            zset {r zadd zset 1 a 2 b} longkey {r set $longkey v}
        } {
            set longkey [string repeat k 300]
            eval $setup
            set key [expr {$name eq "longkey" ? $longkey : $name}]
            set before [r debug digest-value $key]
            for {set i 0} {$i < 3} {incr i} {
                r expire $key 100
                r expire $key 200
                assert_equal 200 [r ttl $key]
                r persist $key
                assert_equal $before [r debug digest-value $key] $name
            }
            assert_equal 1 [r del $key]
        }
    } {} {needs:debug}

    test {an expired key is gone for every command} {
        r debug set-active-expire 0
        foreach {setup command answer} {
            {set k v} {get k} {}          {set k v} {exists k} 0        {set k v} {type k} none
            {set k v} {ttl k} -2          {set k v} {strlen k} 0        {set k v} {del k} 0
            {set k v} {unlink k} 0        {set k v} {persist k} 0       {set k v} {expire k 10} 0
            {set k v} {touch k} 0         {set k 5} {incr k} 1          {set k v} {append k x} 1
            {set k v} {setnx k w} 1       {set k v} {set k w xx} {}     {set k v} {set k w get} {}
            {set k v} {getset k w} {}     {set k v} {copy k c} 0        {set k v} {object encoding k} {}
            {set k v} {msetnx k 1 c 2} 1  {zadd k 1 a} {zcard k} 0      {zadd k 1 a} {set k v} OK
            {set k v} {zadd k 1 a} 1      {set k v} {keys k} {}         {set k v} {randomkey} {}
            {set k v} {mget k} {{}}       {set k v} {getex k ex 10} {}  {set k v} {setrange k 2 x} 3
        } {
            r flushall
            r {*}$setup
            r pexpire k 1
            after 3
            assert_equal $answer [r {*}$command] $command
        }
        foreach command {{rename k x} {renamenx k x}} {
            r set k v px 1
            after 3
            assert_error "ERR no such key" {r {*}$command}
        }
        r debug set-active-expire 1
    } {} {needs:debug}

    test {a time in the past: the key expires at once} {
        foreach command {{expire k -1} {expire k 0} {pexpire k 0} {expireat k 1} {pexpireat k 1} {expireat k 0 nx} {expire k 0 lt}
                         {getex k exat 1} {getex k pxat 1} {set k w exat 1} {set k w pxat 1} {set k w ifeq v pxat 1}
                         {set k w xx pxat 1} {set k w get pxat 1}} {
            r set k v
            r config resetstat
            r {*}$command
            assert_equal {0 1 0} [list [r dbsize] [s expired_keys] [s expired_keys_active]] $command
        }
        r rpush k a
        assert_equal {OK 0} [list [r set k v pxat 1] [r exists k]]
        r config resetstat
        assert_equal {OK 0 {}} [list [r set k v pxat 1] [r dbsize] [r set k v get pxat 1]]
        assert_equal 0 [s expired_keys]
        r set k v
        assert_equal {{} {} v} [list [r set k w nx pxat 1] [r set k w ifeq other pxat 1] [r get k]]
        assert_equal {0 1} [list [r expire k 0 gt] [r exists k]]
        r del k
    }

    test {EXPIRE LT and GT refuse the time that the key has already} {
        r set k v pxat 4102444800000
        assert_equal {0 0 1} [list [r pexpireat k 4102444800000 lt] [r pexpireat k 4102444800000 gt] [r pexpireat k 4102444800000]]
        r hsetex h pxat 4102444800000 fields 1 a 1
        assert_equal {0 0 1} [list {*}[r hpexpireat h 4102444800000 lt fields 1 a] {*}[r hpexpireat h 4102444800000 gt fields 1 a] \
                                   {*}[r hpexpireat h 4102444800000 fields 1 a]]
        r del k h
    }

    test {GETEX checks its arguments before the key} {
        r rpush list a
        foreach key {list none} {
            assert_error "ERR value is not an integer or out of range" {r getex $key ex x}
            assert_error "ERR invalid expire time in 'getex' command" {r getex $key px 0}
        }
        assert_equal {} [r getex none ex 10]
        assert_error "WRONGTYPE*" {r getex list ex 10}
        r del list
    }

    test {a command that renews a value drops its expiry; one that changes it does not} {
        foreach {command keeps} {
            {set k 1} 0 {getset k 1} 0 {mset k 1} 0 {incr k} 1 {append k 1} 1 {setrange k 0 9} 1 {incrbyfloat k 1} 1
            {getex k} 1 {set k 1 keepttl} 1
        } {
            r set k 5 ex 100
            r {*}$command
            assert_equal [expr {$keeps ? 100 : -1}] [r ttl k] $command
        }
    }

    test {keys expire without being accessed} {
        r flushall
        set expired [s expired_keys]
        set actively [s expired_keys_active]
        for {set i 0} {$i < 1000} {incr i} { r set k$i v px [expr {1 + $i % 50}] }
        r set lasting v
        r set later v ex 1000
        wait_for_condition 200 50 {[r dbsize] == 2} else { fail "[r dbsize] keys are left" }
        assert_equal [expr {$expired + 1000}] [s expired_keys]
        assert_equal [expr {$actively + 1000}] [s expired_keys_active]
        assert_match "keys=2,expires=1,*" [s db0]
    }

    test {expiry in other databases} {
        r select 4
        r set k v px 20
        r select 0
        wait_for_condition 200 50 {[s db4] eq {}} else { fail "db4 still has [s db4]" }
    }

    test {values that expire while a client waits for the key} {
        set d [valkey_deferring_client]
        $d bzpopmin z 0
        wait_for_condition 500 20 {[s blocked_clients] == 1} else { fail "not blocked" }
        r set z string px 20
        after 50
        assert_equal 0 [r exists z]
        r zadd z 1 a
        assert_equal {z a 1} [$d read]
        $d close
    }

    test {Keys with an expiry are found, sampled and deleted whether few or most of the keys have one} {
        r flushall
        r config set maxmemory-policy volatile-ttl
        foreach {step plain volatile} {few 900 100 most 100 900 few-again 3000 100} {
            for {set i 0} {$i < $plain} {incr i} { r set plain:$i x }
            for {set i 0} {$i < $volatile} {incr i} { r set volatile:$i x px 100000 }
            for {set i $volatile} {$i < 1000} {incr i} { r del volatile:$i }
            if {$step eq "most"} { for {set i $plain} {$i < 1000} {incr i} { r del plain:$i } }
            assert_match "keys=[expr {$plain + $volatile}],expires=$volatile,*" [s db0]
            assert_range [r pttl volatile:7] 90000 100000
        }
        for {set i 0} {$i < 50} {incr i} { r pexpire volatile:$i 1 }
        wait_for_condition 50 100 {[r dbsize] == 3050} else { fail "they stay" }
        for {set i 50} {$i < 100} {incr i} { r persist volatile:$i }
        assert_match "keys=3050,expires=0,*" [s db0]
        r flushall
        for {set i 0} {$i < 500} {incr i} { r set k:$i x px 100000 }
        for {set i 0} {$i < 500} {incr i} { r persist k:$i }
        assert_match "keys=500,expires=0,*" [s db0]
        r config set maxmemory-policy noeviction
    }
}
