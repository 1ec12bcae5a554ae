# SENTINEL: the replies of its subcommands, and their errors.
source -encoding utf-8 [file join [file dirname [info script]] sentinel_util.tcl]
source -encoding utf-8 $::support/command_facts.tcl

each_sentinel {} {
    test "$kind: SENTINEL refuses unknown subcommands and wrong numbers of arguments" {
        assert_error "ERR wrong number of arguments for 'sentinel' command" { r sentinel }
        answers {
            nosuch {-ERR unknown subcommand 'nosuch'. Try SENTINEL HELP.}
            {nosuch 1 2} {-ERR unknown subcommand 'nosuch'. Try SENTINEL HELP.}
            {myid x} {-ERR wrong number of arguments for 'sentinel|myid' command}
            {masters x} {-ERR wrong number of arguments for 'sentinel|masters' command}
            remove {-ERR wrong number of arguments for 'sentinel|remove' command}
            {flushconfig x} {-ERR wrong number of arguments for 'sentinel|flushconfig' command}
            {failover m coordinated x} {-ERR wrong number of arguments for 'sentinel|failover' command}
            simulate-failure {-ERR wrong number of arguments for 'sentinel|simulate-failure' command}
            {help x} {-ERR wrong number of arguments for 'sentinel|help' command}
        }
    }

    test "$kind: unknown names are errors" {
        foreach words {{master M} {primary x} {slaves x} {replicas x} {sentinels x} {ckquorum x} {remove x} {failover x}
            {failover x coordinated} {failover x y} {set x quorum 1} {set "x\n" quorum 1}} {
            assert_equal "-ERR No such master with that name" [wire sentinel {*}$words]
        }
        assert_equal "-ERR No such master with that name" [wire sentinel master "m\0x"]
        answers {
            {get-master-addr-by-name x} *-1
            {get-primary-addr-by-name x} *-1
            {info-cache x} *0
            {reset x*} :0
            {reset M} :0
        }
    }

    test "$kind: the address of a primary, and the Sentinel's own ID" {
        answers {
            {get-master-addr-by-name m} {*2 $9 127.0.0.1 $1 1}
            {get-primary-addr-by-name m} {*2 $9 127.0.0.1 $1 1}
            myid {$40 <40>}
            {sentinels m} *0
            {replicas m} *0
            {slaves m} *0
            pending-scripts *0
            flushconfig +OK
            {info-cache m} {*2 $1 m *1 *2 :0 $-1}
            {info-cache x m m} {*2 $1 m *1 *2 :0 $-1}
        }
    }

    test "$kind: CKQUORUM counts the known Sentinels" {
        answers {
            {ckquorum m} {+OK 1 usable Sentinels. Quorum and failover authorization can be reached}
            {set m quorum 2} +OK
            {ckquorum m} {-NOQUORUM 1 usable Sentinels. Not enough available Sentinels to reach the specified quorum for this master}
            {set m quorum 1} +OK
        }
    }

    test "$kind: IS-PRIMARY-DOWN-BY-ADDR of a primary that is up, and of an unknown one" {
        answers {
            {is-master-down-by-addr 127.0.0.1 1 0 *} {*3 :0 $1 * :0}
            {is-primary-down-by-addr 127.0.0.1 1 0 *} {*3 :0 $1 * :0}
            {is-master-down-by-addr 127.0.0.1 2 0 *} {*3 :0 $1 * :0}
            {is-master-down-by-addr nohost 1 0 *} {*3 :0 $1 * :0}
            {is-master-down-by-addr 127.0.0.1 2 0 0123456789012345678901234567890123456789} {*3 :0 $1 * :0}
            {is-master-down-by-addr 127.0.0.1 99999999999999 0 *} {*3 :0 $1 * :0}
            {is-master-down-by-addr 127.0.0.1 -5 0 *} {*3 :0 $1 * :0}
            {is-master-down-by-addr 127.0.0.1 x 0 *} {-ERR value is not an integer or out of range}
            {is-master-down-by-addr 127.0.0.1 1 x *} {-ERR value is not an integer or out of range}
            {is-master-down-by-addr 127.0.0.1 1 1.5 *} {-ERR value is not an integer or out of range}
            {is-master-down-by-addr 127.0.0.1 99999999999999999999 0 *} {-ERR value is not an integer or out of range}
        }
    }

    test "$kind: IS-PRIMARY-DOWN-BY-ADDR votes once in an epoch" {
        set a [string repeat a 40]
        set b [string repeat b 40]
        assert_equal "*3 :0 \$40 $a :7" [wire sentinel is-primary-down-by-addr 127.0.0.1 1 7 $a]
        assert_equal "*3 :0 \$40 $a :7" [wire sentinel is-master-down-by-addr 127.0.0.1 1 7 $b]
        assert_equal "*3 :0 \$40 $a :7" [wire sentinel is-primary-down-by-addr 127.0.0.1 1 6 $b]
        assert_equal {*3 :0 $1 * :0} [wire sentinel is-primary-down-by-addr 127.0.0.1 1 7 *]
        assert_equal "*3 :0 \$40 $b :8" [wire sentinel is-primary-down-by-addr 127.0.0.1 1 8 $b]
        assert_equal {{sentinel leader-epoch m 8}} [file_lines "sentinel leader-epoch"]
        assert_equal {{sentinel current-epoch 8}} [file_lines "sentinel current-epoch"]
    }

    test "$kind: FAILOVER is refused when it is impossible" {
        answers {
            {failover m x} {-ERR Unknown failover option specified}
            {failover m} {-NOGOODSLAVE No suitable replica to promote}
            {failover m Coordinated} {-NOGOODPRIMARY Primary does not support FAILOVER command}
        }
    }

    test "$kind: MONITOR checks its arguments in order" {
        answers {
            {monitor m2 127.0.0.1 x x} {-ERR Invalid quorum}
            {monitor m2 127.0.0.1 x 0} {-ERR Invalid port}
            {monitor m2 127.0.0.1 99999999999999999999 1} {-ERR Invalid port}
            {monitor m2 nohost 70000 0} {-ERR Quorum must be 1 or greater.}
            {monitor m2 127.0.0.1 2 -1} {-ERR Quorum must be 1 or greater.}
            {monitor m nohost 70000 1} {-ERR Invalid IP address or hostname specified}
            {monitor m2 {} 2 1} {-ERR Invalid IP address or hostname specified}
            {monitor m 127.0.0.1 70000 1} {-ERR Invalid port number.}
            {monitor m2 127.0.0.1 -1 1} {-ERR Invalid port number.}
            {monitor m 127.0.0.1 2 1} {-ERR Duplicate master name.}
        }
        assert_equal 1 [llength [r sentinel masters]]
    }

    test "$kind: control characters do not end a line of the file" {
        set tail "control characters are not allowed"
        assert_equal "-ERR Invalid argument at index 2 for SENTINEL MONITOR: $tail" [wire sentinel monitor "a\nb" 127.0.0.1 1 1]
        assert_equal "-ERR Invalid argument at index 3 for SENTINEL MONITOR: $tail" [wire sentinel monitor a "127.\r" x x]
        assert_equal "-ERR Invalid argument at index 5 for SENTINEL MONITOR: $tail" [wire sentinel monitor a 1.2.3.4 1 "\x7f"]
        assert_equal "-ERR Invalid argument at index 2 for SENTINEL MONITOR: $tail" [wire sentinel monitor "\x1f" "\n" 1 1]
        assert_equal +OK [wire sentinel monitor "\x80" 127.0.0.1 2 1]
        assert_equal +OK [wire sentinel remove "\x80"]
    }

    test "$kind: MONITOR and REMOVE publish events, and save" {
        set events [events_of 2 {
            assert_equal OK [r sentinel monitor m2 127.0.0.1 2 3]
            assert_equal {{sentinel monitor m2 127.0.0.1 2 3}} [file_lines "sentinel monitor m2"]
            assert_equal OK [r sentinel remove m2]
        }]
        assert_equal {{+monitor master m2 127.0.0.1 2 quorum 3} {-monitor master m2 127.0.0.1 2}} $events
        assert_equal {} [file_lines "sentinel monitor m2"]
        set tail [lrange [log_lines] end-5 end]
        assert_equal {saved +monitor -monitor saved} [lrange [lmap line $tail {
            switch -glob $line {
                *saved\ on* - *is\ written* { set word saved }
                *-monitor* { set word -monitor }
                *+monitor* { set word +monitor }
                default continue
            }
            set word
        }] end-3 end]
    }

    test "$kind: names are case-sensitive" {
        answers {
            {monitor mM 127.0.0.1 2 1} +OK
            {monitor mm ::1 0 1} +OK
            {get-master-addr-by-name mM} {*2 $9 127.0.0.1 $1 2}
            {get-master-addr-by-name mm} {*2 $3 ::1 $1 0}
            {reset m*} :3
            {reset *} :3
            {reset ?m} :1
            {remove mM} +OK
            {remove mm} +OK
        }
    }

    test "$kind: RESET publishes an event for each primary that it resets" {
        assert_equal {{+reset-master master m 127.0.0.1 1}} [events_of 1 { assert_equal 1 [r sentinel reset m] }]
    }

    test "$kind: SIMULATE-FAILURE" {
        answers {
            {simulate-failure help} {*2 $20 crash-after-election $21 crash-after-promotion}
            {simulate-failure nosuch} {-ERR Unknown failure simulation specified}
            {simulate-failure crash-after-election nosuch} {-ERR Unknown failure simulation specified}
            {simulate-failure Crash-After-Election crash-after-promotion} +OK
        }
        assert_equal 3 [s sentinel_simulate_failure_flags]
        assert_equal OK [r sentinel simulate-failure crash-after-promotion]
        assert_equal 2 [s sentinel_simulate_failure_flags]
        assert_equal {crash-after-election crash-after-promotion} [r sentinel simulate-failure help crash-after-election]
        assert_equal 0 [s sentinel_simulate_failure_flags]
    }

    test "$kind: HELP names every subcommand that is not deprecated" {
        set help [r sentinel help]
        assert_match "SENTINEL <subcommand>*" [lindex $help 0]
        set named [lsort -unique [lmap line [lrange $help 1 end] {
            if {[string match " *" $line]} continue
            string tolower [lindex $line 0]
        }]]
        set there {}
        dict for {name doc} [dict get [r command docs sentinel] sentinel subcommands] {
            if {![dict exists $doc deprecated_since]} { lappend there [lindex [split $name |] 1] }
        }
        assert_equal [lsort $there] $named
    }

    test "$kind: the map of a primary, in RESP2 and RESP3" {
        # It has another address than m, as its link's state would depend on the moment.
        assert_equal OK [r sentinel monitor other 127.0.0.1 0 2]
        set map [r sentinel master other]
        assert_equal [list {*}{name ip port runid flags link-pending-commands link-refcount last-ping-sent last-ok-ping-reply
            last-ping-reply down-after-milliseconds info-refresh role-reported role-reported-time config-epoch num-slaves
            num-other-sentinels quorum failover-timeout parallel-syncs}] [dict keys $map]
        foreach {field value} {name other ip 127.0.0.1 port 0 runid {} flags master,disconnected link-pending-commands 0
            link-refcount 1 down-after-milliseconds 30000 info-refresh 0 role-reported master config-epoch 0 num-slaves 0
            num-other-sentinels 0 quorum 2 failover-timeout 180000 parallel-syncs 1} {
            assert_equal [list $field $value] [list $field [dict get $map $field]]
        }
        foreach age {last-ping-sent last-ok-ping-reply last-ping-reply role-reported-time} {
            assert_range [dict get $map $age] 0 20000
        }
        assert_equal {*40 $4 name $5 other $2} [join [lrange [split [wire sentinel master other]] 0 5]]
        r hello 3
        assert_equal %20 [lindex [split [wire sentinel primary other]] 0]
        assert_equal {*2 %20} [lrange [split [wire sentinel primaries]] 0 1]
        answers {
            {get-master-addr-by-name x} _
            {info-cache other} {*2 $5 other *1 *2 :0 _}
            {remove other} +OK
        }
        r hello 2
    }
}

