# Priority clients (9.2 §10): who is one, what is reserved for them, and where it shows.

source -encoding utf-8 $::support/cluster.tcl

# Clients of the tests connect from 127.0.0.1, administrators from 127.0.0.2.
proc admin_client {{deferred 0}} { return [resp::connect [srv 0 host] [srv 0 port] $deferred 127.0.0.2] }
proc wait_connected {n} {
    wait_for_condition 100 20 {[s connected_clients] == $n} else { fail "[s connected_clients] clients, not $n" }
}
proc flags_of {client} {
    regexp { flags=(\S+) } [$client client info] - flags
    return $flags
}
# Returns the error with which a connection is refused, or PONG.
proc try_from {connect} {
    set client [{*}$connect 1]
    catch { $client write "PING\r\n" }
    set line [$client rawread]
    $client close
    return $line
}
set full "-ERR max number of clients reached"

proc tests_of_limits {} {
    global full
    test {9.2 §10: maxclients-reserved is kept for priority-subnets} {
        wait_connected 1
        config_set priority-subnets 127.0.0.2
        config_set maxclients 6
        config_set maxclients-reserved 3
        r config resetstat
        set normal [list [valkey_client] [valkey_client]]
        assert_equal $full [try_from valkey_deferring_client_only] "a fourth of three"
        assert_equal {1 0} [list [s rejected_connections] [s rejected_priority_connections]]
        set admins [list [admin_client] [admin_client] [admin_client]]
        foreach client $admins { assert_equal PONG [$client ping] }
        assert_equal {6 3} [list [s connected_clients] [s connected_priority_clients]]
        assert_equal $full [try_from admin_client] "everybody is bound by maxclients"
        assert_equal {2 1} [list [s rejected_connections] [s rejected_priority_connections]]
        [lindex $normal 0] close
        wait_connected 5
        assert_equal +PONG [try_from valkey_deferring_client_only]
        wait_connected 5
        assert_equal +PONG [try_from admin_client]
        wait_connected 5
        foreach client [concat [lrange $normal 1 end] $admins] { $client close }
        wait_connected 1
        assert_equal 0 [s connected_priority_clients]
    }

    test {9.2 §10: nothing is reserved unless both settings are set} {
        config_set maxclients 3
        config_set maxclients-reserved 2
        config_set priority-subnets ""
        set client [valkey_client]
        assert_equal PONG [$client ping]
        assert_equal 0 [s connected_priority_clients]
        config_set priority-subnets 127.0.0.2
        config_set maxclients-reserved 0
        set other [valkey_client]
        assert_equal PONG [$other ping]
        $client close
        $other close
        wait_connected 1
    }

    test {9.2 §10: more may be reserved than maxclients: then no normal client gets in} {
        config_set maxclients 5
        config_set priority-subnets "10.0.0.0/8, 127.0.0.2/31 ::1"
        config_set maxclients-reserved 100
        assert_equal $full [try_from valkey_deferring_client_only]
        assert_equal +PONG [try_from admin_client]
        config_set maxclients-reserved 0
        config_set maxclients 1000
        wait_connected 1
    }

    test {9.2 §10: a client is one from when it is accepted: changes do not reclassify} {
        config_set priority-subnets 127.0.0.2
        set admin [admin_client]
        set normal [valkey_client]
        assert_match "*H*" [flags_of $admin]
        assert_no_match "*H*" [flags_of $normal]
        assert_equal 1 [s connected_priority_clients]
        config_set priority-subnets 127.0.0.1
        assert_match "*H*" [flags_of $admin]
        assert_no_match "*H*" [flags_of $normal]
        set later [valkey_client]
        assert_match "*H*" [flags_of $later]
        assert_equal 2 [s connected_priority_clients]
        assert_match "*id=[$admin client id] *" [r client list flags H]
        assert_equal 2 [llength [split [string trim [r client list flags H]] \n]]
        foreach client [list $admin $normal $later] { $client close }
        wait_connected 1
        assert_equal 0 [s connected_priority_clients]
    }
}
proc valkey_deferring_client_only {deferred} { return [valkey_deferring_client] }

start_server [list tags priority overrides [list unixsocket $::work_dir/priority.sock]] {
    tests_of_limits

    test {9.2 §10: priority-subnets: bad lists are refused and change nothing, the text is kept as given} {
        config_set priority-subnets "10.0.0.0/8,  ::1/128"
        foreach bad {1.2.3 host 1.2.3.4/33 "10.0.0.0/8 x" "::1/129" "/8"} {
            assert_error "*Invalid IP address or CIDR subnet*" { r config set priority-subnets $bad } $bad
        }
        assert_equal "10.0.0.0/8,  ::1/128" [config_get priority-subnets]
        config_set priority-subnets 0.0.0.0/0
    }

    test {9.2 §10: a Unix socket has no address} {
        set flags [exec [tool_path valkey-cli] -s $::work_dir/priority.sock client info]
        assert_match "*flags=U *" $flags
    }

    test {9.2 §10: replicas have the flag H, whatever priority-subnets says} {
        config_set priority-subnets ""
        start_server {} {
            r replicaof [srv -1 host] [srv -1 port]
            wait_for_condition 100 50 {[string match *flags=SH* [r -1 client list type replica]]} else { fail [r -1 client list] }
        }
    }
}

start_server {tags {priority} overrides {io-threads 3 io-threads-always-active yes}} { tests_of_limits }

start_server {tags {priority} overrides {priority-subnets 127.0.0.2 maxclients 4 maxclients-reserved 3}} {
    test {9.2 §10: the settings of the file count from the beginning} {
        assert_equal $full [try_from valkey_deferring_client_only]
        assert_equal +PONG [try_from admin_client]
    }
}

start_server {tags {priority cluster} overrides {cluster-enabled yes maxclients 2}} {
    test {9.2 §10: the error of a node names the connections of the cluster, too} {
        set client [valkey_client]
        assert_equal "-ERR max number of clients + cluster connections reached" [try_from valkey_deferring_client_only]
        $client close
    }
}

start_cluster {kinds {ours ours}} {
    test {9.2 §10: connections of the cluster count towards maxclients} {
        r [n 0] config set maxclients 3
        set port [srv [n 0] port]
        set client [resp::connect [srv [n 0] host] $port 1]
        assert_equal "-ERR max number of clients + cluster connections reached" [$client rawread]
        $client close
        r [n 0] config set maxclients 4
        set client [resp::connect [srv [n 0] host] $port]
        assert_equal PONG [$client ping]
        $client close
    }
}
