# valkey-cli at a terminal: prompt, hints, completion, preferences, history, subscriptions. What makes it a pleasure
# (colours, tables, names to complete) is in cli_terminal.tcl.

source -encoding utf-8 $::support/terminal.tcl
source -encoding utf-8 $::support/faults.tcl

start_server {} {
    test "the prompt shows database and transaction" {
        session {} {
            see [prompt]
            type "set k v\r"
            see "OK\r\n*[prompt]"
            type "select 3\r"
            see [prompt {\[3\]}]
            type "multi\r"
            see [prompt {\[3\](TX)}]
            type "get k\r"
            see QUEUED
            type "exec\r"
            see "1) (nil)\r\n*[prompt {\[3\]}]"
            leave
        }
    }

    test "a number repeats, quotes hold words together, bad ones are refused" {
        r del n
        session {} {
            see [prompt]
            type "3 incr n\r"
            see "(integer) 1\r\n(integer) 2\r\n(integer) 3\r\n"
            type "0 incr n\r"
            see "Invalid valkey-cli repeat command option value."
            type "echo \"a \\x41\"\r"
            see "\r\n\"a A\"\r\n"
            type "echo \"a\r"
            see "Invalid argument(s)"
            type "nosuch\r"
            see "(error) ERR unknown command 'nosuch'"
            leave
        }
    }

    test "hints follow what is typed, and can be switched off" {
        session {} {
            see [prompt]
            type "get"
            see "key"
            type " a\r"
            see "(nil)"
            type "lrange k"
            see "start stop"
            type "\x15:set nohints\r"
            see [prompt]
            type "getrange a"
            after 300
            type "\r"
            see "ERR wrong number of arguments"
            assert {[string first "end" $::seen] < 0} "no hint is left"
            type ":set hints\r"
            see [prompt]
            type "getrange a"
            see "start end"
            type "\x15:nosuch\r"
            see "unknown valkey-cli internal command ':nosuch'"
            type ":set nosuch\r"
            see "unknown valkey-cli preference 'nosuch'"
            leave
        }
    }

    # The sequence of keys is one where libedit redraws cells in the middle of the line (found on xterm-256color).
    test "a hint is grey, what is typed is not, after each key" {
        set ::term xterm-256color
        try { with_environment COLORTERM= { session {} {
            screen_clear
            set all {key field value [field value ...]}
            set text {}
            foreach {key hint} [list {} {} h {} s {} e {} t $all { } $all \
                                     u [string range $all 4 end] s = e = r = : = 2 = { } = \
                                     n value a = m = e = { } = x {[field value ...]} \
                                     \x7f value y {[field value ...]}] {
                if {$hint ne "="} { set shown $hint }
                set text [expr {$key eq "\x7f" ? [string range $text 0 end-1] : "$text$key"}]
                set wanted [list [list {} [string trim [prompt]$text]]]
                if {$shown ne {}} { lappend wanted [list 90 $shown] }
                type_and_show $key $wanted
            }
            type "\x15"
            leave
        } } } finally { set ::term xterm }
    }

    test "the preferences file" {
        file mkdir $::work_dir/home
        set f [open $::work_dir/home/.valkeyclirc w]
        puts $f ":set nohints"
        close $f
        session {} {
            see [prompt]
            type "getrange a\r"
            see "ERR wrong number of arguments"
            assert {[string first "start" $::seen] < 0} "no hint"
            leave
        }
        file delete $::work_dir/home/.valkeyclirc
    }

    test "TAB completes commands, subcommands, options and help topics" {
        session {} {
            see [prompt]
            type "strl\t k\r"
            see "(integer) 1"
            type "config resets\t\r"
            see "OK\r\n"
            type "set tabbed v ex\t 1000\r"
            see "OK\r\n"
            assert_range [r ttl tabbed] 1 1000
            # Twice: the second command that begins so.
            type "hge\t\t\x15help @tr\t\r"
            see "MULTI"
            leave
        }
    }

    test "help" {
        session {} {
            see [prompt]
            type "help get\r"
            see "summary:"
            see "group:"
            type "help\r"
            see "help GROUP"
            type "help @nosuch\r"
            see "no help about that"
            leave
        }
    }

    test "history is kept in a file, without passwords" {
        file delete $::work_dir/home/.valkeycli_history
        session {} {
            see [prompt]
            type "ping first\r"
            see first
            type "auth nopassword\r"
            see ERR
            type "config set requirepass \"\"\r"
            see [prompt]
            type "acl setuser x >y\r"
            see [prompt]
            type "ping last\r"
            see last
            leave
        }
        assert_equal "ping first\nping last\nexit\n" [read_file $::work_dir/home/.valkeycli_history]
        session {} {
            see [prompt]
            type "\x10\x10\r" ;# Ctrl-P twice: the line before "exit"
            see "\"last\"\r\n"
            leave
        }
    }

    test "no server, then connect, and again when the server has exited" {
        session {-p 1} {
            see "Connection refused"
            see "not connected> "
            type "ping\r"
            see "Connection refused"
            type "connect [srv host] [srv port]\r"
            see [prompt]
            type "ping\r"
            see PONG
            r client kill type normal skipme yes
            type "ping\r"
            see "Error: Server closed the connection"
            see "not connected> "
            type "ping\r"
            see "PONG\r\n"
            see [prompt]
            leave
        }
    }

    foreach protocol {2 3} {
        test "subscribed mode, RESP$protocol: messages, a key to type, the way back" {
            session -$protocol {
                see [prompt]
                type "subscribe c1 c2\r"
                see "Reading messages..."
                see "\"c2\"\r\n3) (integer) 2"
                r publish c1 hello
                see "\"hello\""
                type "x"
                see [prompt {(subscribed mode)}]
                type "\x15ping\r"
                see [expr {$protocol == 2 ? "\"pong\"" : "PONG"}]
                type "unsubscribe c1 c2\r"
                see "\"c2\"\r\n3) (integer) 0*[prompt]"
                type "echo back\r"
                see "\"back\""
                type "subscribe c3\r"
                see "(integer) 1"
                type "\x03"
                see [prompt]
                type "echo again\r"
                see "\"again\""
                leave
            }
        }
    }

    test "Ctrl-C breaks a command that waits" {
        session {} {
            see [prompt]
            type "blpop nosuchlist 0\r"
            wait_for_condition 1200 50 {[s blocked_clients] == 1} else { fail "it does not block" }
            type "\x03"
            see [prompt]
            type "echo again\r"
            see "\"again\""
            leave
        }
    }

    test "Ctrl-C is not lost when it comes just before the wait begins" {
        if {![faults_possible]} { skip "calls cannot be made slower here" }
        faults
        with_environment "$::environment [faults_environment $::cli]" {
            session {} {
                see [prompt]
                faults poll -1000 0 1 poll
                type "blpop nosuchlist 0\r"
                wait_for_condition 1200 50 {[s blocked_clients] == 1 && [faults_seen] == 1} else {
                    fail "it does not block"
                }
                type "\x03"
                see [prompt]
                leave
            }
        }
    }

    test "figures are shown live at a terminal" {
        session --latency {
            see "min: *, max: *, avg: * (5 samples)"
            type "\x03"
        }
    }
}
