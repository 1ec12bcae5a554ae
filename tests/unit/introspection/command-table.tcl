# The facts of COMMAND, compared with those of a running Valkey 9.1: clients and cluster proxies route by them, and
# build their help from them. Sentences are prose: only their presence counts. After that, the replies of COMMAND's
# subcommands in both protocols.

source -encoding utf-8 $::support/command_facts.tcl
source -encoding utf-8 $::support/since_9_1.tcl

start_server {tags {introspection external:skip}} {
    if {[valkey_oracle] eq {}} {
        test {COMMAND INFO and COMMAND DOCS agree with Valkey 9.1} { skip "no Valkey to compare with: utils/oracle fetches it" }
    } else {
        set info [info_facts [r command]]
        set docs [doc_facts [r command docs]]
        start_server [list executable [valkey_oracle]] {
            set theirs_info [info_facts [r command]]
            set theirs_docs [doc_facts [r command docs]]
        }

        test {COMMAND INFO has the same facts as Valkey 9.1 for every command} {
            assert_morethan [dict size $theirs_info] 350
            assert_equal {} [differences [since_9_1::without_changed $theirs_info] [since_9_1::without_changed $info]]
        }

        test {COMMAND DOCS has the same facts as Valkey 9.1 for every command, in words of its own} {
            assert_equal {} [differences [since_9_1::without_changed $theirs_docs] [since_9_1::without_changed $docs]]
        }
    }
}

start_server {tags {introspection}} {
    test {COMMAND GETKEYS finds keys at fixed places, in ranges, and by a key count} {
        assert_equal a [r command getkeys get a]
        assert_equal {a c} [r command getkeys mset a b c d]
        assert_equal {a b} [r command getkeys bzpopmin a b 0]
        assert_equal {d a b} [r command getkeys zunionstore d 2 a b weights 1 2]
        assert_equal {a b} [r command getkeys zintercard 2 a b limit 1]
        assert_equal {a b} [r command getkeys bzmpop 0 2 a b min]
        assert_equal a [r command getkeys object encoding a]
    }

    test {COMMAND GETKEYS of a script with no keys or a wrong number replies none} {
        assert_equal {a b} [r command getkeys eval s 2 a b c]
        assert_equal {} [r command getkeys eval s 0 a]
        assert_equal {} [r command getkeys eval s x a]
        assert_equal {} [r command getkeys eval s -1 a]
        assert_equal {} [r command getkeys eval s 2 a]
    }

    test {COMMAND GETKEYS refuses commands without keys} {
        assert_error "ERR Invalid command specified" { r command getkeys nosuchcommand a }
        assert_error "ERR Invalid command specified" { r command getkeys object nosuch a }
        assert_error "ERR The command has no key arguments" { r command getkeys config get a }
        assert_error "ERR The command has no key arguments" { r command getkeys ping a }
        assert_error "ERR Invalid number of arguments specified for command" { r command getkeys zadd a }
        assert_error "ERR Invalid arguments specified for command" { r command getkeys zunion 3 a b }
        assert_error "ERR Invalid arguments specified for command" { r command getkeys zunion 0 a b }
        assert_error "ERR Invalid arguments specified for command" { r command getkeys zunion x a b }
        assert_error "ERR Invalid arguments specified for command" { r command getkeys zunion 9223372036854775807 a b }
        assert_error "*wrong number of arguments for 'command|getkeys' command" { r command getkeys }
    }

    test {COMMAND GETKEYSANDFLAGS: SET reads only with GET} {
        assert_equal {{a {OW update}}} [r command getkeysandflags set a b ex 10]
        assert_equal {{a {OW update}}} [r command getkeysandflags set a get]
        assert_equal {{a {RW access update}}} [r command getkeysandflags set a b get]
        assert_equal {{a {RW access update}}} [r command getkeysandflags set a b IFEQ c]
        assert_equal {{d {OW update}} {a {RO access}}} [r command getkeysandflags zunionstore d 1 a]
    }

    test {COMMAND LIST filters} {
        assert_equal {config|get config|help config|info config|resetstat config|rewrite config|set} \
            [lsort [r command list filterby pattern {CONFIG|*}]]
        set scripting [lsort [r command list filterby aclcat scripting]]
        assert {"eval" in $scripting && "script|load" in $scripting && "get" ni $scripting}
        assert_equal $scripting [lsort [r command list filterby aclcat SCRIPTING]]
        assert_equal {} [r command list filterby aclcat nosuch]
        assert_equal {} [r command list filterby module nosuch]
        assert_error "ERR syntax error" { r command list filterby }
        assert_error "ERR syntax error" { r command list filterby nosuch x }
        assert_error "ERR syntax error" { r command list filterby pattern a b }
    }

    test {COMMAND INFO of a subcommand, and of an unknown command} {
        assert_equal config|get [lindex [r command info config|get] 0 0]
        assert_equal {{} {}} [r command info nosuch config|nosuch]
    }

    test {COMMAND DOCS: unknown names are left out, subcommands are in their container} {
        assert_equal {} [r command docs nosuch]
        assert_equal getset [lindex [r command docs nosuch getset config|nosuch] 0]
        set doc [dict get [r command docs slaveof] slaveof]
        assert_equal deprecated [dict get $doc doc_flags]
        assert_equal 5.0.0 [dict get $doc deprecated_since]
        assert_match *REPLICAOF* [dict get $doc replaced_by]
        assert_equal {2.8.0} [lmap change [dict get [r command docs ttl] ttl history] { lindex $change 0 }]
        set subcommands [dict get [r command docs config] config subcommands]
        assert {[dict exists $subcommands config|get summary]}
        assert_equal [dict get $subcommands config|get] [dict get [r command docs config|get] config|get]
    }

    test {COMMAND DOCS: arguments} {
        set args [dict get [r command docs zadd] zadd arguments]
        assert_equal {name key type key display_text key key_spec_index 0} [lindex $args 0]
        assert_equal oneof [dict get [lindex $args 1] type]
        assert_equal optional [dict get [lindex $args 1] flags]
        assert_equal {{name nx type pure-token display_text nx token NX} {name xx type pure-token display_text xx token XX}} \
            [dict get [lindex $args 1] arguments]
        assert_equal multiple [dict get [lindex $args end] flags]
    }

    test {COMMAND in RESP3 has sets and maps} {
        r hello 3
        r deferred 1
        r command info config|get
        foreach line {*1 *10 $10 config|get :-3 ~4} { assert_equal $line [r rawread] }
        while {[set line [r rawread]] ne "*0"} { assert {[string index $line 0] in {+ : ~}} $line }
        r deferred 0
        r reconnect
        r hello 3
        r deferred 1
        r command getkeysandflags get a
        foreach line {*1 *2 $1 a ~2 +RO +access} { assert_equal $line [r rawread] }
        r command docs ping
        foreach line {%1 $4 ping} { assert_equal $line [r rawread] }
        assert_match "%*" [r rawread]
        r deferred 0
        r reconnect
    }

    test {COMMAND HELP} {
        assert_match "COMMAND <subcommand>*" [lindex [r command help] 0]
        assert_error "ERR unknown subcommand 'nosuch'. Try COMMAND HELP." { r command nosuch }
        assert_error "*wrong number of arguments for 'command|count' command" { r command count x }
    }
}
