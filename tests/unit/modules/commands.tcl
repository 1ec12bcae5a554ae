# What a module declares about its commands, and what the server tells the module about itself
# (tests/modules/commands.c), compared with the oracle.

source -encoding utf-8 $::support/module.tcl
source -encoding utf-8 $::support/since_9_1.tcl

# Lists whose order has no meaning.
proc sorted {reply} { return [lsort $reply] }

beside_modules {commands} {} {
    proc without_comments {source} { return [regsub -all {/\*([^*]|\*+[^*/])*\*+/|//[^\n]*|"(\\.|[^"\\])*"} $source { }] }
    # Called, or its address taken.
    proc calls {name source} { return [regexp "ValkeyModule_${name}\\s*\[(,);\]" $source] }

    test {the search for API calls finds calls, and nothing else} {
        set source [without_comments {/* ValkeyModule_Once(1); */ // ValkeyModule_Twice(2);
            note("ValkeyModule_Thrice(3)"); ValkeyModule_OnceMore(4); use(ValkeyModule_Taken);}]
        foreach {name called} {Once 0 Twice 0 Thrice 0 More 0 OnceMore 1 Taken 1} { assert_equal $called [calls $name $source] $name }
    }

    test {every API function exists, and is in some test} {
        # ReplySetPushLength is nowhere.
        foreach kind {ours valkey} { assert_equal ReplySetPushLength [r [at $kind] commands.absent] }
        set tests {}
        foreach path [glob $::support/../modules/*.c] { append tests [without_comments [read_file $path]] }
        set names 0
        set header [read_file $::support/../../src/valkeymodule.h]
        foreach {- name} [regexp -all -inline {\n    F\([^,]*,[\s\\]*(\w+),} $header] {
            incr names
            if {$name in {ReplySetPushLength SetModuleAttribs _Assert}} continue
            if {![calls $name $tests]} { lappend missing $name }
        }
        assert_equal 376 $names
        assert {![info exists missing]} [expr {[info exists missing] ? $missing : {}}]
    }

    test {commands with wrong facts, and commands after OnLoad, are refused} {
        both commands.refused
        both commands.late
        foreach kind {ours valkey} { set $kind [lsort [r [at $kind] module list]] } ;# in any order
        assert_equal $valkey $ours
    }

    test {attributes of a reply} {
        assert_equal {5 1 0 name 1} [r [at ours] commands.attribute]
        assert_equal {5 1 1 {} 1} [r [at valkey] commands.attribute]
    }

    test {COMMAND INFO} {
        foreach name {getkeys keysof late constants world info refused told triple one box withcase} {
            foreach kind {ours valkey} {
                set info [lindex [r [at $kind] command info commands.$name] 0]
                lset info 6 [lsort [lindex $info 6]]
                set $kind $info
            }
            assert_equal $valkey $ours $name
        }
    }

    test {COMMAND DOCS, LIST, COUNT} {
        foreach name {told triple one} { both command docs commands.$name }
        foreach kind {ours valkey} { set $kind [lsort [r [at $kind] command list filterby module commands]] }
        assert_equal $valkey $ours
        both command list filterby aclcat boxes
    }

    test {a command's name keeps its case, whichever it is called by} {
        assert_equal Commands.WithCase [both commands.WITHCASE k]
        assert_equal Commands.WithCase [lindex [both command info COMMANDS.withcase] 0 0]
        both commands.withcase
        both eval {return redis.call('commands.withcase')} 0
        both command getkeys COMMANDS.WITHCASE k
        both acl setuser cased -@all +COMMANDS.withCase
        foreach kind {ours valkey} { set $kind [since_9_1::without_roles [r [at $kind] acl getuser cased]] }
        assert_equal $valkey $ours
        both acl dryrun cased Commands.withcase k
        both acl dryrun cased get k
        both acl dryrun default COMMANDS.withcase
        both module unload commands
        both acl deluser cased
        foreach kind {ours valkey} {
            assert_match "*cmdstat_Commands.WithCase:calls=*" [r [at $kind] info commandstats]
            assert_equal Commands.WithCase [lindex [r [at $kind] latency histogram commands.withcase] 0]
            assert_equal 1 [llength [regexp -all -inline {(?i)withcase} [r [at $kind] command list filterby module commands]]]
        }
    }

    test {subcommands} {
        both commands.box open k
        both commands.box shut k
        both commands.box
        both commands.one
        both commands.triple
    }

    test {keys of a module's command, as the server finds them} {
        foreach command {
            {get k} {get} {nosuch} {mset a 1 b 2} {zunionstore d 2 a b weights 1 2} {ping} {xread streams a b 0 0}
            {commands.one x k} {commands.triple a 1 b 2}
            {commands.getkeys 3 a b c} {commands.getkeys 0} {commands.box open k} {set k v get} {eval s 2 a b c}
        } {
            # 9.1.2 gives no flags here, except for commands that report their keys themselves.
            foreach kind {ours valkey} {
                set $kind [r [at $kind] commands.keysof {*}$command]
                if {[llength [set $kind]] > 1} { set $kind [lsort [dict keys [lrange [set $kind] 0 end-1]]] }
            }
            assert_equal $valkey $ours $command
            both command getkeys {*}$command
            both command getkeysandflags {*}$command
        }
    }

    test {rights by category} {
        foreach kind {ours valkey} {
            r [at $kind] acl setuser alice on nopass +@boxes ~*
            set c [valkey_client [at $kind]]
            $c auth alice x
            set $kind [list [catch { $c commands.box open k } e] $e [catch { $c commands.one a b } e] $e]
            $c close
            assert_equal boxes [lsearch -inline [r [at $kind] acl cat] boxes]
        }
        assert_equal $valkey $ours
        both acl cat boxes
    }

    test {the module gets facts about the server} {
        # 9.2 has one more event class, one more option, and its version.
        assert_equal {134217727 32767 63 2031619 590082 5 1 0} [r [at valkey] commands.constants]
        assert_equal {134217727 65535 127 2031619 590336 5 1 0} [r [at ours] commands.constants]
        assert_equal 0 [both commands.world]
        both config set latency-monitor-threshold 1
        assert_equal 0 [both commands.world]
        assert_equal commands-event [lindex [r [at ours] latency latest] 0 0]
        both config set latency-monitor-threshold 0
    }

    test {INFO, field by field} {
        both set k v
        foreach {section field} {
            server server_mode {} redis_version server nosuch keyspace db9 keyspace nosuch replication connected_slaves
            replication master_repl_offset nosuch x stats total_reads_processed2 memory maxmemory_policy
            {} role everything mem_allocator2 cluster cluster_enabled
        } {
            both commands.info $section $field
        }
        foreach kind {ours valkey} {
            lassign [r [at $kind] commands.info memory mem_fragmentation_ratio] - - - signed - unsigned - double
            assert_equal {1 1 0} [list $signed $unsigned $double]
        }
    }
}

# (9.1.2's report is its own.)
tags {valgrind:skip} {
    with_modules {commands} {kinds {ours} crash 1} {
        test {an assertion of a module ends the server with a report} {
            catch { r commands.assert }
            wait_for_log "*ASSERTION FAILED*"
            wait_for_log "*argc > 100*"
        }
    }
}
