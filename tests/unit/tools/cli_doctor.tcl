# valkey-cli --doctor asks a server and reports what is wrong. Its rules are tested one by one in cli_doctor_rules_test.c.

proc doctor {args} { run_tool valkey-cli {} {*}$args --doctor }

start_server {overrides {save {} maxmemory 1gb slowlog-log-slower-than -1}} {
    test "a server without problems: exit status 0" {
        r slowlog reset
        r latency reset
        lassign [doctor] code out err
        assert_equal {0 {}} [list $code $err]
        assert_match "*:[srv port]: Skipstone *, a primary, up for * seconds\n\nNo problem was found, 0 pieces of advice\n" $out
    }

    test "advice does not change the exit status" {
        r config set maxmemory 0
        r set key value
        lassign [doctor] code out
        assert_equal 0 $code
        assert_match "*advice: maxmemory is not set: *\n    \\\[no-maxmemory] See docs/memory.md#a-limit\n*" $out
        assert_match "*advice: Nothing is written to disk*No problem was found, 2 pieces of advice\n" $out
        r config set maxmemory 1gb
        r flushall
    }

    test "a problem: exit status 2" {
        r config set protected-mode no bind "* -::*"
        lassign [doctor] code out
        assert_equal 2 $code
        assert_match "*problem: Everybody who can reach the port *1 problem, 0 pieces of advice\n" $out
        r config set requirepass word
        assert_equal 0 [lindex [doctor --no-auth-warning -a word] 0]
        assert_match {1 {} *NOAUTH*} [doctor]
        r config set requirepass {} protected-mode yes bind 127.0.0.1
    }

    test "slow commands and events are named, and harmless to print" {
        r config set slowlog-log-slower-than 0 latency-monitor-threshold 10
        r debug sleep 0.15
        r eval "for i = 1, 1000000 do end return '\x1b\[2J'" 0
        r config set slowlog-log-slower-than -1 latency-monitor-threshold 0
        lassign [doctor] code out
        assert_match "*The slowest took 1?? ms*: debug sleep 0.15\n*" $out
        assert_match "*The event \"command\" has blocked the server for up to 1?? ms, the last time * ago*" $out
        assert_equal 0 [regexp {\x1b} $out]
        r slowlog reset
        r latency reset
    }

    test "what a user may not ask is named" {
        r acl setuser monitor on nopass +info +ping
        lassign [doctor --user monitor --pass x --no-auth-warning] code out
        assert_equal 0 $code
        assert_match "*The server refused CONFIG GET, ACL GETUSER, MEMORY STATS, LATENCY LATEST, SLOWLOG GET, so this*" $out
        r acl setuser monitor -info
        assert_match {1 {} *NOPERM*} [doctor --user monitor --pass x --no-auth-warning]
    }

    test "a replica without its primary, and a primary with too few replicas" {
        start_server {overrides {maxmemory 1gb}} {
            r replicaof 127.0.0.1 1
            lassign [doctor] code out
            assert_equal 2 $code
            assert_match "*, a replica, *problem: The link to the primary 127.0.0.1:1 is down*See docs/troubleshooting.md#a-replica*" $out
        }
        r config set min-replicas-to-write 1
        assert_match "2 *Writes are refused: min-replicas-to-write is 1, and 0 replicas*" [doctor]
    }

    test "--doctor without a server: exit status 1" {
        assert_match {1 {} *Connection\ refused*} [doctor -p 1]
    }

    test "the pages that the rules name are there, with these headings" {
        set folder [file normalize [file dirname [info script]]/../../..]
        set pages [regexp -all -inline {"([a-z0-9-]+\.md)#([a-z0-9-]+)"} [read_file $folder/src/tools/cli/cli_doctor_rules.c]]
        assert {[llength $pages] > 90}
        foreach {all page anchor} $pages {
            set anchors [lmap {line heading} [regexp -all -inline -line {^#+ (.*)$} [read_file $folder/docs/$page]] {
                regsub -all { } [regsub -all {[^a-z0-9 -]} [string tolower $heading] {}] -
            }]
            if {$anchor ni $anchors} { fail "docs/$page has no heading for #$anchor" }
        }
    }
}

start_server {overrides {cluster-enabled yes maxmemory 1gb}} {
    test "a cluster without its slots is down" {
        assert_match "2 *problem: The cluster is down for this node: 16384 slots have no owner.*" [doctor]
    }
}
