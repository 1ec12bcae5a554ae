# Keys, fields of hashes and memory on a replica: its primary decides what expires and what is evicted.

source [file join [file dirname [info script]] rules_util.tcl]

# Commands that the primary is made to send, although its own data differ.
proc sends {args} {
    r -1 debug replicate {*}$args
    catch_up 0 -1
}

start_server {overrides {enable-debug-command yes} tags {external:skip needs:debug}} {
    start_server {overrides {enable-debug-command yes}} {
        follow 0 -1
        r -1 debug set-active-expire 0

        test {an expired key reads as absent, and stays until the primary deletes it} {
            r -1 set k 5 px 1
            r -1 rpush l a
            r -1 pexpire l 1
            r -1 hset h a 1 b 2
            r -1 hpexpire h 1 fields 1 a
            catch_up 0 -1
            after 20
            assert_equal {{} 0 -2 -2 none 0 0} [list [r get k] [r exists k l] [r ttl k] [r expiretime k] [r type k] [r llen l] [r touch k]]
            assert_equal {{} h h} [list [r hget h a] [r keys *] [r randomkey]]
            assert_equal {b 2} [r hgetall h]
            assert_equal {3 0} [list [r dbsize] [s expired_keys]]
            r -1 get k
            r -1 get l
            catch_up 0 -1
            assert_equal 1 [r dbsize]
        }

        test {an expired key exists for commands of the primary's stream} {
            foreach command {{set k 5 pxat 1000} {rpush l a} {pexpireat l 1000} {hset h f 1} {hpexpireat h 1000 fields 1 f}} { sends {*}$command }
            assert_equal {0 3} [list [r exists k l] [r dbsize]]
            assert_equal {} [r hget h f]
            foreach command {{incr k} {rpush l b} {persist k} {persist l} {hpersist h fields 1 f}} { sends {*}$command }
            assert_equal {6 {a b} 1} [list [r get k] [r lrange l 0 -1] [r hget h f]]
            assert_equal {0 0} [list [s expired_keys] [s unexpected_error_replies]]
        }

        test {RESTORE of the stream keeps a key that has expired meanwhile, as its expiry may still change} {
            r -1 set source value
            set dump [r -1 dump source]
            r -1 set replaced old
            sends restore restored 1000 $dump absttl
            sends restore replaced 1000 $dump replace absttl
            assert_equal {{} {}} [r mget restored replaced]
            foreach key {restored replaced} { sends persist $key }
            assert_equal {value value} [r mget restored replaced]
        }

        test {limits of the replica do not refuse commands of the stream} {
            sends xadd s maxlen = 1 limit 10 1-1 a b
            r config set proto-max-bulk-len 1mb
            sends setrange big 2000000 x
            sends setbit bits 10000000 1
            r config set proto-max-bulk-len 512mb
            assert_equal {1 2000001 1 0} [list [r xlen s] [r strlen big] [r getbit bits 10000000] [s unexpected_error_replies]]
        }

        test {LIMIT does not limit an exact trim of the stream} {
            for {set i 1} {$i <= 5} {incr i} { sends xadd s2 $i-1 a b }
            sends xadd s2 maxlen = 3 limit 2 6-1 a b
            assert_equal 3 [r xlen s2]
            sends xtrim s2 keepref limit 1 minid = 6
            assert_equal {1 0} [list [r xlen s2] [s unexpected_error_replies]]
        }

        test {a replica evicts nothing, unless replica-ignore-maxmemory is no} {
            r -1 flushall
            for {set i 0} {$i < 20} {incr i} { r -1 set key:$i v }
            catch_up 0 -1
            r config set maxmemory-policy allkeys-lru maxmemory 1
            assert_equal v [r get key:1]
            r -1 set more v
            catch_up 0 -1
            assert_equal {21 0} [list [r dbsize] [s evicted_keys]]
            r config set maxmemory-policy noeviction replica-ignore-maxmemory no
            r -1 set another v
            catch_up 0 -1
            assert_equal 22 [r dbsize] "what the primary sends is done"
            r config set maxmemory-policy allkeys-lru
            r -1 set last v
            catch_up 0 -1
            assert_morethan [s evicted_keys] 0
            r config set maxmemory 0 replica-ignore-maxmemory yes
        }

        test {a writable replica: writes treat an expired key as absent} {
            r -1 flushall
            r config set replica-read-only no
            sends set k 5 pxat 1000
            sends rpush l a
            sends pexpireat l 1000
            sends set gone v pxat 1000
            assert_equal {1 1 0} [list [r incr k] [r rpush l b] [r expire gone 100]]
            assert_equal {-1 b 2} [list [r ttl k] [r lrange l 0 -1] [r dbsize]]
            sends set k w
            assert_equal w [r get k]
        }

        test {a writable replica tracks keys with an expiry of its own clients, and deletes them} {
            r -1 flushall
            catch_up 0 -1
            set tracked {{set a v px 100} 1 {setex b 1000 v} 2 {set c v} 2 {pexpire c 100} 3 {rename b d} 4 {copy d e} 5 {persist e} 5 {set c w px 150} 5
                         {hset h f v} 5 {hpexpire h 100 fields 1 f} 5 {eval {redis.call('set', 'f', 'v', 'px', 100)} 0} 6}
            foreach {command count} $tracked {
                r {*}$command
                assert_range [s slave_expires_tracked_keys] 0 $count
                if {$count == 1} { assert_equal 1 [s slave_expires_tracked_keys] }
            }
            r -1 set theirs v px 100
            catch_up 0 -1
            wait_for_condition 100 50 {[s slave_expires_tracked_keys] == 1} else { fail "[s slave_expires_tracked_keys] are left" }
            assert_equal {0 1} [list [r exists a c f] [r exists d]]
            assert_equal {d e h theirs} [lsort [concat [r keys *] theirs]]
            assert_equal 4 [r dbsize] "what the primary sent and what has no time of its own stay"
            r flushall
            assert_equal 0 [s slave_expires_tracked_keys]
        }

        test {a new dataset clears the expiries that a writable replica tracks} {
            r set k v ex 1000
            assert_equal 1 [s slave_expires_tracked_keys]
            r replicaof no one
            r set other v
            follow 0 -1
            assert_equal {0 0} [list [s slave_expires_tracked_keys] [r exists k]]
        }

        test {becoming a primary clears the expiries that a writable replica tracked} {
            r set k v ex 1000
            assert_equal 1 [s slave_expires_tracked_keys]
            r replicaof no one
            wait_for_condition 100 50 {[s slave_expires_tracked_keys] == 0} else { fail "[s slave_expires_tracked_keys] are remembered" }
            follow 0 -1
        }

        test {events and messages of the primary's writes reach clients of the replica} {
            r config set replica-read-only yes notify-keyspace-events Kg\$x
            set c [valkey_deferring_client]
            $c psubscribe *
            $c read
            set t [valkey_client]
            $t hello 3
            $t client tracking on
            $t get k
            r -1 set k v
            r -1 publish news hello
            r -1 pexpire k 1
            after 20
            r -1 get k
            set seen {}
            while {[lindex $seen end] ne "del"} { lappend seen [lindex [$c read] 3] }
            assert_equal {set hello expire del} $seen
            assert_equal {invalidate k} [$t push]
            $c close
            $t close
        }
    }
}

# Where no snapshot can be written, and writes are refused for that.
start_server {tags {external:skip}} {
    start_server {overrides {save "100000 1000000" enable-protected-configs yes} crash 1} {
        follow 0 -1
        file mkdir [srv dir]/gone
        r config set dir [srv dir]/gone
        file delete -force [srv dir]/gone
        r bgsave
        wait_for_condition 100 20 {[s rdb_bgsave_in_progress] == 0 && [s rdb_last_bgsave_status] eq "err"} else { fail "it saves" }

        test {with replica-ignore-disk-write-errors a replica applies what it cannot write to disk} {
            r config set replica-ignore-disk-write-errors yes
            assert_error "MISCONF*" { r ping }
            r -1 set k v
            catch_up 0 -1
            assert_equal v [r get k]
            wait_for_log "*A command from the primary is applied, although it cannot be written to disk.*"
        }

        test {without replica-ignore-disk-write-errors the server exits} {
            r config set replica-ignore-disk-write-errors no
            r -1 set k w
            wait_for_log "*A command from the primary could not be written to disk.*"
            wait_for_condition 100 50 {[catch {r ping} e] && ![string match MISCONF* $e]} else { fail "it lives" }
        }
    }
}
