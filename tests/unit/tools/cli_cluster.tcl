# valkey-cli --cluster and -c, valkey-benchmark --cluster, utils/create-cluster: on clusters of the oracle's servers, and beside
# the oracle's own tools where what they print is not a matter of chance.

set ::env(TERM) dumb ;# no colours

proc node_of {name} { return 127.0.0.1:[srv [at $name] port] }
proc id_of {name} { return [r [at $name] cluster myid] }

# {exit code, standard output, standard error}
proc cluster {args} { return [run_tool valkey-cli {} --cluster {*}$args] }
proc cluster_answering {input args} { return [run_tool valkey-cli $input --cluster {*}$args] }

# Standard output of a run that went well.
proc cluster_ok {args} {
    lassign [cluster {*}$args] code out err
    if {$code != 0} { fail "exit code $code of --cluster $args: $out$err" }
    return $out
}

# Runs the oracle's tool, as run_tool runs ours.
proc run_peer {name input args} {
    set err $::work_dir/peer.err
    set path [file join [file dirname [valkey_oracle]] $name]
    set code [catch {exec -keepnewline -- timeout 20 $path {*}$args << $input 2> $err} out how]
    if {$code} {
        set code [lindex [dict get $how -errorcode] 2]
        regsub {child process exited abnormally\n?$} $out {} out
    }
    return [list $code $out [read_file $err]]
}

proc same_as_peer {args} {
    assert_equal [run_peer valkey-cli {} {*}$args] [run_tool valkey-cli {} {*}$args]
}

# All nodes of the list believe the same, and nothing is open.
proc wait_until_settled {name} {
    wait_for_condition 100 100 {[lindex [cluster check [node_of $name]] 0] == 0} else {
        fail [lindex [cluster check [node_of $name]] 1]
    }
}

