# LOLWUT: a drawing of the requested size, and the version.

start_server {tags {lolwut}} {
    set version [s valkey_version]

    test {LOLWUT ends with the version, and is another drawing each time} {
        foreach words {{} {version 9} {nosuch} {version}} { assert_match "*Valkey ver. $version\n" [r lolwut {*}$words] $words }
        assert_match "*Skipstone [s skipstone_version]*" [r lolwut]
        assert_not_equal [r lolwut] [r lolwut]
    }

    test {LOLWUT VERSION: columns and rows, within bounds} {
        foreach {columns rows shown high} {30 5 30 5 31 5 30 5 0 0 3 2 -5 -5 3 2 100000 100000 198 60} {
            set lines [split [encoding convertfrom utf-8 [r lolwut version 9 $columns $rows]] \n]
            assert_equal [expr {$high + 4}] [llength $lines] "rows, water, a blank line, the words, and the end"
            foreach line [lrange $lines 0 $high] { assert_equal $shown [string length $line] }
        }
        assert_error "ERR value is not an integer or out of range" { r lolwut version x }
        assert_error "ERR value is not an integer or out of range" { r lolwut version 9 x }
        assert_error "ERR value is not an integer or out of range" { r lolwut version 9 10 x }
    }

    test {LOLWUT has Redis's name with extended-redis-compatibility} {
        r config set extended-redis-compatibility yes
        foreach words {{} {version 99}} { assert_match "*Redis ver. 7.2.4\n" [r lolwut {*}$words] }
        r config set extended-redis-compatibility no
    }

    test {LOLWUT VERSION without a drawing} {
        assert_equal "Valkey ver. $version\n" [r lolwut version 99]
    }
}
