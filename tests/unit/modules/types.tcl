# Data types of modules (tests/modules/types.c), on this server and the oracle: the order of callbacks, and values
# loaded from files.

source -encoding utf-8 $::support/module.tcl
source -encoding utf-8 [file dirname [info script]]/../persist/aof_util.tcl
source -encoding utf-8 [file dirname [info script]]/../persist/rdb_util.tcl

with_modules {types} {overrides {save {} enable-debug-command yes}} {
    test {a value of a module is set, read, replaced, and knows its type} {
        assert_equal 0 [r types.set typesfull k note 1 -2 9223372036854775807 -9223372036854775808]
        assert_equal {note 0.1 2.5 1 1 -2 9223372036854775807 -9223372036854775808} [r types.get k]
        assert_equal typesfull [r type k]
        assert_equal raw [r object encoding k]
        r types.set typesbase b {} 5
        assert_equal typesbase [r type b]
        assert_equal 4 [r types.replace k 7]
        assert_equal {replaced 0 0 0 7} [r types.get k]
        r set s text
        assert_equal 1 [r types.get s]
        assert_equal {1 1 1 0 1 0} [r types.misuse k]
        assert_equal {1 1 1 0 1 0} [r types.misuse b]
        assert_error {WRONGTYPE*} { r get k }
        assert_error {WRONGTYPE*} { r rpush k x }
    }

    test {SCAN and TYPE know the names of modules' types} {
        assert_equal k [lindex [r scan 0 type typesfull] 1]
        assert_equal b [lindex [r scan 0 type TYPESBASE] 1]
        assert_equal {} [lindex [r scan 0 type typesmidd] 1]
        assert_equal s [lindex [r scan 0 type string] 1]
        assert_error {ERR unknown type name 'typesnone'} { r scan 0 type typesnone }
        assert_error {ERR unknown type name 'module'} { r scan 0 type module }
    }

    test {a value that is overwritten, deleted or flushed is freed once} {
        r flushall sync
        set before [r types.freed]
        r types.set typesfull k a 1
        r types.set typesfull k b 1 2
        r set k text
        r types.set typesbase k c
        r del k
        r types.set typesmidd k d
        r flushall sync
        assert_equal [expr {$before + 4}] [r types.freed]
    }

    test {unlink gets the key and its database, but is not called at FLUSHALL} {
        r select 9
        r flushall
        r types.set typesfull k a 1 2
        r types.events
        r types.set typesfull k a 1 2 3
        assert_equal {unlink2 k 9 2;} [r types.events]
        r del k
        assert_equal {unlink2 k 9 3;} [r types.events]
        r types.set typesmidd k a 1
        r unlink k
        assert_equal {unlink k 1;} [r types.events]
        r types.set typesbase k a 1
        r del k
        assert_equal {} [r types.events]
        r types.set typesfull k a 1
        r flushall
        assert_equal {} [r types.events]
        r types.set typesfull k a 1
        r set k x
        assert_equal {unlink2 k 9 1;} [r types.events]
        r types.set typesfull k a 1
        assert_equal {} [r types.events]
        r rename k l
        assert_equal {unlink2 k 9 1;} [r types.events]
        r move l 3
        assert_equal {unlink2 l 9 1;} [r types.events]
        r select 3
        assert_equal {a 0.1 2.5 1 1} [r types.get l]
        r pexpire l 1
        after 10
        r exists l
        assert_equal {unlink2 l 3 1;} [r types.events]
        r select 9
    }

    test {the effort of freeing decides the thread} {
        r select 9
        r flushall sync
        r config resetstat
        set before [r types.freed]
        r types.set typesfull k a {*}[lrepeat 64 1]
        r types.set typesfull l a {*}[lrepeat 65 1]
        r types.set typesmidd m a {*}[lrepeat 65 1]
        r types.set typesbase n a {*}[lrepeat 65 1]
        r types.set typesfull o a
        r types.switch effort 1
        r types.events
        foreach key {k l m} { r unlink $key }
        assert_equal {unlink2 k 9 64;effort2 k 9;unlink2 l 9 65;effort2 l 9;unlink m 65;effort m;} [r types.events]
        r types.switch effort 0
        r unlink n o
        wait_for_condition 200 50 { [r types.freed] == $before + 5 } else { fail {not all freed} }
        assert_equal 3 [status r lazyfreed_objects]
    }

    test {MEMORY USAGE calls the type} {
        r select 9
        r flushall
        r types.set typesfull k a 1 2 3
        r types.set typesbase b a 1 2
        r types.events
        assert_range [r memory usage k] 1000003 1000203
        assert_equal {memory k - 9 -1 5;} [r types.events]
        r memory usage k samples 17
        assert_equal {memory k - 9 -1 17;} [r types.events]
        assert_range [r memory usage b] 1000002 1000202
    }

    test {COPY calls the type} {
        r select 9
        r flushall
        r types.set typesfull k a 1 2 3
        r types.set typesmidd m a 1 2
        r types.set typesbase b a 1 2
        r types.set typesfull refuses a {*}[lrepeat 13 1]
        r types.events
        assert_equal 1 [r copy k c db 4]
        assert_equal {copy2 k c 9 4;} [r types.events]
        assert_equal 1 [r copy m d]
        assert_equal {copy m d;} [r types.events]
        assert_error {ERR not supported for this module key} { r copy b e }
        r set there text
        assert_error {ERR module key failed to copy} { r copy refuses there replace }
        r select 4
        assert_equal {a 0.1 2.5 1 1 2 3} [r types.get c]
        r select 9
        assert_equal {a 0.1 2.5 1 1 2} [r types.get d]
    }

    test {digests} {
        r select 9
        r flushall
        r types.set typesfull k note 1 2 3
        r types.events
        set digest [r debug digest-value k]
        assert_equal {digest k 9;} [r types.events]
        r types.set typesfull l note 1 2 3
        assert_equal $digest [r debug digest-value l]
        r types.push k 4
        assert {$digest ne [r debug digest-value k]}
        r types.set typesfull l {} 1 2 3
        assert {$digest ne [r debug digest-value l]}
    }

    test {DUMP and RESTORE} {
        r select 9
        r flushall
        r types.set typesfull k {} -1 300
        r types.events
        set dump [r dump k]
        assert_equal {save k 9;} [r types.events]
        # The version and its checksum differ between the servers.
        binary scan [string range $dump 0 end-10] H* hex
        assert_equal 0781b72a5eb1fba5940702020281fff [string range $hex 0 30]
        assert_equal OK [r restore l 0 $dump]
        assert_equal {load l 9 v7;} [r types.events]
        assert_equal {{} 0.1 2.5 1 -1 300} [r types.get l]
        assert_equal [string range $dump 0 end-10] [string range [r dump l] 0 end-10]
        r types.events
        assert_equal OK [r restore k 0 $dump replace]
        assert_equal {load k 9 v7;unlink2 k 9 2;} [r types.events]
        r types.switch loadfails 1
        assert_error {ERR Bad data format} { r restore m 0 $dump }
        r types.switch loadfails 0
        assert_error {ERR DUMP payload version or checksum are wrong} { r restore m 0 [string range $dump 0 end-1] }
    }

    test {a value is converted to a string and back} {
        r types.set typesfull k note 1 -1
        lassign [r types.through k] text n
        assert_equal 2 $n
        binary scan $text H* hex
        assert_equal 020202010281ffffffffffffffff05046e6f7465050461006200049a9999999999b93f030000204005 [string range $hex 0 81]
    }
}

