# The output of valkey-cli without a terminal is byte for byte that of 9.1: both connect to the same server of 9.1,
# with all forms of output.

set ::cli [tool_path valkey-cli]

# {exit code, standard output, standard error} of either program; `input` is its standard input. A file takes each
# output, since Tcl would read bytes as characters.
proc told_by {path environment input words} {
    set code 0
    set files [list $::work_dir/told.in $::work_dir/told.out $::work_dir/told.err]
    write_bytes [lindex $files 0] $input
    set command [list env {*}$environment timeout 60 $path -p [srv port] {*}$words]
    if {[catch {exec {*}$command < [lindex $files 0] > [lindex $files 1] 2> [lindex $files 2]} out how]} {
        lassign [dict get $how -errorcode] kind pid code
        if {$kind ne "CHILDSTATUS"} { error $out }
    }
    return [list $code [read_bytes [lindex $files 1]] [read_bytes [lindex $files 2]]]
}

proc write_bytes {path bytes} {
    set f [open $path wb]
    puts -nonewline $f $bytes
    close $f
}

proc read_bytes {path} {
    set f [open $path rb]
    set bytes [read $f]
    close $f
    return $bytes
}

proc assert_same {words {input {}} {environment {}}} {
    set theirs [told_by [file join [file dirname [valkey_oracle]] valkey-cli] $environment $input $words]
    set ours [told_by $::cli $environment $input $words]
    if {$ours ne $theirs} { fail "valkey-cli $words < '$input' with '$environment': 9.1: $theirs, ours: $ours" }
}

set ::commands {
    {get s} {get bytes} {get nosuch} {strlen s} {lrange l 0 -1} {hgetall h} {zrange z 0 -1 withscores} {smembers st}
    {smembers nosuch} {nosuch} {get} {lpush s x} {module list} {config get maxm*} {config get *-max-*} {xinfo stream x}
    {xinfo groups x} {xrange x - +} {acl list} {acl getuser default} {latency latest} {latency doctor} {memory doctor}
    {geopos geo P} {object help} {eval {return {1,{2,'x'},{ok='s'},false,true}} 0} {eval {return {double=1.5}} 0}
    {eval {return redis.error_reply('X y')} 0} {debug protocol map} {debug protocol verbatim} {debug protocol set}
    {debug protocol double} {debug protocol true} {debug protocol null} {cluster info} {slowlog get} {pubsub channels}
    {function list} {script exists a} {command info get} {command docs get} {client getname}
}

if {[valkey_oracle] ne {} && $::cli ne {}} {
    start_server [list executable [valkey_oracle] overrides {save {} enable-debug-command yes slowlog-log-slower-than -1}] {
        r set s "text"
        r set bytes "\x01\xe9\\\n" ;# with a quote, the --quoted-json of 9.1 is no JSON
        r rpush l a "b c" "d e" {}
        r hset h f 1 g 2
        r sadd st x
        r zadd z 1.5 m 2 n
        r xadd x 1-1 f v
        r xgroup create x g1 0
        r geoadd geo 13.36 38.11 P

        foreach words {{} --no-raw --csv --json --quoted-json -3 {-3 --no-raw} {-3 --csv} {-2 --json} -e {-d ,} {-D ;}} {
            test "replies as 9.1 prints them: '$words'" {
                foreach command $::commands { assert_same [list {*}$words {*}$command] }
            }
        }

        test "environment variables about terminals change nothing" {
            foreach environment {FAKETTY=1 TERM=xterm-256color TERM=dumb NO_COLOR=1 PAGER=less} {
                foreach command [lrange $::commands 0 12] { assert_same $command {} $environment }
            }
        }

        test "lines of standard input" {
            foreach words {{} --no-raw --csv -3} {
                foreach input {"get s\nlrange l 0 -1\n3 ping\n" "multi\nget s\nexec\n" "\"bad\n" "select 3\nget s\n"
                    "0 ping\n" ":set nohints\nping\n" ":set\n:set nosuch\n:nosuch\n" "quit\nping\n" "\n\nping" "select 99\nping\n"
                    "config get maxmemory\nmodule list\n" "xinfo groups x\n"} {
                    assert_same $words $input
                }
            }
        }

        test "lines of standard input while subscribed" {
            foreach words {{} --no-raw --csv --json -2 -3 {-3 --no-raw}} {
                foreach input {"subscribe a\n" "subscribe a b\nping\nping x\nunsubscribe a b\nping\n"
                    "subscribe a\nsubscribe a b c\nunsubscribe b c\npsubscribe p*\nget s\nreset\nping\n" "psubscribe a\nget s\nunsubscribe a\n"
                    "ssubscribe s\nsunsubscribe s\nget s\n" "subscribe\nsubscribe a\nquit\n"} {
                    assert_same $words $input
                }
            }
        }

        test ":get pubsub" {
            assert_same {} ":get pubsub\nsubscribe a\n:GET PUBSUB\nunsubscribe a\n:get pubsub\n:get\n:get nosuch\n:get pubsub x\n"
        }

        test "--test_hint and --test_hint_file" {
            foreach line {"get " "set k v " "config set "} {
                assert_same [list --test_hint $line]
            }
            set file $::work_dir/hints
            foreach text {"# comment\n\n\"get \" key\n\"strlen \" \"key\"\n" "\"get \" wrong\n\"get \" key\n" "\"get \"\n"} {
                write_bytes $file $text
                assert_same [list --test_hint_file $file]
            }
            assert_same {--test_hint_file /nosuch}
            assert_equal {0 {
} {}} [told_by $::cli {} {} {--test_hint nosuch}]
        }

        test "other ways to run it" {
            assert_same {-x set k} abc
            assert_same {-X T set k T} abc
            assert_same {-r 3 ping}
            assert_same {-r 2 -i 0.01 ping}
            assert_same {-n 3 get s}
            assert_same {--scan --pattern s}
            assert_same {--no-raw --scan --pattern bytes}
            assert_same {--pipe} "SET a 1\r\nGET a\r\n"
            assert_same {--pipe} "SET a 1\r\nBAD\r\nGET a\r\n"
            # The version is the one of the interface: 9.2 here, 9.1 there.
            assert_match {0 {valkey-cli 9.2.0*} {}} [told_by $::cli {} {} {--version}]
            # The message is in our own words.
            assert_match {1 {} {*'--nosuch'*}} [told_by $::cli {} {} {--nosuch}]
            assert_same {-a x ping}
            assert_same {-h 127.0.0.1 -p 1 ping}
            assert_same [list -u valkey://127.0.0.1:[srv port]/2 ping]
        }
    }
}
