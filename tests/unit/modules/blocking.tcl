# Blocked clients of modules, threads and their lock, timers, descriptors, jobs, with tests/modules/blocking.c; on
# this server and the oracle.

source -encoding utf-8 $::support/module.tcl

# What callbacks have noted, once there is as much as expected; the list is empty then.
proc notes {expected} {
    set all {}
    for {set i 0} {$i < 100 && [llength $all] < [llength $expected]} {incr i} {
        if {$i} { after 20 }
        lappend all {*}[r blocking.log]
    }
    return $all
}

proc assert_notes {expected} { assert_equal $expected [notes $expected] }

proc release {name {how main} {data data}} { assert_equal OK [r blocking.release $name $data $how] }

proc client_id {c} {
    set id [lindex [regexp -inline {id=(\d+) [^\n]* cmd=blocking} [r client list]] 1]
    return $id
}

with_modules {blocking} {} {
    test {a client waits until it is unblocked, by the main thread or by another} {
        foreach how {main thread} {
            set c [blocked_client blocking.wait one 0 rtfd]
            assert_equal {} [r blocking.log]
            release one $how
            assert_equal {reply one 1 0 data} [lrange [answer $c] 0 4]
            assert_notes {reply:one free:data/gone=0}
        }
    }

    test {a blocked client knows its handle} {
        set c [blocked_client blocking.wait mine 0 rp]
        assert_match {*cmd=blocking.wait*} [r client list]
        release mine abort
        $c close
        r blocking.log
    }

    test {the requests behind a blocking one wait too} {
        set c [valkey_deferring_client]
        $c blocking.wait first 0 r
        $c set after 1
        wait_for_blocked 1
        assert_equal 0 [r exists after]
        release first thread
        assert_equal reply [lindex [$c read] 0]
        assert_equal OK [$c read]
        $c close
        r blocking.log
    }

    test {after a timeout the callback replies, and the module still frees the handle} {
        set c [blocked_client blocking.wait late 50 rtfdp]
        assert_equal {timeout late 0 1 early} [answer $c]
        assert_notes {timeout:late}
        release late thread
        assert_notes {free:data/gone=1}
    }

    test {without a callback the client gets no reply, and continues} {
        set c [valkey_deferring_client]
        $c blocking.wait silent 50 rfd
        $c ping
        assert_equal PONG [$c read]
        $c close
        release silent
        assert_notes {free:data/gone=1}
    }

    test {AbortBlock: no callback replies, nothing is freed} {
        set c [valkey_deferring_client]
        $c blocking.wait aborted 0 rtfdp
        $c ping
        wait_for_blocked 1
        release aborted abort
        assert_equal PONG [answer $c]
        assert_equal {} [r blocking.log]
    }

    test {CLIENT UNBLOCK works on clients whose module gave a callback for it} {
        foreach {how reason woken reply noted} {
            rtfdp timeout 1 {timeout u 0 1 early} timeout:u
            rtfdp error 1 {UNBLOCKED client unblocked via CLIENT UNBLOCK} disconnect:early
            rfdp timeout 0 {} {}
            rfdp error 0 {} {}
        } {
            set c [blocked_client blocking.wait u 0 $how]
            assert_equal $woken [r client unblock [client_id $c] $reason] "$how $reason"
            if {$woken} {
                catch { $c read } got
                assert_equal $reply $got
            }
            $c close
            if {!$woken} {
                wait_for_blocked 0
                set noted disconnect:early
            }
            release u
            assert_notes [list $noted free:data/gone=1]
        }
    }

    test {a client that disconnects is reported to the module, and its handle stays valid until it is freed} {
        foreach how {close kill} {
            set c [blocked_client blocking.wait gone 0 rtfdp]
            if {$how eq {kill}} { r client kill id [client_id $c] }
            $c close
            assert_notes {disconnect:early}
            release gone thread
            assert_notes {free:data/gone=1}
        }
    }

    test {where a client cannot wait there is an error, and still a handle} {
        r multi
        r blocking.wait m 0 rtf
        assert_equal {{ERR Blocking module command called from transaction}} [r exec]
        release m
        assert_error {*Blocking module command called from Lua script*} {
            r eval {return redis.call('blocking.wait', 's', 0, 'rtf')} 0
        }
        release s
        assert_notes {free:data/gone=1 free:data/gone=1}
        r multi
        r blocking.keys 0 xt key
        assert_equal {{ERR Blocking module command called from transaction}} [r exec]
        assert_equal {0 -} [r blocking.releasekeys]
        # The oracle would end here.
        if {$kind eq {ours}} {
            r blocking.log
            assert_equal {1 EINVAL} [r blocking.misuse]
            assert_error {ERR timeout is out of range} { r blocking.wait t 9223372036854775807 rtf }
            release t
            set c [blocked_client blocking.wait again 0 a]
            release again
            assert_error {ERR Blocking module command called from a Reply callback context} { $c read }
            $c close
        }
        r blocking.log
    }

    test {a module with clients that wait, or with timers, cannot be unloaded} {
        set c [blocked_client blocking.wait stays 0 r]
        assert_error {ERR Error unloading module: the module has blocked clients. Please wait for them to be unblocked and try again} {
            r module unload blocking
        }
        release stays
        answer $c
        r blocking.timer create 0 100000 A
        assert_error {ERR Error unloading module: the module holds timer that is not fired. Please stop the timer or wait until it fires.} {
            r module unload blocking
        }
        assert_equal A [r blocking.timer stop 0]
        r blocking.log
    }

    test {a blocked command counts as one call, with the time that its thread has measured} {
        r config resetstat
        r blocking.talk v 20
        assert {[regexp {cmdstat_blocking.talk:calls=1,usec=(\d+),.*rejected_calls=0,failed_calls=1} \
            [r info commandstats] -> usec]}
        assert_range $usec 20000 60000000
        assert_equal 1 [r blocking.measure]
    }
}