with_modules {types} {overrides {save {} enable-debug-command yes}} {
    test {all data of modules survives DEBUG RELOAD} {
        r flushall
        for {set i 0} {$i < 100} {incr i} {
            r select [expr {$i % 3}]
            r types.set [randomElement {typesfull typesmidd typesbase}] key:$i [randomElement {{} note 17 {a longer note, of which there are some: aaaaaaaaaaaaaaaaaaaaaaaaaaa}}] {*}[lrepeat $i -$i]
        }
        r types.aside before {}
        set digest [r debug digest]
        r types.events
        r debug reload
        assert_equal $digest [r debug digest]
        assert_equal {before {}} [r types.aside]
        r select 1
        assert_equal 5 [llength [r types.get key:1]]
        set events [r types.events]
        assert_match {*save key:1 1;*load key:1 1 v*} $events
        assert_match {*aside v7 1;*load *aside v7 2;*} $events
    }

    test {a type without auxiliary data writes none into the file} {
        r types.aside - behind
        r types.events
        r debug reload
        assert_match {*load *aside v7 2;} [r types.events]
        r types.aside - -
        r debug reload
        assert_no_match {*aside*} [r types.events]
    }
}

with_modules {types} {overrides {save {} enable-debug-command yes appendonly yes aof-use-rdb-preamble no}} {
    test {values are rewritten as commands} {
        r flushall
        r types.set typesfull k note 1 2 3
        r types.set typesfull l other
        r pexpire l 100000
        r bgrewriteaof
        aof_wait_rewrite
        r debug loadaof
        assert_equal {note 0.1 2.5 1 1 2 3} [r types.get k]
        assert_range [r pttl l] 1 100000
    }

    test {a rewrite with a command that does not exist fails} {
        foreach {how text} {1 {Fatal: AOF method for module data type 'typesfull' tried to emit unknown command 'no.such.command'*} 2 {Fatal: AOF method for module data type 'typesfull' tried to call *EmitAOF() with wrong format specifiers 's[?]'*}} {
            r types.switch emit $how
            r bgrewriteaof
            aof_wait_rewrite
            assert_equal err [status r aof_last_bgrewrite_status]
        }
    }
}

