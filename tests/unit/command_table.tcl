# The command table as a client sees it: every entry is complete, consistent, and enforced. The tests go through all
# commands of the server, so that a new one is checked without a line here.

# Flattens COMMAND's reply, subcommands included, to dicts.
proc table_entries {entries} {
    set all {}
    foreach e $entries {
        lassign $e name arity flags first last step categories tips specs subcommands
        lappend all [dict create name $name arity $arity flags $flags first $first last $last step $step \
            categories $categories tips $tips specs $specs subcommands $subcommands]
        lappend all {*}[table_entries $subcommands]
    }
    return $all
}

# The entries for which the condition, in which `e` is the entry, does not hold; by name.
proc offenders {entries condition} {
    set names {}
    foreach e $entries {
        dict with e { if {![expr $condition]} { lappend names $name } }
    }
    return $names
}

# The arguments that call an entry.
proc words_of {name} { return [split $name |] }

# Shard channels are found by the same positions as keys, but are none.
proc names_channels {specs} { return [string match *not_key* $specs] }

start_server {tags {commands}} {
    set table [table_entries [r command]]

    test {COMMAND, COMMAND COUNT and COMMAND LIST agree} {
        set names [lmap e [r command] { lindex $e 0 }]
        assert_morethan [llength $names] 20
        assert_equal [llength $names] [r command count]
        set all [lsort [lmap e $table { dict get $e name }]]
        assert_equal $all [lsort -unique $all]
        assert_equal $all [lsort [r command list]] "COMMAND LIST names subcommands, too"
    }

    test {COMMAND INFO replies the same as COMMAND} {
        foreach e [r command] {
            assert_equal [lsort $e] [lsort [lindex [r command info [lindex $e 0]] 0]]
        }
        assert_equal {{}} [r command info nosuchcommand]
    }

    test {names are in lower case, subcommands carry their container's name} {
        assert_equal {} [offenders $table {[regexp {^[a-z0-9_.-]+(\|[a-z0-9_.-]+)?$} $name]}]
        foreach e $table {
            foreach sub [dict get $e subcommands] { assert_match "[dict get $e name]|*" [lindex $sub 0] }
        }
    }

    test {the arity of a command counts the words of its name} {
        # The arity counts the name; the arity of a subcommand counts both words.
        assert_equal {} [offenders $table {abs($arity) >= [llength [words_of $name]]}]
    }

    test {the key positions of commands are consistent} {
        assert_equal {} [offenders $table {$first == 0 ? ($last == 0 && $step == 0) : ($first > 0 && $step > 0)}]
        assert_equal {} [offenders $table {$first <= 0 || $last < 0 || $last >= $first}]
        assert_equal {} [offenders $table {$first == 0 || $first < abs($arity) || [names_channels $specs]}] \
            "a key that may be missing"
        assert_equal {} [offenders $table {$first == 0 || [llength $specs] > 0}]
    }

    test {flags and categories agree} {
        assert_equal {} [offenders $table {!("write" in $flags && "readonly" in $flags)}]
        assert_equal {} [offenders $table {("write" in $flags) == ("@write" in $categories)}]
        assert_equal {} [offenders $table {("fast" in $flags) == ("@fast" in $categories)}]
        assert_equal {} [offenders $table {("@fast" in $categories) != ("@slow" in $categories)}]
        assert_equal {} [offenders $table {"blocking" ni $flags || "@blocking" in $categories}]
        assert_equal {} [offenders $table {"admin" ni $flags || "@dangerous" in $categories}]
    }

    test {a command with denyoom writes, runs scripts or publishes} {
        assert_equal {} [offenders $table {"denyoom" ni $flags || "write" in $flags || $name in {eval evalsha fcall publish spublish}
            || "@scripting" in $categories || "@pubsub" in $categories}]
    }

    test {every command is documented} {
        set docs [r command docs]
        foreach e [r command] {
            set name [lindex $e 0]
            if {![dict exists $docs $name]} { fail "$name has no documentation" }
            set doc [dict get $docs $name]
            foreach field {summary since group} {
                if {![dict exists $doc $field] || [dict get $doc $field] eq {}} { fail "$name has no $field" }
            }
            assert {[regexp {^\d+\.\d+\.\d+$} [dict get $doc since]]} $name
        }
    }

    test {too few arguments are refused} {
        foreach e $table {
            set words [words_of [dict get $e name]]
            set needed [expr {abs([dict get $e arity]) - [llength $words]}]
            if {$needed < 1 || [llength [dict get $e subcommands]]} continue
            set command [concat $words [lrepeat [expr {$needed - 1}] x]]
            if {![catch {r {*}$command} reply]} { fail "[dict get $e name]: '$command' was accepted" }
            assert_match "*wrong number of arguments for '[dict get $e name]' command*" $reply
        }
    }

    test {too many arguments are refused} {
        foreach e $table {
            set words [words_of [dict get $e name]]
            if {[dict get $e arity] < 0} continue
            set command [concat $words [lrepeat [expr {[dict get $e arity] - [llength $words] + 1}] x]]
            if {![catch {r {*}$command} reply]} { fail "[dict get $e name]: '$command' was accepted" }
            assert_match "*wrong number of arguments for '[dict get $e name]' command*" $reply
        }
    }

    test {COMMAND GETKEYS finds the keys where the table says they are} {
        set checked 0
        foreach e $table {
            dict with e {}
            # With a fixed number of arguments and keys, no other argument matters.
            if {$arity <= 0 || $first == 0 || $last < 0 || "movablekeys" in $flags || [names_channels $specs]} continue
            set words [words_of $name]
            set expected {}
            for {set i [llength $words]} {$i < $arity} {incr i} {
                lappend words a$i
                if {$i >= $first && $i <= $last && ($i - $first) % $step == 0} { lappend expected a$i }
            }
            assert_equal $expected [r command getkeys {*}$words] $name
            incr checked
        }
        assert_morethan $checked 5
    }
}