each_kind {
    start_sentinel [list kind $kind lines {{monitor m 127.0.0.1 1 2} {down-after-milliseconds m 100}}] {
        test "$kind: the fields of a primary that is down" {
            # Not disconnected: it is just trying.
            wait_for_condition 100 50 {[dict get [set map [r sentinel master m]] flags] eq "s_down,master,disconnected"} else {
                fail "m is not down"
            }
            assert_equal down-after-milliseconds [lindex $map [expr {2 + [lsearch $map s-down-time]}]]
            assert_equal last-ping-reply [lindex $map [expr {[lsearch $map s-down-time] - 2}]]
            answers {
                {is-master-down-by-addr 127.0.0.1 1 0 *} {*3 :1 $1 * :0}
                {is-master-down-by-addr 127.0.0.1 2 0 *} {*3 :0 $1 * :0}
            }
        }

        test "$kind: the fields of another Sentinel" {
            set id [string repeat c 40]
            assert_equal 1 [r publish __sentinel__:hello "127.0.0.1,1,$id,0,m,127.0.0.1,1,0"]
            set maps [r sentinel sentinels m]
            assert_equal 1 [llength $maps]
            set map [lindex $maps 0]
            assert_equal [list {*}{name ip port runid flags link-pending-commands link-refcount last-ping-sent last-ok-ping-reply
                last-ping-reply down-after-milliseconds last-hello-message voted-leader voted-leader-epoch}] [dict keys $map]
            foreach {field value} [list name $id ip 127.0.0.1 port 1 runid $id link-refcount 1 \
                    down-after-milliseconds 100 voted-leader ? voted-leader-epoch 0] {
                assert_equal [list $field $value] [list $field [dict get $map $field]]
            }
            assert {[dict get $map flags] in {sentinel sentinel,disconnected}}
            assert_equal 1 [dict get [r sentinel master m] num-other-sentinels]
            wait_for_condition 50 100 {[string match s_down* [dict get [lindex [r sentinel sentinels m] 0] flags]]} else {
                fail "the Sentinel is not down"
            }
            answers {
                {ckquorum m} {-NOQUORUM 1 usable Sentinels. Not enough available Sentinels to reach the specified quorum for this master. Not enough available Sentinels to reach the majority and authorize a failover}
                {set m quorum 1} +OK
                {ckquorum m} {-NOQUORUM 1 usable Sentinels. Not enough available Sentinels to reach the majority and authorize a failover}
                {reset m} :1
                {sentinels m} *0
            }
        }

        test "$kind: the fields of a primary that is objectively down" {
            wait_for_condition 50 100 {[string match s_down,o_down,* [dict get [r sentinel master m] flags]]} else { fail "m is not down" }
            set map [r sentinel master m]
            set at [lsearch $map s-down-time]
            assert_equal {o-down-time down-after-milliseconds} [list [lindex $map $at+2] [lindex $map $at+4]]
        }
    }
}

