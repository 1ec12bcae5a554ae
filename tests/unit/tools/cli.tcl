# valkey-cli as scripts use it: options, output formats, exit codes and the modes. The prompt is in cli_prompt.tcl.

set ::cli [tool_path valkey-cli]

proc need_cli {} {
    if {$::cli eq {}} { skip "no valkey-cli" }
}

proc run_cli {input args} { return [run_tool valkey-cli $input {*}$args] }
proc cli {args} { return [tool_output valkey-cli {*}$args] }

proc last_line {text} {
    return [lindex [split [string trim $text] \n] end]
}

start_server {} {
    test "raw, labelled, CSV and JSON output" {
        r rpush list a "b c" {}
        r hset hash f 1
        assert_equal "a\nb c\n\n" [cli lrange list 0 -1]
        assert_equal "1) \"a\"\n2) \"b c\"\n3) \"\"\n" [cli --no-raw lrange list 0 -1]
        assert_equal "\"a\",\"b c\",\"\"\n" [cli --csv lrange list 0 -1]
        assert_equal "\[\"a\",\"b c\",\"\"\]\n" [cli --json lrange list 0 -1]
        assert_equal "{\"f\":\"1\"}\n" [cli --json hgetall hash]
        assert_equal "\[\"f\",\"1\"\]\n" [cli --json -2 hgetall hash]
        assert_equal "1# \"f\" => \"1\"\n" [cli -3 --no-raw hgetall hash]
        assert_equal "a,b c,\n" [cli -d , lrange list 0 -1]
        assert_equal "PONG;PONG;" [cli -D {;} -r 2 ping]
        assert_equal "(nil)\n" [cli --no-raw get nosuch]
        assert_equal "\n" [cli get nosuch]
    }

    test "bytes outside of ASCII in JSON" {
        r set k \xc3\xa9
        assert_equal "\"\\\\xc3\\\\xa9\"\n" [cli --quoted-json get k]
    }

    test "-4 and -6" {
        assert_equal PONG\n [cli -4 ping]
        lassign [run_cli {} -6 ping] code out err
        assert_equal {1 {}} [list $code $out] ;# 127.0.0.1 is no IPv6 address
        assert_match "Could not connect to Valkey at *" $err
        assert_equal 1 [lindex [run_cli {} -4 -6 ping] 0]
        assert_equal PONG\n [cli --mptcp ping]
    }

    test "exit codes: an error reply counts with -e only, a missing server always" {
        need_cli
        lassign [run_cli {} nosuch] code out
        assert_equal 0 $code
        assert_match "ERR unknown command*" $out
        lassign [run_cli {} -e nosuch] code out err
        assert_equal {1 {}} [list $code $out]
        assert_match "ERR unknown command*" $err
        lassign [run_cli {} -p 1 ping] code out err
        assert_equal 1 $code
        assert_match "Could not connect to Valkey at *:1: Connection refused*" $err
    }

    test "-x and -X take an argument from standard input" {
        need_cli
        assert_equal "OK\n" [lindex [run_cli "from stdin" -x set k] 1]
        assert_equal "from stdin" [r get k]
        assert_equal "OK\n" [lindex [run_cli "tagged" -X TAG set k TAG KEEPTTL] 1]
        assert_equal "tagged" [r get k]
        assert_equal 1 [lindex [run_cli {} -x -X TAG set k TAG] 0]
    }

    test "--quoted-input" {
        cli --quoted-input set {"q\x00"} {"a\nb"}
        assert_equal "a\nb" [r get q\x00]
    }

    test "-r and -i repeat" {
        r del n
        assert_equal "1\n2\n3\n" [cli -r 3 -i 0.01 incr n]
    }

    test "-n and a URI choose the database" {
        r select 2
        r set here yes
        r select 0
        assert_equal "yes\n" [cli -n 2 get here]
        assert_equal "yes\n" [cli -u valkey://[srv host]:[srv port]/2 get here]
        assert_equal "yes\n" [cli -u redis://[srv host]:[srv port]/2 get here]
        assert_equal 1 [lindex [run_cli {} -u http://x ping] 0]
    }

    test "lines from standard input, with a repeat count, SELECT and an error between" {
        need_cli
        r del n
        lassign [run_cli "2 incr n\nnosuch\nselect 2\nget here\n\nping \"a b\"\nbad \"quote\n" ] code out
        assert_equal 0 $code
        assert_match "1\n2\nERR unknown command*\nOK\nyes\na b\nInvalid argument(s)\n" $out
    }

    test "--eval with keys and arguments" {
        set f [open $::work_dir/script.lua w]
        puts $f {return {KEYS[1], KEYS[2], ARGV[1]}}
        close $f
        assert_equal "k1\nk2\na1\n" [cli --eval $::work_dir/script.lua k1 k2 , a1]
        assert_equal 1 [lindex [run_cli {} --eval $::work_dir/nosuch.lua] 0]
    }

    test "--ldb: a script under the debugger" {
        need_cli
        set file $::work_dir/debugged.lua
        set f [open $file w]
        puts $f "local a = 1\nredis.call('set', KEYS\[1\], ARGV\[1\])\nreturn {a, redis.call('get', KEYS\[1\])}"
        close $f
        r del k n
        foreach {option ended left} {--ldb { -- dataset changes rolled back} {} --ldb-sync-mode {} {some value}} {
            set out [lindex [run_cli "print a\n\ns\np a\ne return \"x  y\"\nr get 'k'\n'\nc\nget k\nincr n\n" $option --eval $file k , "some value"] 1]
            assert_match "*help*\n\n\\* Stopped at 1, *\n-> 1   local a = 1\n*" $out
            foreach part {{<value> 1} {<retval> x  y} {<command> get k} {Invalid argument(s)}} {
                assert {[string first $part\n $out] >= 0} "$part in $out"
            }
            assert_match "*\n1) (integer) 1\n2) \"some value\"\n\n(Lua debugging session ended$ended)\n\n*" $out
            assert_match [expr {$left eq {} ? "*(nil)*(integer)*" : "*\"$left\"*(integer)*"}] [string range $out [string first "session ended" $out] end]
            assert_equal $left [r get k]
        }
        assert_equal 2 [r getdel n]
        # Again, from within a session and behind one; then leave.
        set out [lindex [run_cli "restart\nc\nrestart\nquit\n" --ldb --eval $file k , v] 1]
        assert_equal 3 [regexp -all {Stopped at 1} $out]
        assert_equal 1 [regexp -all {session ended} $out]
        set f [open $file w]
        puts $f {not lua}
        close $f
        assert_match "*(error) ERR Error compiling script*session ended*" [lindex [run_cli {} --ldb --eval $file] 1]
        assert_equal 1 [lindex [run_cli {} --ldb --eval $::work_dir/nosuch.lua] 0]
        r del k
    }

    test "wrong and unknown options are errors with exit code 1" {
        need_cli
        foreach {words message} {
            --nosuch {The option '--nosuch' is not known*}
            -p {The option '-p' is not known, or lacks an argument*}
            {-2 -3 ping} {Only one of the options -2 and -3 can be given.*}
            {--show-pushes maybe ping} {--show-pushes takes yes or no, not 'maybe'*}
            {--ldb ping} {Options --ldb and --ldb-sync-mode require --eval.*}
            {--cluster info} {*Wrong number of arguments for specified --cluster sub command*}
        } {
            lassign [run_cli {} {*}$words] code out err
            assert_equal 1 $code $words
            assert_match $message $err $words
        }
    }

    test "--version and --help" {
        assert_match "valkey-cli *\n" [cli --version]
        set help [cli --help]
        foreach option {-h -p -s -a --user --pass --askpass -u -r -i -n -2 -3 -x -X -d -D -c -e --raw --no-raw
            --quoted-input --csv --json --quoted-json --show-pushes --stat --latency --latency-history --latency-dist
            --lru-test --replica --rdb --functions-rdb --pipe --pipe-timeout --bigkeys --memkeys --memkeys-samples
            --hotkeys --hotkeys-count -4 -6 --mptcp --scan --pattern --quoted-pattern --count --intrinsic-latency --eval --ldb --ldb-sync-mode --verbose
            --no-auth-warning --tls --sni --cacert --cacertdir --insecure --cert --key --tls-ciphers
            --tls-ciphersuites --help --version} {
            assert {[string first " $option" $help] >= 0} $option
        }
    }

    test "help from the command line" {
        assert_match "*\n  GET key\n  summary: *\n  since: 1.0.0\n  group: string\n*" [cli help get]
        assert_match "*CONFIG SET parameter value*" [cli help config set]
        assert_match "*LPUSH*RPUSH*" [cli help @list]
    }

    test "subscriptions print until the connection ends" {
        need_cli
        set pipe [open |[list $::cli -h [srv host] -p [srv port] subscribe c1 c2] r]
        wait_for_condition 200 50 {[r publish c1 hello] == 1} else { fail "no subscriber" }
        set lines {}
        for {set i 0} {$i < 9} {incr i} { lappend lines [gets $pipe] }
        assert_equal {subscribe c1 1 subscribe c2 2 message c1 hello} $lines
        exec kill [pid $pipe]
        catch {close $pipe}
    }
}

start_server {overrides {requirepass secret}} {
    test "passwords: option, environment, URI and the warning" {
        need_cli
        r auth secret
        lassign [run_cli {} -a secret ping] code out err
        assert_equal {0 PONG} [list $code [string trim $out]]
        assert_match "Warning: *password*" $err
        assert_equal {} [lindex [run_cli {} -a secret --no-auth-warning ping] 2]
        assert_match "NOAUTH*" [cli ping]
        foreach name {VALKEYCLI_AUTH REDISCLI_AUTH} {
            set ::env($name) secret
            assert_equal "PONG\n" [cli ping] $name
            unset ::env($name)
        }
        assert_equal "PONG\n" [cli -u valkey://default:secret@[srv host]:[srv port] ping]
        assert_match "*AUTH failed: WRONGPASS*" [lindex [run_cli {} -a wrong ping] 2]
    }
}

start_server {} {
    test "--scan walks over all keys, with a pattern and a count" {
        for {set i 0} {$i < 300} {incr i} { r set key:$i x }
        r set "other\n" x
        assert_equal 300 [llength [split [string trim [cli --scan --pattern key:*]] \n]]
        assert_equal 300 [llength [lsort -unique [split [string trim [cli --scan --count 7 --pattern key:*]] \n]]]
        assert_equal "\"other\\n\"\n" [cli --no-raw --scan --quoted-pattern {"other\x0a"}]
    }

    test "--bigkeys and --memkeys name the largest key of each type" {
        r flushall
        r rpush l1 a b
        r rpush l2 a b c
        r sadd s1 a
        r set str [string repeat x 5000]
        r zadd z 1 a 2 b
        r hset h f v
        r xadd x * f v
        set out [cli --bigkeys]
        foreach line {
            {Sampled 7 keys in the keyspace!}
            {Biggest   list found '"l2"' has 3 items}
            {Biggest string found '"str"' has 5000 bytes}
            {Biggest stream found '"x"' has 1 entries}
            {2 lists with 5 items (28.57% of keys, avg size 2.50)}
        } { assert {[string first "$line\n" $out] >= 0} "$line in $out" }
        assert_match "*Biggest string found '\"str\"' has 5??? bytes*" [cli --memkeys]
        assert_match "*Biggest string found '\"str\"' has 5??? bytes*" [cli --memkeys-samples 2]
        assert_match "*Sampled 1 keys*" [cli --bigkeys --pattern s1]
    }

    test "--hotkeys needs an LFU policy, and then lists keys with their counters" {
        need_cli
        config_set maxmemory-policy noeviction
        lassign [run_cli {} --hotkeys] code out err
        assert_equal 1 $code
        assert_match "*LFU maxmemory policy*" $err
        config_set maxmemory-policy allkeys-lfu
        r del str
        r set str x
        assert_match "*hot key found with counter: *keyname: \"str\"*" [cli --hotkeys]
        r mset str2 x str3 x
        assert_equal 2 [regexp -all {hot key found} [cli --hotkeys-count 2]]
        assert_equal 1 [lindex [run_cli {} --hotkeys-count 0] 0]
        r restore cold 0 [r dump str] freq 0
        assert_equal 0 [r object freq cold]
        set out [cli --hotkeys]
        assert_match "*keyname: \"str\"*" $out
        assert {![string match *cold* $out]} "a key with counter 0 is not hot"
    }

    test "--pipe counts replies and errors" {
        need_cli
        lassign [run_cli "SET a 1\r\nNOSUCH\r\nGET a\r\n" --pipe] code out err
        assert_equal 1 $code
        assert_equal "All data transferred. Waiting for the last reply...\nLast reply received from server.\nerrors: 1, replies: 3\n" $out
        assert_match "*ERR unknown command 'NOSUCH'*" $err
        lassign [run_cli "SET a 2" --pipe] code out err
        assert_equal {0 {errors: 0, replies: 1}} [list $code [last_line $out]]
        assert_equal 2 [r get a]
        assert_equal "errors: 0, replies: 0" [last_line [lindex [run_cli {} --pipe] 1]]
    }

    test "--pipe with many commands and large replies" {
        need_cli
        r set big [string repeat y 20000]
        set input {}
        for {set i 0} {$i < 50000} {incr i} { append input "*3\r\n\$3\r\nSET\r\n\$[string length p:$i]\r\np:$i\r\n\$1\r\nx\r\n" }
        append input [string repeat "GET big\r\n" 2000]
        assert_equal {0 {errors: 0, replies: 52000}} [apply {{in} {
            lassign [run_cli $in --pipe] code out
            list $code [last_line $out]
        }} $input]
        assert_equal x [r get p:49999]
    }

    test "--pipe gives up when the last reply does not come" {
        need_cli
        lassign [run_cli "BLPOP nosuchlist 0\r\n" --pipe --pipe-timeout 1] code out err
        assert_equal {1 {errors: 1, replies: 0}} [list $code [last_line $out]]
        assert_match "*No replies for 1 seconds: exiting.*" $err
    }

    test "--latency without a terminal: one line of figures" {
        assert {[regexp {^\d+ \d+ \d+\.\d\d \d+\n$} [cli --latency -i 0.2]]}
        assert {[regexp {^\d+,\d+,\d+\.\d\d,\d+\n$} [cli --csv --latency -i 0.2]]}
    }

    test "--intrinsic-latency" {
        assert_match "*Max latency so far: * microseconds.*total runs*Worst run took *" [cli --intrinsic-latency 1]
    }

    # The first lines of a mode that does not end.
    proc head_of {count args} {
        need_cli
        set pipe [open |[list timeout 100 $::cli -h [srv host] -p [srv port] {*}$args 2>@stderr] r]
        set lines {}
        while {[llength $lines] < $count && [gets $pipe line] >= 0} { lappend lines $line }
        catch {exec kill [pid $pipe]}
        catch {close $pipe}
        return $lines
    }

    test "--stat prints a header and a line for each interval" {
        set keys [r dbsize]
        set lines [head_of 4 --stat -i 0.05]
        assert_match "------- data ------*- load -*- child -" [lindex $lines 0]
        assert {[regexp {^keys +mem +clients blocked requests +connections} [lindex $lines 1]]}
        assert {[regexp {^(\d+) +[\d.]+[BKMG] +\d+ +\d+ +\d+ \(\+0\) +\d+} [lindex $lines 2] -> seen]}
        assert_equal $keys $seen
        assert {[regexp {\(\+[1-9]\d*\)} [lindex $lines 3]]}
    }

    test "--latency-history, --latency-dist and --lru-test run until they are stopped" {
        foreach line [head_of 2 --latency-history -i 0.1] { assert {[regexp {^\d+ \d+ [\d.]+ \d+$} $line]} $line }
        set lines [head_of 3 --latency-dist -i 0.1]
        assert_match "<=16us *<=1ms *<=4s *more" [lindex $lines 0]
        assert {[regexp {\x1b\[48;5;\d+;38;5;255m +\d+} [lindex $lines 1]]}
        set line [lindex [head_of 1 --lru-test 100] 0]
        assert {[regexp {^\d+ Gets/sec \| Hits: \d+ \([\d.]+%\) \| Misses: \d+ \([\d.]+%\)$} $line]} $line
        assert_morethan [r exists lru:0 lru:1 lru:2] 0
    }

    test "a server without SYNC is distinguished from a copy" {
        need_cli
        # One that does not know it, whatever the server of this test can do.
        set listener [socket -server {apply {{fd args} {
            fconfigure $fd -blocking 0 -translation binary
            fileevent $fd readable [list apply {{fd} {
                set text [read $fd]
                if {[eof $fd]} { close $fd } elseif {$text ne {}} { catch {
                    puts -nonewline $fd "-ERR unknown command\r\n"
                    flush $fd
                } }
            }} $fd]
        }}} -myaddr 127.0.0.1 0]
        set port [lindex [fconfigure $listener -sockname] 2]
        set pipe [open |[list $::cli -p $port --rdb $::work_dir/none.rdb 2>@1] r]
        fconfigure $pipe -blocking 0
        set ::rdb_text {}
        fileevent $pipe readable [list apply {{pipe} {
            append ::rdb_text [read $pipe]
            if {[eof $pipe]} { set ::rdb_done 1 }
        }} $pipe]
        after 60000 {set ::rdb_done late}
        vwait ::rdb_done
        after cancel {set ::rdb_done late}
        fconfigure $pipe -blocking 1
        assert_equal 1 [catch {close $pipe}]
        close $listener
        assert_match "*refuses to send its data: ERR unknown command*" $::rdb_text
        assert {![file exists $::work_dir/none.rdb]}
    }
}

# The oracle can be copied from.
if {[oracle] ne {}} {
    start_server [list executable [oracle] overrides {repl-diskless-sync-delay 0 save {}}] {
        test "--rdb, --functions-rdb and --replica" {
            need_cli
            r set k v
            set file $::work_dir/copy.rdb
            cli --rdb $file
            assert_match "REDIS00*" [read_file $file]
            assert {[string first "\x01k\x01v" [read_file $file]] > 0}
            cli --functions-rdb $file
            assert_match "REDIS00*" [read_file $file]
            assert {[string first "\x01k\x01v" [read_file $file]] < 0}
            foreach words {--replica sync {psync ? -1}} {
                set pipe [open |[list timeout 100 $::cli -p [srv port] {*}$words 2>@1] r]
                fconfigure $pipe -blocking 0
                set text {}
                wait_for_condition 600 100 {[r set k w] eq "OK" && [string match {*"set","k","w"*} [append text [read $pipe]]]} else {
                    fail "not seen: $text"
                }
                catch {exec kill [pid $pipe]}
                catch {close $pipe}
            }
        }
    }
}

# ---- Backups ----

# A server that asks for the version writes RDB version 80, which has a form for fields that expire.
set ::backup_servers [list [list overrides {repl-diskless-sync-delay 0 save {}}]]
if {[valkey_oracle] ne {}} {
    lappend ::backup_servers [list executable [valkey_oracle] overrides {repl-diskless-sync-delay 0 save {}}]
}
foreach backup_server $::backup_servers {
    start_server $backup_server {
        test "--rdb, --functions-rdb and --replica with a hash whose fields expire" {
            need_cli
            r set k v
            r hset h f v
            r hexpire h 1000 fields 1 f
            r function load "#!lua name=lib\nserver.register_function('f', function() return 1 end)"
            set file $::work_dir/expiring.rdb
            cli --rdb $file
            assert_match "VALKEY080*" [read_file $file]
            lassign [other_face valkey-check-rdb $file --stats] code out
            assert_equal 0 $code
            assert_match "*RDB looks OK*" $out
            cli --functions-rdb $file
            assert_match "VALKEY080*name=lib*" [read_file $file]
            assert_equal {} [glob -nocomplain $file.*]
            set pipe [open |[list timeout 100 $::cli -p [srv port] --replica 2>@1] r]
            fconfigure $pipe -blocking 0
            set text {}
            wait_for_condition 600 100 {[r set k w] eq "OK" && [string match {*"set","k","w"*} [append text [read $pipe]]]} else {
                fail "not seen: $text"
            }
            catch {exec kill [pid $pipe]}
            catch {close $pipe}
        }
    }
}

# A server that replies to SYNC with these bytes, and then closes the connection or, with `hold`, keeps it open.
proc with_half_server {bytes hold body} {
    set listener [socket -server [list apply {{bytes hold fd args} {
        fconfigure $fd -blocking 0 -translation binary
        fileevent $fd readable [list apply {{bytes hold fd} {
            set text [read $fd]
            if {[eof $fd]} { close $fd; return }
            foreach line [regexp -all -inline {REPLCONF|SYNC} $text] {
                puts -nonewline $fd [expr {$line eq "SYNC" ? $bytes : "+OK\r\n"}]
            }
            flush $fd
            if {[string match *SYNC* $text] && !$hold} { close $fd }
        }} $bytes $hold $fd]
    }} $bytes $hold] -myaddr 127.0.0.1 0]
    try {
        uplevel 1 [list set port [lindex [fconfigure $listener -sockname] 2]]
        uplevel 1 $body
    } finally { close $listener }
}

# {exit code, output} of the cli, while the servers of this process go on.
proc cli_beside {args} {
    set pipe [open |[list timeout 60 $::cli {*}$args 2>@1] r]
    fconfigure $pipe -blocking 0
    set ::beside_text {}
    fileevent $pipe readable [list apply {{pipe} {
        append ::beside_text [read $pipe]
        if {[eof $pipe]} { set ::beside_done 1 }
    }} $pipe]
    vwait ::beside_done
    fconfigure $pipe -blocking 1
    return [list [catch {close $pipe}] $::beside_text]
}

test "a backup that breaks off keeps the earlier file, and leaves no other" {
    need_cli
    set folder $::work_dir/broken
    file mkdir $folder
    foreach {bytes far} [list "\$100\r\nREDIS0011abc" "after 12 bytes of the snapshot" \
                             "\$EOF:[string repeat m 40]\r\nREDIS0011abc" "after 12 bytes of the snapshot" \
                             "\r\n\r\n" "before the snapshot began"] {
        foreach mode {--rdb --functions-rdb} {
            foreach before {{} "the file before"} {
                file delete {*}[glob -nocomplain $folder/*]
                if {$before ne {}} { write_file $folder/copy.rdb $before }
                with_half_server $bytes 0 {
                    lassign [cli_beside -p $port $mode $folder/copy.rdb] failed text
                }
                assert_equal 1 $failed
                assert_match "*closed the connection $far*log has the reason*" $text
                assert_equal [expr {$before eq {} ? {} : "copy.rdb"}] [lmap f [glob -nocomplain $folder/*] {file tail $f}]
                if {$before ne {}} { assert_equal $before [read_file $folder/copy.rdb] }
            }
        }
    }
}

test "a backup to a symbolic link is written to its target, and keeps the permissions" {
    need_cli
    set folder $::work_dir/linked
    file mkdir $folder
    write_file $folder/target.rdb "before"
    file attributes $folder/target.rdb -permissions 0600
    file link -symbolic $folder/copy.rdb target.rdb
    with_half_server "\$3\r\nabc" 0 { assert_equal 0 [lindex [cli_beside -p $port --rdb $folder/copy.rdb] 0] }
    assert_equal {link abc} [list [file type $folder/copy.rdb] [read_file $folder/target.rdb]]
    assert_equal 00600 [file attributes $folder/target.rdb -permissions]
    assert_equal {copy.rdb target.rdb} [lsort [lmap f [glob $folder/*] {file tail $f}]]
}

test "a backup to a device or pipe is written there, and a full device is an error" {
    need_cli
    with_half_server "\$3\r\nabc" 0 {
        assert_match {0 *abcTransfer\ finished*} [cli_beside -p $port --rdb -]
        assert_equal 0 [lindex [cli_beside -p $port --rdb /dev/null] 0]
        assert_match {1 *'/dev/full'\ cannot\ be\ written:\ No\ space*} [cli_beside -p $port --rdb /dev/full]
        assert_match "1 *cannot be written: No such file*" [cli_beside -p $port --rdb $::work_dir/nosuch/copy.rdb]
    }
    assert_equal characterSpecial [file type /dev/null]
}

test "a backup that is interrupted leaves no file" {
    need_cli
    set file $::work_dir/interrupted.rdb
    with_half_server "\$100\r\nabc" 1 {
        set pipe [open |[list $::cli -p $port --rdb $file 2>@1] r]
        fconfigure $pipe -blocking 0
        fileevent $pipe readable [list apply {{pipe} {
            if {[string match "*Receiving*" [read $pipe]]} { exec kill -INT [pid $pipe] }
            if {[eof $pipe]} { set ::interrupted 1 }
        }} $pipe]
        vwait ::interrupted
        fconfigure $pipe -blocking 1
        assert_equal 1 [catch {close $pipe}]
    }
    assert_equal {} [glob -nocomplain $file*]
}
