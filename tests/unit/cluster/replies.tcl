# Replies of CLUSTER: each request is sent to a node of this server and to one of Valkey in the same state, and the
# bytes of the two replies must be equal, in RESP2 and in RESP3.

source -encoding utf-8 $::support/cluster.tcl

# Replaces what differs between any two nodes: ids, ports, times. ME in a request is the node's own id.
proc without_names {level text} {
    set port [srv $level port]
    regsub -all {\m[0-9a-f]{40}\M} $text ID text
    regsub -all {\m1[0-9]{12}\M} $text TIME text
    regsub -all "\\m[expr {$port + 10000}]\\M" $text BUS text
    regsub -all "\\m$port\\M" $text PORT text
    regsub -all {[$=][0-9]+} $text LEN text
    return $text
}

proc reply_of {name request} {
    set level [at $name]
    set id [r $level cluster myid]
    return [without_names $level [wire_at $level {*}[string map [list ME $id] $request]]]
}

proc assert_same_replies {requests} {
    foreach request $requests {
        set expected [reply_of valkey $request]
        assert_equal "$request: $expected" "$request: [reply_of ours $request]"
    }
}

set nobody [string repeat a 40]
set servers {ours {kind ours overrides {cluster-enabled yes}} valkey {kind valkey overrides {cluster-enabled yes}}}

