# valkey-cli for people: colours, completion of names, Ctrl-C, help by group, the pager, progress, tables. What is
# shown without a terminal is in cli.tcl and cli_oracle.tcl.

source -encoding utf-8 $::support/terminal.tcl

# What a command line prints at a terminal.
proc at_terminal {args} {
    session_start {*}$args
    try {
        is_left_with output
    } finally { session_end }
    return [string map {\r {}} $output]
}

proc is_left_with {name} {
    upvar 1 $name output
    set output {}
    for {set i 0} {$i < 1200 && ![eof $::terminal]} {incr i} {
        append output [read $::terminal]
        if {![eof $::terminal]} { after 25 }
    }
}

start_server {overrides {save {}}} {
    # ---- Colours ----

    test "each type has its colour" {
        r rpush list a b
        with_environment TERM=xterm {
            session {} {
                see [prompt]
                assert_equal "\x1b\[32m\"a\"\x1b\[0m\n" [answer_to "lindex list 0"]
                assert_equal "\x1b\[36m(integer) 2\x1b\[0m\n" [answer_to "llen list"]
                assert_equal "\x1b\[35m(nil)\x1b\[0m\n" [answer_to "get nosuch"]
                assert_match "\x1b\\\[31m(error) ERR unknown command 'nosuch'*\x1b\\\[0m\n" [answer_to "nosuch"]
                assert_equal "\x1b\[2m1)\x1b\[0m \x1b\[32m\"a\"\x1b\[0m\n\x1b\[2m2)\x1b\[0m \x1b\[32m\"b\"\x1b\[0m\n" \
                    [answer_to "lrange list 0 -1"]
                assert_equal "OK\n" [answer_to "set plain x"]
                assert_equal {} [answer_to ":set nocolor"]
                assert_equal "(integer) 2\n" [answer_to "llen list"]
                leave
            }
        }
    }

    test "no colours where they are switched off" {
        r set n 1
        set coloured "\x1b\[36m(integer) 1\x1b\[0m\n"
        with_environment TERM=xterm {
            assert_equal $coloured [at_terminal exists n]
            assert_equal "(integer) 1\n" [at_terminal --color never exists n]
        }
        with_environment TERM=dumb { assert_equal "(integer) 1\n" [at_terminal exists n] }
        with_environment NO_COLOR=1 {
            assert_equal "(integer) 1\n" [at_terminal exists n]
            assert_equal $coloured [at_terminal --color always exists n]
        }
        with_environment NO_COLOR= { assert_equal $coloured [at_terminal exists n] }
        assert_equal "(integer) 1\n" [tool_output valkey-cli --no-raw exists n]
        assert_equal $coloured [tool_output valkey-cli --no-raw --color always exists n]
        assert_equal "1\n" [tool_output valkey-cli --color always exists n]
        lassign [run_tool valkey-cli {} --color sometimes ping] code out err
        assert_equal {1 {}} [list $code $out]
        assert_match "*'sometimes'*auto, always, never*" $err
    }

    test "INFO has colours for its sections" {
        with_environment TERM=xterm {
            set info [at_terminal info server]
            assert_match "\x1b\\\[1m# Server\x1b\\\[0m\n*tcp_port:\x1b\\\[36m[srv port]\x1b\\\[0m\n*" $info
        }
        assert_match "# Server*tcp_port:[srv port]\[\r\n\]*" [tool_output valkey-cli --color always info server]
    }

    # ---- Completion ----

    test "TAB completes names of keys, where a key belongs" {
        r flushall
        r set user:one 1
        r set user:two 2
        r set other 3
        r rpush user:list a
        session {} {
            see [prompt]
            # What all have in common, then the list of them, then one after the other.
            type "get us\t"
            see "er:"
            type "\t"
            see "user:one  user:two"
            type "\t\r"
            see "\"1\"\r\n"
            type "get us\t\t\t\t\r"
            see "\"2\"\r\n"
            # Keys of the type that the command works on.
            type "lrange us\t 0 -1\r"
            see "1) \"a\"\r\n"
            type "object encoding oth\t\r"
            see "\"int\"\r\n"
            type "set copy 1 e\t 100\r"
            see "OK\r\n"
            type "3 strlen oth\t\r"
            see "(integer) 1\r\n(integer) 1\r\n(integer) 1\r\n"
            type "eval \"return #KEYS\" 1 oth\t\r"
            see "(integer) 1\r\n"
            # No key belongs behind a value.
            type "set copy oth\t\r"
            see "OK\r\n"
            assert_equal oth [r get copy]
            leave
        }
    }

    test "names of keys are escaped, for the server and for the line" {
        r flushall
        r set {a*b} star
        r set axb other
        r set {two words} blank
        r set "quote\"s" quote
        r set "nul\x00bin" nul
        session {} {
            see [prompt]
            type "get a*\t\r"
            see "\"star\""
            type "get two\t\r"
            see "\"blank\""
            type "get \"two w\t\r"
            see "\"blank\""
            type "get 'tw\t\r"
            see "\"blank\""
            type "get quo\t\r"
            see "\"quote\""
            type "get nul\t\r"
            see "\"nul\""
            leave
        }
    }

    test "completion leaves a transaction, subscriptions and the database alone" {
        r flushall
        r set user:one 1
        r select 3
        r set user:three 3
        session {-n 3} {
            see [prompt {\[3\]}]
            type "multi\r"
            see "(TX)"
            type "get us\t\r"
            see QUEUED
            type "exec\r"
            see "1) \"3\""
            type "select 0\r"
            see [prompt]
            type "get us\t\r"
            see "\"1\""
            leave
        }
        r select 0
    }

    test "directives and users are completed" {
        r acl setuser somebody on nopass +@all ~*
        session {} {
            see [prompt]
            type "config set maxmemory-p\t allkeys-lru\r"
            see "OK\r\n"
            assert_equal allkeys-lru [config_get maxmemory-policy]
            type "config get lazyfree-lazy-exp\t\r"
            see "lazyfree-lazy-expire"
            type "acl dryrun someb\t ping\r"
            see "OK\r\n"
            type ":set noh\t\r"
            see [prompt]
            type ":set\r"
            see "hints: off"
            leave
        }
        r config set maxmemory-policy noeviction
        r acl deluser somebody
    }

    test "text after the cursor stays, in any script" {
        r flushall
        r set [encoding convertto utf-8 "\u00e9t\u00e9:1"] sun
        r set [encoding convertto utf-8 "\u65e5\u672c"] rising
        session {} {
            see [prompt]
            type "getrange [encoding convertto utf-8 \u00e9] 0 1\x1b\[D\x1b\[D\x1b\[D\x1b\[D\t\r"
            see "\"su\""
            type "get [encoding convertto utf-8 \u65e5]\t\r"
            see "\"rising\""
            type "echo x[encoding convertto utf-8 \u65e5\u672c]\x7f\x7fy\r"
            see "\"xy\""
            type "echo [encoding convertto utf-8 \u65e5]\r"
            see "\"[encoding convertto utf-8 \u65e5]\""
            leave
        }
    }

    test "a busy server does not block typing" {
        r flushall
        r set user:one 1
        # A server that does not answer at once, and one that has answered before.
        foreach {wait_s first} {0 {} 3 "get user:o\t\r"} {
            session "-t $wait_s" {
                see [prompt]
                if {$first ne {}} { type $first; see "\"1\"\r\n[prompt]" }
                exec kill -STOP [srv pid]
                try {
                    type "get user:o\t"
                    see "\x07"
                } finally { exec kill -CONT [srv pid] }
                type "\x15[expr {$first eq {} ? "get user:one\r" : $first}]"
                see "\"1\""
                leave
            }
        }
    } {} {external:skip}

    # ---- Ctrl-C ----

    test "Ctrl-C drops a line, and a second one on an empty line exits" {
        r del dropped
        session {} {
            see [prompt]
            type "set dropped 1"
            see "\x1b"
            type "\x03"
            see "^C*\n[prompt]"
            type "half a li"
            type "\x03"
            see "^C*\n[prompt]"
            type "\x03"
            see "to leave: exit, Ctrl-D*\n[prompt]"
            type "set half"
            type "\x03"
            see "^C*\n[prompt]"
            type "\x03"
            see "to leave*\n[prompt]"
            type "ping\r"
            see "PONG\r\n[prompt]"
            type "\x03"
            see "to leave*\n[prompt]"
            type "\x03"
            is_left
        }
        assert_equal 0 [r exists dropped]
    }

    test "Ctrl-C ends a command that waits, and the connection still works" {
        r flushall
        r select 3
        r set k three
        r select 0
        session {-n 3} {
            see [prompt {\[3\]}]
            type "blpop nosuchlist 0\r"
            wait_for_blocked 1
            type "\x03"
            see "\n[prompt {\[3\]}]"
            wait_for_blocked 0
            type "get k\r"
            see "\"three\""
            type "monitor\r"
            see "OK\r\n"
            type "\x03"
            see "\n[prompt {\[3\]}]"
            type "get k\r"
            see "\"three\"\r\n[prompt {\[3\]}]"
            type "100000000 ping\r"
            see "PONG*PONG"
            type "\x03"
            see "\n[prompt {\[3\]}]"
            type "echo back\r"
            see "\"back\"\r\n[prompt {\[3\]}]"
            leave
        }
    }

    test "Ctrl-C between two of several runs: the prompt begins a line" {
        session {-i 3} {
            see [prompt]
            type "3 ping\r"
            see "PONG\r\n"
            type "\x03"
            see "^C*\n[prompt]"
            type "echo back\r"
            see "\"back\"\r\n"
            leave
        }
    }

    # ---- Help and hints ----

    test "groups of commands, however they are written" {
        set wanted [tool_output valkey-cli help @sorted-set]
        assert_match "*ZADD key*" $wanted
        foreach word {sorted-set sorted_set SortedSet {sorted sets} zset @zset} {
            assert_equal $wanted [tool_output valkey-cli help $word]
        }
        assert_match "*XADD*" [tool_output valkey-cli help streams]
        assert_match "*PFADD*" [tool_output valkey-cli help hll]
        # A command takes precedence over a group of the same name, which a line mentions.
        assert_match "*SET key value*help @set lists*" [tool_output valkey-cli help set]
        assert {[string first SADD [tool_output valkey-cli help set]] < 0}
        assert_match "*SADD*" [tool_output valkey-cli help @set]
        assert_match "*no help about that*Perhaps: *LTRIM*Groups of commands:*sorted-set (*" [tool_output valkey-cli help trim]
        session {} {
            see [prompt]
            type "help\r"
            see "Groups of commands:*hash (*sorted-set (*"
            leave
        }
    }

    test "hints stay while a quoted argument is typed" {
        session {} {
            see [prompt]
            type "lrange k"
            see "start stop"
            type "\x15getrange \"a b"
            see "start end"
            type "\x03"
            leave
        }
    }

    # ---- The pager ----

    test "long replies go through the pager, short ones do not" {
        r del list
        for {set i 0} {$i < 100} {incr i} { r rpush list $i }
        set pager "sed -e s/^/paged:/"
        with_environment "NO_COLOR=1 VALKEYCLI_PAGER='$pager'" {
            session {} {
                see [prompt]
                type "lrange list 0 -1\r"
                see "paged:100) \"99\""
                type "lrange list 0 5\r"
                see "\n6) \"5\"\r\n[prompt]"
                assert {[string first paged $::seen] < 0}
                type ":set nopager\r"
                see [prompt]
                type "lrange list 0 -1\r"
                see "100) \"99\"\r\n[prompt]"
                assert {[string first paged $::seen] < 0}
                leave
            }
            session --no-pager {
                see [prompt]
                type "lrange list 0 -1\r"
                see "100) \"99\"\r\n[prompt]"
                assert {[string first paged $::seen] < 0}
                leave
            }
            assert {[string first paged [at_terminal lrange list 0 -1]] < 0} "not for a single command"
        }
        with_environment "NO_COLOR=1 VALKEYCLI_PAGER=/nosuch/pager" {
            session {} {
                see [prompt]
                type "lrange list 0 -1\r"
                see "100) \"99\"\r\n[prompt]"
                leave
            }
        }
        with_environment "NO_COLOR=1 PAGER=less LESS=-R" {
            if {[auto_execok less] eq {}} { skip "no less(1)" }
            session {} {
                see [prompt]
                type "lrange list 0 -1\r"
                see "22) \"21\"*:"
                type "q"
                see [prompt]
                type "echo back\r"
                see "\"back\""
                leave
            }
        }
    }

    # ---- Tables ----

    test "lists of clients, entries and directives are tables" {
        r config set slowlog-log-slower-than 0
        r slowlog reset
        r set "a b" c
        r config set slowlog-log-slower-than -1
        session {} {
            see [prompt]
            assert_match "id *time *usec *command *client*\n-- *\n*set \"a b\" c *" [answer_to "slowlog get"]
            set clients [split [string trim [answer_to "client list"]] \n]
            assert_match "id *addr *cmd*" [lindex $clients 0]
            assert_match "*client|list*" $clients
            assert_match "* more: *" $clients
            foreach line $clients { assert_lessthan_equal [string length $line] 100 }
            assert_match "name *value\n*\nmaxmemory *0\n*maxmemory-samples *5\n*" [answer_to "config get maxmemory*"]
            assert_equal "1) \"maxmemory\"\n2) \"0\"\n" [answer_to "config get maxmemory"]
            answer_to "xadd x 1-1 f v"
            answer_to "xgroup create x group 0"
            assert_match "name *consumers *pending *\n*\ngroup *0 *0 *\n" [answer_to "xinfo groups x"]
            assert_match "name *value\n*length *1\n*" [answer_to "xinfo stream x"]
            assert_equal "(empty array)\n" [answer_to "latency latest"]
            assert_match "(error) *" [answer_to "xinfo groups nosuch"]
            answer_to ":set notable"
            assert_match "1) 1) (integer) *\n   2) (integer) *" [answer_to "slowlog get"]
            assert_match "id=*addr=*" [answer_to "client list"]
            leave
        }
        session {-3 --no-table} {
            see [prompt]
            assert_match "1) 1# \"name\" => \"group\"\n*" [answer_to "xinfo groups x"]
            leave
        }
        session -3 {
            see [prompt]
            assert_match "name *consumers *pending *\n*\ngroup *0 *0 *\n" [answer_to "xinfo groups x"]
            leave
        }
        assert_match "id=*addr=*" [tool_output valkey-cli client list]
        assert_match "id=*addr=*" [tool_output valkey-cli --no-raw client list]
    }

    test "the first table of a session says how to get the reply itself" {
        set hint "(for scripts: --no-table, :set notable)\n"
        session {} {
            see [prompt]
            assert_match "*\n$hint" [answer_to "config get maxmemory*"]
            assert_no_match "*$hint*" [answer_to "config get maxmemory*"]
            leave
        }
        session {} {
            see [prompt]
            answer_to ":set table"
            assert_no_match "*$hint*" [answer_to "config get maxmemory*"]
            leave
        }
        assert_match "*\n$hint" [at_terminal client list]
        assert_no_match "*$hint*" [at_terminal --no-table client list]
        assert_no_match "*$hint*" [at_terminal get nosuch]
    }

    test "every column that is left out is named" {
        set fields [lmap pair [r client list] { lindex [split $pair =] 0 }]
        set text [string map {\n " " ) " " : " "} [at_terminal client list]]
        foreach field $fields {
            if {![string match "* $field *" " $text "]} { fail "no $field in $text" }
        }
    }

    test "tables fit the terminal" {
        r client setname [string repeat n 60]
        foreach columns {40 60 200} {
            with_columns $columns {
                set lines [split [string trim [at_terminal client list]] \n]
                foreach line $lines { assert_lessthan_equal [string length [encoding convertfrom utf-8 $line]] $columns }
                assert_match "id *addr*" [lindex $lines 0]
            }
        }
        r client setname {}
    }

    # ---- Progress ----

    test "slow commands show their progress" {
        r flushall
        for {set i 0} {$i < 1000} {incr i} { r set key:$i v }
        session {--bigkeys -i 0.3} {
            see "% *of 1000 keys, */s, * s left"
            see "-------- Summary --------*1000 strings with 1000 bytes"
        }
        session {--memkeys -i 0.3} { see "% *of 1000 keys, */s" }
        terminal_start "{ echo SET piped 1; sleep 1.5; echo SET piped 2; sleep 0.5; } | $::cli -h [srv host] -p [srv port] --pipe"
        try { see "B, *B/s, 1 replies, 0 errors*errors: 0, replies: 2" } finally { session_end }
        # Nothing of it without a terminal.
        lassign [run_tool valkey-cli {} --bigkeys -i 0.2] code out err
        assert_equal {0 {}} [list $code $err]
        for {set i 0} {$i < 2000} {incr i} { r set big:$i [string repeat x 500] }
        r config set rdb-key-save-delay 1000
        session [list --rdb $::work_dir/copy.rdb] { see "Receiving the snapshot*K, *K/s*Transfer finished with success" }
        r config set rdb-key-save-delay 0
    } {} {slow}

    # ---- Preferences ----

    test "preferences of the file, and options before them" {
        file mkdir $::work_dir/home
        set f [open $::work_dir/home/.valkeyclirc w]
        puts $f ":set notable\n:set nocolor"
        close $f
        with_environment TERM=xterm {
            assert_match "id=*" [at_terminal client list]
            assert_match "\x1b\\\[36m(integer) 0*" [at_terminal --color always exists nosuch]
        }
        set f [open $::work_dir/home/.valkeyclirc w]
        puts $f ":set table"
        close $f
        assert_match "id=*" [at_terminal --no-table client list]
        assert_match "id *" [at_terminal client list]
        file delete $::work_dir/home/.valkeyclirc
    }
}
