# Commands about connections: CLIENT, HELLO, RESET, SELECT, PING, ECHO, QUIT.

# The fields of a line of CLIENT LIST, as a dict.
proc client_fields {line} {
    foreach pair [split [string trim $line]] {
        regexp {^([^=]+)=(.*)$} $pair -> name value
        dict set fields $name $value
    }
    return $fields
}

proc client_list {args} { return [lmap line [split [string trim [r client list {*}$args]] \n] {client_fields $line}] }

start_server {tags {client}} {
    test {CLIENT LIST and INFO: the fields and their order} {
        set names {id addr laddr fd name age idle flags capa db sub psub ssub multi watch qbuf qbuf-free argv-mem
            multi-mem rbs rbp obl oll omem tot-mem events cmd user redir resp lib-name lib-ver io-thread tot-net-in tot-net-out
            tot-cmds}
        assert_equal [join $names] [join [dict keys [client_fields [r client info]]]]
        assert_equal [join $names] [join [dict keys [lindex [client_list] 0]]]
        assert_match "*\n" [r client list]
    }

    test {CLIENT INFO has the right values} {
        r select 0
        set f [client_fields [r client info]]
        foreach {name value} {flags N db 0 name {} multi -1 qbuf 0 events r cmd client|info user default redir -1 resp 2} {
            assert_equal $value [dict get $f $name] $name
        }
        assert_match "127.0.0.1:*" [dict get $f addr]
        assert_equal 127.0.0.1:[srv port] [dict get $f laddr]
        assert_equal [r client id] [dict get $f id]
        assert_range [dict get $f age] 0 60
        assert_equal 0 [dict get $f idle]
        assert_morethan [dict get $f tot-mem] 0
        r select 9
        assert_equal 9 [dict get [client_fields [r client info]] db]
        r select 0
        set before [client_fields [r client info]]
        r echo [string repeat x 5000]
        set after [client_fields [r client info]]
        assert_range [expr {[dict get $after tot-net-in] - [dict get $before tot-net-in]}] 5000 5200
        assert_morethan [expr {[dict get $after tot-net-out] - [dict get $before tot-net-out]}] 5000
        assert_equal 2 [expr {[dict get $after tot-cmds] - [dict get $before tot-cmds]}]
    }

    test {CLIENT LIST in order of connection; flags and commands of others} {
        set d [blocked_client bzpopmin nosuchkey 0]
        set list [client_list]
        assert_equal 2 [llength $list]
        assert_lessthan [dict get [lindex $list 0] id] [dict get [lindex $list 1] id]
        assert_equal {b bzpopmin} [list [dict get [lindex $list 1] flags] [dict get [lindex $list 1] cmd]]
        $d close
        wait_for_condition 500 20 {[llength [client_list]] == 1} else { fail "still listed" }
    }

    test {CLIENT LIST shows output that a client does not read} {
        set d [valkey_deferring_client]
        $d client id
        set id [$d read]
        r set big [string repeat x 5000000]
        for {set i 0} {$i < 20} {incr i} { $d get big }
        wait_for_condition 500 20 {[dict get [lindex [client_list id $id] 0] omem] > 1000000} else { fail "no output" }
        set f [lindex [client_list id $id] 0]
        assert_equal rw [dict get $f events]
        assert_morethan [dict get $f tot-mem] [dict get $f omem]
        $d close
        wait_for_condition 500 20 {[llength [client_list]] == 1} else { fail "still listed" }
        r del big
    }

    test {CLIENT LIST filters} {
        set id [r client id]
        assert_equal 1 [llength [client_list id $id]]
        assert_equal {} [r client list id 99999]
        assert_equal 1 [llength [client_list id 99999 $id $id]]
        assert_equal 1 [llength [client_list type normal]]
        foreach type {master primary slave replica pubsub} { assert_equal {} [r client list type $type] }
        assert_equal {} [r client list skipme yes]
        set laddr 127.0.0.1:[srv port]
        assert_equal 1 [llength [client_list type normal laddr $laddr user default id $id]]
        assert_equal {} [r client list maxage 10000]
        assert_error "ERR Unknown client type 'what'" {r client list type what}
        assert_error "ERR syntax error" {r client list id abc}
        foreach bad {{id} {type} {what} {what x} {type normal extra} {skipme maybe}} {
            assert_error "ERR syntax error" {r client list {*}$bad}
        }
    }

    test {CLIENT GETNAME and SETNAME} {
        assert_equal {} [r client getname]
        assert_equal OK [r client setname me!]
        assert_equal me! [r client getname]
        assert_match "*name=me! *" [r client list]
        foreach bad [list "a b" "a\nb" "\x7f" "\xe9"] {
            assert_error "ERR Client names cannot contain spaces, newlines or special characters." {
                r client setname $bad
            }
        }
        assert_equal me! [r client getname]
        assert_equal OK [r client setname {}]
        assert_equal {} [r client getname]
    }

    test {CLIENT SETINFO} {
        assert_equal OK [r client setinfo lib-name mylib]
        assert_equal OK [r client setinfo LIB-VER 1.2.3]
        assert_match "*lib-name=mylib lib-ver=1.2.3 *" [r client info]
        assert_error "ERR lib-name cannot contain spaces, newlines or special characters." {
            r client setinfo lib-name "a b"
        }
        assert_error "ERR LIB-VER cannot contain*" {r client setinfo LIB-VER "a\n"}
        assert_error "ERR Unrecognized option 'what'" {r client setinfo what x}
        assert_equal OK [r client setinfo lib-name {}]
        assert_match "*lib-name= lib-ver=1.2.3 *" [r client info]
    }

    test {CLIENT ID increases with each connection} {
        set id [r client id]
        set c [valkey_client]
        assert_morethan [$c client id] $id
        assert_equal $id [r client id]
        $c close
    }

    test {CLIENT KILL, the old form} {
        set c [valkey_client]
        assert_error "ERR No such client" {r client kill 1.2.3.4:5}
        set addr [dict get [client_fields [$c client info]] addr]
        assert_equal OK [r client kill $addr]
        assert_error "I/O error*" {$c ping}
        $c close
        set c [valkey_client]
        assert_equal OK [$c client kill [dict get [client_fields [$c client info]] addr]]
        assert_error "I/O error*" {$c ping}
        $c close
    }

    test {CLIENT KILL by filters} {
        set c [valkey_client]
        set id [$c client id]
        set addr [dict get [client_fields [$c client info]] addr]
        foreach {filter count} [list {id 99999} 0 {type pubsub} 0 "id $id addr 1.2.3.4:5" 0 "id $id maxage 1000" 0 \
                                    "id $id user default addr $addr laddr 127.0.0.1:[srv port] type normal" 1] {
            assert_equal $count [r client kill {*}$filter] $filter
        }
        assert_error "I/O error*" {$c ping}
        $c close
        assert_error "ERR No such user 'nobody'" {r client kill user nobody skipme yes}
        assert_error "ERR Unknown client type 'what'" {r client kill type what}
        foreach bad {0 -1} { assert_error "ERR client-id should be greater than 0" {r client kill id $bad} }
        foreach bad {{id abc} {skipme maybe} {what x} {id 1 what} {id 1 type} {id 1 what x}} {
            assert_error "ERR syntax error" {r client kill {*}$bad}
        }
        assert_error "ERR maxage should be greater than 0" {r client kill maxage 0}
        assert_error "ERR maxage is not an integer or out of range" {r client kill maxage x}
    }

    test {CLIENT KILL does not close its caller, unless skipme is no} {
        wait_for_condition 500 20 {[llength [client_list]] == 1} else { fail "still listed" }
        set cs [list [valkey_client] [valkey_client] [valkey_client]]
        assert_equal 3 [r client kill type normal]
        foreach c $cs {
            assert_error "I/O error*" {$c ping}
            $c close
        }
        assert_equal PONG [r ping]
        set c [valkey_client]
        assert_equal 1 [$c client kill id [$c client id] skipme no]
        assert_error "I/O error*" {$c ping}
        $c close
    }

    test {CLIENT KILL of several ids} {
        set c [valkey_client]
        set d [valkey_client]
        assert_equal 2 [r client kill id [$c client id] [$d client id] 99999 skipme yes]
        $c close
        $d close
    }

    test {CLIENT UNBLOCK} {
        set d [valkey_deferring_client]
        $d client id
        set id [$d read]
        assert_equal 0 [r client unblock $id]
        foreach {how answer} {{} {} timeout {} error {UNBLOCKED client unblocked via CLIENT UNBLOCK}} {
            $d bzpopmin nosuchkey 0
            wait_for_condition 500 20 {[s blocked_clients] == 1} else { fail "not blocked" }
            assert_equal 1 [r client unblock $id {*}$how]
            catch {$d read} got
            assert_equal $answer $got
            assert_equal 0 [s blocked_clients]
        }
        assert_equal 0 [r client unblock 99999]
        assert_equal 0 [r client unblock [r client id]]
        assert_error "ERR value is not an integer or out of range" {r client unblock abc}
        assert_error "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR" {r client unblock 1 what}
        assert_equal 0 [r client unblock 99999 1 ""]
        $d close
    }

    test {CLIENT HELP} {
        set lines [r client help]
        assert_equal "CLIENT <subcommand> \[<arg> \[value\] \[opt\] ...\]. Subcommands are:" [lindex $lines 0]
        assert_equal {HELP {    Print this help.}} [lrange $lines end-1 end]
    }
}