start_servers $servers {
    test {a single node: replies of the CLUSTER commands} {
        assert_same_replies {
            {cluster myid} {cluster myid x} {cluster myshardid} {cluster nodes} {cluster info} {cluster slots} {cluster shards}
            {cluster links} {cluster keyslot foo} {cluster keyslot foo{}{bar}} {cluster keyslot} {cluster} {cluster nosuch}
            {cluster replicas ME} {cluster replicas foo} {cluster slaves ME} {cluster count-failure-reports ME}
            {cluster count-failure-reports foo} {info cluster} {info cluster_info}
        }
    }

    test {wrong arguments get the same errors} {
        assert_same_replies {
            {cluster meet} {cluster meet 127.0.0.1} {cluster meet 127.0.0.1 abc} {cluster meet 127.0.0.1 0} {cluster meet 127.0.0.1 70000}
            {cluster meet 127.0.0.1 -1} {cluster meet 127.0.0.1 60000} {cluster meet 127.0.0.1 6000 abc} {cluster meet 127.0.0.1 6000 0}
            {cluster meet 127.0.0.1 6000 70000} {cluster meet localhost 6000} {cluster meet foo 6000} {cluster meet 127.0.0.1 6000 16000 x}
            {cluster forget foo} {cluster forget ME}
            {cluster replicate foo} {cluster replicate ME} {cluster replicate no one} {cluster replicate no two} {cluster replicate foo one two}
            {cluster failover} {cluster failover force} {cluster failover takeover} {cluster failover foo} {cluster failover force x}
            {cluster failover force replicaid ME} {cluster reset foo} {cluster reset hard x} {cluster saveconfig x} {cluster bumpepoch x}
            {cluster addslots} {cluster addslots a} {cluster addslots -1} {cluster addslots 16384} {cluster addslots 1 2 1}
            {cluster delslots} {cluster delslots 9} {cluster delslots x} {cluster addslotsrange} {cluster addslotsrange 10}
            {cluster addslotsrange 10 20 30} {cluster addslotsrange 10 9} {cluster addslotsrange 10 20 20 30} {cluster addslotsrange x 5}
            {cluster addslotsrange 100 16384} {cluster delslotsrange} {cluster delslotsrange 10} {cluster delslotsrange 10 12}
            {cluster countkeysinslot x} {cluster countkeysinslot 16384} {cluster countkeysinslot -1}
            {cluster set-config-epoch} {cluster set-config-epoch abc} {cluster set-config-epoch -1} {cluster set-config-epoch 99999999999999999999}
        }
        assert_same_replies [list "cluster forget $::nobody" "cluster replicas $::nobody"]
    }

    test {epochs} {
        assert_same_replies {
            {cluster bumpepoch} {cluster bumpepoch} {cluster set-config-epoch 5} {cluster reset hard} {cluster set-config-epoch 6}
            {cluster set-config-epoch 7} {cluster bumpepoch} {cluster saveconfig} {cluster info}
        }
    }

    test {slots are added and removed} {
        assert_same_replies {
            {cluster addslots 1 2 3} {cluster addslots 3 4} {cluster addslots 4 3} {cluster delslots 1 1} {cluster addslotsrange 10 20 21 30}
            {cluster addslotsrange 0 5} {cluster delslotsrange 10 12 12 13} {cluster delslotsrange 10 12 14 13} {cluster delslotsrange 10 12 14 15}
            {cluster slots} {cluster shards} {cluster nodes} {cluster delslotsrange 10 12} {cluster flushslots x} {cluster flushslots} {cluster slots}
        }
    }

    test {CLUSTER SLOT-STATS: wrong arguments} {
        assert_same_replies {
            {cluster addslots 1 2 3} {cluster slot-stats} {cluster slot-stats slotsrange 0} {cluster slot-stats slotsrange 10 9}
            {cluster slot-stats slotsrange 0 16384} {cluster slot-stats slotsrange x 3} {cluster slot-stats slotsrange 0 3 x}
            {cluster slot-stats orderby} {cluster slot-stats orderby cpu-usec} {cluster slot-stats orderby foo} {cluster slot-stats foo bar baz}
            {cluster slot-stats orderby key-count asc desc} {cluster slot-stats orderby key-count limit 2 limit 3}
            {cluster slot-stats orderby key-count limit} {cluster slot-stats orderby key-count limit 0}
            {cluster slot-stats orderby key-count limit 16385} {cluster slot-stats orderby key-count limit x} {cluster slot-stats orderby key-count foo}
            {cluster slot-stats slotsrange 0 100} {cluster slot-stats orderby key-count} {cluster slot-stats orderby KEY-COUNT ASC}
            {cluster slot-stats orderby key-count limit 2} {cluster slot-stats orderby key-count limit 2 asc} {cluster slot-stats orderby key-count asc limit 2}
            {config set cluster-slot-stats-enabled yes} {cluster slot-stats orderby cpu-usec limit 1} {cluster slot-stats slotsrange 0 3}
            {config set cluster-slot-stats-enabled no} {cluster slot-stats slotsrange 0 3}
        }
    }

    test {announced values are shown at once} {
        foreach request {
            {config set cluster-announce-hostname a_b} {config set cluster-announce-hostname a.b-c} {config set cluster-announce-human-nodename a!b}
            {config set cluster-announce-human-nodename a=b} {config set cluster-announce-human-nodename a:/`_b} {config set cluster-announce-ip foo!}
            {config set cluster-announce-ip 10.0.0.1} {config set cluster-announce-port 1234} {config set cluster-announce-bus-port 1235}
            {config set cluster-announce-tls-port 1236} {config set cluster-announce-client-ipv4 1.2.3} {config set cluster-announce-client-ipv4 1.2.3.4}
            {config set cluster-announce-client-ipv6 1.2.3.4} {config set cluster-announce-client-ipv6 ::4} {config set cluster-announce-client-port 4444}
            {config set cluster-announce-client-tls-port 4445} {config set availability-zone zone1} {config set cluster-preferred-endpoint-type foo}
            {config set cluster-preferred-endpoint-type hostname} {config set cluster-preferred-endpoint-type unknown-endpoint}
            {config set cluster-announce-hostname {}} {config set cluster-preferred-endpoint-type hostname} {config set cluster-announce-ip {}}
            {config set cluster-replica-no-failover yes} {config set cluster-replica-no-failover no} {config set cluster-node-timeout -1}
            {config set cluster-migration-barrier -1} {config set cluster-port 1} {config set cluster-databases 2} {config set cluster-enabled no}
            {config set tls-cluster yes}
        } {
            assert_same_replies [list $request {cluster nodes} {cluster slots} {cluster shards}]
        }
        set long [string repeat 1 256]
        assert_same_replies [list "config set cluster-announce-ip [string range $long 0 45]" "config set cluster-announce-hostname $long" "config set cluster-announce-ip [string range $long 0 44]"]
    }

    test {the replies are the same in RESP3} {
        foreach server {ours valkey} { r [at $server] hello 3 }
        assert_same_replies {{cluster nodes} {cluster slots} {cluster shards} {cluster links} {info cluster} {cluster slot-stats slotsrange 0 3}}
        foreach server {ours valkey} { r [at $server] hello 2 }
    }

    test {DEBUG of a node} {
        assert_same_replies {
            {debug clusterlink kill foo ME} {debug clusterlink kill to foo} {debug clusterlink kill all ME} {debug clusterlink foo all ME}
            {debug clusterlink kill all} {debug drop-cluster-packet-filter 3} {debug drop-cluster-packet-filter x} {debug drop-cluster-packet-filter -1}
            {debug close-cluster-link-on-packet-drop x} {debug disable-cluster-random-ping 1} {debug disable-cluster-random-ping 0}
            {debug disable-cluster-reconnection 0} {replconf set-cluster-node-id foo} {replconf set-cluster-node-id ME}
        }
    }
}

# Three nodes of one kind, two primaries and a replica: what they show, with N0, N1, N2 for their ids, and P0 ... for ports.
proc named {text} {
    set names {}
    for {set k 0} {$k < 3} {incr k} {
        set port [srv [n $k] port]
        lappend names [r [n $k] cluster myid] N$k [r [n $k] cluster myshardid] S$k $port P$k [expr {$port + 10000}] B$k
    }
    regsub -all {\m1[0-9]{12}\M} [string map $names $text] TIME text
    return $text
}

proc shown_by {k} {
    set lines {}
    foreach line [split [string trim [named [r [n $k] cluster nodes]]] \n] { lappend lines [lreplace $line 4 5 PING PONG] }
    set links {}
    foreach link [r [n $k] cluster links] { lappend links [named "[dict get $link direction] [dict get $link node] [lsort [dict keys $link]]"] }
    set shards {}
    foreach shard [r [n $k] cluster shards] {
        set members {}
        foreach member [dict get $shard nodes] { lappend members [named [dict remove $member replication-offset]] }
        lappend shards [list [dict get $shard slots] [lsort $members] [named [dict get $shard id]]]
    }
    set slots [named [r [n $k] cluster slots]]
    return [list nodes [lsort $lines] slots $slots shards [lsort $shards] links [lsort $links]]
}

# Requests that are refused, with the errors of both.
proc refused_by {k} {
    set replies {}
    foreach request {
        {replicas N0} {replicas N2} {forget N0} {forget N2} {replicate N0} {replicate N1} {replicate N2} {failover} {failover force} {set-config-epoch 9}
        {addslots 1} {reset now} {count-failure-reports N1} {setslot 1 stable} {setslot 0 migrating N9}
    } {
        set ids {}
        for {set i 0} {$i < 3} {incr i} { lappend ids N$i [cluster_id $i] }
        if {[string match "forget N*" $request] && ![string match *N$k $request]} continue
        if {[string match "failover*" $request] && $k == 2} continue
        catch { r [n $k] cluster {*}[string map $ids $request] } reply
        lappend replies [list $request [regsub {[0-9]+ [0-9]+ ([0-9]+ connected)} [named $reply] {PING PONG \1}]]
    }
    return $replies
}

proc shown_by_all {} {
    r [n 0] set b 1
    for {set k 0} {$k < 3} {incr k} {
        wait_for_condition 100 50 {![string match *loading* [r [n $k] cluster shards]] && [string match *z1* [r [n $k] cluster slots]]
            && [llength [r [n $k] cluster links]] == 4} else { fail "node $k: [r [n $k] cluster shards]" }
        foreach type {ip hostname unknown-endpoint} {
            config_set cluster-preferred-endpoint-type $type [n $k]
            lappend all $k $type [shown_by $k]
        }
        lappend all $k refused [refused_by $k]
    }
    return $all
}

foreach kind {ours valkey} {
    start_cluster [list kinds [list $kind $kind $kind] primaries 2 overrides {cluster-announce-hostname host.example availability-zone z1}] {
        test "members of a cluster: what nodes of kind $kind show" {
            set ::shown($kind) [shown_by_all]
            assert_equal 12 [expr {[llength $::shown($kind)] / 3}]
        }
        if {$kind eq "valkey"} {
            test {members of a cluster: both servers show and refuse the same} {
                foreach {k what ours} $::shown(ours) {- - valkey} $::shown(valkey) {
                    foreach a $valkey b $ours { assert_equal "$k $what: $a" "$k $what: $b" }
                }
            }
        }
    }
}