with_modules {blocking} {} {
    test {a ready key serves a waiting client if the callback accepts it} {
        set c [blocked_client blocking.keys 0 x k1 k2]
        r set k1 v
        assert_equal {} [r blocking.log]
        r blocking.signal k1
        assert_notes serve:k1
        r rpush k2 a b
        assert_equal {k2 a data} [answer $c]
        assert_notes {serve:k2 free:data/gone=0}
        assert_equal b [r lrange k2 0 -1]
        r del k1 k2
    }

    test {clients of modules and of commands that wait for a key are served in order of arrival} {
        set a [blocked_client blocking.keys 0 x q]
        set b [blocked_client blpop q 0]
        set c [blocked_client blocking.keys 0 x q]
        r rpush q 1 2 3
        assert_equal {q 1 data} [answer $a]
        assert_equal {q 2} [answer $b]
        assert_equal {q 3 data} [answer $c]
        r blocking.log
    }

    test {keys: time, CLIENT UNBLOCK, UnblockClient} {
        set c [blocked_client blocking.keys 50 xt k]
        assert_equal {timeout 50 0 1 data} [answer $c]
        assert_notes {timeout:50 free:data/gone=1}
        set c [blocked_client blocking.keys 0 xtd k]
        assert_equal {0 -} [r blocking.releasekeys]
        assert_equal {timeout 0 0 1 data} [answer $c]
        assert_notes {timeout:0 free:data/gone=0}
        set c [blocked_client blocking.keys 0 xd k]
        assert_equal {1 ENOTSUP} [r blocking.releasekeys]
        assert_equal 0 [r client unblock [client_id $c]]
        $c close
        assert_notes {disconnect:data free:data/gone=1}
        set c [blocked_client blocking.keys 0 xtd k]
        assert_equal 1 [r client unblock [client_id $c] error]
        assert_error {UNBLOCKED*} { $c read }
        $c close
        assert_notes {disconnect:data free:data/gone=1}
    }

    test {deleted keys wake only clients that asked for it} {
        foreach how {x D} {
            foreach end {{del k} flushall {flushdb async}} {
                r rpush k v
                r expire k 1000
                set c [blocked_client blocking.keys 0 ${how}t k]
                r {*}$end
                if {$how eq {D}} {
                    assert_equal {k {} data} [answer $c]
                    assert_notes {serve:k free:data/gone=0}
                } else {
                    assert_equal {} [r blocking.log]
                    r rpush k w
                    assert_equal {k w data} [answer $c]
                    assert_notes {serve:k free:data/gone=0}
                }
            }
        }
    }

    test {SWAPDB serves blocked clients of modules} {
        set c [blocked_client blocking.keys 0 xt k]
        r select 1
        r rpush k swapped
        r swapdb 0 1
        r select 0
        assert_equal {k swapped data} [answer $c]
        r blocking.log
    }

    # A change of the role ends waits, but not a second time one that is ending. The oracle would crash here.
    if {$kind eq {ours}} {
        test {this server becomes a replica in a callback that ends a wait} {
            foreach {command ends} {
                {blocking.wait a 0 R} {release a}
                {blocking.wait b 20 T} {}
                {blocking.keys 0 R k} {r rpush k v}
                {blocking.keys 20 T k} {}
            } {
                set c [valkey_deferring_client]
                $c {*}$command
                if {$ends ne {}} { wait_for_blocked 1 }
                eval $ends
                assert_equal OK [$c read] $command
                $c ping
                assert_equal PONG [$c read] $command
                $c close
                assert_equal slave [s role] $command
                r replicaof no one
                r del k
            }
            release b
            r blocking.log
        }
    }

    test {clients that wait are unblocked when the server becomes a replica} {
        set a [blocked_client blocking.wait a 0 rtfd]
        set b [blocked_client blocking.keys 0 xtd k]
        r replicaof 127.0.0.1 1
        foreach c [list $a $b] {
            assert_error {UNBLOCKED force unblock from blocking operation, instance state changed*} { $c read }
            $c close
        }
        r replicaof no one
        release a
        assert_equal {disconnect: disconnect:data free:data/gone=1 free:data/gone=1} \
            [lsort [notes {1 2 3 4}]]
    }
}

