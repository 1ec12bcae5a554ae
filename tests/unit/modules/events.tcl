# Events of the keyspace and of the server that modules get; children, messages, clients, the state of the server
# (tests/modules/events.c). This server sends the events of 9.1.2.

source -encoding utf-8 $::support/module.tcl

beside_modules {events} {overrides {save {}}} {
    # Whatever a test before this one has left.
    proc fresh {} {
        foreach kind {ours valkey} {
            r [at $kind] events.unwatch {*}[numbers 0 23]
            r [at $kind] events.log
        }
    }

    # What both have noted, line by line.
    proc both_log {} {
        set logs [lmap kind {ours valkey} { r [at $kind] events.log }]
        foreach our [lindex $logs 0] their [lindex $logs 1] { assert_equal $their $our "ours {[join [lindex $logs 0] \n]}\ntheirs {[join [lindex $logs 1] \n]}" }
        return [lindex $logs 0]
    }

    test {the events that modules can subscribe to} {
        both events.supported
        both events.watch 24
        both events.watch 200
        both events.unwatch 3
        assert_equal 1 [both events.watch 24]
    }

    test {events of flushing, swapping and directives} {
        fresh
        both events.watch 2 11 16
        both mset a 1 b 2
        both select 3
        both set c 3
        both flushdb
        both flushdb async
        both set c 3
        both flushall sync
        both swapdb 0 3
        both config set maxmemory 100mb hz 20
        both config set slave-priority 90
        catch { both config set maxmemory nonsense }
        assert_equal {flush 0 sync 0 db 3 keys 1} [lindex [both_log] 0]
        both events.unwatch 2 11 16
        both flushall
        assert_equal {} [both_log]
        both select 0
    }

    foreach {form limit} {small 128 large 1} {
        test "a collection whose last element is removed is deleted: $form" {
            fresh
            foreach type {zset hash list set} { both config set $type-max-listpack-[expr {$type eq {list} ? {size} : {entries}}] $limit }
            foreach index {skiplist btree} {
                r [at ours] config set zset-index $index
                both events.watch 17
                foreach take {
                    {zrem z a b} {zpopmin z 2} {zpopmax z 5} {zmpop 1 z min count 9} {bzpopmin z 0}
                    {zremrangebyrank z 0 -1} {zremrangebyscore z -inf +inf} {zremrangebylex z - +}
                } {
                    both zadd z 0 a 0 b
                    both {*}$take
                    both zpopmin z 2
                    foreach line [both_log] { assert_match {key 0 z type 5 * length 0} $line $take }
                }
            }
            foreach take {
                {lpop l 2} {rpop l 9} {lrem l 0 a} {ltrim l 5 6} {lmpop 1 l left count 3} {lmove l m left right} {rpoplpush l m} {blpop l 0}
            } {
                both rpush l a a
                both {*}$take
                both ltrim l 1 0
                both del m
                foreach line [both_log] { if {[string match "*key 0 l *" $line]} { assert_match {* length 0} $line $take } }
            }
            foreach take {{hdel h f g} {hgetdel h fields 2 f g} {hpexpire h 0 fields 2 f g}} {
                both hset h f 1 g 2
                both {*}$take
                assert_match {{key 0 h type 3 * length 0}} [both_log] $take
            }
            foreach take {{srem s a b} {spop s 2} {smove s t a}} {
                both sadd s a b
                both {*}$take
                both smove s t b
                both del t
                both_log
            }
            both events.unwatch 17
            both flushall
        }
    }

    test {events of deleted keys} {
        fresh
        both events.watch 17
        both set s value
        both set s other
        both set s third keepttl
        both append s more
        both incr n
        both incr n
        both rpush l a
        both set l text
        both del s l
        both set u v
        both unlink u
        both rpush one x
        both lpop one
        both set from 1
        both rename from to
        both set k v px 1
        after 20
        both get k
        both set k v
        both expire k -1
        both set k v
        both pexpireat k 1
        both select 5
        both set k v
        both move k 0
        both select 0
        both copy k k2
        both set k2 w
        both copy k k2 replace
        both getdel k
        both debug set-active-expire 0
        both set g 1
        both getex g px 1
        after 20
        both exists g ;# a command that only reads, while the subscriber looks at the bytes
        both debug set-active-expire 1
        both sadd x 1 2
        both sinterstore x x none
        assert_match {key 3 s type 1 value value db 0 0 length 5} [lindex [both_log] 0]
        both events.unwatch 17
    }

    test {events of commands that have run or were refused} {
        fresh
        both events.watch 20 21 22 23
        both set k v
        both get k
        both lpush k v
        both get
        both nonsense a b
        both config get hz
        both config
        both multi
        both set k 1
        both nonsense
        both exec
        both multi
        both incr k
        both lpush k x
        both exec
        both eval "redis.call('set', 'k', '2'); redis.pcall('lpush', 'k', 'x'); return 1" 0
        both eval "redis.pcall('nonsense'); return 1" 0
        both eval "return {err='X y'}" 0
        both eval "syntax(" 0
        both acl setuser bob on nopass ~a* &c* +get +set +publish +auth +subscribe +multi +exec
        both config set requirepass secret
        foreach kind {ours valkey} {
            set c [valkey_client [at $kind]]
            foreach command {{get k} nonsense get ping multi {auth nobody x}} { catch { $c {*}$command } }
            $c close
        }
        both config set requirepass {}
        both auth bob x
        both get b
        both get a
        both lpush a x
        both publish d m
        both select 1
        both multi
        both get b
        both exec
        both auth default ""
        both auth nobody x
        assert_match {*set dirty 1 module 0 client 1 args 3: set k v because*} [lindex [both_log] 1]
        both acl deluser bob
        both events.unwatch 20 21 22 23
        both events.log
    }

    test {events of authentication} {
        fresh
        both acl setuser alice on >secret
        both events.watch 18
        both auth alice wrong
        both auth nobody x
        foreach kind {ours valkey} { catch { r [at $kind] hello 3 auth alice nope } }
        foreach kind {ours valkey} { catch { r [at $kind] hello 2 auth default x } }
        both auth default x
        assert_equal {auth 0 alice module ? result 1} [lindex [both_log] 0]
        both events.unwatch 18
        both acl deluser alice
    }

    test {events of connecting and disconnecting clients} {
        fresh
        both events.watch 4
        foreach kind {ours valkey} {
            set c [valkey_client [at $kind]]
            $c ping
            $c close
        }
        after 100
        both ping
        assert_match {client 0 flags * addr 127.0.0.1 db 0 same 1} [lindex [both_log] 0]
        both events.unwatch 4
    }

    test {events of the cron and of turns of the loop} {
        fresh
        both events.watch 8
        after 300
        assert_match {cron *} [lindex [both_log] 0]
        both events.unwatch 8
        foreach kind {ours valkey} { r [at $kind] events.log } ;# there may have been another tick
        both events.watch 15
        after 300
        foreach kind {ours valkey} { assert_equal {{loop 0} {loop 1}} [lsort [r [at $kind] events.log]] }
        both events.unwatch 15
        foreach kind {ours valkey} { r [at $kind] events.log }
    }

    test {events of the keyspace} {
        fresh
        both events.log
        both flushall
        both events.listen 32767
        both set s v
        both select 4
        both lpush l a
        both lpop l
        both get nothing
        both set e v px 1
        after 20
        both get e
        both select 0
        both events.notify 8192 mine somekey
        both events.notify 64 hmine somekey
        both multi
        both hset h f v
        both del h
        both exec
        both eval "return redis.call('set', 'k', 'v')" 0
        both rename k k2
        assert_match {new 16384 s db 0} [lindex [both_log] 0]
    }

    test {events of path hashes reach modules (9.2 §10)} {
        fresh
        r [at ours] events.listen 32768
        r [at ours] phset paths /a FIELDS 1 f v
        r [at ours] phdel paths /a
        assert_equal {{phset 32768 paths db 0} {phdel 32768 paths db 0}} [lsearch -all -inline [r [at ours] events.log] ph*]
        r [at ours] del paths
        fresh
    }

    test {GetNotifyKeyspaceEvents returns the classes of the directive} {
        fresh
        both events.classes
        both config set notify-keyspace-events {KEg$lshzxetd} ;# A comprises p, too, since 9.2
        both events.classes
        both config set notify-keyspace-events Kxem
        both events.classes
        both config set notify-keyspace-events ""
    }

    test {messages of the module reach subscribers} {
        fresh
        foreach kind {ours valkey} { set $kind [valkey_client [at $kind]]; [set $kind] subscribe c; [set $kind] ssubscribe sc }
        assert_equal 1 [both events.publish c hello]
        assert_equal 1 [both events.spublish sc shard]
        assert_equal 0 [both events.publish d nobody]
        foreach kind {ours valkey} {
            assert_equal {message c hello} [[set $kind] read]
            assert_equal {smessage sc shard} [[set $kind] read]
            [set $kind] close
        }
    }

    test {facts about clients} {
        fresh
        both client setname me
        both events.client me
        both events.client 999999
        both events.name me other
        both client getname
        both events.name me "with blank"
        both events.name 999999 x
        both events.name me ""
        both client getname
        both select 7
        foreach kind {ours valkey} { catch { r [at $kind] hello 3 } }
        both events.client me
        foreach kind {ours valkey} { catch { r [at $kind] hello 2 } }
        both select 0
    }

    test {flags of the server's state} {
        fresh
        both events.flags
        both events.flags none
        foreach kind {ours valkey} { catch { r [at $kind] hello 3 } }
        both events.flags
        foreach kind {ours valkey} { catch { r [at $kind] hello 2 } }
        both multi
        both events.flags
        both exec
        both eval "return redis.call('events.flags')" 0
        both config set maxmemory 1gb maxmemory-policy allkeys-lru
        both events.flags
        both config set maxmemory 1 maxmemory-policy noeviction
        both events.flags
        both config set maxmemory 0
        both config set save "100 1"
        both events.flags
        both config set save ""
        both client pause 100000 write
        both events.flags
        both client unpause
        assert_equal 1 [both events.time]
    }

    test {events of child processes} {
        fresh
        both events.log
        both events.watch 13 1
        assert_equal 1 [both events.fork 50 7]
        assert_equal -1 [both events.fork 1 7]
        both events.kill other
        foreach kind {ours valkey} { wait_for_condition 50 100 { [s [at $kind] module_fork_in_progress] == 0 } else { fail "the child goes on" } }
        assert_equal {{event 13 0} {child 7 0 data} {event 13 1}} [both_log]
        both events.fork 5000 0
        both events.kill
        both events.kill
        both ping
        both_log
        both bgsave
        foreach kind {ours valkey} { wait_for_condition 50 100 { [s [at $kind] rdb_bgsave_in_progress] == 0 } else { fail "the child goes on" } }
        both_log
        both save
        both_log
        both events.unwatch 13 1
    }

    test {events of loading} {
        fresh
        both set k v
        both events.watch 3 2 10
        both debug reload noflush merge
        both_log
        both events.unwatch 3 2 10
    }

    test {modules do not get the events of overwritten keys, which Valkey does not have} {
        fresh
        r [at ours] config set notify-keyspace-events Eoc
        assert_equal 2 [r [at ours] events.classes]
        r [at ours] config set notify-keyspace-events AEoc
        r [at ours] events.listen -1
        r [at ours] rpush replaced a
        r [at ours] set replaced v
        r [at ours] set replaced w
        set events [lmap event [r [at ours] events.log] { lindex $event 0 }]
        assert_equal {new rpush set} [lsort -unique $events]
        r [at ours] config set notify-keyspace-events ""
    }
}

