# Directives that nothing reads and fields of INFO that are constant. The table is made from the sources, and
# docs/differences.md must name what is in it, and nothing else.

set top [file dirname [file dirname $::support]]

proc source_text {path} {
    set f [open $path]
    set text [read $f]
    close $f
    return $text
}

# The names in backquotes at the beginnings of the items of a list, which begins after a line. Further lines of an item are indented.
proc names_in_list {page line} {
    set names {}
    set at [string first "\n$line\n" $page]
    assert_morethan_equal $at 0 "the page has no line '$line'"
    foreach item [lrange [split [string range $page [expr {$at + [string length $line] + 2}] end] \n] 0 end] {
        if {[string match "  *" $item]} { continue }
        if {[string range $item 0 1] ne "- "} { break }
        foreach {- name} [regexp -all -inline {`([^`]+)`} [lindex [split $item :] 0]] { lappend names $name }
    }
    return [lsort $names]
}

tags {introspection external:skip} {
    test {docs/differences.md names every directive without effect} {
        if {![file exists $top/src/server/absent_features.c]} { skip "no sources here" }
        set without {}
        foreach {- name} [regexp -all -inline {CONFIG_[A-Z]+\("([^"]+)"} [source_text $top/src/server/absent_features.c]] { lappend without $name }
        assert_morethan [llength $without] 5
        assert {[regexp {retired\[\] = \{([^\}]*)\}} [source_text $top/src/registry/config.c] - retired]}
        foreach {- name} [regexp -all -inline {"([^"]+)"} $retired] { lappend without $name }
        assert_equal [lsort $without] [names_in_list [source_text $top/docs/differences.md] "Directives:"]
    }

    test {docs/differences.md names every field of INFO that is always the same} {
        if {![file exists $top/src/server/absent_features.c]} { skip "no sources here" }
        set constant {}
        foreach path [glob $top/src/*/*.c $top/src/*/*/*.c] {
            if {[string match *_test.c $path] || [string match */tools/* $path]} { continue }
            foreach {- name value} [regexp -all -inline {infoField\(\w+,\s*"([a-z_0-9]+):([^"%]*)"\)} [source_text $path]] {
                if {$name ne "module"} { lappend constant $name } ;# a line of a list, not a field
            }
        }
        assert_equal [lsort $constant] [names_in_list [source_text $top/docs/differences.md] "Fields of INFO that are always 0:"]
    }

    start_server {overrides {sanitize-dump-payload yes}} {
        test {dump_payload_sanitizations counts the payloads that were checked} {
            r rpush l a b
            r hset h f v
            r set s v
            foreach {key count} {l 1 h 1 s 0} {
                set before [s dump_payload_sanitizations]
                r restore copy 0 [r dump $key] replace
                assert_equal [expr {$before + $count}] [s dump_payload_sanitizations] $key
            }
            r config set sanitize-dump-payload no
            set before [s dump_payload_sanitizations]
            r restore copy 0 [r dump l] replace
            assert_equal $before [s dump_payload_sanitizations]
            r config resetstat
            assert_equal 0 [s dump_payload_sanitizations]
        }

        start_server {} {
            test {migrate_cached_sockets is the number of connections that MIGRATE keeps} {
                assert_equal 0 [s -1 migrate_cached_sockets]
                r -1 set k v
                assert_equal OK [r -1 migrate [srv host] [srv port] k 0 5000]
                assert_equal 1 [s -1 migrate_cached_sockets]
                r -1 set k w
                assert_equal OK [r -1 migrate [srv host] [srv port] k 0 5000 replace]
                assert_equal 1 [s -1 migrate_cached_sockets]
            }
        }
    }
}
