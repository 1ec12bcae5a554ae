# Slots that move key by key, with SETSLOT and MIGRATE, between two nodes of this server and between one of each kind.

source -encoding utf-8 $::support/cluster.tcl

# Keys of slot 3300.
proc tagged {count} {
    set keys {}
    for {set i 0} {$i < $count} {incr i} { lappend keys "{b}:$i" }
    return $keys
}

# All keys of the slot go from node `from` to node `to`.
proc move_keys {from to slot} {
    while {[llength [set keys [r [n $from] cluster getkeysinslot $slot 10]]]} {
        r [n $from] migrate 127.0.0.1 [srv [n $to] port] {} 0 5000 keys {*}$keys
    }
}

foreach {what kinds} {
    "ours to ours" {ours ours ours ours}
    "ours to Valkey's" {ours valkey ours valkey}
    "Valkey's to ours" {valkey ours valkey ours}
} {
    start_cluster [list kinds $kinds primaries 2] {
        test "$what: while a slot is open, requests for missing keys are redirected with ASK" {
            foreach key [tagged 50] { r [n 0] set $key "v of $key" }
            set from [cluster_id 0]
            set to [cluster_id 1]
            assert_equal OK [r [n 1] cluster setslot 3300 importing $from]
            assert_equal OK [r [n 0] cluster setslot 3300 migrating $to]
            assert_equal OK [r [n 0] migrate 127.0.0.1 [srv [n 1] port] "{b}:7" 0 5000]
            assert_error "ASK 3300 127.0.0.1:[srv [n 1] port]" {r [n 0] get "{b}:7"}
            assert_equal "v of {b}:8" [r [n 0] get "{b}:8"]
            assert_error "TRYAGAIN *" {r [n 0] mget "{b}:7" "{b}:8"}
            assert_error "MOVED 3300 *" {r [n 1] get "{b}:7"}
            assert_equal OK [r [n 1] asking]
            assert_equal "v of {b}:7" [r [n 1] get "{b}:7"]
        }

        test "$what: replicas know the open slots" {
            wait_for_condition 100 50 {[string match "*\\\[3300-<-*" [r [n 3] cluster nodes]]} else { fail [r [n 3] cluster nodes] }
            wait_for_condition 100 50 {[string match "*\\\[3300->-*" [r [n 2] cluster nodes]]} else { fail [r [n 2] cluster nodes] }
        }

        test "$what: a node that still has keys keeps the slot" {
            assert_error "ERR Can't assign hashslot 3300 *" {r [n 0] cluster setslot 3300 node [cluster_id 1]}
        }

        test "$what: the slot moves with all keys, and all nodes learn it" {
            move_keys 0 1 3300
            assert_equal OK [r [n 1] cluster setslot 3300 node [cluster_id 1]]
            assert_equal OK [r [n 0] cluster setslot 3300 node [cluster_id 1]]
            wait_cluster_ok 4
            foreach k {0 1 2 3} { assert_equal 1 [cluster_owner $k 3300 4] }
            foreach key [tagged 50] { assert_equal "v of $key" [r [n 1] get $key] }
            assert_equal 0 [r [n 0] dbsize]
            foreach k {2 3} { wait_for_condition 100 50 {![string match "*\\\[*" [r [n $k] cluster nodes]]} else { fail [r [n $k] cluster nodes] } }
        }

        test "$what: when the target is replaced, the migration continues to its new primary, which has the moved keys" {
            set new_owner [cluster_id 3]
            r [n 0] set "{06S}" v
            assert_equal OK [r [n 1] cluster setslot 0 importing [cluster_id 0]]
            assert_equal OK [r [n 0] cluster setslot 0 migrating [cluster_id 1]]
            assert_equal OK [r [n 0] migrate 127.0.0.1 [srv [n 1] port] "{06S}" 0 5000]
            wait_for_condition 100 50 {[r [n 3] cluster countkeysinslot 0] == 1} else { fail "the new owner has no key" }
            assert_equal OK [r [n 3] cluster failover]
            foreach k {0 2} { wait_for_condition 200 50 {[string match "* \\\[0->-$new_owner\\]*" [r [n $k] cluster nodes]]} else { fail [r [n $k] cluster nodes] } }
            wait_for_condition 200 50 {[string match "*slave*" [cluster_line 0 [cluster_id 1]]]} else { fail [r [n 0] cluster nodes] }
            assert_match "* \\\[0->-$new_owner\\]*" [r [n 0] cluster nodes]
            assert_error "ASK 0 127.0.0.1:[srv [n 3] port]" {r [n 0] get "{06S}"}
            assert_equal OK [r [n 3] asking]
            assert_equal v [r [n 3] get "{06S}"]
            assert_equal OK [r [n 3] cluster setslot 0 node $new_owner]
            assert_equal OK [r [n 0] cluster setslot 0 node $new_owner]
            wait_cluster_ok 4
        }
    }
}

