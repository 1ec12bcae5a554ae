# Commands that are random, relative to the clock, blocking or partial must be replayed to the same dataset. Each test
# runs commands on a server with an append-only file, records the whole dataset (tests/support/dataset.tcl), and lets
# the server load the file again: later, and with other sizes of nodes, so that "about", "from now" and "any" in the
# file would give another result. The last test fails when a command that writes is missing here.
source [file join $::support dataset.tcl]

# Sizes while the commands run, and while they are replayed.
proc replay_sizes {which} {
    foreach {name first second} {stream-node-max-entries 10 3 list-max-listpack-size 4 16 hash-max-listpack-entries 4 64
        set-max-listpack-entries 4 64 set-max-intset-entries 8 64 zset-max-listpack-entries 4 64} {
        r config set $name [set $which]
    }
}

# Runs the body, then compares with the replay. Times of expiry in bodies are far in the future, or are waited for.
proc assert_replays {body} {
    r config set maxmemory 0
    r flushall
    r function flush
    replay_sizes first
    uplevel 1 $body
    set before [dataset_state r]
    replay_sizes second
    r debug loadaof
    set after [dataset_state r]
    assert_same_dataset $before $after
    r ping
}

proc wait_until_past {ms} {
    wait_for_condition 400 5 {[clock milliseconds] > $ms} else { fail "time stands still" }
}

proc write_commands {} {
    set names {}
    foreach name [r command list] {
        set info [lindex [r command info $name] 0]
        if {"write" in [lindex $info 2]} { lappend names $name }
        foreach sub [lindex $info 9] {
            if {"write" in [lindex $sub 2]} { lappend names [lindex $sub 0] }
        }
    }
    return $names
}