with_modules {blocking} {} {
    test {a thread replies without the lock, in the protocol of its client} {
        assert_match {1 {k 1.5} v 1 *} [r blocking.talk v 1]
        assert_match {*<blocking> from a thread*} [read_file [srv log]]
        assert_equal 1 [s total_error_replies]
        set before [wire blocking.talk v 1]
        r hello 3
        assert_equal {*5 :1 %1 +k ,1.5 $1 v #t -ERR of a thread} [wire blocking.talk v 1]
        r hello 2
        assert_equal {*5 :1 *2 +k $3 1.5 $1 v :1 -ERR of a thread} $before
    }

    test {with the lock it works in its client's database} {
        r select 3
        assert_equal {50 3} [r blocking.push l x 50]
        assert_equal 50 [r llen l]
        r blocking.detached l y
        r select 0
        wait_for_condition 100 20 {[r llen l] == 1} else { fail "the thread has done nothing" }
        assert_equal EBUSY [r blocking.trylock]
    }

    test {a key that a thread writes wakes the client that waits for it} {
        set c [blocked_client blpop woken 0]
        r blocking.detached woken yes
        assert_equal {woken yes} [answer $c]
    }

    test {many threads and many clients} {
        set clients {}
        for {set i 0} {$i < 10} {incr i} {
            set c [valkey_deferring_client]
            for {set j 0} {$j < 5} {incr j} {
                $c blocking.push many x 20
                $c set other$i $j
            }
            lappend clients $c
        }
        for {set i 0} {$i < 200} {incr i} { r get other1 }
        foreach c $clients {
            for {set j 0} {$j < 5} {incr j} {
                assert_equal {20 0} [$c read]
                assert_equal OK [$c read]
            }
            $c close
        }
        assert_equal 1000 [r llen many]
    }

    test {timers fire in order, and can be stopped} {
        r blocking.timer create 0 30 A
        r blocking.timer create 1 100000 B
        lassign [r blocking.timer info 1] left data
        assert_range $left 99000 100000
        assert_equal B $data
        assert_notes timer:A
        assert_error {ERR none} { r blocking.timer info 0 }
        assert_equal B [r blocking.timer stop 1]
        assert_error {ERR none} { r blocking.timer stop 1 }
        # From its own callback a timer can be stopped still.
        r blocking.timer own 1
        r select 5
        r blocking.timer create 0 10 C
        assert_notes {timer:C stopped:C}
        assert_equal C [r lrange timer 0 -1]
        r select 0
    }

    test {event-loop callbacks of descriptors, and one-shots} {
        r blocking.pipe open
        assert_equal {{1 ERANGE} {1 ERANGE} {1 EINVAL} {1 ERANGE} {1 EINVAL}} [r blocking.pipe bad]
        proc got {} {
            for {set i 0} {$i < 100} {incr i} {
                set got [string trim [r blocking.pipe got]]
                if {$got ne {}} { return $got }
                after 10
            }
        }
        assert_equal {0 -} [r blocking.pipe read]
        r blocking.pipe text hello
        assert_equal rhello/1 [got]
        # The data of the last call is that of both.
        r blocking.pipe write
        after 100
        assert_equal {ww1/2 rx/1} [got]
        r blocking.pipe stop
        r blocking.pipe text bye
        after 50
        assert_equal {} [r blocking.pipe got]
        r blocking.pipe read
        assert_equal rbye/1 [got]
        r blocking.pipe stop
        r blocking.pipe close
        r blocking.once a main
        assert_notes once:a
        r blocking.once b thread
        assert_notes once:b
    }

    test {post-execution jobs run when the unit ends, one after the other} {
        r blocking.job j 2
        assert_notes {command:j job:j freed:j job:another freed:another job:another freed:another}
        r del jobs
        r multi
        r blocking.job m 0
        r rpush jobs in
        r exec
        assert_equal {in m} [r lrange jobs 0 -1]
        r blocking.log
        r replicaof 127.0.0.1 1
        assert_error {ERR not now} { r blocking.job x 0 }
        r replicaof no one
    }

    test {Yield: other clients get BUSY, except for allowed commands} {
        r config set busy-reply-threshold 50
        foreach {command expected} {
            {blocking.yield 600 2} {BUSY Valkey is busy running a module command.}
            {blocking.yield 600 2 because} {BUSY because}
            {blocking.yieldthread 600} {BUSY a thread is}
        } {
            set c [valkey_deferring_client]
            $c {*}$command
            after 200
            assert_error $expected { r ping }
            assert_equal OK [r blocking.allowed]
            assert_equal OK [answer $c]
            assert_equal PONG [r ping]
        }
        assert_equal 3 [r llen allowed]
        # Without the flag they wait.
        set c [valkey_deferring_client]
        $c blocking.yield 300 1
        after 100
        assert_equal PONG [r ping]
        assert_equal OK [answer $c]
    }

    test {scripts are busy as before} {
        r config set busy-reply-threshold 50
        set c [valkey_deferring_client]
        $c eval {while true do end} 0
        after 200
        assert_error {BUSY Valkey is busy running a script*} { r ping }
        assert_equal OK [r script kill]
        catch { answer $c }
        assert_equal PONG [r ping]
    }

    test {threads get the lock before a script or behind it, not in the middle} {
        r config set busy-reply-threshold 50
        r del many
        set thread [valkey_deferring_client]
        $thread blocking.push many x 1000000
        wait_for_condition 100 20 {[r llen many] > 0} else { fail "the thread pushes nothing" }
        lassign [r eval {
            local before, t = redis.call('llen', KEYS[1]), os.clock()
            while os.clock() - t < 0.4 do end
            return {before, redis.call('llen', KEYS[1])}
        } 1 many] before after
        assert_equal $before $after
        wait_for_condition 100 20 {[r llen many] > $after} else { fail "the thread has not gone on" }
        $thread close
    }
}