each_kind {
    start_watched_set {kinds {ours ours}} {
        start_sentinel [list kind $kind lines [list "monitor m 127.0.0.1 [srv [at primary] port] 1"]] {
            test "$kind: the fields of a replica" {
                wait_for_condition 100 100 {[llength [r sentinel replicas m]] == 1
                        && [dict get [lindex [r sentinel replicas m] 0] master-link-status] eq "ok"} else { fail "no replica" }
                set port [srv [at replica1] port]
                set map [lindex [r sentinel slaves m] 0]
                assert_equal [list {*}{name ip port runid flags link-pending-commands link-refcount last-ping-sent last-ok-ping-reply
                    last-ping-reply down-after-milliseconds info-refresh role-reported role-reported-time
                    master-link-down-time master-link-status master-host master-port slave-priority slave-repl-offset
                    replica-announced}] [dict keys $map]
                foreach {field value} [list name 127.0.0.1:$port ip 127.0.0.1 port $port flags slave \
                        runid [s [at replica1] run_id] role-reported slave master-link-down-time 0 master-link-status ok \
                        master-host 127.0.0.1 master-port [srv [at primary] port] slave-priority 100 replica-announced 1] {
                    assert_equal [list $field $value] [list $field [dict get $map $field]]
                }
                assert_equal [s [at primary] run_id] [dict get [r sentinel master m] runid]
                assert_equal 1 [dict get [r sentinel master m] num-slaves]
                assert_equal OK [r sentinel set m down-after-milliseconds 25000]
                assert_equal 25000 [dict get [lindex [r sentinel replicas m] 0] down-after-milliseconds]
            }

            test "$kind: INFO-CACHE has the INFO of primary and replica" {
                lassign [r sentinel info-cache x m] name infos
                assert_equal m $name
                assert_equal 2 [llength $infos]
                assert_match "*role:master*" [lindex $infos 0 1]
                assert_match "*role:slave*" [lindex $infos 1 1]
                assert_range [lindex $infos 1 0] 0 11000
            }

            test "$kind: a replica with replica-announced no is counted, and not shown" {
                r sentinel debug info-period 100
                r [at replica1] config set replica-announced no
                wait_for_condition 100 50 {[r sentinel replicas m] eq {}} else { fail "it is shown" }
                assert_equal 1 [dict get [r sentinel master m] num-slaves]
                r [at replica1] config set replica-announced yes
                wait_for_condition 100 50 {[llength [r sentinel replicas m]] == 1} else { fail "it is not shown" }
                r sentinel debug info-period 10000 ;# a replica without INFO for three periods is not chosen
            }

            test "$kind: only one FAILOVER at a time, and the new address" {
                assert_equal OK [r sentinel failover m]
                assert_error "INPROG Failover already in progress" { r sentinel failover m }
                set map [r sentinel master m]
                assert_match "s_down,master,failover_in_progress,force_failover" [dict get $map flags]
                assert_equal failover-state [lindex $map [expr {2 + [lsearch $map link-refcount]}]]
                assert {[dict get $map failover-state] in {wait_start select_slave send_slaveof_noone}}
                wait_for_condition 200 100 {[r sentinel get-primary-addr-by-name m] eq [list 127.0.0.1 [srv [at replica1] port]]} else {
                    fail "no failover"
                }
            }
        }
    }
}

