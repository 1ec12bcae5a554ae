# The commands of a cluster, of replication and of modules, on a single server: libraries, the command line tools and
# ACL rules name them, whether there is a cluster or not.

set disabled "ERR This instance has cluster support disabled"

start_server {tags {standalone external:skip}} {
    test {CLUSTER commands reply that cluster support is disabled} {
        foreach command {
            {cluster info} {cluster nodes} {cluster slots} {cluster shards} {cluster myid} {cluster help} {cluster reset}
            {cluster meet 127.0.0.1 7000} {cluster countkeysinslot 1} {cluster setslot 1 stable} {cluster syncslots establish}
            {clusterscan 0} asking
        } {
            assert_error $disabled {r {*}$command}
        }
        assert_error "ERR unknown subcommand 'nosuch'. Try CLUSTER HELP." {r cluster nosuch}
        assert_error "ERR wrong number of arguments for 'cluster|keyslot' command" {r cluster keyslot}
    }

    test {CLUSTER KEYSLOT works without a cluster} {
        foreach {key slot} {a 15495 b 3300 123456789 12739 {} 0 "{a}b" 15495 "a{b}c" 3300 "{}b" 6680 "a{}{c}" 2440} {
            assert_equal $slot [r cluster keyslot $key] $key
        }
        assert_equal 10276 [r cluster keyslot "\x7ba"] "a brace that is not closed"
    }

    test {READONLY and READWRITE change nothing} {
        assert_equal {OK OK} [list [r readonly] [r readwrite]]
        assert_equal OK [r set k v]
    }

    test {REPLICAOF NO ONE on a primary changes nothing} {
        assert_equal OK [r replicaof no one]
        assert_equal OK [r slaveof NO ONE]
        foreach port {x -1 65536 {}} { assert_error "ERR Invalid master port" {r replicaof 127.0.0.1 $port} }
        assert_equal master [lindex [r role] 0]
        assert_equal OK [r set k v]
    }

    test {REPLCONF: options and their values} {
        foreach words {{} {listening-port 6380} {capa eof capa psync2} {rdb-only 1} {rdb-filter-only functions}
                {rdb-filter-only {}} {version 9.1.2} {ip-address 10.0.0.1}} {
            assert_equal OK [r replconf {*}$words] $words
        }
        foreach {words error} {
            capa "ERR syntax error" {what x} "ERR Unrecognized REPLCONF option: what" {rdb-only 2} "ERR value is out of range*"
            {listening-port x} "ERR value is not an integer or out of range" {version 9} "ERR Unrecognized version format: 9"
            {rdb-filter-only x} "ERR Unsupported rdb-filter-only option: x"
            {set-rdb-client-id 3} "ERR Unrecognized RDB client id 3"
        } {
            assert_error $error {r replconf {*}$words} $words
        }
        assert_error "*too long: 300 bytes" {r replconf ip-address [string repeat x 300]}
        r write "REPLCONF ACK 1\r\nPING\r\n"
        assert_equal PONG [r read] "an acknowledgement has no answer"
    }

    test {FAILOVER needs a replica} {
        foreach words {{} {to h 1} {to h 1 force} {timeout 10} force} {
            assert_error "ERR FAILOVER requires connected replicas." {r failover {*}$words} $words
        }
        assert_error "ERR No failover in progress." {r failover abort}
        foreach words {what {to h} timeout {abort force} {abort abort} {to h 1 to h 1}} {
            assert_error "ERR syntax error" {r failover {*}$words} $words
        }
        assert_error "ERR FAILOVER timeout must be greater than 0" {r failover timeout 0}
        assert_error "ERR value is not an integer or out of range" {r failover to h x}
    }

    test {WAIT without replicas replies 0 after its timeout} {
        assert_equal 0 [r wait 0 0]
        assert_equal 0 [r wait -1 0]
        set started [clock milliseconds]
        assert_equal 0 [r wait 1 100]
        assert_morethan_equal [expr {[clock milliseconds] - $started}] 99
        assert_error "ERR timeout is negative" {r wait 1 -1}
        assert_error "ERR value is not an integer or out of range" {r wait x 0}
        r multi
        r wait 1 0
        assert_equal 0 [r exec]
        assert_equal 0 [r eval {return redis.call('wait', 1, 0)} 0]
        set d [valkey_deferring_client]
        $d client id
        set id [$d read]
        $d wait 1 0
        wait_for_condition 500 20 {[s blocked_clients] == 1} else { fail "it does not wait" }
        assert_equal 1 [r client unblock $id]
        assert_equal 0 [$d read]
        $d close
    }

    test {MODULE: one is built in, and loading is refused} {
        assert_equal {{name lua ver 1 path lua args {}}} [r module list]
        assert_equal {{name lua ver 1 path lua args {}}} [dict get [r hello] modules]
        foreach command {{load /tmp/x.so} {loadex /tmp/x.so config a b args c} {unload lua}} {
            assert_error "ERR MODULE command not allowed.*" {r module {*}$command}
        }
        assert_match "MODULE <subcommand>*" [lindex [r module help] 0]
    }

    test {rules about users name them, and aclfiles with such rules load} {
        foreach rule {+cluster +cluster|info -cluster|slots +psync +sync +replconf +replicaof +failover +wait +waitaof
                +readonly +readwrite +asking +module|list +clusterscan} {
            assert_equal OK [r acl setuser u $rule]
        }
        assert_error "*Unknown command or category name in ACL" {r acl setuser u +cluster|nosuch}
        assert_equal OK [r acl dryrun u cluster info]
        assert_match "*no permissions to run the 'cluster|slots' command" [r acl dryrun u cluster slots]
        assert_match "*no permissions to run the 'module|load' command" [r acl dryrun u module load x]
    }
}