proc slots_of {name} {
    set count 0
    foreach line [split [r [at $name] cluster nodes] \n] {
        if {![string match *myself* $line]} continue
        foreach range [lrange $line 8 end] {
            if {[string match {\[*} $range]} continue
            lassign [split $range -] first last
            incr count [expr {$last eq {} ? 1 : $last - $first + 1}]
        }
    }
    return $count
}

# {slots, owner} of all ranges, as the node believes.
proc owners {name} {
    set ranges {}
    foreach range [r [at $name] cluster slots] { lappend ranges [list [lindex $range 0] [lindex $range 1] [lindex $range 2 3]] }
    return [lsort -integer -index 0 $ranges]
}

# Keys that hash to `slot`.
proc keys_in {slot count} {
    set keys {}
    for {set i 0} {[llength $keys] < $count} {incr i} {
        if {[r [at a] cluster keyslot k$i] == $slot} { lappend keys k$i }
    }
    return $keys
}

proc dbsizes {names} {
    set sum 0
    foreach name $names { incr sum [r [at $name] dbsize] }
    return $sum
}

set node {kind valkey overrides {cluster-enabled yes cluster-node-timeout 2000 repl-diskless-sync-delay 0 bind {127.0.0.1 127.0.0.2 127.0.0.3}}}

start_servers [list a $node b $node c $node d $node e $node f $node] {
    test "--cluster create shows its plan, and does nothing when it is not wanted" {
        set nodes {}
        foreach name {a b c d e f} { lappend nodes [node_of $name] }
        lassign [cluster_answering no\n create {*}$nodes --cluster-replicas 1] code out
        assert_equal 0 $code
        assert_match "*Primary\\\[0\\\] -> Slots 0 - 5460\nPrimary\\\[1\\\] -> Slots 5461 - 10922\nPrimary\\\[2\\\] -> Slots 10923 - 16383\n*" $out
        assert_match "*Adding replica [node_of e] to [node_of a]\nAdding replica [node_of f] to [node_of b]\nAdding replica [node_of d] to [node_of c]\n*" $out
        assert_match "*(type 'yes' to accept): " $out
        # Hosts of their own: a plan without chance.
        set hosts {}
        foreach name {a b c d e f} host {1 3 2 2 3 1} { lappend hosts 127.0.0.$host:[srv [at $name] port] }
        set spread [list --cluster create {*}$hosts --cluster-replicas 1]
        assert_equal [run_peer valkey-cli no\n {*}$spread] [run_tool valkey-cli no\n {*}$spread]
        assert_match "*cluster_known_nodes:1\r*cluster_size:0\r*" [r [at a] cluster info]
        assert_equal 1 [lindex [cluster_answering no\n create [node_of a] [node_of b]] 0] ;# fewer than three
    }

    test "--cluster create makes a cluster" {
        lassign [cluster create {*}$nodes --cluster-replicas 1 --cluster-yes] code out err
        assert_equal {0 {}} [list $code $err]
        foreach line {">>> Nodes configuration updated" ">>> Assign a different config epoch to each node"
                      ">>> Sending CLUSTER MEET messages to join the cluster" "Waiting for the cluster to join"
                      "\[OK\] All nodes agree about slots configuration." "\[OK\] All 16384 slots covered."} {
            assert_equal 1 [expr {$line in [split $out \n]}] $line
        }
        wait_for_condition 100 100 {[string match *cluster_state:ok* [r [at f] cluster info]]} else { fail "not ok" }
        assert_equal {5461 5462 5461} [list [slots_of a] [slots_of b] [slots_of c]]
    }

    test "output and exit code are the oracle's" {
        wait_until_settled a
        set to [node_of a]
        same_as_peer --cluster check $to
        same_as_peer --cluster check {*}[split $to :] --cluster-search-multiple-owners
        same_as_peer --cluster info $to
        same_as_peer --cluster fix $to
        same_as_peer --cluster rebalance $to
        same_as_peer --cluster call $to config get port
        same_as_peer --cluster call $to get foo --cluster-only-masters
        same_as_peer --cluster call $to get foo --cluster-only-replicas
        same_as_peer --cluster call $to get foo --no-raw
        same_as_peer --cluster set-timeout $to 2100
        set ::env(TERM) xterm
        same_as_peer --cluster check $to
        set ::env(TERM) dumb
    }

    test "refusals are the oracle's" {
        foreach args [list {} nosuch create check {check nowhere} {check 127.0.0.1:1} "create $to" {create foo} "set-timeout $to 50" \
                "add-node $to $to" "add-node foo $to" "add-node $to 127.0.0.1:1" "add-node $to" "del-node $to nosuch" "del-node $to [id_of a]" \
                "backup $to /nosuch" "import $to" "import $to --cluster-from foo" "import $to --cluster-from [node_of b]" \
                "reshard $to --cluster-from foo --cluster-to [id_of b] --cluster-slots 4 --cluster-yes" \
                "reshard $to --cluster-from [id_of a] --cluster-to [id_of d] --cluster-slots 4 --cluster-yes" \
                "rebalance $to --cluster-weight foo=1"] {
            if {$args eq {}} continue
            same_as_peer --cluster {*}$args
        }
        assert_equal 1 [lindex [run_tool valkey-cli {} --cluster] 0]
        assert_match "*create*reshard*backup*" [lindex [cluster help] 1]
    }

    test "-c follows redirections, and prints them for a reader line by line" {
        r [at c] set foo 1
        set port [srv [at a] port]
        foreach format {--raw --no-raw --csv --json} {
            same_as_peer -c -p $port $format get foo
            same_as_peer -p $port $format get foo
        }
        assert_equal "1\n2\n3\n" [lindex [run_tool valkey-cli {} -c -p $port -r 3 incr n] 1]
        foreach format {--raw --no-raw} {
            set lines "get foo\nget b\nmulti\nget foo\nexec\nget foo\n"
            assert_equal [run_peer valkey-cli $lines -c -p $port $format] [run_tool valkey-cli $lines -c -p $port $format]
        }
        assert_match "*-> Redirected to slot \\\[12182\\\] located at [node_of c]\n1\n*" [lindex [run_tool valkey-cli $lines -c -p $port] 1]
    }

    test "-c follows to the node of a shard channel" {
        foreach name {a b c} {
            set channel [open |[list timeout 20 [tool_path valkey-cli] -c -p [srv [at $name] port] ssubscribe foo] r]
            foreach line {ssubscribe foo 1} { assert_equal $line [gets $channel] }
            wait_for_condition 50 100 {[r [at c] spublish foo hello] == 1} else { fail "nobody listens" }
            foreach line {smessage foo hello} { assert_equal $line [gets $channel] }
            exec kill [pid $channel]
            catch {close $channel}
            wait_for_condition 50 100 {[r [at c] spublish foo bye] == 0} else { fail "it still listens" }
        }
    }

    test "-c follows ASK once for a slot that is migrating" {
        r [at a] cluster setslot 3300 migrating [id_of b]
        r [at b] cluster setslot 3300 importing [id_of a]
        same_as_peer -c -p [srv [at a] port] set b moved
        assert_equal "moved\nmoved\n" [lindex [run_tool valkey-cli {} -c -p [srv [at a] port] -r 2 get b] 1]
        set lines "get b\nget b\nget foo\n"
        assert_equal [run_peer valkey-cli $lines -c -p [srv [at a] port]] [run_tool valkey-cli $lines -c -p [srv [at a] port]]
        assert_error MOVED* {r [at b] get b} ;# without ASKING it is not there
        same_as_peer --cluster check [node_of a]
    }

    test "--cluster fix finishes an open migration (case 1)" {
        set out [cluster_ok fix [node_of a]]
        assert_match "*>>> Case 1: Moving slot 3300 from [node_of a] to [node_of b]\n*" $out
        wait_until_settled b
        assert_equal moved [r [at b] get b]
    }

    test "--cluster fix continues to the target of the migration when several import the slot (case 3)" {
        set key [lindex [keys_in 103 1] 0]
        r [at a] set $key here
        foreach name {b c} { r [at $name] cluster setslot 103 importing [id_of a] }
        r [at a] cluster setslot 103 migrating [id_of b]
        r [at c] asking
        r [at c] set "{$key}2" there
        set out [cluster_ok fix [node_of a]]
        assert_match "*>>> Case 3: Moving slot 103 from [node_of a] to [node_of b] and closing it on all the other importing nodes.\n*" $out
        wait_until_settled a
        assert_equal {here there 2} [list [r [at b] get $key] [r [at b] get "{$key}2"] [r [at b] cluster countkeysinslot 103]]
        assert_equal 0 [r [at c] cluster countkeysinslot 103]
    }

    test "--cluster fix returns keys to the owner (case 2), and closes slots without an importer (case 4)" {
        set keys [keys_in 100 3]
        r [at a] mset {*}[join [lmap key $keys {list $key $key}]]
        r [at b] cluster setslot 100 importing [id_of a]
        r [at b] asking
        r [at b] set [lindex $keys 0]{[lindex $keys 0]} stray ;# another key of the slot
        r [at a] cluster setslot 101 migrating [id_of c]
        set out [cluster_ok fix [node_of c]]
        assert_match "*>>> Fixing open slot 100\n*>>> Case 2: Moving all the 100 slot keys to its owner [node_of a]\n*" $out
        assert_match "*>>> Setting 100 as STABLE in [node_of b]\n*" $out
        assert_match "*>>> Case 4: Closing slot 101 on [node_of a]\n*" $out
        wait_until_settled a
        assert_equal stray [r [at a] get [lindex $keys 0]{[lindex $keys 0]}]
        assert_equal 4 [r [at a] cluster countkeysinslot 100]
    }

    test "--cluster fix assigns uncovered slots to nodes that have keys of them" {
        r [at a] cluster delslots 0 1 100
        lassign [cluster_answering no\n fix [node_of a]] code out
        assert_equal 1 $code
        assert_match "*\\\[ERR\\\] Not all 16384 slots are covered by nodes.\n\n>>> Fixing slots coverage...\n*" $out
        assert_match "*have no keys across the cluster:\n\\\[0-1\\\]\n*" $out
        lassign [cluster_answering yes\nyes\n fix [node_of a]] code out
        assert_equal 0 $code
        assert_match "*>>> Covering slot 0 with *>>> Covering slot 1 with *have keys in just one node:\n\\\[100\\\]\n*" $out
        assert_match "*>>> Covering slot 100 with [node_of a]\n*" $out
        wait_until_settled c
        assert_equal 4 [r [at a] cluster countkeysinslot 100]
    }

    foreach {how with} {"key by key" {--cluster-pipeline 3} "by the servers" --cluster-use-atomic-slot-migration} {
        test "--cluster reshard moves slots and all their keys, $how" {
            foreach name {a b c} { r [at $name] flushall }
            set lines {}
            for {set i 0} {$i < 500} {incr i} { append lines "set key:$i \"v $i\"\n" }
            run_tool valkey-cli $lines -c -p [srv [at a] port]
            assert_equal 500 [dbsizes {a b c}]
            set before [slots_of b]
            set out [cluster_ok reshard [node_of b] --cluster-from all --cluster-to [id_of b] --cluster-slots 401 --cluster-yes {*}$with]
            assert_match "*\nReady to move 401 slots.\n  Source nodes:\n    M: *  Destination node:\n    M: [id_of b] *  Resharding plan:\n    Moving slot range *" $out
            assert_equal 401 [regexp -all {#} $out]
            wait_until_settled a
            assert_equal [expr {$before + 401}] [slots_of b]
            assert_equal 500 [dbsizes {a b c}]
            assert_match "*v 499\n" [lindex [run_tool valkey-cli "get key:499\n" -c -p [srv [at a] port]] 1]
        }
    }

    test "--cluster reshard asks for missing options" {
        set before [list [slots_of a] [slots_of c]]
        set answers "0\n5\n\n[id_of a]\n[id_of a]\n[id_of d]\n[id_of c]\ndone\n"
        lassign [cluster_answering ${answers}no\n reshard [node_of a]] code out
        assert_equal 1 $code
        assert_match "*(from 1 to 16384)? How many*What is the receiving node ID? What is*Source node #1: \\*\\*\\* It is not possible*Source node #1: \\*\\*\\* The specified node ([id_of d]) is not*Source node #2: *proposed reshard plan (yes/no)? " $out
        assert_equal $before [list [slots_of a] [slots_of c]]
        assert_equal 0 [lindex [cluster_answering ${answers}yes\n reshard [node_of a]] 0]
        wait_until_settled a
        assert_equal [list [expr {[lindex $before 0] + 5}] [expr {[lindex $before 1] - 5}]] [list [slots_of a] [slots_of c]]
        # No node answers: the tool gives up.
        assert_equal 1 [lindex [cluster reshard [node_of a]] 0]
    }

    test "a key that is on both sides stops a move, unless its values are the same or it may be replaced" {
        set key [lindex [keys_in 3000 1] 0]
        r [at a] set $key ours
        set move [list reshard [node_of a] --cluster-from [id_of a] --cluster-to [id_of b] --cluster-slots 1 --cluster-yes]
        r [at b] cluster setslot 3000 importing [id_of a]
        r [at a] cluster setslot 3000 migrating [id_of b]
        r [at b] asking
        r [at b] set $key theirs
        lassign [cluster fix [node_of a]] code out
        assert_equal 1 $code
        assert_match "*\\*\\*\\* Target key exists\n\\*\\*\\* Checking key values on both nodes...\n*different values*" $out
        assert_equal ours [r [at a] get $key]
        r [at b] asking
        r [at b] set $key ours
        assert_match "*\\*\\*\\* Replacing target keys...\n*" [cluster_ok fix [node_of a]]
        wait_until_settled a
        assert_equal ours [r [at b] get $key]

        r [at a] cluster setslot 3000 importing [id_of b]
        r [at b] cluster setslot 3000 migrating [id_of a]
        r [at a] asking
        r [at a] set $key other
        assert_equal 0 [lindex [cluster fix [node_of a] --cluster-replace] 0]
        wait_until_settled a
        assert_equal ours [r [at a] get $key]
    }

    test "nothing is moved in a cluster with uncovered slots" {
        r [at a] cluster setslot 3100 migrating [id_of b]
        same_as_peer --cluster reshard [node_of a] --cluster-from all --cluster-to [id_of b] --cluster-slots 4 --cluster-yes
        same_as_peer --cluster rebalance [node_of a]
        r [at a] cluster setslot 3100 stable
        wait_until_settled a
    }

    test "--cluster rebalance: weights, a plan, and nothing when it is simulated" {
        set before [list [slots_of a] [slots_of b] [slots_of c]]
        same_as_peer --cluster rebalance [node_of a] --cluster-simulate --cluster-weight [string range [id_of b] 0 9]=2
        assert_equal $before [list [slots_of a] [slots_of b] [slots_of c]]
        set out [cluster_ok rebalance [node_of a] --cluster-weight [id_of b]=2 [id_of a]=1 --cluster-use-atomic-slot-migration]
        assert_match "*>>> Rebalancing across 3 nodes. Total weight = 4.00\n  Rebalancing plan:\n    *Moving * slots from *" $out
        assert_equal {4096 8192 4096} [list [slots_of a] [slots_of b] [slots_of c]]
        cluster_ok rebalance [node_of a] --cluster-use-atomic-slot-migration
        assert_equal 16384 [expr [join [list [slots_of a] [slots_of b] [slots_of c]] +]]
        assert_range [slots_of b] 5461 5462
    }

    test "slots moved by the servers: the command ends when all nodes know their owner" {
        foreach {from to} {a b b a} {
            r [at c] debug drop-cluster-packet-filter -2
            exec sh -c "sleep 1.3; [tool_path valkey-cli] -p [srv [at c] port] debug drop-cluster-packet-filter -1" > /dev/null &
            cluster_ok reshard [node_of a] --cluster-from [id_of $from] --cluster-to [id_of $to] --cluster-slots 10 --cluster-yes --cluster-use-atomic-slot-migration
            # No check by the tool: on a slow machine c may still think that the others do not answer.
            assert_equal [owners a] [owners c]
            wait_until_settled c
        }
    }

    test "--cluster backup saves each primary and the roles of the nodes" {
        set folder $::work_dir/backup
        file mkdir $folder
        set key [lindex [keys_in 3300 1] 0]
        run_tool valkey-cli {} -c -p [srv [at a] port] hset $key field value
        assert_equal "1\n" [lindex [run_tool valkey-cli {} -c -p [srv [at a] port] hexpire $key 1000 fields 1 field] 1]
        lassign [cluster backup [node_of a] $folder] code out
        run_tool valkey-cli {} -c -p [srv [at a] port] del $key
        assert_equal 0 $code
        assert_match "*>>> Node [node_of a] -> Saving RDB...\n*\\\[OK\\\] Backup created into: $folder\n" $out
        assert_equal 3 [llength [glob $folder/valkey-node-127.0.0.1-*-*.rdb]]
        assert_equal 4 [llength [glob $folder/*]]
        foreach file [glob $folder/*.rdb] { assert_match "*RDB looks OK*" [lindex [other_face valkey-check-rdb $file --stats] 1] }
        set ours [read_file $folder/nodes.json]
        file delete -force $folder
        file mkdir $folder
        run_peer valkey-cli {} --cluster backup [node_of a] $folder
        assert_equal [read_file $folder/nodes.json] $ours
    }

    test "--cluster fix assigns a slot whose keys two nodes have to one of them" {
        set key [lindex [keys_in 3200 1] 0]
        r [at a] set $key one
        r [at b] cluster setslot 3200 importing [id_of a]
        foreach {name value} [list $key one "{$key}2" other] {
            r [at b] asking
            r [at b] set $name $value
        }
        r [at b] cluster setslot 3200 stable
        r [at a] set "{$key}1" one
        same_as_peer --cluster check [node_of a] --cluster-search-multiple-owners
        set out [cluster_ok fix [node_of a] --cluster-search-multiple-owners]
        assert_match "*\n\\\[WARNING\\\] Slot 3200 has 2 owners:\n    [node_of a]\n    [node_of b]\n>>> Fixing multiple owners for slot 3200...\n*" $out
        wait_until_settled a
        assert_match "*No multiple owners found*" [cluster_ok check [node_of a] --cluster-search-multiple-owners]
        assert_equal "one\n" [lindex [run_tool valkey-cli {} -c -p [srv [at a] port] get $key] 1]
        assert_equal "other\n" [lindex [run_tool valkey-cli {} -c -p [srv [at a] port] get "{$key}2"] 1]
    }

    # ---- Other nodes ----

    start_servers [list new $node] {
        test "--cluster add-node lets a primary join, with the functions of the others" {
            r [at a] function load "#!lua name=lib\nserver.register_function('f', function() return 1 end)"
            set out [cluster_ok add-node [node_of new] [node_of a]]
            assert_match "*>>> Send FUNCTION RESTORE to [node_of new]\n*\\\[OK\\\] New node added correctly.\n" $out
            wait_until_settled new
            assert_equal 1 [r [at new] fcall f 0]
            assert_equal 1 [lindex [cluster add-node [node_of new] [node_of a]] 0]
        }

        test "--cluster rebalance fills a primary without slots on request, and del-node requires an empty one" {
            assert_match "*No rebalancing needed*" [cluster_ok rebalance [node_of a]]
            cluster_ok rebalance [node_of a] --cluster-use-empty-masters --cluster-use-atomic-slot-migration
            wait_until_settled new
            assert_equal 4096 [slots_of new]
            assert_match "*is not empty! Reshard data away*" [lindex [cluster del-node [node_of a] [id_of new]] 1]
            cluster_ok rebalance [node_of a] --cluster-weight [id_of new]=0 --cluster-use-atomic-slot-migration
            wait_until_settled new
            set id [id_of new]
            assert_match "*\\\[OK\\\] Node $id removed from the cluster.\n" [cluster_ok del-node [node_of a] $id]
            assert_equal 0 [string match *$id* [r [at b] cluster nodes]]
            assert_equal 1 [llength [split [string trim [r [at new] cluster nodes]] \n]]
        }

        test "--cluster add-node lets a replica join" {
            r [at new] function flush
            r [at new] cluster reset hard ;# a new name: the old one is not welcome for a minute
            wait_until_settled a
            assert_match "*\\\[ERR\\\] No such primary ID foo\n" [lindex [cluster add-node [node_of new] [node_of a] --cluster-slave --cluster-master-id foo] 1]
            set out [cluster_ok add-node [node_of new] [node_of a] --cluster-replica --cluster-primary-id [id_of c]]
            assert_match "*>>> Configure node as replica of [node_of c].\n\\\[OK\\\] New node added correctly.\n" $out
            wait_for_condition 100 100 {[s [at new] role] eq "slave" && [s [at new] master_port] == [srv [at c] port]} else { fail "no replica" }
            wait_until_settled a
            cluster_ok del-node [node_of a] [id_of new]
        }
    }

    start_servers {outside {kind valkey overrides {requirepass secret}}} {
        test "--cluster import copies the keys of a server" {
            r [at outside] auth secret
            foreach name {a b c} { r [at $name] flushall }
            for {set i 0} {$i < 50} {incr i} { r [at outside] set i:$i $i }
            set out [cluster_ok import [node_of a] --cluster-from [node_of outside] --cluster-from-pass secret --cluster-copy]
            assert_match "*\n\\*\\*\\* Importing 50 keys from DB 0\nMigrating i:* to 127.0.0.1:*: OK\n*" $out
            assert_equal {50 50} [list [dbsizes {a b c}] [r [at outside] dbsize]]
            lassign [cluster import [node_of a] --cluster-from [node_of outside] --cluster-from-pass secret] code out
            assert_equal 1 $code
            assert_match "*replied with error:\nERR Target instance replied with error: BUSYKEY*" $out
            cluster_ok import [node_of a] --cluster-from [node_of outside] --cluster-from-pass secret --cluster-replace
            assert_equal {50 0} [list [dbsizes {a b c}] [r [at outside] dbsize]]
        }
    }

    test "a replica that is late does not end a reshard" {
        set out $::work_dir/reshard.out
        set replica [lindex [r [at b] role] 2 0 1]
        foreach name {d e f} { if {[srv [at $name] port] == $replica} break }
        set run [open |[list [tool_path valkey-cli] --cluster reshard [node_of a] --cluster-from [id_of a] --cluster-to [id_of b] \
            --cluster-slots 300 --cluster-yes >& $out] w]
        wait_for_condition 400 10 {[string match "*Moving slot *Moving slot *" [read_file $out]]} else { fail [read_file $out] }
        exec kill -STOP [srv [at $name] pid]
        try {
            wait_for_condition 200 50 {[string match *NOREPLICAS* [r [at b] info errorstats]]} else { fail "it is not missed: [read_file $out]" }
        } finally { exec kill -CONT [srv [at $name] pid] }
        if {[catch {close $run} problem]} { fail "$problem: [read_file $out]" }
        wait_until_settled a
    }

    # ---- valkey-benchmark ----

    proc nodes_told {out} { return [lrange [split $out \n] 0 5] }

    test "valkey-benchmark --cluster prints the nodes as the oracle's does, and loads all of them" {
        set port [srv [at b] port]
        foreach {args} {{} {--rfr yes} {--rfr all}} {
            set command [list --cluster -p $port -n 200 -q -t get {*}$args]
            set peer [lindex [run_peer valkey-benchmark {} {*}$command] 1]
            lassign [run_tool valkey-benchmark {} {*}$command] code out err
            assert_equal {0 {}} [list $code $err]
            assert_equal [nodes_told $peer] [nodes_told $out]
        }
        foreach name {a b c} { r [at $name] flushall }
        # Each of the nine clients sends its first batch before any has a reply; which one is served next is random.
        assert_equal 0 [lindex [run_tool valkey-benchmark {} --cluster -p $port -n 3000 -c 9 -P 3 --threads 1 -q set x:{tag} __data__] 0]
        foreach name {a b c} { assert_range [r [at $name] dbsize] 2 2982 }
    }

    test "valkey-benchmark --cluster: every test of the suite, and the summary" {
        set out [tool_output valkey-benchmark --cluster -p $port -n 300 -c 6 -q -r 50]
        assert_match "*MSET (10 keys): *FCALL: *" $out
        set out [tool_output valkey-benchmark --cluster -p $port -n 300 -c 6 -t set]
        assert_match "*\n  cluster mode: yes (3 primary)\n  node \\\[0\\\] configuration:\n    save: NONE\n    appendonly: no\n  node \\\[1\\\]*\n  multi-thread: yes\n  threads: 3\n*" $out
        # Without a tag a key stays on its node: it is not spread over all.
        lassign [run_tool valkey-benchmark {} --cluster -p $port -n 300 -q set foo 1] code out err
        assert_equal 1 $code
        assert_match "Error from server 127.0.0.1:*: MOVED 12182 127.0.0.1:*\n*" $err
    }

    test "valkey-benchmark --cluster continues while slots move, and follows them" {
        set log $::work_dir/benchmark.err
        set pid [exec [tool_path valkey-benchmark] --cluster -p $port --duration 4 -c 12 -r 1000 -t set -q > $::work_dir/benchmark.out 2> $log &]
        cluster_ok reshard [node_of a] --cluster-from [id_of a] --cluster-to [id_of b] --cluster-slots 20 --cluster-yes
        cluster_ok reshard [node_of a] --cluster-from [id_of b] --cluster-to [id_of a] --cluster-slots 500 --cluster-yes --cluster-use-atomic-slot-migration
        wait_for_condition 200 100 {[string match "*SET: *" [read_file $::work_dir/benchmark.out]]} else { fail "no end: [read_file $log]" }
        assert_match "*MOVED*Slots of the cluster have moved, so its configuration is read again\n*" [read_file $log]
        assert_equal 0 [string match *ended* [read_file $log]]
        wait_until_settled a
    }

    # ---- A node that is not there ----

    test "slots of a dead primary are reassigned only on request" {
        foreach name {d e f} { r [at $name] config set cluster-replica-no-failover yes }
        set id [id_of c]
        exec kill -STOP [srv [at c] pid]
        wait_for_condition 200 100 {[regexp -line "^$id \\S+ \\S*\\mfail\\M(?!\\?)" [r [at a] cluster nodes]]} else { fail "it is not missed" }
        lassign [cluster_answering no\n fix [node_of a]] code out
        exec kill -CONT [srv [at c] pid]
        assert_equal 1 $code
        assert_match "*with 1 unreachable primaries is dangerous*" $out
        wait_until_settled a
    }
}

set guarded {kind valkey overrides {cluster-enabled yes cluster-node-timeout 2000 cluster-databases 4 requirepass secret primaryauth secret}}

start_servers [list a $guarded b $guarded c $guarded] {
    foreach {how with} {"key by key" {} "by the servers" --cluster-use-atomic-slot-migration} {
        test "a cluster with a password and several databases: made, and moved $how" {
            set nodes {}
            foreach name {a b c} {
                r [at $name] auth secret
                lappend nodes [node_of $name]
            }
            set password [list -a secret --no-auth-warning]
            if {$with eq {}} { cluster_ok create {*}$nodes --cluster-yes {*}$password }
            wait_for_condition 100 100 {[string match *cluster_state:ok* [r [at c] cluster info]]} else { fail "not ok" }
            assert_match "*NOAUTH*" [join [cluster check [node_of a]]]
            set key [lindex [keys_in [expr {$with eq {} ? 0 : 1}] 1] 0]
            foreach db {0 3} {
                r [at a] select $db
                r [at a] set $key "in $db"
            }
            cluster_ok reshard [node_of a] --cluster-from [id_of a] --cluster-to [id_of b] --cluster-slots 1 --cluster-yes {*}$with {*}$password
            foreach db {0 3} {
                assert_equal "in $db\n" [lindex [run_tool valkey-cli {} -c -p [srv [at b] port] -n $db {*}$password get $key] 1]
            }
            wait_for_condition 100 100 {[lindex [cluster check [node_of a] {*}$password] 0] == 0} else { fail "not settled" }
        }
    }

    test "the prompt names the node that -c has led to" {
        if {[auto_execok script] eq {} || [auto_execok stty] eq {}} { skip "no script(1) to make a terminal" }
        set command "stty cols 100 rows 24; HOME='$::work_dir' TERM=xterm exec [tool_path valkey-cli] -c -p [srv [at a] port] -a secret --no-auth-warning"
        set terminal [open |[list timeout 60 script -qec $command /dev/null 2>@stderr] r+]
        fconfigure $terminal -blocking 0 -translation binary -buffering none
        set seen {}
        foreach {keys pattern} [list {} "*:[srv [at a] port]>*" "get foo\r" "*-> Redirected to slot \\\[12182\\\] located at [node_of c]\r\n*(nil)*[node_of c]> *"] {
            puts -nonewline $terminal $keys
            wait_for_condition 100 100 {[string match $pattern [append seen [read $terminal]]]} else { fail "not seen: '$pattern' in '$seen'" }
        }
        close $terminal
    }
}

# Ports of nodes and, 10000 above, of their buses.
proc free_ports_in_a_row {count} {
    while 1 {
        set first [free_port]
        set all 1
        for {set i 1} {$i < $count} {incr i} {
            if {![port_is_free [expr {$first + $i}]] || ![port_is_free [expr {$first + $i + 10000}]]} { set all 0 }
        }
        if {$all} { return $first }
    }
}

test "utils/create-cluster: from nothing to a cluster of two kinds of servers, and back" {
    if {[valkey_oracle] eq {} || [tool_path valkey-cli] eq {}} { skip "no valkey here" }
    set script [file join $::support .. .. utils create-cluster]
    set folder $::work_dir/local
    set port [free_ports_in_a_row 3]
    foreach server [list [valkey_oracle] [valkey_oracle]] { lappend binaries --server $server }
    set out [exec $script create --dir $folder --nodes 3 --replicas 0 --port $port {*}$binaries --cli [tool_path valkey-cli] -- --save {} 2>@1]
    assert_match "*\\\[OK\\\] All 16384 slots covered.*" $out
    assert_equal 3 [llength [split [exec $script call --dir $folder ping] \n]]
    exec $script stop --dir $folder
    assert_match "*Connection refused*" [exec $script call --dir $folder ping]
    exec $script start --dir $folder
    assert_match "127.0.0.1:$port: PONG*" [exec $script call --dir $folder ping]
    # A node that is dead has left its file with the id.
    exec kill -KILL [string trim [read_file $folder/3/pid]]
    exec $script stop --dir $folder
    exec $script clean --dir $folder
    assert_equal 0 [file exists $folder]
    assert_match "*there is no cluster in*" [lindex [list [catch {exec $script start --dir $folder} out] $out] 1]
}
