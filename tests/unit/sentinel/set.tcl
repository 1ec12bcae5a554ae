# SENTINEL SET: how a primary is watched.
source -encoding utf-8 [file join [file dirname [info script]] sentinel_util.tcl]

each_sentinel {} {
    test "$kind: SET publishes what it has set, and saves it" {
        set events [events_of 9 {
            assert_equal OK [r sentinel set m down-after-milliseconds 5000]
            assert_equal OK [r sentinel set m QUORUM 3 failover-timeout 7000 parallel-syncs 2]
            assert_equal OK [r sentinel set m primary-reboot-down-after-period 0]
            assert_equal OK [r sentinel set m Master-Reboot-Down-After-Period 9]
            assert_equal OK [r sentinel set m rename-command CONFIG guess auth-user u auth-pass geheim]
        }]
        assert_equal [list {*}{{down-after-milliseconds 5000} {QUORUM 3} {failover-timeout 7000} {parallel-syncs 2}
            {primary-reboot-down-after-period 0} {Master-Reboot-Down-After-Period 9} {rename-command CONFIG guess}
            {auth-user u} {auth-pass ******}}] [lmap event $events {
                assert_match "+set master m 127.0.0.1 1 *" $event
                lrange $event 5 end
            }]
        assert_equal 5000 [dict get [r sentinel master m] down-after-milliseconds]
        foreach {field value} {down-after-milliseconds 5000 quorum 3 failover-timeout 7000 parallel-syncs 2} {
            assert_equal $value [dict get [r sentinel master m] $field]
        }
        foreach line {{monitor m 127.0.0.1 1 3} {down-after-milliseconds m 5000} {failover-timeout m 7000} {parallel-syncs m 2}
            {primary-reboot-down-after-period m 9} {rename-command m "CONFIG" "guess"} {auth-user m "u"} {auth-pass m "geheim"}} {
            assert_equal [list "sentinel $line"] [file_lines "sentinel $line"]
        }
        assert_equal 0 [count_log_message geheim]
    }

    test "$kind: SET refuses values" {
        foreach option {down-after-milliseconds failover-timeout parallel-syncs Quorum} {
            foreach value {0 -1 x {} 1.5 { 1} {1 } +1 0x10 99999999999999999999} {
                assert_equal "-ERR Invalid argument '$value' for SENTINEL SET '$option'" [wire sentinel set m $option $value]
            }
        }
        answers {
            {set m primary-reboot-down-after-period -1} {-ERR Invalid argument '-1' for SENTINEL SET 'primary-reboot-down-after-period'}
            {set m master-reboot-down-after-period x} {-ERR Invalid argument 'x' for SENTINEL SET 'master-reboot-down-after-period'}
            {set m rename-command {} x} {-ERR Invalid argument '' for SENTINEL SET 'rename-command'}
            {set m rename-command x {}} {-ERR Invalid argument '' for SENTINEL SET 'rename-command'}
        }
    }

    test "$kind: SET refuses unknown options and wrong numbers of arguments" {
        answers {
            {set m} {-ERR wrong number of arguments for 'sentinel|set' command}
            {set m quorum} {-ERR wrong number of arguments for 'sentinel|set' command}
            {set m nosuch x} {-ERR Unknown option or number of arguments for SENTINEL SET 'nosuch'}
            {set m known-replica 1 2} {-ERR Unknown option or number of arguments for SENTINEL SET 'known-replica'}
            {set m rename-command a} {-ERR Unknown option or number of arguments for SENTINEL SET 'rename-command'}
            {set m quorum 2 parallel-syncs} {-ERR Unknown option or number of arguments for SENTINEL SET 'parallel-syncs'}
        }
    }

    test "$kind: values before an error are set and saved" {
        assert_equal {{+set master m 127.0.0.1 1 quorum 4}} [events_of 1 {
            assert_error "ERR Unknown option*'nosuch'" { r sentinel set m quorum 4 nosuch x parallel-syncs 9 }
        }]
        assert_equal {{sentinel monitor m 127.0.0.1 1 4}} [file_lines "sentinel monitor m "]
        assert_equal 2 [dict get [r sentinel master m] parallel-syncs]
        set saved [count_log_message "configuration file of this Sentinel is written"]
        assert_error "ERR Invalid argument*" { r sentinel set m quorum 0 parallel-syncs 9 }
        assert_error "ERR Unknown option*" { r sentinel set m nosuch 0 parallel-syncs 9 }
        assert_equal $saved [count_log_message "configuration file of this Sentinel is written"]
    }

    test "$kind: a value with a control character is refused, and nothing is set" {
        assert_equal "-ERR Invalid argument at index 6 for SENTINEL SET: control characters are not allowed" \
            [wire sentinel set m quorum 5 auth-pass "a\nb"]
        assert_equal "-ERR Invalid argument at index 3 for SENTINEL SET: control characters are not allowed" \
            [wire sentinel set m "\x7f" "\x7f"]
        assert_equal 4 [dict get [r sentinel master m] quorum]
    }

    test "$kind: an empty argument removes user and password" {
        assert_equal OK [r sentinel set m auth-pass {} auth-user {}]
        assert_equal {} [file_lines "sentinel auth"]
    }

    test "$kind: a renamed command is found ignoring case" {
        assert_equal OK [r sentinel set m rename-command config other]
        assert_equal {{sentinel rename-command m "config" "other"}} [file_lines "sentinel rename"]
        assert_equal OK [r sentinel set m rename-command Ping p rename-command Config CONFIG]
        assert_equal {{sentinel rename-command m "Ping" "p"}} [file_lines "sentinel rename"]
        assert_equal OK [r sentinel set m rename-command ping ping rename-command info INFO]
        assert_equal {} [file_lines "sentinel rename"]
    }

    test "$kind: clients may not set scripts" {
        foreach option {notification-script client-reconfig-script} {
            foreach path {/bin/true {}} {
                assert_equal "-ERR Reconfiguration of scripts path is denied for security reasons. Check the\
                    deny-scripts-reconfig configuration directive in your Sentinel configuration" \
                    [wire sentinel set m $option $path]
            }
        }
    }

    test "$kind: values survive a restart" {
        assert_equal OK [r sentinel set m auth-pass {a "quoted" \ word} rename-command info {i n}]
        restart_server
        set map [r sentinel master m]
        foreach {field value} {quorum 4 down-after-milliseconds 5000 failover-timeout 7000 parallel-syncs 2} {
            assert_equal $value [dict get $map $field]
        }
        assert_equal OK [r sentinel flushconfig]
        assert_equal [list {sentinel auth-pass m "a \"quoted\" \\ word"}] [file_lines "sentinel auth"]
        assert_equal {{sentinel rename-command m "info" "i n"}} [file_lines "sentinel rename"]
    }
}

