# Rare and wrong uses of the module API (tests/modules/corners.c).

source -encoding utf-8 $::support/module.tcl
source -encoding utf-8 $::support/dump.tcl

beside_modules {corners} {} {
    # 9.1.2 logs the same in other words.
    proc both_log {pattern other} {
        set ours [count_log_message $pattern [at ours]]
        assert_equal [count_log_message $other [at valkey]] $ours $pattern
        return $ours
    }
    proc both_told {pattern} {
        foreach kind {ours valkey} {
            set told {}
            wait_for_condition 50 50 {[string match $pattern [lappend told {*}[r [at $kind] corners.told]]]} else { fail "$kind: $told" }
            set $kind $told
        }
        assert_equal $valkey $ours
        return $ours
    }

    test {the number of arguments} {
        both corners.arity
        both corners.arity 1
        both corners.arity 1 2
    }

    # The bytes of the reply to a command, in RESP3.
    proc wired {level protocol command} {
        set c [valkey_client $level]
        if {$protocol == 3} { $c hello 3 }
        $c write "[string toupper $command]\r\nECHO end-of-it\r\n"
        set text {}
        while {![string match "*end-of-it*" $text]} { append text [$c rawread] \n }
        $c close
        return $text
    }
    proc both_wired {protocol command} {
        foreach kind {ours valkey} { set $kind [wired [at $kind] $protocol $command] }
        assert_equal $valkey $ours "$command ($protocol)"
    }

    test {replies of every kind, by the command and by a thread} {
        foreach protocol {2 3} {
            both_wired $protocol corners.all
            both_wired $protocol corners.aside
            both_wired $protocol corners.postponed
            foreach kind {ours valkey} {
                assert_equal [wired [at $kind] $protocol corners.all] [wired [at $kind] $protocol corners.aside] $kind
            }
        }
        after 100
        both_told "*"
        foreach kind {ours valkey} {
            set $kind [lsearch -all -inline [split [r [at $kind] info errorstats] "\r\n"] errorstat*]
        }
        assert_equal {} [lsearch -inline $ours errorstat_QUIET*]
        set valkey [lsearch -all -inline -not $valkey errorstat_QUIET*] ;# there it counts in threads all the same
        assert_equal $valkey $ours
    }

    test {GetBlockedClientHandle in the reply callback is that of BlockClient} { assert_equal {1 1} [both corners.handle] }

    test {INFO: what its functions return} { assert_match "*corners_dict:u=2,c=text,d=0.5*corners_bad:0*" [both info corners] }

    test {lengths of collections that were not begun are logged as misuse} {
        both corners.untold
        assert_equal 3 [both_log "*Module corners uses the API wrongly*" "*API misuse detected in module corners*"]
        both ping
    }

    test {a collection that is still open ends with its command} { ;# 9.1.2 does not survive that
        set c [valkey_deferring_client [at ours]]
        $c corners.open
        $c ping
        assert_equal {} [$c read]
        assert_equal 1 [$c read]
        assert_error "I/O error*" { $c read }
        wait_for_condition 50 50 {[count_log_message "*Module corners uses the API wrongly: a collection*" [at ours]] == 1} else { fail "nobody knows" }
        $c close
        assert_equal PONG [r [at ours] ping]
    }

    test {a timer's context has no client to block, and no user} {
        both corners.timer
        both_told "*and its error*"
    }

    test {a thread's job, outside of any unit} {
        both corners.thread
        both_told "*job of a thread*"
        assert_equal 1 [both get jobs]
    }

    test {list positions out of range, and keys of other types, are refused} {
        both rpush list a b c
        foreach at {0 -1 2 3 -3 -4 100 -100 1} { both corners.list list $at x }
        both lrange list 0 -1
        # On other types 9.1.2 crashes.
        r [at ours] set string v
        assert_equal {0 ENOTSUP 1 ENOTSUP 1 ENOTSUP 1 ENOTSUP} [r [at ours] corners.list string 0 x]
        assert_equal {0 ENOTSUP 0 - 0 - 0 -} [r [at ours] corners.list none 0 x]
        assert_equal {0 ENOTSUP 1 EDOM 1 ENOTSUP 1 ENOTSUP} [r [at ours] corners.list none 5 x]
    }

    test {stream iterators that were not started return errors} {
        both xadd stream 1-1 f v
        foreach key {stream none string} { both corners.stream $key }
        both xlen stream
    }

    test {key positions outside of a key request are ignored} { both corners.positions }

    test {long log lines, and an unknown level} {
        foreach n {10 1000 1013 1014 1015 1016 5000} { both corners.log $n }
        foreach kind {ours valkey} {
            set lines [lsearch -all -inline -glob [log_lines [at $kind]] "*<corners> 000*"]
            set $kind {}
            foreach line $lines { lappend $kind [string length [regsub {^.*<corners>} $line {}]] }
        }
        assert_equal $valkey $ours
    }

    test {items of another type than requested} {
        both corners.put k -5
        assert_equal AAcorners [both type k]
        foreach kind {ours valkey} { set body($kind) [dump_body [r [at $kind] dump k]] }
        assert_equal $body(valkey) $body(ours)
        # type, id; item 2 and a number; item 4 and a double; the end
        set head [string range $body(ours) 0 [expr {[string first \x02\x81 $body(ours)] - 1}]]
        set number [binary decode hex 02810000000000000007]
        set double [binary decode hex 040000000000001c40]
        set negative [binary decode hex 04000000000000f0bf]
        foreach items [list $number$double\x00 $double$double\x00 $number$number\x00 $number\x00 $number$double $number$double$number\x00 \x00 {} $number$negative\x00] {
            both restore r 0 [dump_seal $head$items] replace
            both corners.told
        }
        both exists r
    }

    test {a rewrite with an unknown command} {
        both config set aof-use-rdb-preamble no
        foreach {n words} {13 "*module*type 'AAcorners' tried to emit unknown command 'corners.nosuch'*"
            14 "*module*type 'AAcorners' tried to call ValkeyModule_EmitAOF() with wrong format specifiers '?'*"} {
            both corners.put k $n
            both bgrewriteaof
            foreach kind {ours valkey} {
                wait_for_condition 100 50 {[s [at $kind] aof_rewrite_in_progress] == 0 && [count_log_message $words [at $kind]] > 0} else { fail "$kind: $words" }
                assert_equal err [s [at $kind] aof_last_bgrewrite_status]
            }
        }
        both corners.put k 1
    }
}

# 9.1.2 calls freed code.
foreach kind {ours} {
    start_servers [list module [list kind $kind overrides {enable-module-command yes}]] {
        test {a module that fails to load leaves nothing behind} {
            assert_error "ERR Error loading the extension*" { r module load [module_so corners] fails }
            after 60
            assert_error "ERR Error loading the extension*" { r module load [module_so corners] refuses }
            assert_equal 1 [count_log_message "*Setting the directive number to its default failed: never*"]
            assert_error "ERR unknown command*" { r corners.told }
            assert_equal {} [r config get corners.*]
            assert_equal OK [r module load [module_so corners]]
            assert_equal {} [r corners.told]
            r corners.put k 7
            assert_equal AAcorners [r type k]
            assert_equal OK [r debug reload]
            assert_equal AAcorners [r type k]
        }
    }
}
