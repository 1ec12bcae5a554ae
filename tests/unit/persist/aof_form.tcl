# The bytes of the append-only file: the same as Valkey 9.1 writes, which is compared where it is available.
source [file join [file dirname [info script]] aof_util.tcl]

# The commands of a client (`inline` sends a line, `pause` waits for a key to expire), and what is written for them. A
# time of 13 digits is T.
set aof_forms {
    {the name as it was sent} {{set k 1} {SeT k 2} {sEt "a b" ""}} {{SELECT 0} {set k 1} {SeT k 2} {sEt "a b" ""}}
    {inline requests} {{inline "set k 1"} {inline "  SET   \"a b\" 'c\\nd'  "}} {{set k 1} {SET "a b" "c\\nd"}}
    {other databases} {{select 3} {set k 1} {select 4} {select 3} {incr k} {select 0} {incr k}}
        {{SELECT 3} {set k 1} {incr k} {SELECT 0} {incr k}}
    {a transaction} {multi {set k 1} {get k} {incr k} exec} {MULTI {set k 1} {incr k} EXEC}
    {a transaction of one} {multi {set k 1} {get k} exec} {{set k 1}}
    {a transaction of none} {multi {get k} exec} {}
    {a transaction in two databases} {multi {set k 1} {select 5} {set k 1} exec {select 0}} {MULTI {set k 1} {SELECT 5} {set k 1} EXEC}
    {a transaction in another database} {{select 6} multi {set k 1} {set l 1} exec {select 0}} {MULTI {SELECT 6} {set k 1} {set l 1} EXEC}
    {a transaction back in the first} {multi {set k 1} {set l 1} exec} {MULTI {SELECT 0} {set k 1} {set l 1} EXEC}
    {scripts} {{eval "redis.call('set','k',1)" 0} {eval "redis.call('Set','k',1) redis.call('INCR','k')" 0}}
        {{set k 1} MULTI {Set k 1} {INCR k} EXEC}
    {a script that fails} {{eval "redis.call('set','k',1) redis.call('lpush','k',1)" 0}} {{set k 1}}
    {a script within a transaction} {multi {eval "redis.call('incr','k')" 0} {incr k} exec} {MULTI {incr k} {incr k} EXEC}
    {a script that switches propagation off and on} {{eval "redis.call('incr','k') redis.set_repl(redis.REPL_NONE) redis.call('incr','k') redis.set_repl(redis.REPL_ALL) redis.call('incr','k')" 0}}
        {MULTI {incr k} {incr k} EXEC}
    {times from now} {{set k 1 ex 100} {set k 1 EX 100 xx} {setex k 100 1} {psetex k 100000 1} {set k 1 get ex 100} {expire k 100} {getex k px 100000}}
        {{set k 1 PXAT T} {SET k 1 PXAT T} {SET k 1 PXAT T} {SET k 1 PXAT T} {SET k 1 PXAT T} {PEXPIREAT k T} {PEXPIREAT k T}}
    {times that are absolute} {{set k 1 pxat 9999999999999} {set k 1 get} {set k 1 keepttl get}} {{set k 1 pxat 9999999999999} {set k 1} {set k 1 keepttl}}
    {a time in the past} {{expire k -1}} {{UNLINK k}}
    {a key that a read finds expired} {{set e 1 px 1} pause {get e}} {{set e 1 PXAT T} {UNLINK e}}
    {a key that a command finds expired and makes anew} {{set e 1 px 1} pause {lpush e 1} {del e}}
        {{set e 1 PXAT T} MULTI {UNLINK e} {lpush e 1} EXEC {del e}}
    {a key that a transaction finds expired} {{set e 1 px 1} pause multi {get e} {incr k} {incr k} exec}
        {{set e 1 PXAT T} MULTI {UNLINK e} {incr k} {incr k} EXEC}
    {floats} {{set f 1.5} {incrbyfloat f 0.25} {hincrbyfloat h f 1.5}} {{set f 1.5} {SET f 1.75 KEEPTTL} {HSET h f 1.5}}
    {a member drawn} {{sadd s a} {spop s} {sadd s b} {spop s 5}} {{sadd s a} {SREM s a} {sadd s b} {UNLINK s}}
    {all ways to pop} {{rpush li a b c d e} {lpop li} {blpop li 0} {blmpop 0 1 li left count 2} {rpop li} {zadd z 1 a 2 b} {bzpopmin z 0} {zmpop 1 z max}}
        {{rpush li a b c d e} {lpop li} {LPOP li} {LPOP li 2} {rpop li} {zadd z 1 a 2 b} {ZPOPMIN z} {ZPOPMAX z 1}}
    {moves} {{rpush li a b} {lmove li mi left right} {blmove li mi left right 0} {rpoplpush mi li} {brpoplpush mi li 0}}
        {{rpush li a b} {lmove li mi left right} {LMOVE li mi left right} {rpoplpush mi li} {RPOPLPUSH mi li}}
    {streams} {{xadd x 1-1 f v} {xadd x 1-* f v} {xtrim x maxlen 1} {xgroup create x g 0}}
        {{xadd x 1-1 f v} {xadd x 1-2 f v} {xtrim x maxlen 1} {xgroup create x g 0}}
    {nothing changed} {{del nothing} {setnx k 1} {persist k} {get k}} {}
}