foreach kind {ours valkey} {
    set load [concat [module_overrides {events} {}] {hz 500 save {} loading-process-events-interval-bytes 1024 repl-diskless-sync yes
        repl-diskless-sync-delay 0 repl-diskless-load swapdb}]
    start_servers [list primary [list kind $kind overrides $load] replica [list kind $kind overrides $load]] [string map [list KIND $kind] {
        proc progress {} { return [lsort -unique [lsearch -all -inline -regexp [r [at replica] events.log] {progress|event 14}]] }

        test {events of the progress of loading, KIND} {
            for {set i 0} {$i < 2000} {incr i} { r [at replica] set key:$i [string repeat v 50] }
            r [at replica] events.watch 10
            r [at replica] config set key-load-delay 20
            r [at replica] debug reload
            r [at replica] config set key-load-delay 0
            assert_equal {{progress 0 1 loading 1 aside 0}} [progress]
        }

        test {events of a load beside the old dataset, and of one that fails, KIND} {
            r [at primary] debug populate 300 key 100000 ;# more than what is on the way
            r [at replica] events.watch 14
            r [at replica] config set key-load-delay 20000
            r [at replica] replicaof 127.0.0.1 [srv [at primary] port]
            set told {}
            wait_for_condition 100 50 {[llength [lappend told {*}[progress]]] > 1} else { fail "it does not load" }
            r [at primary] client kill type replica
            wait_for_condition 100 50 {[lsearch [lappend told {*}[progress]] "event 14 1"] >= 0} else { fail "it loads on" }
            assert_equal {{event 14 0} {event 14 1} {progress 0 0 loading 1 aside 0}} [lsort -unique $told]
        }
    }]
}

