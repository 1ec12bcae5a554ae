# The facts of COMMAND INFO and COMMAND DOCS as dicts, to compare servers. Source it where it is needed.

# name arity flags keys categories tips key-specs, as a list for each command; subcommands included.
proc info_facts {entries} {
    set facts {}
    foreach e $entries {
        lassign $e name arity flags first last step categories tips specs subcommands
        set specs [lmap spec $specs {
            if {[dict exists $spec notes]} { dict set spec notes * }
            dict set spec flags [lsort [dict get $spec flags]]
            list {*}[lmap field {notes flags begin_search find_keys} {
                if {![dict exists $spec $field]} continue
                dict get $spec $field
            }]
        }]
        dict set facts $name [list $arity [lsort $flags] $first,$last,$step [lsort $categories] [lsort $tips] $specs]
        set facts [dict merge $facts [info_facts $subcommands]]
    }
    return $facts
}

proc argument_facts {arguments} {
    return [lmap arg $arguments {
        if {[dict exists $arg summary]} { dict set arg summary * }
        set one {}
        foreach field {name type display_text key_spec_index token summary since deprecated_since} {
            if {[dict exists $arg $field]} { lappend one $field=[dict get $arg $field] }
        }
        if {[dict exists $arg flags]} { lappend one [lsort [dict get $arg flags]] }
        if {[dict exists $arg arguments]} { lappend one [argument_facts [dict get $arg arguments]] }
        set one
    }]
}

# since group fields-of-prose flags deprecation versions-of-changes arguments, likewise.
proc doc_facts {docs} {
    set facts {}
    dict for {name doc} $docs {
        set one {}
        foreach field {since group doc_flags deprecated_since replaced_by} {
            if {[dict exists $doc $field]} { lappend one $field=[dict get $doc $field] }
        }
        foreach field {summary complexity} { lappend one [dict exists $doc $field] }
        if {[dict exists $doc history]} { lappend one [lmap change [dict get $doc history] { lindex $change 0 }] }
        if {[dict exists $doc arguments]} { lappend one [argument_facts [dict get $doc arguments]] }
        dict set facts $name $one
        if {[dict exists $doc subcommands]} { set facts [dict merge $facts [doc_facts [dict get $doc subcommands]]] }
    }
    return $facts
}

# How the lines differ; up to five, as the words that only one of them has.
proc differences {expected actual} {
    set out {}
    foreach name [lsort -unique [concat [dict keys $expected] [dict keys $actual]]] {
        set want [expr {[dict exists $expected $name] ? [dict get $expected $name] : "-"}]
        set have [expr {[dict exists $actual $name] ? [dict get $actual $name] : "-"}]
        if {$want ne $have && [llength $out] < 5} { lappend out "$name: expected $want, got $have" }
    }
    return [join $out \n]
}
