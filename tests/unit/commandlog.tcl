# COMMANDLOG and SLOWLOG: what is logged, how much of it, and what is kept out of sight.
source [file join [file dirname [info script]] server server_util.tcl]

# The commands in a log, the newest first, without those that look at it.
proc logged {{type slow}} {
    set commands {}
    foreach entry [r commandlog get -1 $type] {
        set words [lindex $entry 3]
        if {[lindex $words 0] ni {commandlog slowlog config}} { lappend commands $words }
    }
    return $commands
}

start_server {tags {commandlog} overrides {slowlog-log-slower-than 0}} {
    test {SLOWLOG: an entry has id, time, duration, command, address and name} {
        r client setname tester
        r slowlog reset
        set before [clock seconds]
        r set k v
        r get k
        lassign [r slowlog get 2] get set
        assert_equal 6 [llength $set]
        assert_equal [expr {[lindex $set 0] + 1}] [lindex $get 0]
        assert_range [lindex $set 1] $before [expr {[clock seconds] + 1}]
        assert_morethan_equal [lindex $set 2] 0
        assert_equal {set k v} [lindex $set 3]
        assert_match "127.0.0.1:*" [lindex $set 4]
        assert_equal tester [lindex $set 5]
    }

    test {COMMANDLOG and SLOWLOG are two views of one log} {
        r slowlog reset
        r ping
        assert_equal 2 [r slowlog len] "RESET and PING"
        assert_equal 3 [r commandlog len slow]
        assert_equal [lindex [r slowlog get 100] end 3] [lindex [r commandlog get 100 slow] end 3]
        assert_equal OK [r commandlog reset slow]
        assert_equal 1 [r slowlog len]
    }

    test {SLOWLOG GET: the number of entries} {
        r slowlog reset
        for {set i 0} {$i < 20} {incr i} { r ping }
        assert_equal 10 [llength [r slowlog get]]
        assert_equal 3 [llength [r slowlog get 3]]
        assert_equal 0 [llength [r slowlog get 0]]
        assert_equal 24 [llength [r slowlog get -1]]
        foreach count {-2 x 4611686018427387904000} {
            assert_error "ERR count should be greater than or equal to -1" { r slowlog get $count }
            assert_error "ERR count should be greater than or equal to -1" { r commandlog get $count slow }
        }
        assert_error "ERR unknown subcommand or wrong number of arguments for 'get'. Try SLOWLOG HELP." { r slowlog get 1 2 }
        assert_error "ERR type should be one of the following: slow, large-request, large-reply" { r commandlog get 1 fast }
        assert_error "ERR type should be one of the following: *" { r commandlog len fast }
        assert_error "ERR type should be one of the following: *" { r commandlog reset fast }
        assert_error "ERR unknown subcommand 'nosuch'. Try COMMANDLOG HELP." { r commandlog nosuch }
        assert_match "COMMANDLOG <subcommand>*" [lindex [r commandlog help] 0]
        assert_match "SLOWLOG <subcommand>*" [lindex [r slowlog help] 0]
    }

    test {SLOWLOG: long arguments and long lists of them are cut} {
        r slowlog reset
        foreach length {128 129 300} { r set k [string repeat x $length] }
        lassign [lreverse [logged]] a b c
        assert_equal [string repeat x 128] [lindex $a 2]
        assert_equal "[string repeat x 128]... (1 more bytes)" [lindex $b 2]
        assert_equal "[string repeat x 128]... (172 more bytes)" [lindex $c 2]
        foreach count {31 32 33 40} {
            r slowlog reset
            r rpush l {*}[lrange [lrepeat 50 x] 1 [expr {$count - 2}]]
            set words [lindex [logged] 0]
            assert_equal [expr {min($count, 32)}] [llength $words]
            assert_equal [expr {$count > 32 ? "... ([expr {$count - 31}] more arguments)" : "x"}] [lindex $words end]
        }
    }

    test {SLOWLOG: secrets are not shown} {
        r slowlog reset
        catch { r auth secret1 }
        catch { r auth user secret2 }
        r hello 2 auth default secret3 setname me
        r config set requirepass secret4 maxmemory 0
        r config set requirepass ""
        set text [r slowlog get -1]
        assert_no_match *secret* $text
        set commands [lmap entry [lreverse $text] { lindex $entry 3 }]
        assert_equal {auth (redacted)} [lindex $commands 1]
        assert_equal {auth (redacted) (redacted)} [lindex $commands 2]
        assert_equal {hello 2 auth (redacted) (redacted) setname me} [lindex $commands 3]
        assert_equal {config set requirepass (redacted) maxmemory 0} [lindex $commands 4]
    }

    test {SLOWLOG: commands of transactions, but not EXEC} {
        r slowlog reset
        r multi
        r incr n
        r ping
        r exec
        assert_equal {ping {incr n} multi} [logged]
    }

    test {SLOWLOG: commands of scripts come with their caller, and with the script} {
        r client setname caller
        r slowlog reset
        r eval {redis.call('set', 'k', '1')} 0
        assert_equal {{eval {redis.call('set', 'k', '1')} 0} {set k 1}} [logged]
        set entry [lindex [r slowlog get 2] 1]
        assert_match 127.0.0.1:* [lindex $entry 4]
        assert_equal caller [lindex $entry 5]
    }

    test {SLOWLOG: refused and unknown commands are not logged} {
        r slowlog reset
        catch { r get }
        catch { r nosuch }
        catch { r hset k }
        assert_equal {} [logged]
    }

    test {SLOWLOG: a blocked command is logged when it ends} {
        r del l none
        r slowlog reset
        set c [valkey_deferring_client]
        $c blpop l 0
        wait_for_blocked 1
        assert_equal {} [lsearch -all -inline -index 0 [logged] blpop]
        r rpush l x
        assert_equal {l x} [$c read]
        assert_equal {{blpop l 0}} [lsearch -all -inline -index 0 [logged] blpop]
        $c blpop none 0.01
        $c read
        assert_equal {{blpop none 0.01} {blpop l 0}} [lsearch -all -inline -index 0 [logged] blpop]
        $c close
    }

    test {SLOWLOG: the limit of entries} {
        r config set slowlog-max-len 3
        for {set i 0} {$i < 5} {incr i} { r ping $i }
        assert_equal 3 [r slowlog len]
        assert_equal 3 [lindex [r config get commandlog-slow-execution-max-len] 1]
        r config set slowlog-max-len 0
        r ping
        assert_equal 0 [r slowlog len]
        r config set slowlog-max-len 128
        assert_equal 1 [r slowlog len] "the CONFIG SET"
    }

    test {SLOWLOG: the limit of time} {
        r slowlog reset
        r config set slowlog-log-slower-than 100000
        r ping
        r debug sleep 0.2
        assert_equal {{debug sleep 0.2}} [logged]
        assert_morethan_equal [lindex [r slowlog get] 0 2] 200000
        r config set slowlog-log-slower-than -1
        r debug sleep 0.11
        assert_equal {{debug sleep 0.2}} [logged]
        assert_error "*argument must be between -1 and 9223372036854775807 inclusive" { r config set slowlog-log-slower-than -2 }
        assert_error "*argument must be between 0 and 9223372036854775807 inclusive" { r config set slowlog-max-len -1 }
    } {} {needs:debug}
}