# A primary and a replica of each kind.
set overrides [concat [module_overrides {{events 0 3 6 7 9 14}} {}] {repl-diskless-sync-delay 0}]
set servers {}
foreach kind {ours valkey} {
    foreach what {primary replica} { lappend servers $what-$kind [list kind $kind overrides $overrides] }
}
start_servers $servers {
    # What both have noted (the engine of scripts is a module there).
    proc same_log {what {pattern *}} {
        foreach kind {ours valkey} {
            set lines [lsearch -all -inline -glob [r [at $what-$kind] events.log] $pattern]
            set lines [lsearch -all -inline -not -glob $lines "module ? lua *"]
            # 9.1.2 sends the event twice for a link that REPLICAOF NO ONE ends.
            set $kind [string trim [regsub -all {({event 7 1} ){2,}} "$lines " {\1}]]
        }
        assert_equal $valkey $ours "$what"
        return $ours
    }

    test {events of a replica that connects and disconnects} {
        foreach kind {ours valkey} {
            r [at primary-$kind] set k v
            follow replica-$kind primary-$kind
            wait_for_link replica-$kind
            wait_for_offset replica-$kind primary-$kind
        }
        assert_match {*{role 1 primary 0 host 127.0.0.1 ids 40 40}*{event 7 0}*} [same_log replica]
        assert_equal {{event 6 0}} [same_log primary]
        foreach kind {ours valkey} {
            r [at replica-$kind] replicaof no one
            wait_for_condition 100 50 { [s [at primary-$kind] connected_slaves] == 0 } else { fail "the replica is still there" }
        }
        assert_match {*{role 0 primary 1 host  ids 40 40}*} [lsort [same_log replica]]
        assert_equal {{event 6 1}} [same_log primary]
    }

    test {events of a dataset that is loaded beside the old one} {
        foreach kind {ours valkey} {
            r [at replica-$kind] config set repl-diskless-load swapdb
            r [at primary-$kind] config set repl-diskless-sync yes
            r [at replica-$kind] set other data
            follow replica-$kind primary-$kind
            wait_for_link replica-$kind
        }
        assert_match {*{event 14 0}*{event 14 2}*} [same_log replica]
    }

    test {events of another primary} {
        foreach kind {ours valkey} {
            r [at replica-$kind] events.log
            r [at replica-$kind] replicaof 127.0.0.1 1
        }
        same_log replica "role*"
    }

    test {flags of a replica's state} {
        foreach kind {ours valkey} {
            set $kind [r [at replica-$kind] events.flags]
            follow replica-$kind primary-$kind
            wait_for_link replica-$kind
            lappend $kind [r [at replica-$kind] events.flags]
        }
        # The step of connecting that it has reached is not determined.
        foreach kind {ours valkey} { lset $kind 0 [expr {[lindex [set $kind] 0] & ~(1 << 15)}] }
        assert_equal $valkey $ours
    }

    test {events of modules that are loaded and unloaded} {
        foreach kind {ours valkey} {
            r [at primary-$kind] events.log
            r [at primary-$kind] module load [module_so users]
            r [at primary-$kind] module unload users
        }
        assert_equal {{module 0 users 1} {module 1 users 1}} [same_log primary]
    }
}