start_servers {ours {kind ours args --sentinel overrides {sentinel {monitor m 127.0.0.1 1 1}}}
    oracle {kind valkey args --sentinel overrides {sentinel {monitor m 127.0.0.1 1 1}}}} {
    test {COMMAND has the same facts about SENTINEL as Valkey 9.1} {
        set facts [info_facts [r [at oracle] command info sentinel]]
        assert_morethan [dict size $facts] 25
        assert_equal {} [differences $facts [info_facts [r [at ours] command info sentinel]]]
        assert_equal {} [differences [doc_facts [r [at oracle] command docs sentinel]] [doc_facts [r [at ours] command docs sentinel]]]
    }
}

each_sentinel {} {
    test "$kind: users may be allowed one spelling and not the other" {
        r acl setuser asker on nopass -@all +sentinel|get-master-addr-by-name +sentinel|primaries
        set c [valkey_client]
        $c auth asker x
        assert_equal {127.0.0.1 1} [$c sentinel get-master-addr-by-name m]
        assert_equal 1 [llength [$c sentinel primaries]]
        foreach {words name} {{get-primary-addr-by-name m} get-primary-addr-by-name masters masters {remove m} remove} {
            assert_error "NOPERM User asker has no permissions to run the 'sentinel|$name' command" { $c sentinel {*}$words }
        }
        r acl setuser asker -@all +@admin
        assert_equal 1 [llength [$c sentinel masters]]
        assert_match "SENTINEL <subcommand>*" [lindex [$c sentinel help] 0] ;# it goes with SENTINEL itself
        r acl setuser asker -@dangerous
        assert_error "NOPERM*'sentinel|help' command" { $c sentinel help }
        assert_error "NOPERM*'sentinel|masters' command" { $c sentinel masters }
        $c close
        assert_match "*sentinel|masters*" [dict get [lindex [r acl log] 0] object]
    }
}

