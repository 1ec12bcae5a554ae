# What COMMAND says, compared with what Redis 7.0 says about the commands that both have: clients and cluster proxies
# route by these facts. Then the answers of COMMAND's subcommands, in both protocols.

# Flattens COMMAND's reply, subcommands included: name -> dict of comparable facts.
proc command_facts {entries} {
    set all [dict create]
    foreach e $entries {
        lassign $e name arity flags first last step categories tips specs subcommands
        dict set all $name [dict create arity $arity flags [comparable_flags $flags] keys [list $first $last $step] \
            categories [lsort $categories] specs [comparable_specs $specs]]
        set all [dict merge $all [command_facts $subcommands]]
    }
    return $all
}

# Valkey renamed the slow log's flag when the log became the command log.
proc comparable_flags {flags} {
    return [lsort [lmap f $flags { expr {$f eq "skip_slowlog" ? "skip_commandlog" : $f} }]]
}

# Notes are prose.
proc comparable_specs {specs} {
    return [lmap spec $specs {
        dict unset spec notes
        dict set spec flags [lsort [dict get $spec flags]]
        set spec
    }]
}

# What Valkey has changed since: scripts may call BLPOP, BZPOPMIN and their like, which then do not wait; ZRANK and ZREVRANK
# take WITHSCORE; GETKEYS looks at a lone command name, too; SINTERSTORE overwrites its target without reading it; what GEORADIUS
# stores to has variable flags;
# MEMORY PURGE and MALLOC-STATS run while data is loaded.
# MULTI and WATCH say that they are not for use within MULTI.
set changed_since {
    arity {command|getkeys command|getkeysandflags zrank zrevrank}
    flags {blmove blpop brpop brpoplpush bzpopmax bzpopmin memory|malloc-stats memory|purge multi watch}
    keys {} categories {} specs {georadius georadiusbymember sinterstore}
}

# Commands that came after 7.0, or that Valkey alone has: arity, flags, key positions, categories, and the flags of each key
# specification.
set since {
    client|capa -3 {loading noscript stale} {0 0 0} {@connection @slow} {}
    client|import-source 3 {loading noscript stale} {0 0 0} {@connection @slow} {}
    client|no-touch 3 {loading noscript stale} {0 0 0} {@connection @slow} {}
    client|setinfo 4 {loading noscript stale} {0 0 0} {@connection @slow} {}
    commandlog -2 {} {0 0 0} {@slow} {}
    commandlog|get 4 {admin loading stale} {0 0 0} {@admin @dangerous @slow} {}
    commandlog|help 2 {loading stale} {0 0 0} {@slow} {}
    commandlog|len 3 {admin loading stale} {0 0 0} {@admin @dangerous @slow} {}
    commandlog|reset 3 {admin loading stale} {0 0 0} {@admin @dangerous @slow} {}
    delifeq 3 {write} {1 1 1} {@slow @string @write} {{RM delete}}
    hexpire -6 {fast write} {1 1 1} {@fast @hash @write} {{RW update}}
    hexpireat -6 {fast write} {1 1 1} {@fast @hash @write} {{RW update}}
    hexpiretime -5 {fast readonly} {1 1 1} {@fast @hash @read} {{RO access}}
    hgetdel -5 {fast write} {1 1 1} {@fast @hash @write} {{RW access delete}}
    hgetex -5 {fast write} {1 1 1} {@fast @hash @write} {{RW access update}}
    hpersist -5 {fast write} {1 1 1} {@fast @hash @write} {{RW update}}
    hpexpire -6 {fast write} {1 1 1} {@fast @hash @write} {{RW update}}
    hpexpireat -6 {fast write} {1 1 1} {@fast @hash @write} {{RW update}}
    hpexpiretime -5 {fast readonly} {1 1 1} {@fast @hash @read} {{RO access}}
    hpttl -5 {fast readonly} {1 1 1} {@fast @hash @read} {{RO access}}
    hsetex -6 {denyoom fast write} {1 1 1} {@fast @hash @write} {{RW insert}}
    httl -5 {fast readonly} {1 1 1} {@fast @hash @read} {{RO access}}
    msetex -4 {denyoom movablekeys write} {0 0 0} {@slow @string @write} {{OW update}}
    script|show 3 {noscript} {0 0 0} {@scripting @slow} {}
}