# Nothing is slow here, however busy the machine.
start_server {tags {commandlog} overrides {slowlog-log-slower-than -1}} {
    test {COMMANDLOG large-request: bytes of the request in the protocol} {
        r set k [string repeat x 1048000]
        assert_equal 0 [r commandlog len large-request]
        r set k [string repeat x 1048600]
        lassign [lindex [r commandlog get -1 large-request] 0] id time bytes words
        assert_equal [expr {4 + 9 + 7 + 1048600 + 2 + 10}] $bytes
        assert_match {set k {xxx*bytes)}} $words
        r config set commandlog-request-larger-than 100
        r set k [string repeat y 60]
        assert_equal 1 [r commandlog len large-request]
        r set k [string repeat y 90]
        r rpush l {*}[lrepeat 20 abc]
        assert_equal 3 [r commandlog len large-request]
        r multi
        r set k [string repeat z 120]
        r exec
        assert_equal {set k} [lrange [lindex [r commandlog get 1 large-request] 0 3] 0 1]
        r config set commandlog-request-larger-than -1
        set n [r commandlog len large-request]
        r set k [string repeat x 2000000]
        assert_equal $n [r commandlog len large-request]
        assert_equal OK [r commandlog reset large-request]
        assert_equal 0 [r commandlog len large-request]
    }

    test {COMMANDLOG: the sizes may have a unit (9.2 §6)} {
        r commandlog reset large-request
        r config set commandlog-request-larger-than 1kb
        r set k [string repeat y 900]
        assert_equal 0 [r commandlog len large-request]
        r set k [string repeat y 1000]
        assert_equal {1 1024} [list [r commandlog len large-request] [config_get commandlog-request-larger-than]]
        r config set commandlog-request-larger-than -1
        r commandlog reset large-request
    }

    test {COMMANDLOG large-reply: bytes of the reply} {
        r set k [string repeat x 1048000]
        r get k
        assert_equal 0 [r commandlog len large-reply]
        r set k [string repeat x 1048600]
        r get k
        lassign [lindex [r commandlog get -1 large-reply] 0] id time bytes words
        assert_equal [expr {10 + 1048600 + 2}] $bytes
        assert_equal {get k} $words
        r config set commandlog-reply-larger-than 1000
        r eval {return #redis.call('get', 'k')} 0
        assert_equal 1 [r commandlog len large-reply] "a script's commands reply to the script"
        r eval {return redis.call('get', 'k')} 0
        assert_equal eval [lindex [r commandlog get 1 large-reply] 0 3 0]
        r config set commandlog-large-reply-max-len 1
        assert_equal 1 [r commandlog len large-reply]
        assert_equal 0 [r commandlog len large-request]
        assert_equal 0 [r commandlog len slow]
    } {} {external:skip}
}
