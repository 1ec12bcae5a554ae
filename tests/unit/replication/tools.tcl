# Tools that a server takes for replicas: valkey-cli --rdb, --functions-rdb, --replica, with Valkey's server and this
# one.
source [file join [file dirname [file dirname [info script]]] .. support values.tcl]

proc fill_primary {level} {
    fill_all $level
    r $level select 3
    r $level set in:three 3
    r $level select 0
    r $level set expires v pxat 4102444800000
    r $level function load "#!lua name=lib\nredis.register_function('f', function() return 'from f' end)"
}

# valkey-cli on the server of that name: {exit code, standard output, standard error}.
proc cli_at {name args} {
    set path [tool_path valkey-cli]
    if {$path eq {}} { skip "no valkey-cli" }
    set code [catch {exec timeout 60 $path -p [srv [at $name] port] {*}$args 2> $::work_dir/cli.err} out]
    return [list $code $out [read_file $::work_dir/cli.err]]
}

# A folder with the file as a server finds it when it starts.
proc folder_with {file} {
    set folder $::work_dir/loaded.[incr ::folders]
    file mkdir $folder
    file rename $file $folder/dump.rdb
    return $folder
}

foreach kind {valkey ours} {
    set ::primary_kind $kind
    start_servers [list primary [list kind $kind overrides {repl-diskless-sync-delay 0}]] {
        fill_primary [at primary]
        set ::primary_contents [contents [at primary]]

        test "--rdb: all data of the server, in a file that another one loads ($::primary_kind)" {
            set file $::work_dir/copy.rdb
            lassign [cli_at primary --rdb $file] code out err
            assert_equal 0 $code $err
            assert_equal 0 [lindex [other_face valkey-check-rdb $file] 0]
            start_server [list overrides [list dir [folder_with $file]]] {
                assert_equal $::primary_contents [contents 0]
                assert_equal "from f" [r fcall f 0]
                assert_equal 4102444800000 [r pexpiretime expires]
                r select 3
                assert_equal 3 [r get in:three]
            }
        }

        test "--rdb -: to standard output ($::primary_kind)" {
            set path [tool_path valkey-cli]
            if {$path eq {}} { skip "no valkey-cli" }
            exec timeout 60 $path -p [srv [at primary] port] --rdb - > $::work_dir/piped.rdb 2> $::work_dir/cli.err
            assert_equal 0 [lindex [other_face valkey-check-rdb $::work_dir/piped.rdb] 0]
        }

        test "--functions-rdb: the functions, and no key ($::primary_kind)" {
            set file $::work_dir/functions.rdb
            lassign [cli_at primary --functions-rdb $file] code out err
            assert_equal 0 $code $err
            start_server [list overrides [list dir [folder_with $file]]] {
                assert_equal 0 [r dbsize]
                assert_equal "from f" [r fcall f 0]
            }
        }

        test "the tools disconnect when they are done ($::primary_kind)" {
            wait_for_condition 100 50 {[s [at primary] connected_slaves] == 0} else { fail "[r [at primary] info replication]" }
        }

        test "--replica: commands that change data are printed ($::primary_kind)" {
            set path [tool_path valkey-cli]
            if {$path eq {}} { skip "no valkey-cli" }
            set printed $::work_dir/printed
            set pid [exec timeout 60 $path -p [srv [at primary] port] --replica > $printed 2> $::work_dir/cli.err &]
            wait_for_condition 200 50 {[string match "*Synchronized after*" [read_file $::work_dir/cli.err]]} else { fail [read_file $::work_dir/cli.err] }
            r [at primary] set printed "a \"value\""
            r [at primary] eval {redis.call('set', 'x', 1) redis.call('incr', 'x')} 0
            wait_for_condition 200 50 {[string match "*exec*" [string tolower [read_file $printed]]]} else { fail [read_file $printed] }
            assert_match {*"set","printed","a \\"value\\""*} [read_file $printed]
            assert_match {*"multi"*"set","x","1"*"incr","x"*"exec"*} [string tolower [read_file $printed]]
            exec kill $pid
            wait_for_condition 100 50 {[s [at primary] connected_slaves] == 0} else { fail "it is still listed" }
        }
    }
}