start_server {tags {client}} {
    test {HELLO has the right fields} {
        set hello [r hello]
        assert_equal {server version proto id mode role modules} [dict keys $hello]
        assert_equal valkey [dict get $hello server]
        assert_equal 2 [dict get $hello proto]
        assert_equal [r client id] [dict get $hello id]
        assert_equal {standalone master} [list [dict get $hello mode] [dict get $hello role]]
        assert_match "*.*.*" [dict get $hello version]
    }

    test {HELLO 3 and back} {
        set c [valkey_client]
        $c write "HELLO 3\r\n"
        assert_equal %7 [$c rawread]
        # After three lines of name and value each comes an array of one map, whose last value is an array too.
        while {[set line [$c rawread]] ne "*0"} {}
        $c get nosuchkey
        $c write "GET nosuchkey\r\n"
        assert_equal _ [$c rawread]
        assert_equal 3 [dict get [client_fields [$c client info]] resp]
        $c hello
        $c write "GET nosuchkey\r\n"
        assert_equal _ [$c rawread]
        $c hello 2
        $c write "GET nosuchkey\r\n"
        assert_equal "\$-1" [$c rawread]
        $c close
    }

    test {HELLO: errors change nothing} {
        r client setname old
        assert_error "NOPROTO unsupported protocol version" {r hello 4}
        assert_error "NOPROTO unsupported protocol version" {r hello 1}
        assert_error "ERR Protocol version is not an integer or out of range" {r hello abc}
        assert_error "ERR Syntax error in HELLO option 'what'" {r hello 3 what}
        assert_error "ERR Syntax error in HELLO option 'AUTH'" {r hello 3 AUTH user}
        assert_error "ERR Syntax error in HELLO option 'SETNAME'" {r hello 3 SETNAME}
        assert_error "ERR Syntax error in HELLO option 'what'" {r hello 3 SETNAME new what}
        assert_error "WRONGPASS *" {r hello 3 SETNAME new AUTH nobody x}
        assert_error "ERR Client names cannot contain*" {r hello 3 SETNAME "a b"}
        assert_equal old [r client getname]
        assert_equal 2 [dict get [client_fields [r client info]] resp]
    }

    test {HELLO with a name} {
        assert_equal 3 [dict get [r hello 3 setname new auth default anything] proto]
        assert_equal new [r client getname]
        r hello 2
        assert_equal new [r client getname]
    }

    test {availability-zone shows in HELLO and INFO} {
        r config set availability-zone zone-a
        assert_equal zone-a [dict get [r hello 2] availability_zone]
        assert_equal zone-a [s availability_zone]
        r config set availability-zone {}
        assert_equal 0 [dict exists [r hello 2] availability_zone]
    }

    test {RESET} {
        r hello 3 setname me
        r select 5
        assert_equal RESET [r reset]
        set f [client_fields [r client info]]
        assert_equal {0 2 {}} [list [dict get $f db] [dict get $f resp] [dict get $f name]]
        assert_error "ERR wrong number of arguments for 'reset' command" {r reset x}
    }

    test {SELECT} {
        assert_equal OK [r select 15]
        r set k 15
        assert_equal OK [r select 0]
        assert_equal {} [r get k]
        assert_error "ERR DB index is out of range" {r select 16}
        assert_error "ERR DB index is out of range" {r select -1}
        assert_error "ERR value is not an integer or out of range" {r select abc}
        assert_error "ERR value is out of range, value must between -2147483648 and 2147483647" {r select 99999999999}
        r select 15
        assert_equal 15 [r get k]
        r flushdb
        r select 0
    }

    test {each connection has its own database} {
        set c [valkey_client]
        r select 3
        r set k three
        assert_equal {} [$c get k]
        $c close
        r flushdb
        r select 0
    }

    test {PING, ECHO and QUIT} {
        assert_equal PONG [r ping]
        assert_equal "a\r\n\x00" [r ping "a\r\n\x00"]
        assert_error "ERR wrong number of arguments for 'ping' command" {r ping a b}
        assert_equal {} [r echo {}]
        assert_equal hello [r echo hello]
        assert_error "ERR wrong number of arguments for 'echo' command" {r echo}
        set c [valkey_client]
        assert_equal OK [$c quit]
        assert_error "I/O error*" {$c ping}
        $c close
    }
}