each_sentinel {{resolve-hostnames yes} {announce-hostnames yes}} {
    test "$kind: host names are resolved and announced" {
        assert_equal OK [r sentinel monitor named localhost 1 1]
        assert_equal {localhost 1} [r sentinel get-primary-addr-by-name named]
        assert_equal localhost [dict get [r sentinel master named] ip]
        assert_equal "-ERR Invalid IP address or hostname specified" [wire sentinel monitor x no.such.host.invalid 1 1]
        assert_equal {{sentinel monitor named localhost 1 1}} [file_lines "sentinel monitor named"]
        assert_equal OK [r sentinel config set announce-hostnames no]
        assert_equal {127.0.0.1 1} [r sentinel get-primary-addr-by-name named]
        assert_equal {{+set master named 127.0.0.1 1 quorum 1}} [events_of 1 { r sentinel set named quorum 1 }]
    }
}

each_sentinel {} {
    test "$kind: other commands than a Sentinel's are unknown" {
        foreach words {{get k} {config get *} {slowlog len} {monitor} {debug sleep 0} {replicaof no one} {multi} {client trackinginfo x}} {
            assert_error {ERR *} { r {*}$words }
        }
        assert_error "ERR unknown command 'get', with args beginning with: 'k' " { r get k }
        assert_equal 15 [r command count]
    }
}

