# nodes.conf: its lock, refused contents, kept contents; and one file that this server and Valkey both read.

source -encoding utf-8 $::support/cluster.tcl

proc nodes_conf {{level 0}} { return [file join [srv $level dir] nodes.conf] }

proc write_nodes_conf {text {level 0}} {
    set f [open [nodes_conf $level] w]
    puts -nonewline $f $text
    close $f
}

# The log of a start in this folder, which must fail.
proc failed_start {dir port} {
    catch { exec $::options(server) --dir $dir --port $port --cluster-enabled yes --logfile {} 2>@1 } out
    return $out
}

start_server {overrides {cluster-enabled yes availability-zone z1 cluster-announce-human-nodename first}} {
    test {another process cannot lock the file of nodes} {
        assert_match "*The cluster configuration file nodes.conf is in use by another node.*" [failed_start [srv dir] [free_port]]
        r bgsave
        wait_for_condition 100 50 {[s rdb_bgsave_in_progress] == 0} else { fail "BGSAVE" }
        r cluster addslots 1 2 3
        assert_match "*in use by another node*" [failed_start [srv dir] [free_port]]
    }

    test {a child that outlives the server does not keep the lock} {
        config_set rdb-key-save-delay 10000000
        r cluster addslotsrange 4 16383
        r cluster addslots 0
        wait_for_condition 100 50 {[string match *cluster_state:ok* [r cluster info]]} else { fail "not ok" }
        r set k2 v
        r bgsave
        wait_for_condition 100 50 {[s rdb_bgsave_in_progress] == 1} else { fail "BGSAVE" }
        set id [r cluster myid]
        restart_server 0 KILL
        assert_equal $id [r cluster myid]
    }

    test {names that the file cannot hold are not written to it} {
        config_set availability-zone "a b,c=d"
        r cluster saveconfig
        set id [r cluster myid]
        assert_no_match *a*b,c* [read_file [nodes_conf]]
        assert_match *nodename=first* [read_file [nodes_conf]]
        config_set availability-zone z2
        r ping
        assert_match *availability-zone=z2* [read_file [nodes_conf]]
        restart_server
        assert_equal $id [r cluster myid]
    }

    test {best effort: the node continues without its file} {
        config_set cluster-config-save-behavior best-effort
        file delete [nodes_conf]
        file mkdir [nodes_conf]
        r cluster bumpepoch
        assert_equal PONG [r ping]
        assert_equal 1 [count_log_message "Cluster config updated even though writing the cluster config file to disk failed."]
        assert_error "ERR error saving the cluster node config*" { r cluster saveconfig }
        file delete [nodes_conf]
        assert_equal OK [r cluster saveconfig]
        assert_match "*[r cluster myid]*" [read_file [nodes_conf]]
    }
}

start_server {overrides {cluster-enabled yes}} {
    test {wrong files of nodes are refused} {
        set id [r cluster myid]
        r cluster saveconfig
        set good [read_file [nodes_conf]]
        set dir [file join [srv dir] other]
        file mkdir $dir
        set others [list [string map {myself, {}} $good] "garbage\n" "$good$good" [string map {vars {}} $good] [string range $good 0 60] \
            [string map {" connected" " connected 16384"} $good] [string map {" connected" " connected 9-1"} $good] \
            [string map {shard-id no-such-field} $good] [string map {tls-port=0 tls-port=65536} $good] [string map {currentEpoch {currentEpoch x}} $good]]
        foreach text $others {
            set f [open $dir/nodes.conf w]
            puts -nonewline $f $text
            close $f
            assert_match "*The cluster configuration file * is corrupt (*" [failed_start $dir [free_port]]
        }
    }
}

foreach {from to} {ours valkey valkey ours} {
    start_servers [list a [list kind $from overrides {cluster-enabled yes}] b [list kind $to overrides {cluster-enabled yes}]] {
        test "a file written by $from is read by $to" {
            set a [at a]
            foreach {name value} {cluster-announce-hostname h.example cluster-announce-human-nodename nd availability-zone zone-1 cluster-announce-client-ipv4 1.2.3.4
                cluster-announce-client-ipv6 ::5 cluster-announce-client-port 77 cluster-announce-client-tls-port 78 cluster-announce-tls-port 79
                cluster-announce-ip 10.1.1.1 cluster-announce-port 80 cluster-announce-bus-port 81} { config_set $name $value $a }
            r $a cluster addslotsrange 0 100 102 102
            r $a cluster bumpepoch
            r $a cluster saveconfig
            set text [read_file [file join [srv $a dir] nodes.conf]]
            set id [r $a cluster myid]
            set shard [r $a cluster myshardid]
            write_nodes_conf $text [at b]
            exec kill -KILL [srv [at b] pid]
            restart_server [at b] KILL
            assert_equal $id [r [at b] cluster myid]
            assert_equal $shard [r [at b] cluster myshardid]
            assert_match "*connected 0-100 102*" [r [at b] cluster nodes]
            assert_equal 1 [regexp {cluster_my_epoch:1} [r [at b] cluster info]]
        }
    }
}

start_cluster {kinds {ours ours} primaries 1} {
    test {CONFIG REWRITE on a replica writes no replicaof, which the next start would refuse: nodes.conf has the primary} {
        set id [cluster_id 1]
        assert_equal "127.0.0.1 [srv [n 0] port]" [config_get replicaof [n 1]]
        assert_equal OK [r [n 1] config rewrite]
        assert_no_match "*replicaof*" [read_file [srv [n 1] conf]]
        restart_server [n 1]
        assert_equal $id [cluster_id 1]
        wait_for_link n1
        assert_equal [cluster_id 0] [lindex [cluster_line 1 $id] 2]
    }
}
