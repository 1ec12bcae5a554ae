# Keys and channels of modules' commands, in every form of declaration (tests/modules/keys.c): the facts in COMMAND,
# and the rights of users, compared with the oracle.

source -encoding utf-8 $::support/module.tcl

set users {
    limited {%R~r* %W~w* &c*}
    nothing {resetchannels}
    all {~* &*}
    some {~r* ~w1 &c*}
    reader {%R~* &c?}
    writer {%W~* &*}
    selectors {~q* (~r* &c* +keys.api) (%W~w* +keys.apiwrite +keys.mixed)}
    database {~r* resetdbs db=1}
}
set lines {
    {} r1 w1 z {r1 r2} {r1 w1} {w1 r1} {r1 z w1} {w1 x FROM z} {w1 x FROM r1} {w1 FROM} {KEYS r1 z} {x KEYS r1 r2}
    {1 r1} {2 r1 z} {0} {9 r1} {x r1} {-1 r1} {STREAMS r1 z 0 0} {STREAMS r1 z 0} {r1 key z} {w1 write w2}
    {api key z} {api publish z} {api read r1 subscribe c1} {one z} {one w1}
}
foreach word {key read write delete exists nothing} {
    foreach key {r1 w1 z} { lappend lines [list $word $key] }
}
foreach word {subscribe psubscribe publish unsubscribe} {
    foreach channel {c1 c* z} { lappend lines [list $word $channel] }
}

beside_modules {keys} {} {
    set names [lsort [r [at ours] command list filterby module keys]]

    test {COMMAND INFO of commands with keys of all kinds} {
        assert_equal [lsort [r [at valkey] command list filterby module keys]] $names
        foreach name $names { both command info $name }
    }

    test {keys are found by a module's key specs} {
        foreach name $names {
            if {[string match {*|*} $name]} continue
            foreach line $lines {
                both command getkeys $name {*}$line
                both command getkeysandflags $name {*}$line
            }
        }
    }

    foreach {user rules} $users {
        test "may $user run it?" {
            both acl setuser $user on nopass +@all {*}$rules
            foreach kind {ours valkey} {
                set c [valkey_client [at $kind]]
                $c auth $user x
                set $kind {}
                foreach name $names {
                    if {[string match {*|*} $name]} continue
                    foreach line $lines {
                        catch { $c $name {*}$line } really
                        catch { r [at $kind] acl dryrun $user $name {*}$line } dry
                        lappend $kind [list $name $line $dry $really]
                    }
                }
                $c close
            }
            foreach a $ours b $valkey { assert_equal $b $a }
        }
    }

    test {keys and channels beyond the arguments are ignored (9.1.2 crashes)} {
        assert_error {*Invalid arguments*} { r [at ours] command getkeys keys.both far k }
        assert_equal k [r [at ours] command getkeys keys.both far read k]
        assert_equal OK [r [at ours] acl dryrun limited keys.both far z]
        assert_equal OK [r [at ours] acl dryrun limited keys.both afar z]
    }
}

test {numbers in a declaration that make no sense do no harm (9.1.2 crashes)} {
    foreach {declaration expected} {
        {1 1 0} a {1 -1 0} {a b} {-1 -1 1} {} {-5 1 1} {} {1 1 -1} a {1 1 2147483647} a {1 2147483647 1} {}
        {2 2 1 0 0 0} a {2 2 -5 0 1 0} {} {2 2 2147483647 1 1 0} {} {2 2 1 2147483647 1 0} {}
        {2 3 1 0 1 0} b {2 3 1 -2 1 1} {} {2 3 1 0 -3 1} {} {2 3 1 0 1 -1} b {2 3 1 0 2147483647 1} {}
        {3 2 -100 0 1 0} {} {3 2 2147483647 0 1 0} {}
    } {
        set load [list [module_so keys] {*}$declaration]
        start_server [list overrides [list enable-module-command yes loadmodule [join $load]]] {
            r acl setuser alice on nopass ~nothing +@all
            foreach line {{} {a b} {1 b} {2 b c} {-2147483648 b}} {
                catch { r command getkeys keys.odd {*}$line } keys
                if {[lindex $line 0] eq [expr {[lindex $declaration 1] == 3 ? {1} : {a}}]} {
                    assert_equal $expected [expr {[string match ERR* $keys] ? {} : $keys}] $declaration
                }
                r acl dryrun alice keys.odd {*}$line
                assert_equal OK [r keys.odd {*}$line]
            }
        }
    }
}