start_sentinel {kind ours tags {sentinel external:skip} lines {{monitor m 127.0.0.1 1 1} {unclean-failover m yes}}} {
    test "unclean-failover: read from the file, shown while it is yes, set and saved" {
        assert_equal {unclean-failover yes} [lrange [r sentinel master m] end-1 end]
        assert_equal {{+set master m 127.0.0.1 1 unclean-failover NO}} [events_of 1 {
            assert_equal OK [r sentinel set m unclean-failover NO]
        }]
        assert_equal {} [file_lines "sentinel unclean-failover"]
        assert_equal 40 [llength [r sentinel master m]]
        assert_equal OK [r sentinel set m Unclean-Failover yes quorum 2]
        assert_equal {{sentinel unclean-failover m yes}} [file_lines "sentinel unclean-failover"]
        restart_server
        assert_equal yes [dict get [r sentinel master m] unclean-failover]
    }

    test "unclean-failover: SET refuses other values" {
        foreach value {1 true {} { yes}} {
            assert_equal "-ERR Invalid argument '$value' for SENTINEL SET 'unclean-failover'" \
                [wire sentinel set m unclean-failover $value]
        }
        assert_equal yes [dict get [r sentinel master m] unclean-failover]
    }
}

each_sentinel {{deny-scripts-reconfig no}} {
    test "$kind: clients may set scripts where that is allowed" {
        answers {
            {set m notification-script /no/such} {-ERR Notification script seems non existing or non executable}
            {set m client-reconfig-script /etc/passwd} {-ERR Client reconfiguration script seems non existing or non executable}
            {set m client-reconfig-script /bin/true notification-script /bin/true} +OK
        }
        assert_equal {notification-script /bin/true client-reconfig-script /bin/true} [lrange [r sentinel master m] 40 end]
        assert_equal {{sentinel client-reconfig-script m "/bin/true"}} [file_lines "sentinel client-reconfig"]
        assert_equal OK [r sentinel set m notification-script {} client-reconfig-script {}]
        assert_equal 40 [llength [r sentinel master m]]
        assert_equal {} [file_lines "sentinel client-reconfig"]
    }

    test "$kind: PENDING-SCRIPTS shows running and waiting scripts" {
        set script [srv dir]/slow.sh
        set f [open $script w]
        puts $f "#!/bin/sh\nsleep 60"
        close $f
        file attributes $script -permissions 0755
        assert_equal OK [r sentinel set m notification-script $script quorum 2]
        wait_for_condition 50 100 {[s sentinel_running_scripts] == 2} else { fail "no script runs" }
        set scripts [r sentinel pending-scripts]
        assert_equal 2 [llength $scripts]
        set first [lindex $scripts 0]
        assert_equal {argv flags pid run-time retry-num} [dict keys $first]
        assert_equal [list $script +set "master m 127.0.0.1 1 notification-script $script"] [dict get $first argv]
        assert_equal running [dict get $first flags]
        assert_equal 1 [dict get $first retry-num]
        assert_range [dict get $first run-time] 0 10000
        r hello 3
        assert_equal {*2 %5 $4 argv *3} [join [lrange [split [wire sentinel pending-scripts]] 0 4]]
        r hello 2
        foreach one $scripts { exec kill -KILL [dict get $one pid] }
        assert_equal OK [r sentinel set m notification-script {}]
        wait_for_condition 50 100 {[s sentinel_running_scripts] == 0} else { fail "a script still runs" }
        set first [lindex [r sentinel pending-scripts] 0]
        assert_equal {argv flags pid run-delay retry-num} [dict keys $first]
        assert_equal {scheduled 0 1} [list [dict get $first flags] [dict get $first pid] [dict get $first retry-num]]
        assert_range [dict get $first run-delay] 15000 30000
    }
}

