# Snapshots without a fork while clients change a large stream, with its groups, and a large path hash: what another
# server loads is what there was when the snapshot started.
source [file join [file dirname [info script]] rdb_util.tcl]

# Makes the stream s of ARGV[1] entries, some of them deleted, with two groups that have most of them pending.
set fill_stream {
    for i = 1, ARGV[1] do redis.call('xadd', 's', i .. '-1', 'field', 'value' .. i, 'other', i % 7) end
    for i = 1, ARGV[1], 9 do redis.call('xdel', 's', i .. '-1') end
    for g = 1, 2 do
        redis.call('xgroup', 'create', 's', 'g' .. g, '0')
        for c = 1, 8 do redis.call('xreadgroup', 'group', 'g' .. g, 'c' .. c, 'count', ARGV[1] / 10, 'streams', 's', '>') end
    end
    for i = 2, ARGV[1], 11 do redis.call('xdel', 's', i .. '-1') end
}
set fill_paths {
    for i = 1, ARGV[1] do redis.call('phset', 'p', i % 100 .. '/' .. i, 'fields', 2, 'a', i, 'b', 'x' .. i) end
}

# ARGV: a seed and the number of changes.
set change_stream {
    math.randomseed(tonumber(ARGV[1]))
    local any, call = math.random, function(...) redis.pcall(...) end
    for i = 1, ARGV[2] do
        local id, kind, g, c = any(31000) .. '-1', any(100), 'g' .. any(3), 'c' .. any(10)
        if kind <= 25 then call('xadd', 's', '*', 'field', i)
        elseif kind <= 40 then call('xdel', 's', id, any(31000) .. '-1')
        elseif kind <= 45 then call('xreadgroup', 'group', g, c, 'count', any(9), 'streams', 's', '>')
        elseif kind <= 50 then call('xreadgroup', 'group', g, c, 'count', any(9), 'streams', 's', id)
        elseif kind <= 65 then call('xack', 's', g, id, any(9000) .. '-1')
        elseif kind <= 75 then call('xclaim', 's', g, c, 0, any(9000) .. '-1', any(9000) .. '-1', 'retrycount', any(9))
        elseif kind <= 78 then call('xclaim', 's', g, c, 0, id, 'force', 'justid', 'time', 1000)
        elseif kind <= 81 then call('xautoclaim', 's', g, c, 0, id, 'count', 9)
        elseif kind <= 84 then call('xnack', 's', g, 'fail', 'ids', 1, id)
        elseif kind <= 87 then call('xackdel', 's', g, 'delref', 'ids', 1, id)
        elseif kind <= 90 then call('xdelex', 's', 'delref', 'ids', 1, id)
        elseif kind <= 93 then call('xtrim', 's', 'minid', any(any(3000)))
        elseif kind == 94 then call('xadd', 's', 'maxlen', '~', 25000, '*', 'field', i)
        elseif kind == 95 then call('xgroup', 'delconsumer', 's', g, c)
        elseif kind == 96 and any(30) == 1 then call('xgroup', 'destroy', 's', g)
        elseif kind == 97 then call('xgroup', 'create', 's', g, id)
        elseif kind == 98 then call('xgroup', 'setid', 's', g, id)
        elseif kind == 99 then call('xgroup', 'createconsumer', 's', g, c)
        end
    end
}
set change_paths {
    math.randomseed(tonumber(ARGV[1]))
    local any = math.random
    for i = 1, ARGV[2] do
        local path, kind = any(101) .. '/' .. any(30100), any(20)
        if kind <= 12 then redis.call('phset', 'p', path, 'fields', 1, 'f' .. any(9), i)
        elseif kind <= 16 then redis.call('phdel', 'p', path)
        elseif kind <= 18 then redis.call('phdel', 'p', path, 'a')
        elseif kind == 19 then redis.call('phdelprefix', 'p', any(100) .. '/' .. any(99))
        elseif any(20) == 1 then redis.call('phdelprefix', 'p', any(100) .. '/')
        end
    end
}

proc resp_command {args} {
    set text "*[llength $args]\r\n"
    foreach arg $args { append text "\$[string length $arg]\r\n$arg\r\n" }
    return $text
}

proc whole_state {} { return [list [dataset_state r] [digest]] }

# The stream s as other servers show it, whose digests differ.
proc stream_state {} { return [list [dataset_more r stream s] [r xrange s - +]] }