# Names that oracle's Sentinel takes, too, and then writes so that it cannot start again.
start_sentinel {lines {{monitor m 127.0.0.1 1 1}}} {
    test {a primary may have any name, also after a restart} {
        foreach name {{} {a b} {"} {it's} \\ # \x80} {
            assert_equal OK [r sentinel monitor $name 127.0.0.1 2 1]
            assert_equal OK [r sentinel set $name quorum 2]
        }
        restart_server
        foreach name {{} {a b} {"} {it's} \\ # \x80} {
            assert_equal [list $name 2] [list $name [dict get [r sentinel master $name] quorum]]
        }
    }

    test {epochs and numbers that are too large are refused} {
        answers {
            {is-master-down-by-addr 127.0.0.1 1 -1 *} {-ERR value is not an integer or out of range}
            {set m quorum 4294967297} {-ERR Invalid argument '4294967297' for SENTINEL SET 'quorum'}
            {set m parallel-syncs 2147483648} {-ERR Invalid argument '2147483648' for SENTINEL SET 'parallel-syncs'}
            {set m failover-timeout 9223372036854775807} {-ERR Invalid argument '9223372036854775807' for SENTINEL SET 'failover-timeout'}
            {debug info-period 9223372036854775807} {-ERR Invalid argument '9223372036854775807' for SENTINEL DEBUG 'info-period'}
            {monitor m3 127.0.0.1 2 4294967297} {-ERR Invalid quorum}
            {monitor m3 127.0.0.1 4294967298 1} {-ERR Invalid port number.}
        }
        foreach id [list [string repeat a 41] "a\r\nb" {}] {
            assert_equal {*3 :0 $1 * :0} [wire sentinel is-master-down-by-addr 127.0.0.1 1 9223372036854775807 $id]
        }
    }
}