start_server {tags {introspection external:skip}} {
    if {[oracle] eq {}} {
        test {COMMAND INFO agrees with Redis 7.0} { skip "no redis-server here" }
    } else {
        set ours [command_facts [r command]]
        start_server [list executable [oracle]] {
            set theirs [command_facts [r command]]
        }

        test {COMMAND INFO of what Redis 7.0 does not know} {
            set compared {}
            foreach {name arity flags keys categories key_flags} $since {
                set facts [dict get $ours $name]
                set found [lmap spec [dict get $facts specs] { dict get $spec flags }]
                assert_equal [list $arity $flags $keys $categories $key_flags] \
                    [list [dict get $facts arity] [dict get $facts flags] [dict get $facts keys] [dict get $facts categories] $found] $name
                lappend compared $name
            }
            assert_equal [lsort $compared] [lsort [lmap name [dict keys $ours] {
                if {[dict exists $theirs $name]} continue
                set name
            }]]
        }

        foreach {field changed} $changed_since {
            test "COMMAND INFO agrees with Redis 7.0: $field" {
                set compared 0
                set different {}
                set details {}
                dict for {name facts} $ours {
                    if {![dict exists $theirs $name]} continue
                    incr compared
                    set a [dict get $facts $field]
                    set b [dict get $theirs $name $field]
                    if {$a eq $b} continue
                    lappend different $name
                    lappend details "$name: $a, not $b"
                }
                assert_equal $changed [lsort $different] [join $details \n]
                assert_morethan $compared 100
            }
        }
    }
}

start_server {tags {introspection}} {
    test {COMMAND GETKEYS finds keys at fixed places, in ranges, and where a number says} {
        assert_equal a [r command getkeys get a]
        assert_equal {a c} [r command getkeys mset a b c d]
        assert_equal {a b} [r command getkeys bzpopmin a b 0]
        assert_equal {d a b} [r command getkeys zunionstore d 2 a b weights 1 2]
        assert_equal {a b} [r command getkeys zintercard 2 a b limit 1]
        assert_equal {a b} [r command getkeys bzmpop 0 2 a b min]
        assert_equal a [r command getkeys object encoding a]
    }

    test {COMMAND GETKEYS of a script that names no keys, or wrongly, gives none} {
        assert_equal {a b} [r command getkeys eval s 2 a b c]
        assert_equal {} [r command getkeys eval s 0 a]
        assert_equal {} [r command getkeys eval s x a]
        assert_equal {} [r command getkeys eval s -1 a]
        assert_equal {} [r command getkeys eval s 2 a]
    }

    test {COMMAND GETKEYS refuses what has no keys} {
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

    test {COMMAND GETKEYSANDFLAGS: SET reads only when it is asked to} {
        assert_equal {{a {OW update}}} [r command getkeysandflags set a b ex 10]
        assert_equal {{a {OW update}}} [r command getkeysandflags set a get]
        assert_equal {{a {RW access update}}} [r command getkeysandflags set a b get]
        assert_equal {{a {RW access update}}} [r command getkeysandflags set a b IFEQ c]
        assert_equal {{d {OW update}} {a {RO access}}} [r command getkeysandflags zunionstore d 1 a]
    }

    test {COMMAND LIST filters} {
        assert_equal {config|get config|help config|resetstat config|rewrite config|set} \
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

    test {COMMAND INFO of a subcommand, and of what is not there} {
        assert_equal config|get [lindex [r command info config|get] 0 0]
        assert_equal {{} {}} [r command info nosuch config|nosuch]
    }

    test {COMMAND DOCS: unknown names are left out, subcommands stand in their container} {
        assert_equal {} [r command docs nosuch]
        assert_equal getset [lindex [r command docs nosuch getset config|nosuch] 0]
        set doc [dict get [r command docs getset] getset]
        assert_equal deprecated [dict get $doc doc_flags]
        assert_equal 6.2.0 [dict get $doc deprecated_since]
        assert_match *SET* [dict get $doc replaced_by]
        set subcommands [dict get [r command docs config] config subcommands]
        assert {[dict exists $subcommands config|get summary]}
        assert_equal [dict get $subcommands config|get] [dict get [r command docs config|get] config|get]
    }

    test {COMMAND DOCS: arguments} {
        set args [dict get [r command docs zadd] zadd arguments]
        assert_equal {name key type key key_spec_index 0} [lindex $args 0]
        assert_equal oneof [dict get [lindex $args 1] type]
        assert_equal optional [dict get [lindex $args 1] flags]
        assert_equal {{name nx type pure-token token NX} {name xx type pure-token token XX}} \
            [dict get [lindex $args 1] arguments]
        assert_equal multiple [dict get [lindex $args end] flags]
    }

    test {COMMAND in RESP3 has sets and maps} {
        r hello 3
        r deferred 1
        r command info config|get
        foreach line {*1 *10 $10 config|get :-3 ~4} { assert_equal $line [r rawread] }
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