# Starts a save and, in the same pipeline, changes what `script` changes. Returns the state before.
proc save_and_change {script {state whole_state}} {
    set before [$state]
    set pipeline [resp_command bgsave]
    set evals 30
    append pipeline [resp_command eval $script 0 [expr {int(rand() * 1e9)}] 20] [resp_command info persistence]
    for {set i 0} {$i < $evals} {incr i} { append pipeline [resp_command eval $script 0 [expr {int(rand() * 1e9)}] 200] }
    r write $pipeline
    assert_match "Background saving started" [r read]
    r read
    assert_match "*rdb_current_bgsave_type:forkless*" [r read]
    for {set i 0} {$i < $evals} {incr i} { r read }
    for {set i 0} {[s rdb_bgsave_in_progress]} {incr i} { r eval $script 0 $i 20 }
    assert_equal {forkless ok} [list [s rdb_last_bgsave_type] [s rdb_last_bgsave_status]]
    return $before
}

# Shows only where two long texts begin to differ.
proc assert_same_text {expected actual} {
    if {$expected eq $actual} { return }
    for {set at 0} {$at < [string length $expected] && [string index $expected $at] eq [string index $actual $at]} {incr at} {}
    assert_equal [string range $expected $at-60 $at+60] [string range $actual $at-60 $at+60]
    fail "the lengths differ: [string length $expected] and [string length $actual]"
}

# The state that a server has after it has loaded the file.
proc state_of_file {{executable {}} {state_of whole_state}} {
    set dir [srv dir]
    set state {}
    start_server [list executable $executable overrides [list dbfilename forkless.rdb enable-debug-command yes save {}] wait 1] {
        file copy -force $dir/dump.rdb [srv dir]/forkless.rdb
        restart_server
        set state [$state_of]
    }
    return $state
}

tags {external:skip needs:debug slow} {
    start_server {overrides {save {} bgsave-default-method forkless}} {
        test {a large stream is saved as it was, whatever is changed meanwhile} {
            foreach round {1 2} {
                r flushall
                r eval $fill_stream 0 30000
                set before [save_and_change $change_stream]
                assert_same_text $before [state_of_file]
                assert_not_equal [lindex $before 1] [digest]
            }
        }

        test {commands that look a stream up as readers do are no exception} {
            foreach change {{xack s g1 1001-1 1003-1} {xclaim s g2 c9 0 1001-1} {xautoclaim s g1 c1 0 1001-1}
                    {xnack s g1 fail ids 1 1001-1} {xreadgroup group g1 c1 count 9 streams s >}
                    {xreadgroup group g1 c1 count 9 streams s 0}} {
                r flushall
                r eval $fill_stream 0 3000
                set before [whole_state]
                r write [resp_command bgsave][resp_command {*}$change]
                assert_match "Background saving started" [r read]
                r read
                assert_not_equal $before [whole_state]
                wait_for_save
                assert_same_text $before [state_of_file]
            }
        }

        test {Valkey 9.1 loads a large stream as it was} {
            if {[valkey_oracle] eq {}} { skip "no valkey-server 9.1 here" }
            r flushall
            r eval $fill_stream 0 30000
            set before [save_and_change $change_stream stream_state]
            assert_same_text $before [state_of_file [valkey_oracle] stream_state]
        }

        test {a large path hash is saved as it was, whatever is changed meanwhile} {
            foreach round {1 2} {
                r flushall
                r eval $fill_paths 0 30000
                set before [save_and_change $change_paths]
                assert_same_text $before [state_of_file]
                assert_not_equal [lindex $before 1] [digest]
            }
        }

        test {a large stream that is deleted or overwritten is saved as it was} {
            foreach change {{del s} {set s text} {rename s t} {flushdb} {xtrim s maxlen 0}} {
                r flushall
                r eval $fill_stream 0 3000
                set before [whole_state]
                r write [resp_command bgsave][resp_command {*}$change]
                r read
                r read
                wait_for_save
                assert_same_text $before [state_of_file]
            }
        }
    }

    start_server {overrides {save {} bgsave-default-method forkless appendonly yes aof-use-rdb-preamble no}} {
        foreach {what fill change} [list stream $fill_stream $change_stream {path hash} $fill_paths $change_paths] {
            test "a large $what is rewritten as commands, whatever is changed meanwhile" {
                r flushall
                r eval $fill 0 30000
                set pipeline [resp_command bgrewriteaof]
                set evals 30
                for {set i 0} {$i < $evals} {incr i} { append pipeline [resp_command eval $change 0 $i 200] }
                r write $pipeline
                for {set i 0} {$i <= $evals} {incr i} { r read }
                wait_for_condition 600 20 {[s aof_rewrite_in_progress] == 0} else { fail "the rewrite does not end" }
                assert_equal ok [s aof_last_bgrewrite_status]
                set before [whole_state]
                r debug loadaof
                assert_same_text $before [whole_state]
            }
        }
    }
}