# Commands that 9.1 does not have: it can read what is written.
set newer_forms {
    {options behind fields} {{hset hv f 1 g 2} {hpexpireat hv 9999999999999 fields 2 f g nx} {hsetex hv fields 1 f 3 pxat 9999999999999 fxx} {hgetex hv fields 1 f persist}}
        {{hset hv f 1 g 2} {HPEXPIREAT hv 9999999999999 FIELDS 2 f g} {HSETEX hv PXAT 9999999999999 FIELDS 1 f 3} {HPERSIST hv FIELDS 1 f}}
    {moves of several} {{rpush lv a b c d e} {lmovem lv mv left right} {lmovem lv mv right left count 2 bulk} {lmovem lv mv left left exactly 2 obo}
        {blmovem mv mv left left 0 exactly 5 obo} {lmovem mv lv left left count 2 bulk}}
        {{rpush lv a b c d e} {LMOVE lv mv left right} MULTI {RPOP lv 2} {LPUSH mv e d} EXEC MULTI {LPOP lv 2} {LPUSH mv b c} EXEC
        MULTI {LPUSH mv c b d e a} {RPOP mv 5} EXEC MULTI {LPOP mv 2} {LPUSH lv e a} EXEC}
}

proc aof_form_do {step} {
    switch [lindex $step 0] {
        inline {
            r write [lindex $step 1]\r\n
            r read
        }
        pause { after 5 }
        default { catch { r {*}$step } }
    }
}

proc aof_forms_hold {forms} {
    r debug set-active-expire 0
    set at 0
    set wrong {}
    foreach {what steps expected} $forms {
        foreach step $steps { aof_form_do $step }
        set text [read_file [aof_path incr]]
        set written [regsub -all {\$13\r\n\d{13}\r\n} [string range $text $at end] "\$1\r\nT\r\n"]
        set expected [string map {9999999999999 T} $expected]
        set expected [aof_text {*}$expected]
        if {$expected ne $written} { append wrong "\n$what: [string map {\r\n { }} "$written instead of $expected"]" }
        set at [string length $text]
    }
    assert_equal {} $wrong
}

tags {external:skip needs:debug} {
    start_server {overrides {appendonly yes appendfsync always save {}}} {
        test {the append-only file has the expected bytes} { aof_forms_hold [concat $::aof_forms $::newer_forms] }

        test {the append-only file restores the same data} {
            set digest [r debug digest]
            r debug loadaof
            assert_equal $digest [r debug digest]
        }
    }

    if {[valkey_oracle] eq {}} {
        test {Valkey 9.1 writes the same bytes} { skip "no valkey-server 9.1 here" }
    } else {
        start_server [list executable [valkey_oracle] overrides {appendonly yes appendfsync always save {} enable-debug-command yes}] {
            test {Valkey 9.1 writes the same bytes} { aof_forms_hold $::aof_forms }
        }
    }
}
