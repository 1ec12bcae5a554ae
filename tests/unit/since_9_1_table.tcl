# tests/since-9.1.md names a test for each fact of 9.2: the named files and tests exist.

# The rows of the table, each a list of its cells.
proc table_rows {text} {
    set rows {}
    foreach line [lrange [lsearch -all -inline [split $text \n] "|*"] 2 end] {
        set cells [split [string map [list "\\|" \x01 " | " \x02] [string range $line 2 end-2]] \x02]
        lappend rows [lmap cell $cells { string map [list \x01 |] $cell }]
    }
    return $rows
}

# The names of the tests in a file.
proc tests_of {path} {
    set names {}
    foreach line [split [read_file $path] \n] {
        if {[regexp {^\s*test (?:"((?:[^"\\]|\\.)*)"|\{(.*?)\}) ?\{} $line - quoted braced]} { lappend names $quoted$braced }
    }
    return $names
}

tags {external:skip} {
    test {tests/since-9.1.md: every fact has a test that exists, or the reason why it is not built} {
        set tests [file dirname $::support]
        set rows [table_rows [read_file $tests/since-9.1.md]]
        assert_morethan [llength $rows] 120
        set wrong {}
        foreach row $rows {
            lassign $row section fact mark shown
            if {[llength $row] != 4 || ![string is integer -strict $section] || $fact eq "" || $mark ni {sure reported U}} { lappend wrong "row: $row" }
            if {[string match "not built: ?*" $shown]} continue
            foreach one [split [string map [list <br> \x01] $shown] \x01] {
                if {![regexp {^`([^`]+)`: (.+)$} $one - file name]} { lappend wrong "no test: $one"; continue }
                if {![file exists $tests/$file]} { lappend wrong "no file: $file"; continue }
                if {$name ni [tests_of $tests/$file]} { lappend wrong "no test: $file: $name" }
            }
        }
        assert_equal {} $wrong
    }
}