# The log of a test shows the address of each client, which is then kept.
start_server {tags {client memory external:skip} overrides {loglevel notice}} {
    if {![string match jemalloc* [s mem_allocator]]} { return }

    # Bytes of used_memory for each of 200 connections that have run `args` and wait.
    # The least of three times: now and then the server itself needs some memory meanwhile.
    proc bytes_per_idle_client {args} {
        return [tcl::mathfunc::min {*}[lmap i {1 2 3} { bytes_per_idle_client_once {*}$args }]]
    }
    proc bytes_per_idle_client_once {args} {
        set before [s used_memory]
        for {set i 0} {$i < 200} {incr i} {
            set c [valkey_client]
            $c {*}$args
            lappend idle $c
        }
        set bytes [expr {double([s used_memory] - $before) / 200}]
        foreach c $idle { $c close }
        wait_for_condition 200 20 {[s connected_clients] == 1} else { fail "they are still there" }
        return $bytes
    }

    test {an idle client takes little memory: no buffers, no optional parts} {
        bytes_per_idle_client ping ;# what stays: pools, tables that have grown
        # The struct that represents a connection owned by an I/O thread.
        set port [expr {[config_get io-threads] > 1 ? 192 : 0}]
        assert_lessthan [bytes_per_idle_client ping] [expr {560 + $port}]
        assert_lessthan [bytes_per_idle_client client setname somebody] [expr {640 + $port}]
        assert_lessthan [bytes_per_idle_client client reply on] [expr {560 + $port}]
    }
}