# A file that the one has written the other reads.
beside_modules {types} {overrides {save {}}} {
    test {both servers restore each other's dumps} {
        foreach {from to} {ours valkey valkey ours} {
            r [at $from] flushall
            r [at $to] flushall
            foreach type {typesfull typesmidd typesbase} { r [at $from] types.set $type $type note 1 2 -70000 1099511627776 }
            foreach type {typesfull typesmidd typesbase} {
                r [at $to] restore $type 0 [r [at $from] dump $type]
                assert_equal [r [at $from] types.get $type] [r [at $to] types.get $type]
            }
        }
    } {} {valgrind:skip} ;# which reckons with 64 bits of a long double
}

with_modules {{types careful}} {overrides {save {} enable-debug-command yes}} {
    test {a module that handles errors gets an error at data that ends too early} {
        r types.set typesfull k note 1 -1
        set whole [string length [lindex [r types.through k] 0]]
        for {set n 0} {$n < $whole} {incr n} { assert_equal -1 [lindex [r types.through k $n] 1] $n }
        assert_equal 2 [lindex [r types.through k $whole] 1]
        assert_morethan [count_log_message {<types> types: not whole}] 10
        assert_equal {note 0.1 2.5 1 1 -1} [r types.get k]
    }

    test {the dataset is saved to any file, and read from it} {
        set path [srv dir]/other.rdb
        r flushall
        r types.set typesfull k note 1
        r set text value
        r types.aside before behind
        assert_error {ERR Invalid argument} { r types.file save $path 1 }
        assert_error {ERR Invalid argument} { r types.file load $path 1 }
        assert_equal OK [r types.file save $path 0]
        r set later x
        r del k
        r types.aside - -
        assert_equal OK [r types.file load $path 0]
        assert_equal {note 0.1 2.5 1 1} [r types.get k]
        assert_equal {before behind} [r types.aside]
        assert_equal {k text} [lsort [r keys *]]
        assert_error {ERR No such file or directory} { r types.file load [srv dir]/none.rdb 0 }
        assert_equal {k text} [lsort [r keys *]]
        set f [open [srv dir]/bad.rdb w]
        puts -nonewline $f REDIS0011garbage
        close $f
        assert_error {ERR Input/output error} { r types.file load [srv dir]/bad.rdb 0 }
        assert_error {ERR *} { r types.file save [srv dir]/no/such/folder.rdb 0 }
        assert_equal PONG [r ping]
    }

    test {a field of a hash gets a text that the module keeps} {
        r del h s
        r hset h f value g value
        r set s text
        assert_equal 0 [r types.ref h f {the module's}]
        assert_equal -1 [r types.ref h none text]
        assert_equal 1 [r types.ref s f text]
        assert_equal 1 [r types.ref absent f text]
        assert_equal {f {the module's} g value} [lsort -stride 2 [r hgetall h]]
        r hset h f other
        assert_equal other [r hget h f]
        assert_equal {0 0 1} [list [r types.isref h f] [r types.isref h g] [r types.isref s f]]
        # What the module writes there is the hash's value; its copies keep the old one.
        set long [string repeat "a long text " 30]
        r types.ref h f {the module's}
        r types.ref h g $long
        assert_equal {1 1 hashtable} [list [r types.isref h f] [r types.isref h g] [r object encoding h]]
        assert_equal [list 12 360 {the module's}] [list [r hstrlen h f] [r hstrlen h g] [lindex [r hmget h f] 0]]
        r hset h more 1 third 3
        r copy h copied
        r restore restored 0 [r dump h]
        r types.retext
        assert_equal [list {THE MODULE'S} [string toupper $long]] [r hmget h f g]
        foreach key {copied restored} {
            assert_equal [list {the module's} $long] [r hmget $key f g]
            assert_equal {0 0} [list [r types.isref $key f] [r types.isref $key g]]
        }
        # A time to live, and its end, change nothing of that.
        r hexpire h 100 fields 2 f g
        assert_equal {1 1} [list [r types.isref h f] [r types.isref h g]]
        r hpersist h fields 1 f
        assert_equal [list 1 {THE MODULE'S} 1] [list [r types.isref h f] [r hget h f] [r types.isref h g]]
        r types.ref h more other
        r hset h f mine
        r hincrby h third 1
        assert_equal {0 1 mine OTHER} [list [r types.isref h f] [r types.isref h more] [r hget h f] [string toupper [r hget h more]]]
        r hdel h g
        assert_equal {f mine more other third 4} [lsort -stride 2 [r hgetall h]]
        assert_range [r memory usage h] 50 2000
        r debug reload
        assert_equal {other 0} [list [r hget h more] [r types.isref h more]]
        r types.ref h f again
        r del h
    }

    test {ResetDataset empties all databases} {
        foreach {restart async} {0 0 1 1} {
            foreach db {0 9} {
                r select $db
                r set a b
                r types.set typesfull k note 1
            }
            assert_equal OK [r types.reset $restart $async]
            foreach db {0 9} {
                r select $db
                assert_equal 0 [r dbsize]
            }
        }
    }

    test {values that the module cannot load end the loading} {
        set path [srv dir]/refused.rdb
        r types.set typesfull k note 1
        r types.file save $path 0
        r types.switch loadfails 1
        assert_error {ERR Input/output error} { r types.file load $path 0 }
        r types.switch loadfails 0
        if {$kind eq "ours"} { assert_match {*the end mark after a value of the module 'types' is missing*} [read_file [srv log]] }
    }
}

# On a replica, and where the type is not loaded.
foreach kind {ours valkey} {
    set load [module_overrides {{types careful}} {}]
    set loaded [list kind $kind overrides [concat $load {save {} repl-diskless-sync-delay 0 repl-diskless-load swapdb}]]
    set bare [list kind $kind overrides [concat [module_overrides {{types without careful}} {}] {save {}}]]
    start_servers [list primary $loaded replica $loaded bare $bare] [string map [list KIND [expr {$kind eq {ours} ? {} : ", $kind"}]] {
        test {a replica gets the values of modulesKIND} {
            r [at primary] types.set typesfull k note 1 2
            r [at primary] types.set typesbase b note {*}[lrepeat 1000 -1]
            r [at primary] types.aside before behind
            follow replica primary
            foreach key {k b} { assert_equal [r [at primary] types.get $key] [r [at replica] types.get $key] }
            assert_equal {before behind} [r [at replica] types.aside]
            assert_morethan_equal [count_log_message {because there are modules that } [at replica]] 1
            assert_error {ERR Operation not supported} { r [at replica] types.file load /nowhere 0 }
        }

        test {data of a type that is not loaded is refusedKIND} {
            set path [srv [at primary] dir]/primary.rdb
            r [at primary] types.aside - -
            r [at primary] types.file save $path 0
            # (9.1.2 ends at once.)
            if {{KIND} eq {}} { assert_error {ERR Input/output error} { r [at bare] types.file load $path 0 } }
            if {{KIND} eq {}} { assert_match {*auxiliary data of the module 'types*', which is not loaded*} [read_file [srv [at bare] log]] }
            assert_error {ERR Bad data format*} { r [at bare] restore k 0 [r [at primary] dump k] }
        }

        if {{KIND} eq {}} {
            test {a replica without the module leaves its data out, with rdb-skip-unknown-types} {
                r [at bare] config set rdb-skip-unknown-types yes
                r [at primary] types.aside before behind
                r [at primary] set plain v
                foreach load {disabled swapdb} {
                    r [at bare] config set repl-diskless-load $load
                    follow bare primary
                    assert_equal {v 0 0} [list [r [at bare] get plain] [r [at bare] exists k] [r [at bare] exists b]]
                    assert_equal [expr {[r [at primary] dbsize] - [r [at bare] dbsize]}] [s [at bare] rdb_last_load_keys_skipped]
                    assert_match {*Skipped: the value with the module type types* of key "k" in database 0*} [read_file [srv [at bare] log]]
                    r [at bare] replicaof no one
                    r [at bare] flushall
                }
                assert_match {*Skipped: auxiliary data of the module 'types*} [read_file [srv [at bare] log]]
                r [at bare] config set rdb-skip-unknown-types no repl-diskless-load disabled
                r [at primary] types.aside - -
                r [at primary] del plain
            }
        }

        test {valkey-check-rdb skips the data of modulesKIND} {
            set path [srv [at primary] dir]/primary.rdb
            r [at primary] types.aside before behind
            r [at primary] types.file save $path 0
            lassign [check_rdb $path] code output
            assert_equal 0 $code $output
            assert_match {*MODULE AUX for: typesfull*} $output
        }
    }]
}

with_modules {types} {kinds ours overrides {save {} enable-debug-command yes}} {
    test {defragmentation moves values of modules, at once or in pieces} {
        r select 9
        for {set i 0} {$i < 200} {incr i} { r types.set [randomElement {typesfull typesmidd}] d:$i note {*}[lrepeat $i $i] }
        foreach {fields late} {1000000 0 50 1} {
            set before [lmap i {0 1 60 199} { r types.get d:$i }]
            config_set active-defrag-max-scan-fields $fields
            lassign [r types.defrag] calls lates globals
            assert_equal OK [r debug defrag-all]
            lassign [r types.defrag] calls_now lates_now globals_now bad
            assert_morethan_equal $calls_now [expr {$calls + 200}]
            # (The value without elements takes an unknown effort: it is late always.)
            assert_equal [expr {$late ? 150 * 4 : 4}] [expr {$lates_now - $lates}]
            assert_morethan $globals_now $globals
            assert_equal 0 $bad
            assert_equal $before [lmap i {0 1 60 199} { r types.get d:$i }]
        }
        r flushall sync
    }
}

# 9.1.2 does not survive its own child's end here, or a SAVE.
with_modules {unsaved} {kinds {ours}} {
    test {a value that could not be loaded again makes the save fail} {
        r set there 1
        assert_equal OK [r save]
        r unsaved.set k
        assert_equal unsaved-1 [r type k]
        assert_error "ERR*" { r save }
        assert_match {*'unsaved-1' cannot be saved: it has no rdb_save or no rdb_load*} [read_file [srv log]]
        r bgsave
        wait_for_condition 100 50 {[s rdb_bgsave_in_progress] == 0} else { fail "it does not end" }
        assert_equal err [s rdb_last_bgsave_status]
        r config set appendonly yes
        wait_for_condition 100 50 {[s aof_last_bgrewrite_status] eq "err"} else { fail "it is rewritten" }
        r config set appendonly no
        r del k
        assert_equal OK [r save]
    }
}
