# The module API in certain states of the server (tests/modules/states.c), compared with the oracle.

source -encoding utf-8 $::support/module.tcl

beside_modules {states} {overrides {save {}}} {
    set bodies {
        writes "return redis.call('set', 'k', 'v')"
        reads "return redis.call('get', 'k')"
        nothing "return 1"
    }
    set flag_sets {{} no-writes allow-oom allow-stale {no-writes,allow-stale}}

    # Scripts without and with flags, and functions, called in all ways that make a difference.
    proc both_call_scripts {} {
        foreach {name body} $::bodies {
            set scripts [list $body]
            foreach flags $::flag_sets { lappend scripts "#!lua [expr {$flags eq {} ? {} : "flags=$flags"}]\n$body" }
            foreach how {- E M ME W WE SE SWME !} {
                foreach script $scripts {
                    both states.call $how EVAL $script 0
                    both states.call $how EVAL_RO $script 0
                }
                for {set i 0} {$i < [llength $::flag_sets]} {incr i} {
                    both states.call $how FCALL $name$i 0
                    both states.call $how FCALL_RO $name$i 0
                }
            }
        }
        foreach how {- E M ME W WE SE} {
            foreach command {{set k v} {get k} {del k} {incr n} ping} { both states.call $how {*}$command }
        }
    }

    foreach kind {ours valkey} {
        set library "#!lua name=library\n"
        foreach {name body} $bodies {
            set i -1
            foreach flags $flag_sets {
                set list [join [lmap flag [split $flags ,] { string cat ' $flag ' }] ,]
                append library "redis.register_function{function_name='$name[incr i]', callback=function() $body end, flags={$list}}\n"
            }
        }
        r [at $kind] function load $library
    }

    test {scripts that a module calls} {
        both_call_scripts
    }

    test {scripts that a module calls while memory is short} {
        both set k v
        both config set maxmemory 1
        both_call_scripts
        both config set maxmemory 0
    }

    test {scripts that a module calls while there are too few replicas} {
        both config set min-replicas-to-write 1
        both_call_scripts
        both config set min-replicas-to-write 0
    }

    test {scripts that a module calls on a replica: read only, stale, writable} {
        both replicaof 127.0.0.1 1
        both_call_scripts
        both config set replica-serve-stale-data no
        both_call_scripts
        both config set replica-read-only no
        both_call_scripts
        both config set replica-serve-stale-data yes
        both_call_scripts
        both config set replica-read-only yes
        both replicaof no one
    }

    test {a call as a user does not leak the user's rights to the next call} {
        foreach kind {ours valkey} {
            r [at $kind] acl setuser limited on nopass -@all +states.call +get ~a*
            set c [valkey_client [at $kind]]
            $c auth limited x
            set $kind {}
            foreach command {
                {C get a} {CE get b} {CE set a 1} {3 hello 3} {- eval {return redis.call('set', 'b', 'x')} 0} {- get b}
                {- acl whoami} {C acl whoami} {0 hello} {- ping}
            } {
                catch { $c states.call {*}$command } answer
                lappend $kind [list $command [string range $answer 0 100]]
            }
            $c close
        }
        foreach a $ours b $valkey { if {![string match *hello* $a]} { assert_equal $b $a } }
        assert_equal x [both get b]
        both del b
    }

    test {a blocked call does not count as a blocked client} {
        foreach kind {ours valkey} {
            set level [at $kind]
            r $level states.wait l1
            set a [valkey_deferring_client $level]
            $a states.wait l2 block
            wait_for_condition 50 100 {[s $level total_blocking_keys] == 2} else { fail "$kind: it does not wait" }
            assert_equal 1 [s $level blocked_clients] $kind
            r $level rpush l1 x
            r $level rpush l2 x
            assert_equal OK [answer $a]
            assert_equal 0 [s $level blocked_clients] $kind
            assert_equal 0 [s $level total_blocking_keys] $kind
        }
    }

    test {RdbSave and RdbLoad set errno} {
        both set kept 1
        both states.file save states.rdb
        both states.file save states.rdb 1
        both states.file save /nonexistent/states.rdb
        both states.file load states.rdb
        both states.file load states.rdb 1
        both states.file load nonexistent.rdb
        assert_equal 1 [both get kept]
    }

    test {9.2 §8: RdbSave writes compressed files, and RdbLoad reads them} {
        set ours [at ours]
        set path [lindex [r $ours config get dir] 1]/packed.rdb
        foreach codec {lz4 zstd} {
            r $ours config set rdbcompression $codec
            r $ours set kept $codec
            assert_equal {OK 0} [r $ours states.file save packed.rdb]
            assert_equal VCS [string range [read_file $path] 0 2]
            r $ours set kept changed
            assert_equal {OK 0} [r $ours states.file load packed.rdb]
            assert_equal $codec [r $ours get kept]
            set file [open $path r+b]
            seek $file [lindex {3 6} [expr {$codec eq "zstd"}]]
            puts -nonewline $file \x09
            close $file
            catch { r $ours states.file load packed.rdb } result
            assert_no_match {OK 0} $result
            assert_equal $codec [r $ours get kept]
        }
        r $ours config set rdbcompression yes
        r $ours set kept 1
    }

    test {loading a file that is no RDB file keeps the data} {
        foreach text {{} REDIS nonsense-and-more REDIS9999more VALKEY001more} {
            foreach kind {ours valkey} {
                set file [open [lindex [r [at $kind] config get dir] 1]/bad.rdb w]
                puts -nonewline $file $text
                close $file
            }
            both states.file load bad.rdb
            assert_equal 1 [both get kept]
        }
    }

    test {sizes of small allocations} {
        both states.sizes 1 128
    }
}

# ---- At the start ----

proc events_of_start {kind overrides prepare} {
    set found {}
    set load [list [module_so events] 1 3 10]
    start_servers [list one [list kind $kind overrides [list loadmodule [join $load] {*}$overrides]]] {
        eval $prepare
        restart_server
        set found [r events.log]
    }
    return $found
}

foreach {what overrides prepare} {
    {a first append-only file is written} {appendonly yes}
        {file delete -force [lindex [r config get dir] 1]/appendonlydir}
    {an append-only file with two parts is read} {appendonly yes}
        {r set a 1; r bgrewriteaof; wait_for_condition 50 100 {[s aof_rewrite_in_progress] == 0} else {fail "no rewrite"}; r set b 2}
    {a snapshot is read} {appendonly no} {r set a 1; r save}
} {
    test "events of the start: $what" {
        assert_equal [events_of_start valkey $overrides $prepare] [events_of_start ours $overrides $prepare]
    }
}

test {calls of a script in the append-only file raise no command events} {
    start_server {overrides {appendonly yes aof-use-rdb-preamble no}} {
        r set k 1
        set path [lindex [lsort [glob [lindex [r config get dir] 1]/appendonlydir/*.incr.aof]] end]
        set script {return redis.call('get', KEYS[1])}
        set file [open $path ab]
        puts -nonewline $file "*4\r\n\$4\r\neval\r\n\$[string length $script]\r\n$script\r\n\$1\r\n1\r\n\$1\r\nk\r\n"
        close $file
        restart_server 0 KILL
        assert_equal {} [regexp -all -inline -line {^cmdstat_(?:get|eval|set):.*} [r info commandstats]]
        assert_equal 1 [r eval {return redis.call('get', KEYS[1])} 1 k]
        assert_match {*cmdstat_get:calls=1,*} [r info commandstats]
    }
}