# Removes the file's folder for a moment, so that no save can succeed.
proc without_folder {body} {
    set dir [srv dir]
    file rename $dir $dir.away
    try { uplevel 1 $body } finally { file rename $dir.away $dir }
}

each_sentinel {} {
    test "$kind: a failed save is an error" {
        without_folder {
            answers {
                flushconfig {-ERR Failed to save config file. Check server logs.}
                {set m quorum 2} {-ERR Failed to save config file. Check server logs.}
                {set m quorum 2 nosuch x} {-ERR Unknown option or number of arguments for SENTINEL SET 'nosuch'}
                {monitor m2 127.0.0.1 2 1} {-ERR Failed to save config file. Check server logs.}
                {remove m2} {-ERR Failed to save config file. Check server logs.}
                {config set announce-port 5} {-ERR Failed to save config file. Check server logs.}
            }
        }
        answers { flushconfig +OK }
        assert_equal {{sentinel monitor m 127.0.0.1 1 2}} [file_lines "sentinel monitor"]
    }
}

# Both connections of a Sentinel to that server are that user's.
proc wait_watched_by {name user} {
    wait_for_condition 100 100 {[llength [lsearch -all [split [r [at $name] client list] \n] "*name=sentinel-*user=$user *"]] == 2} else {
        fail "$name is not watched by $user"
    }
}

each_kind {
    start_watched_set {kinds {ours ours}} {
        start_sentinel [list kind $kind lines [list "monitor m 127.0.0.1 [srv [at primary] port] 1" {down-after-milliseconds m 300}]] {
            test "$kind: user and password are used for primary and replicas after they were set" {
                r sentinel debug ping-period 100
                foreach name {primary replica1} {
                    foreach user {watcher second} { r [at $name] acl setuser $user on >geheim allchannels +@all }
                    r [at $name] config set requirepass other
                    r [at $name] client kill type pubsub
                    r [at $name] client kill type normal skipme yes
                }
                wait_for_condition 100 100 {[string match s_down* [dict get [r sentinel master m] flags]]} else { fail "not down" }
                assert_equal OK [r sentinel set m auth-user watcher auth-pass geheim]
                foreach name {primary replica1} { wait_watched_by $name watcher }
                wait_for_condition 100 100 {[dict get [r sentinel master m] flags] eq "master"} else { fail "still down" }
                assert_equal OK [r sentinel set m auth-user second]
                foreach name {primary replica1} { wait_watched_by $name second }
                assert_equal OK [r sentinel set m auth-user {}]
                wait_for_condition 100 100 {[string match s_down* [dict get [r sentinel master m] flags]]} else { fail "not down" }
                assert_equal OK [r sentinel set m auth-pass other]
                wait_watched_by primary default
            }
        }
    }
}