tags {external:skip needs:debug} {
start_server {overrides {appendonly yes appendfsync no auto-aof-rewrite-percentage 0 save {}}} {
    wait_for_condition 400 25 {[s aof_rewrite_in_progress] == 0} else { fail "no base" }
    set members [split abcdefghijklmnopqrstuvwxyz {}]

    # ---- Time ----

    test {replay: expiry relative to now, in every spelling} {
        assert_replays {
            foreach k {a b c d e f g h i j k l m n o p q r s t u v w x} { r set $k 1 }
            r set a 1 ex 1000; r set b 1 px 1000000; r setex c 1000 1; r psetex d 1000000 1
            r expire e 1000; r pexpire f 1000000
            r getex g ex 1000; r getex h px 1000000
            r set i 1 ex 1000; r getex i persist
            r set j 1 ex 1000; r persist j
            r set k 1 ex 1000; r set k 2 keepttl
            r set l 1 ex 1000; r set l 2
            r set m 1 ex 1000; r getset m 2
            r set n 1 ex 1000; r incr n; r append n 0; r setrange n 0 7
            r set o 1 ex 1000; r set o 2 get; r set p 1 px 900000; r set p 2 ex 1000 get
            r set q 1 exat 4102444800; r set r 1 pxat 4102444800123; r expireat s 4102444800; r pexpireat t 4102444800123
            r getex u exat 4102444800; r getex v pxat 4102444800123
            r set w 1 ifeq 1 ex 1000; r set x 2 ifeq 1 px 1000000
            r set w 2 ifne 5 ex 1000; r set x2 2 ifne 1 px 1000000; r set w 3 ifne 5 keepttl; r increx x3 ex 1000; r increx x3 byfloat 0.1; r increx x3 byfloat 1 enx px 5; r increx x4 px 1000000; r increx x4 persist; r increx x5 exat 4102444800 byint 7; r increx x5 pxat 4102444800123
            r set missing 1 xx ex 10; r set y 1 nx ex 1000
            r msetex 2 m1 a m2 b ex 1000; r msetex 1 m3 a px 1000000 nx; r msetex 1 m3 b xx keepttl
            r msetex 1 m4 a exat 4102444800; r msetex 1 m5 a pxat 4102444800123
        }
    }

    test {replay: the conditions of EXPIRE, met and not met} {
        assert_replays {
            set at 4102444800000
            foreach k {nx1 nx2 xx1 xx2 gt1 gt2 gt3 gt4 lt1 lt2 lt3 lt4} { r set $k 1 }
            foreach k {nx2 xx2 gt2 gt3 gt4 lt2 lt3 lt4} { r pexpireat $k $at }
            r pexpireat nx1 [expr {$at + 1}] nx; r pexpireat nx2 [expr {$at + 1}] nx
            r pexpireat xx1 [expr {$at + 1}] xx; r pexpireat xx2 [expr {$at + 1}] xx
            r pexpireat gt1 [expr {$at + 1}] gt; r pexpireat gt2 [expr {$at + 1}] gt
            r pexpireat gt3 [expr {$at - 1}] gt; assert_equal 0 [r pexpireat gt4 $at gt]
            r pexpireat lt1 [expr {$at + 1}] lt; r pexpireat lt2 [expr {$at + 1}] lt
            r pexpireat lt3 [expr {$at - 1}] lt; assert_equal 0 [r pexpireat lt4 $at lt]
            r expire nx1 5000 xx gt; r expire xx1 5000 nx
            assert_equal $at [r pexpiretime lt4]
        }
    }

    # An expired key is written as deleted, so that later commands find it absent when the file is loaded, in which
    # nothing expires by itself. Each command here would have another effect with the key still present.
    test {replay: keys that expired when a command accessed them} {
        assert_replays {
            r debug set-active-expire 0
            set over [expr {[clock milliseconds] + 60}]
            foreach k {incr append setnx getset rpushx lpush sadd hset zadd set_keepttl rename_to copy_to read scan xadd setbit pf} {
                if {$k in {rpushx lpush}} { r rpush $k old } elseif {$k eq "sadd"} { r sadd $k old } elseif {$k eq "hset"} {
                    r hset $k f old } elseif {$k eq "zadd"} { r zadd $k 1 old } elseif {$k eq "xadd"} { r xadd $k 1-1 f old
                } elseif {$k eq "pf"} { r pfadd $k old } else { r set $k 100 }
                r pexpireat $k $over
            }
            wait_until_past [expr {$over + 1}]
            r incr incr; r append append x; r setnx setnx new; r getset getset new; r rpushx rpushx x; r lpush lpush x
            r sadd sadd new; r hset hset g new; r zadd zadd 2 new; r set set_keepttl new keepttl
            r set other 1; r renamenx other rename_to; r set another 1; r copy another copy_to
            r exists read; r setnx read 2; r keys *; r setnx scan 2; r xadd xadd 1-1 f new; r setbit setbit 1 1; r pfadd pf new
            r debug set-active-expire 1
        }
    }

    test {replay: keys that expired without an access} {
        assert_replays {
            foreach k $members { r rpush $k old; r pexpire $k 30 }
            wait_for_condition 400 25 {[r dbsize] == 0} else { fail "they do not expire" }
            foreach k $members { r rpush $k new }
        }
    }

    # Keys that have an expiry for a while: when the file is loaded the time is over, but the file says that the
    # expiry was removed.
    test {replay: times that are over at the replay, and removed ones} {
        assert_replays {
            set over [expr {[clock milliseconds] + 250}]
            foreach k {set expire getex setex rename} { r set $k 1 }
            r pexpireat expire $over; r persist expire; r getex getex pxat $over; r getex getex persist; r set set 1 pxat $over; r set set 2; r psetex setex 250 1; r persist setex
            r msetex 1 msetex 1 pxat $over; r persist msetex; r pexpireat rename $over; r rename rename renamed; r persist renamed
            r hset h f 1 g 1; r hpexpireat h $over fields 1 f; r hpersist h fields 1 f; r hsetex hx pxat $over fields 1 f 1; r hpersist hx fields 1 f
            r hset hg f 1; r hgetex hg pxat $over fields 1 f; r hgetex hg persist fields 1 f; r rpush l a; r pexpireat l $over; r rpush l b; r persist l
            wait_until_past $over
        }
    }

    test {replay: keys that expire in other databases} {
        assert_replays {
            foreach db {0 3 9} { r select $db; r rpush k old; r rpush seen old }
            foreach db {3 9} { r select $db; r pexpire k 20; r pexpire seen 20 }
            wait_until_past [expr {[clock milliseconds] + 25}]
            r select 3; r exists seen; r rpushx seen x; r select 0
            wait_for_condition 400 25 {![regexp {db[39]} [r info keyspace]]} else { fail "they do not expire" }
            foreach db {0 3 9} { r select $db; r rpush k new }
            r select 0
        }
    }

    test {replay: a time in the past deletes} {
        assert_replays {
            foreach k {a b c d e f g h} { r set $k 1 }
            r pexpireat a 1; r expireat b 1; r expire c -1; r pexpire d 0; r getex e pxat 1; r set f 2 pxat 1; r set g 2 exat 1; r set i 1; r increx i pxat 1; r set j 1; r set j 2 ifne 2 pxat 1
            r hset h2 f 1 g 1; r hpexpireat h2 1 fields 1 f; r hset h3 f 1; r hexpire h3 0 fields 1 f
            foreach k {a b c d e f g h3 i j} { r rpush $k new }
            r hset h2 f 3
            r mset s2 1 s4 2 s5 3; r msetex 4 s2 x s5 a s4 a s2 y xx pxat 1; assert_equal 0 [r exists s2 s4 s5]
        }
    }

    test {replay: the database is full} {
        assert_replays {
            r config set maxmemory-policy allkeys-random
            for {set i 0} {$i < 300} {incr i} { r set key:$i [string repeat x 5000] }
            set keys [r dbsize]
            r config set maxmemory [expr {[s used_memory] - 600000}]
            wait_for_condition 400 25 {[r dbsize] < $keys - 50} else { fail "nothing is evicted" }
            r config set maxmemory 0
            for {set i 0} {$i < 300} {incr i} { r append key:$i y }
            r config set maxmemory-policy noeviction
        }
    }

    # ---- Chance ----

    test {replay: SPOP removes the same members} {
        assert_replays {
            foreach k {one many most all ints} { r sadd $k {*}$members }
            r sadd ints {*}[lrange {1 2 3 4 5 6 7 8 9 10 11 12} 0 end]; r sadd small 1 2 3 4 5; r sadd tiny a b c
            for {set i 0} {$i < 5} {incr i} { r spop one }
            r spop many 5; r spop most 21; r spop most 2; r spop all 100; r spop ints 30; r spop small 2; r spop tiny 1; r spop tiny 2
            r spop missing; r spop missing 3; r spop one 0
        }
    }

    test {replay: scripts that draw numbers and look at the clock} {
        assert_replays {
            r eval {redis.call('SET', KEYS[1], math.random()); redis.call('SET', KEYS[2], redis.call('TIME')[2])
                redis.call('SADD', KEYS[3], 'a', 'b', 'c', 'd', 'e', 'f'); redis.call('SPOP', KEYS[3], 2)
                redis.call('SET', KEYS[4], redis.call('SRANDMEMBER', KEYS[3])); redis.call('PEXPIRE', KEYS[4], 500000)
                redis.call('XADD', KEYS[5], '*', 'f', 'v')} 5 a b c d e
            catch {r eval {redis.call('SET', KEYS[1], 'kept'); redis.call('INCR', KEYS[1])} 1 partial}
            catch {r eval {redis.call('SET', KEYS[1], 'kept'); error('stop')} 1 partial2}
            r eval {for i = 1, 10 do redis.pcall('INCR', KEYS[1]); redis.pcall('LPUSH', KEYS[1], 'x') end} 1 mixed
            r function load {#!lua name=lib
                redis.register_function('draw', function(keys) return redis.call('SET', keys[1], math.random(), 'EX', 1000) end)}
            r fcall draw 1 drawn
            r script load {return 1}
        }
    }

    # ---- Numbers that are computed ----

    test {replay: counting with fractions, also on what expires} {
        assert_replays {
            r increx fx byfloat 0.1; r increx fx byfloat 0.2; r increx fx byfloat 9 ubound 4.75 saturate; r increx nx byint 9223372036854775807; r increx nx; r increx nx byint -3 lbound 0
            r set f 3.1; r incrbyfloat f 1e-7; r pexpireat f 4102444800123; r incrbyfloat f 0.3
            r set n 5 ex 1000; r incrby n 3; r decr n; r decrby n 2; r incr n
            r hset h a 1.5 b 7; r hincrbyfloat h a 0.1; r hincrby h b 3; r hincrbyfloat h new 1e20
            r hset g a 1.5 b 7 c 1; r hpexpireat g 4102444800123 fields 2 a b; r hincrbyfloat g a 0.1; r hincrby g b 3; r hincrby g c 1
            r zadd z 1.1 a; r zincrby z 0.1 a; r zadd z incr 0.7 a; r zadd z gt 0.5 a; r zadd z lt ch 0.25 a; r zadd z nx 9 a 9 b; r zadd z xx 3 c 4 b
            r zadd z -inf low +inf high
            r bitfield failed overflow fail incrby i8 #11 9223372036854775807; r set longer abc; r bitfield longer overflow fail set u8 #9 256
            r setbit bits 7 1; r bitfield bits set u8 0 255 incrby u2 0 3 overflow sat incrby i5 4 20; r bitop not flipped bits
        }
    }

    test {replay: strings longer than the current limit} {
        assert_replays {
            r config set proto-max-bulk-len 2mb
            r setrange s 1048578 x
            r append s [string repeat y 1000]
            r config set proto-max-bulk-len 1mb
        }
        r config set proto-max-bulk-len 512mb
    }

    # ---- Fields that expire ----

    test {replay: hashes with fields that expire} {
        assert_replays {
            foreach h {a b c d e f g h i j k} { r hset $h f 1 g 2 i 3 }
            r hexpire a 1000 fields 2 f g; r hpexpire b 1000000 fields 1 f; r hexpireat c 4102444800 fields 1 f; r hpexpireat d 4102444800123 fields 1 f
            r hpexpireat d 4102444800124 nx fields 2 f g; r hpexpireat d 4102444800122 gt fields 1 f; r hpexpireat d 4102444800125 lt fields 2 f i
            r hexpire a 2000 xx fields 2 f i; r hpersist a fields 1 g
            r hsetex e ex 1000 fields 2 f 9 new 9; r hsetex e px 1000000 fields 1 g 9; r hsetex e fnx ex 5 fields 1 f 1; r hsetex e fxx keepttl fields 1 f 10
            r hsetex fresh exat 4102444800 fields 1 f 1; r hsetex fresh pxat 4102444800123 fields 1 g 1; r hsetex fresh fields 1 plain 1
            r hgetex f ex 1000 fields 1 f; r hgetex f px 1000000 fields 1 g; r hgetex f persist fields 1 f; r hgetex f exat 4102444800 fields 1 i
            r hgetdel g fields 2 f nosuch; r hgetdel h fields 3 f g i
            r hset after f 1 g 2; r hexpire after 1000 fields 1 f nx; r hsetex after fields 1 g 3 px 500000 fxx; r hgetex after fields 1 g persist; r hgetex after fields 1 g ex 70
            r hexpire i 1000 fields 1 f; r hset i f 5; r hexpire j 1000 fields 1 f; r hdel j f; r hexpire k 1000 fields 1 f; r hsetnx k f 9; r hsetnx k z 9
        }
    }

    test {replay: fields that have expired are gone for the commands after them} {
        assert_replays {
            foreach h {incr setnx fxx last} { r hset $h f 100 }
            r hset incr other 1
            foreach h {incr setnx fxx last} { r hpexpire $h 30 fields 1 f }
            wait_until_past [expr {[clock milliseconds] + 60}]
            r hincrby incr f 1; r hsetnx setnx f new; r hsetex fxx fxx fields 1 f new; r hset last g 1
            wait_for_condition 400 25 {[r hlen last] == 1} else { fail "the field stays" }
            r hincrbyfloat last f 2.5
        }
    }

    # They have expired, but were not accessed: in the file they are unchanged, and must not get another time there.
    test {replay: commands that name expired and other fields} {
        assert_replays {
            r debug set-active-expire 0
            foreach h {expire persist getex_persist getex setex fnx del getdel set} { r hset $h f 1 g 2 h 3; r hpexpire $h 20 fields 1 f; r hpexpire $h 500000 fields 1 h }
            wait_until_past [expr {[clock milliseconds] + 25}]
            r hexpire expire 1000 fields 3 f g h; r hpersist persist fields 3 f g h; r hgetex getex_persist persist fields 3 f g h; r hgetex getex px 800000 fields 3 f g h
            r hsetex setex keepttl fields 3 f 9 g 9 h 9; r hsetex fnx fnx ex 1000 fields 1 f 9; r hdel del f g; r hgetdel getdel fields 2 f g; r hset set f 9 new 9
            r debug set-active-expire 1
        }
    }

    # ---- Waiting ----

    test {replay: path hashes, with what has no effect} {
        assert_replays {
            foreach path $members { r phset p a/$path FIELDS 2 f $path g 1 }
            r phset p a/b FNX FIELDS 1 f no
            r phset p a/b FXX FIELDS 1 f yes
            r phset none a FXX FIELDS 1 f no
            r phmset p a FIELDS 1 f 1 a FIELDS 1 f 2 {} FIELDS 1 f 3
            r phset p many FIELDS 10 {*}[concat {*}[lmap i [numbers 1 10] { list f$i $i }]]
            r phdel p a/c g none g
            r phdel p a/d f g
            r phdel p a/e
            r phdel p a/none
            r phset q x/y FIELDS 1 f 1
            r phdelprefix q x
            r phdelprefix q x
            r phset s x FIELDS 1 f 1 ; r phset s y FIELDS 1 f 1
            r phdelprefix s {}
        }
        assert_equal {27 0 0} [list [r phcard p] [r phcard q] [r phcard s]]
        assert_equal {p q s} [lsort [r keys *]]
    }

    test {replay: lists that were waited for} {
        assert_replays {
            foreach {how pushes} {
                {blpop a b 0} {rpush b 1 2 3} {brpop a c 0} {rpush c 1 2 3} {blmove src dst left right 0} {rpush src 1 2 3}
                {blmove src2 dst right left 0} {rpush src2 4 5 6} {brpoplpush src3 dst 0} {rpush src3 7 8 9}
                {blmpop 0 2 x y left count 2} {rpush y 1 2 3 4} {blmpop 0 1 z right count 3} {rpush z 1 2 3 4} {blmove same same left right 0} {rpush same 1 2 3}
            } {
                set c [blocked_client {*}$how]
                r {*}$pushes
                assert_morethan [llength [answer $c]] 0
            }
            # Several elements at once.
            set c [blocked_client blmovem m1 m2 left left 0 exactly 3 obo]
            r rpush m1 1; r rpush m1 2 3 4
            assert_equal {3 2 1} [answer $c]
            r expire m1 1000; r lmovem m1 m1 left right count 9 bulk; r lmovem m2 m1 right right; r rpush m3 {*}[numbers 1 3000]
            r lmovem m3 m4 left right count 2500 bulk; r lmovem m4 m3 right left count 1100 bulk; r lmovem m3 m4 right right exactly 1200 obo
            r lmovem m4 m4 left left exactly [r llen m4] obo; r lmovem m4 m5 left left exactly [r llen m4] obo; r lmovem m5 m5 right right count 7 obo
            # Several clients, one push; a push within a transaction and from a script.
            set clients [list [blocked_client blpop q 0] [blocked_client brpop q 0] [blocked_client blmove q moved left left 0]]
            r rpush q 1 2 3 4 5
            foreach c $clients { answer $c }
            set c [blocked_client blpop t 0]
            r multi; r rpush t 1 2; r lpush t 0; r exec
            assert_equal {t 0} [answer $c]
            set c [blocked_client brpop s 0]
            r eval {redis.call('RPUSH', KEYS[1], 1, 2)} 1 s
            assert_equal {s 2} [answer $c]
            # These do not wait.
            r rpush l 1 2 3 4 5 6; r blpop l 0; r brpop l 0; r blmpop 0 1 l left count 2; r lmpop 1 l right; r lmove l dst left left; r rpoplpush dst dst
            r lpop dst 2; r rpop dst 1; r blmove dst other left right 1; r brpoplpush other dst 1
        }
    }

    test {replay: sorted sets that were waited for} {
        assert_replays {
            foreach {how} {{bzpopmin a b 0} {bzpopmax a b 0} {bzmpop 0 2 a b min count 2} {bzmpop 0 2 a b max count 3} {bzmpop 0 1 b max}} {
                set c [blocked_client {*}$how]
                r zadd b 1 one 2 two 3 three 4 four 5 five
                assert_morethan [llength [answer $c]] 0
                r zremrangebyrank b 1 -1; r zadd b 9 nine
                r rename b kept:[incr n]
            }
            r zadd z 1 a 2 b 3 c 4 d 5 e 6 f 7 g 8 h; r bzpopmin z 0; r bzpopmax z 0; r zmpop 1 z min; r zmpop 1 z max count 2; r bzmpop 0 1 z max
            r zpopmin z; r zpopmax z 1
        }
    }

    # ---- Streams ----

    test {replay: IDs that the server chooses} {
        assert_replays {
            for {set i 0} {$i < 5} {incr i} { r xadd s * f $i }
            r xadd full maxlen 2 * f 1; r xadd full maxlen 2 * f 2; r xadd full maxlen 2 * f 3; r xadd few minid 3-5 1-1 f 1; r xadd few minid 3-5 4-* f 2
            r xadd t 5-* f 1; r xadd t 5-* f 2; r xadd t 6-* f 3; r xadd nomk nomkstream * f 1; r xadd t nomkstream * f 4
        }
    }

    test {replay: trimming about, and as far as a limit} {
        assert_replays {
            for {set i 1} {$i <= 57} {incr i} {
                foreach s {maxlen minid limit exact add addmin addlimit addexact} { r xadd $s $i-1 f $i }
            }
            r xtrim maxlen maxlen ~ 23; r xtrim minid minid ~ 31; r xtrim limit maxlen ~ 5 limit 20; r xtrim exact maxlen = 13; r xtrim exact minid 50
            r xadd add maxlen ~ 23 100-1 f v; r xadd addmin minid ~ 31 100-1 f v; r xadd addlimit maxlen ~ 5 limit 20 100-1 f v
            r xadd addexact maxlen 7 100-1 f v; r xadd addexact minid = 55 101-1 f v; r xadd add minid ~ 45 limit 10 101-1 f v
            foreach s {maxlen minid addmin} { assert_morethan [r xlen $s] 20 }
        }
    }

    test {replay: entries that are deleted with regard to groups (9.2 §2)} {
        assert_replays {
            for {set i 1} {$i <= 30} {incr i} { r xadd s $i-1 f $i }
            foreach {group count} {g 25 h 20 i 10} { r xgroup create s $group 0; r xreadgroup group $group c count $count streams s > }
            r xdel s 1-1 2-1
            assert_equal {1 1 -1} [r xackdel s g ids 3 1-1 3-1 30-1]
            assert_equal {1 1} [r xackdel s g delref ids 2 2-1 4-1]
            assert_equal {2 2} [r xackdel s g acked ids 2 5-1 22-1]
            r xack s h 6-1; r xack s i 6-1
            assert_equal {1} [r xackdel s g acked ids 1 6-1]
            assert_equal {1 -1} [r xdelex s ids 2 7-1 99]
            assert_equal {-1 1} [r xdelex s delref ids 2 7-1 8-1]
            assert_equal {2 2} [r xdelex s acked ids 2 9-1 30-1]
            r xgroup destroy s i; r xack s g 15-1; r xack s h 15-1
            assert_equal {1 2} [r xdelex s acked ids 2 15-1 16-1]
            r multi; r xdelex s delref ids 3 10-1 11-1 12-1; r xackdel s g keepref ids 1 13-1; r exec
            r eval {server.call('XDELEX', KEYS[1], 'DELREF', 'IDS', 2, '13-1', '14-1')} 1 s
        }
    }

    test {replay: idempotence records} {
        assert_replays {
            for {set i 0} {$i < 20} {incr i} { r xadd s idmp p [expr {$i % 10}] * f v; r xadd s maxlen ~ 15 idmpauto q * n [expr {$i % 7}] }
            r xcfgset s idmp-duration 50; r xcfgset s idmp-maxsize 3 idmp-duration 5000; r xadd s idmp p 0 * f v
            set id [r xadd s * f v]; r xidmprecord s p x $id; r xidmprecord s p x $id; r xidmprecord s q x $id
            r multi; r xadd s idmp p m * f v; r xadd s idmp p m * f v; r exec
        }
    }

    test {replay: streams trimmed with regard to groups, entries claimed by XREADGROUP, and given back} {
        assert_replays {
            for {set i 1} {$i <= 40} {incr i} { r xadd s $i-1 f $i }
            foreach {group count} {g 30 h 20} { r xgroup create s $group 0; r xreadgroup group $group c count $count streams s > }
            r xack s g 1-1 3-1 4-1; r xack s h 1-1 2-1 3-1 4-1
            assert_equal 3 [r xtrim s maxlen ~ 0 acked]
            assert_equal 1 [r xtrim s minid ~ 5-1 delref]
            r xack s g 7-1; r xack s h 7-1
            r xadd s acked minid 20-1 41-* f v; r xadd s delref maxlen 30 42-1 f v; r xadd s keepref maxlen 28 43-1 f v
            assert_equal {0 28} [list [r exists nosuch] [r xlen s]]
            r xclaim s g c 0 17-1 18-1 idle 5000000
            r xreadgroup group g d claim 1000000 count 3 streams s >
            assert_equal 3 [r xnack s g silent ids 3 18-1 19-1 20-1]; r xnack s h fatal ids 2 18-1 40-1 force; r xnack s g fail ids 1 21-1 retrycount 9
            r xreadgroup group h e claim 1000000 count 1 streams s >
        }
    }

    test {replay: groups, what is pending in them, and for how long} {
        assert_replays {
            for {set i 1} {$i <= 20} {incr i} { r xadd s $i-1 f $i }
            r xgroup create s g 0; r xgroup create s last \$; r xgroup create made g \$ mkstream; r xgroup create s read 5-1 entriesread 5
            r xreadgroup group g alice count 7 streams s >
            r xreadgroup group g bob count 5 streams s >
            r xreadgroup group g carol noack count 2 streams s >
            r xreadgroup group last idle count 2 streams s >
            r xreadgroup group g alice count 2 streams s 0
            r xgroup createconsumer s g dave; r xgroup createconsumer s g eve; r xgroup delconsumer s g eve
            r xack s g 1-1 2-1; r xdel s 3-1 9-1
            r xclaim s g dave 0 4-1; r xclaim s g dave 0 5-1 idle 5000; r xclaim s g dave 0 6-1 time 1700000000000; r xclaim s g dave 0 7-1 retrycount 9
            r xclaim s g bob 0 15-1 force; r xclaim s g bob 0 16-1 force idle 100 retrycount 3 justid; r xclaim s g newcomer 0 8-1 justid
            r xclaim s g frank 0 10-1 lastid 17-1; r xgroup create s moved 0; r xclaim s moved frank 0 99-1 lastid 18-1
            # Entries that were deleted from the stream and are still pending are removed by a claim.
            r xgroup create s holes 0; r xreadgroup group holes x count 6 streams s >; r xdel s 6-1; r xclaim s holes y 0 4-1 6-1 5-1 justid
            # Read again by its consumer, it counts as delivered once more.
            r xgroup create s again 0; r xreadgroup group again x count 3 streams s >; r xreadgroup group again x streams s 0; r xreadgroup group again x count 1 streams s 0
            r xgroup create s auto 0; r xreadgroup group auto x count 6 streams s >; r xdel s 12-1; r xautoclaim s auto y 0 0 count 3; r xautoclaim s auto z 0 0 justid
            r xgroup setid s read 10-1; r xgroup setid s last 3-1 entriesread 3; r xgroup create s gone 0; r xgroup destroy s gone
            r xsetid s 30-1; r xsetid made 7-7 entriesadded 100 maxdeletedid 6-6
        }
    }

    test {replay: groups that were waited for} {
        assert_replays {
            r xgroup create s g \$ mkstream
            set c [blocked_client xreadgroup group g alice block 0 streams s >]
            r xadd s 1-1 f v
            answer $c
            set c [blocked_client xreadgroup group g bob noack block 0 streams s >]
            r xadd s 2-1 f v
            answer $c
            set c [blocked_client xread block 0 streams s \$]
            r xadd s 3-1 f v
            answer $c
            # A consumer that got nothing.
            set c [valkey_deferring_client]
            $c xreadgroup group g late block 60 streams s >
            answer $c
        }
    }

    # ---- From one key to another ----

    test {replay: keys that are copied, moved, renamed and restored keep their expiry} {
        assert_replays {
            r set a 1 px 1000000; r copy a b; r copy a a2 db 3; r rename a c; r renamenx c d; r move d 5
            r hset h f 1 g 2; r hpexpire h 1000000 fields 1 f; r copy h h2; r rename h h3; r move h2 4
            set dump [r dump b]
            r restore r1 500000 $dump; r restore r2 0 $dump; r restore r3 4102444800123 $dump absttl idletime 50; r restore r2 1000 $dump replace; r restore h4 0 [r dump h3]
            r restore lfu 0 $dump freq 20
            r select 7; r set seven 1 ex 500; r swapdb 7 8; r select 0; r swapdb 0 9
            r select 9; r set nine 9; r select 0; r set zero 0
            r select 10; r set gone 1; r flushdb async; r set stays 1; r select 0
        }
    }

    test {replay: results that are stored} {
        assert_replays {
            r sadd s1 a b c d 1 2; r sadd s2 b c e; r sinterstore si s1 s2; r sunionstore su s1 s2; r sdiffstore sd s1 s2; r sdiffstore s2 s2 s1; r smove s1 su a; r smove s1 sd 2
            r zadd z1 1 a 2 b 3 c; r zadd z2 10 b 20 c 30 d; r zunionstore zu 2 z1 z2 weights 2 0.1 aggregate max; r zinterstore zi 2 z1 z2; r zdiffstore zd 2 z1 z2
            r zrangestore zr z1 1 -1; r zrangestore zr2 z2 (10 inf byscore limit 0 1; r zrangestore zr3 z1 - + bylex rev; r zrem z1 a; r zremrangebyscore z2 20 25; r zremrangebylex zr - +
            r rpush l 3 1 2; r sort l store sorted; r mset w_1 3 w_2 2 w_3 1; r sort l by w_* get # get w_* store byweight; r sort nosuch by nosort store sorted2
            r geoadd geo 13.361389 38.115556 p 15.087269 37.502669 c; r geoadd geo xx ch 13.4 38 p; r geosearchstore found geo fromlonlat 15 37 byradius 200 km; r geosearchstore dist geo frommember p bybox 400 400 km storedist
            r georadius geo 15 37 200 km store old; r georadiusbymember geo p 300 km storedist old2
            r pfadd p1 a b c; r pfadd p2 c d; r pfcount p1; r pfmerge p3 p1 p2; r pfcount p1 p3; r pfadd p4
            r set bits abc; r set bits2 abd; r bitop xor bo bits bits2; r set bits3 b; foreach op {diff diff1 andor one} { r bitop $op bo$op bits3 bits bits2 }; r bitop one bits3 nosuch
        }
    }

    test {replay: what only happens on a condition} {
        assert_replays {
            r setnx a 1; r setnx a 2; r msetnx b 1 c 2; r msetnx c 3 d 4; r hsetnx h f 1; r hsetnx h f 2; r set a 5 xx; r set q 5 nx get; r set a 6 nx
            r set a new ifeq 5; r set a newer ifeq 5; r set a got ifeq new get; r delifeq a other; r delifeq a got; r set ne 1 ifne 1; r set ne 2 ifne 1; r set ne 3 ifne 0 get; r delex ne ifeq 4; r set ne2 x; r delex ne2 ifne x; r delex ne2 ifne y; r set dg 7; r set dg 8 ifdeq 06eed105b82285fa ex 1000; r set dg 9 ifdeq 06eed105b82285fa; r set dg 7 ifdne 06eed105b82285fa keepttl; r set dh 7 ifdne 06eed105b82285fa get; r delex dh ifdne 06eed105b82285fa; r delex dh ifdeq 06eed105b82285fa; r rpush dl x; r delex dl; r digest dg; r mset x 1 y 2 z 3; r getdel x; r del y z nosuch; r unlink b
            r rpush l a b a c a; r linsert l before b X; r linsert l after nosuch Y; r lrem l -2 a; r lset l 0 first; r ltrim l 0 2; r lpushx l 0; r lpushx nolist 0; r rpushx l 9; r rpush l2 1; r ltrim l2 5 6
            r srem nosuch a; r sadd s a b; r srem s a b; r zadd z 1 a; r zrem z a; r hset hh a 1; r hdel hh a; r hmset hm a 1 b 2
            r set word get get; r set word 7 ifeq get get; r set word2 get; r set word2 8 ifeq get get; r set word3 get get
            r append ap x; r append ap y; r setrange sr 5 x; r setrange sr 0 {}; r touch ap
        }
    }

    test {replay: transactions, also those that fail in the middle} {
        assert_replays {
            r multi; r set a 1; r incr a; r lpush a x; r spop nosuch; r set b 1 ex 1000; r select 2; r set in2 1; r exec; r select 0
            r sadd s {*}$members; r multi; r spop s 3; r srandmember s; r flushdb; r sadd s 1 2 3 4 5 6; r spop s 2; r exec
            r multi; r set never 1; r discard
            r multi; r flushall; r set after 1; r exec
            set c [blocked_client blpop q 0]; r multi; r rpush q 1; r rpush q 2; r del q; r rpush q 3; r exec; answer $c
        }
    }

    test {replay: transactions with conditions, and MOVE ... REPLACE} {
        assert_replays {
            r set a 1; r set gone 1 px 1; after 5
            r multi; r incr a; r exec ifeq a 1 nx none; r multi; r incr a; r exec ifeq a 1
            r multi; r set b 1; r set c 1; r exec nx gone xx a ifne a 1; r multi; r set never 1; r exec nx a
            r select 3; r set m old ex 1000; r set n old; r set e old px 1; r select 0; r mset m new n new o new e new; after 5
            r move m 3 replace; r move n 3; r move o 3 replace; r move none 3 replace; r move e 3 REPLACE
        }
        set commands [string map [list \r {}] [exec cat {*}[glob [srv dir]/appendonlydir/*.incr.aof]]]
        assert {![regexp {\*4\n\$4\nMOVE\n} [string toupper $commands]]} "older servers can read it"
        assert {![regexp {\*([2-9])\n\$4\nEXEC\n} [string toupper $commands]]} "older servers can read it"
    }

    test {replay: functions are loaded, replaced and deleted} {
        assert_replays {
            proc library {name value} { return "#!lua name=$name\nredis.register_function('f_$name', function() return $value end)" }
            r function load [library one 1]; r function load [library two 2]; r function load replace [library one 11]; r function delete two
            set dump [r function dump]
            r function load [library three 3]; r function restore $dump replace; r function flush async
            r function load [library four 4]; r function restore $dump
        }
    }

    test {replay: MIGRATE removes keys} {
        assert_replays {
            start_server {} {
                r -1 mset a 1 b 2 c 3 d 4
                r -1 migrate [srv host] [srv port] a 0 5000
                r -1 migrate [srv host] [srv port] {} 0 5000 keys b nosuch
                r -1 migrate [srv host] [srv port] c 0 5000 copy
                r -1 setnx a back
            }
        }
    }

    # ---- All of them ----

    test {replay: no command that writes was left out} {
        set stats [r info commandstats]
        # Commands that never change data themselves, or that belong to other modules; each has its test elsewhere.
        set excused {restore-asking pfdebug cluster|flushslot}
        set missing {}
        foreach name [write_commands] {
            if {$name in $excused} continue
            if {![regexp "cmdstat_[string map {. \\. - \\- | \\|} $name]:calls=\\d" $stats]} { lappend missing $name }
        }
        assert_equal {} $missing
    }
}
}