start_cluster {kinds {ours ours} primaries 2} {
    test "SETSLOT does not wait for a tool that follows the primary without acknowledgements" {
        set tool [valkey_deferring_client [n 0]]
        foreach command {{replconf capa psync2} {replconf version 9.1.2}} {
            $tool {*}$command
            assert_equal OK [$tool read]
        }
        $tool psync ? -1
        wait_for_condition 200 50 {[string match "*state=online*" [r [n 0] info replication]]} else { fail "the tool does not follow" }
        assert_equal OK [r [n 0] cluster setslot 5 migrating [cluster_id 1] timeout 1]
        assert_match "*\\\[5->-*" [r [n 0] cluster nodes]
        assert_equal OK [r [n 0] cluster setslot 5 stable timeout 1]
        $tool close
    }
}

start_cluster {kinds {ours ours ours} primaries 2} {
    test "a primary whose replica does not answer opens no slot" {
        exec kill -STOP [srv [n 2] pid]
        assert_error "NOREPLICAS Not enough good replicas to write." {r [n 0] cluster setslot 5 migrating [cluster_id 1] timeout 100}
        exec kill -CONT [srv [n 2] pid]
        assert_no_match "*\\\[5->-*" [r [n 0] cluster nodes]
        wait_for_link n2
        assert_equal OK [r [n 0] cluster setslot 5 stable] ;# the replica gets it later
    }

    test "a replica that connects later learns the open slots with the data" {
        wait_cluster_ok 3
        wait_for_link n2
        r [n 0] cluster setslot 6 migrating [cluster_id 1]
        r [n 0] cluster setslot 8192 importing [cluster_id 1]
        r [n 2] cluster reset
        r [n 2] cluster meet 127.0.0.1 [srv [n 0] port] [cluster_bus_port 0]
        set id [cluster_id 0]
        wait_for_condition 100 50 {[string match "*$id * master *" [r [n 2] cluster nodes]]} else { fail "not met" }
        wait_for_condition 100 50 {[string match "*[cluster_id 1] * master *" [r [n 2] cluster nodes]]} else { fail "not met" }
        r [n 2] cluster replicate $id
        wait_for_link n2
        assert_match "*\\\[6->-[cluster_id 1]\\\]*" [r [n 2] cluster nodes]
        assert_match "*\\\[8192-<-[cluster_id 1]\\\]*" [r [n 2] cluster nodes]
    }

    test "SETSLOT: errors of arguments" {
        set id [cluster_id 0]
        assert_error "ERR Missing timeout value" {r [n 0] cluster setslot 9 node $id timeout}
        assert_error "ERR timeout is not an integer or out of range" {r [n 0] cluster setslot 9 node $id timeout x}
        assert_error "ERR timeout is negative" {r [n 0] cluster setslot 9 node $id timeout -1}
        assert_error "ERR I'm already the owner of hash slot 9" {r [n 0] cluster setslot 9 importing abc}
        assert_error "ERR Target node is myself" {r [n 0] cluster setslot 9 migrating $id}
        assert_error "ERR I'm not the owner of hash slot 9000" {r [n 0] cluster setslot 9000 migrating $id}
        assert_error "ERR I don't know about node abc" {r [n 0] cluster setslot 9 migrating abc}
        assert_error "ERR Unknown node abc" {r [n 0] cluster setslot 9 node abc}
        assert_error "ERR Invalid CLUSTER SETSLOT action*" {r [n 0] cluster setslot 9 node}
        assert_error "ERR Invalid or out of range slot" {r [n 0] cluster setslot x stable}
        assert_error "ERR Please use SETSLOT only with masters." {r [n 2] cluster setslot 9 stable}
        assert_equal OK [r [n 0] cluster setslot 6 stable]
        assert_no_match "*\\\[6->-*" [r [n 0] cluster nodes]
    }
}

start_cluster {kinds {ours ours} primaries 2 overrides {busy-reply-threshold 50}} {
    test {the keys of a slot that is lost during a script are deleted when the script has ended} {
        foreach key [tagged 50] { r [n 0] set $key v }
        set from [cluster_id 0]
        set c [valkey_deferring_client [n 0]]
        $c eval {
            local before, t = redis.call('dbsize'), os.clock()
            while os.clock() - t < 2 and redis.call('dbsize') == before do end
            return {before, redis.call('dbsize')}
        } 0
        wait_for_condition 100 20 {[catch {r [n 0] ping}]} else { fail "the server is not busy" }
        r [n 1] cluster setslot 3300 importing $from
        r [n 1] cluster setslot 3300 node [cluster_id 1]
        assert_equal {50 50} [$c read]
        wait_for_condition 100 20 {[r [n 0] dbsize] == 0} else { fail "keys of a slot that is another node's" }
        $c close
    }
}
