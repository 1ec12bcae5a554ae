# What CLUSTER SLOTS, SHARDS, REPLICAS and NODES show of the nodes of a shard: the order, the port, and failed nodes.

source -encoding utf-8 $::support/cluster.tcl

# The shard of node `of`, as node k sees it: a dict of slots and nodes, each of which is a dict.
proc shard_of {k of} {
    foreach shard [r [n $k] cluster shards] {
        foreach node [dict get $shard nodes] { if {[dict get $node id] eq $of} { return $shard } }
    }
    return {}
}

# id role health of each of its nodes.
proc shard_nodes {k of} {
    return [lmap node [dict get [shard_of $k $of] nodes] { list [dict get $node id] [dict get $node role] [dict get $node health] }]
}

proc flags_of {k of} { return [split [lindex [cluster_line $k $of] 1] ,] }

start_cluster {kinds {ours ours valkey ours ours} primaries 1} {
    test "replicas are shown in order of their ids, by all nodes" {
        r [n 0] set k v
        foreach k {1 2 3 4} {
            wait_for_offset n$k n0
            lappend ids [cluster_id $k]
        }
        set ids [lsort $ids]
        foreach k {0 1 2 3 4} {
            wait_for_condition 100 100 {[llength [lindex [r [n $k] cluster slots] 0]] == 7} else { fail [r [n $k] cluster slots] }
            assert_equal $ids [lmap node [lrange [lindex [r [n $k] cluster slots] 0] 3 end] { lindex $node 2 }]
            assert_equal $ids [lmap line [r [n $k] cluster replicas [cluster_id 0]] { lindex $line 0 }]
        }
        foreach k {0 1 3 4} { assert_equal [list [cluster_id 0] {*}$ids] [lmap node [shard_nodes $k [cluster_id 0]] { lindex $node 0 }] }
    }
}

start_cluster {kinds {ours ours} primaries 1} {
    test "a script of a TLS client gets the same addresses as the client" {
        if {[auto_execok openssl] eq {}} { skip "no openssl" }
        if {[catch {exec grep -q tls-cert-file $::options(server)}]} { skip "a build without TLS" }
        set folder $::work_dir/shards_tls
        file mkdir $folder
        exec openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=node -keyout $folder/key -out $folder/crt 2>/dev/null
        foreach k {0 1} {
            r [n $k] config set tls-cert-file $folder/crt tls-key-file $folder/key tls-ca-cert-file $folder/crt
            r [n $k] config set tls-port [free_port] tls-auth-clients no
        }
        r [n 0] set k v
        wait_for_condition 100 100 {[string match "*[config_get tls-port [n 1]]*" [r [n 0] cluster shards]] && [llength [lindex [r [n 0] cluster slots] 0]] == 4} else { fail "the other's port is not known" }
        set port [config_get tls-port [n 0]]
        foreach request [list slots shards nodes "replicas [cluster_id 0]"] {
            set words [join [lmap word "cluster $request" { format '%s' $word }] ,]
            foreach {how arguments} [list direct [list cluster {*}$request] script [list eval "return redis.call($words)" 0]] {
                set said($how) [exec timeout 60 [tool_path valkey-cli] --tls --insecure -h 127.0.0.1 -p $port --no-raw {*}$arguments]
                regsub -all {(0|\d{13}) \d{13}|replication-offset"\s+\d+\) \S+ \d+} [string map {\\n \n} $said($how)] VARIES said($how)
            }
            assert_equal [string trim $said(direct) "\"\n "] [string trim $said(script) "\"\n "]
            assert_match "*[config_get tls-port [n 1]]*" $said(script)
        }
    }
}

start_cluster {kinds {ours ours} primaries 2} {
    test "a node that one node suspects is online; a node that the cluster holds as failed is not" {
        exec kill -KILL [srv [n 1] pid]
        set id [string range [lindex [lsearch -inline -not [split [r [n 0] cluster nodes] \n] *myself*] 0] 0 39]
        wait_for_condition 200 50 {"fail?" in [flags_of 0 $id]} else { fail [r [n 0] cluster nodes] }
        assert_equal [list [list $id master online]] [shard_nodes 0 $id]
        restart_server [n 1] KILL
    }
}

start_cluster {kinds {ours ours ours ours} primaries 3} {
    test "a failed primary is shown beside the one that has taken its slots" {
        r [n 0] set "{b}" v
        wait_for_offset n3 n0
        # The node that fails has the smaller id: it is checked first.
        set failing 0
        if {[string compare [cluster_id 0] [cluster_id 3]] > 0} {
            set failing 3
            r [n 3] cluster failover
            wait_for_condition 200 50 {[cluster_owner 1 3300 4] == 3 && [s [n 0] role] eq "slave"} else { fail "no failover" }
            wait_for_link n0
            wait_cluster_ok 4
        }
        set new_owner [expr {3 - $failing}]
        set ids [list [cluster_id $new_owner] [cluster_id $failing]]
        exec kill -KILL [srv [n $failing] pid]
        wait_for_condition 400 50 {[cluster_owner 1 3300 4] == $new_owner} else { fail "nobody takes over" }
        assert {"fail" in [flags_of 1 [lindex $ids 1]]}
        assert_equal [list [list [lindex $ids 0] master online] [list [lindex $ids 1] master fail]] [shard_nodes 1 [lindex $ids 0]]
        assert_equal {0 5460} [dict get [shard_of 1 [lindex $ids 0]] slots]
        restart_server [n $failing] KILL
        wait_cluster_ok 4
    }
}
