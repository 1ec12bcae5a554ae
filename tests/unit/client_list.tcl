# Filters of CLIENT LIST and CLIENT KILL, each alone, turned round, and together; CAPA, NO-TOUCH; the fields that move.

proc listed {args} { return [lsort [lmap line [split [string trim [r client list {*}$args]] \n] {
    regexp {^id=\d+ .* name=(\S*) } $line -> name
    set name
}]] }

proc dict_of_line {line} {
    foreach pair [split [string trim $line]] {
        regexp {^([^=]+)=(.*)$} $pair -> name value
        dict set fields $name $value
    }
    return $fields
}

proc field {client name} {
    regexp " $name=(\\S*)" " [$client client info]" -> value
    return $value
}

start_server {tags {client}} {
    r client setname me
    foreach name {one two sub} {
        set client($name) [valkey_client]
        $client($name) client setname $name
        set idof($name) [$client($name) client id]
    }
    $client(one) client setinfo lib-name lib1
    $client(one) client setinfo lib-ver 1.0
    $client(one) client capa redirect whatever
    $client(two) select 5
    $client(two) client setinfo lib-name lib2
    $client(two) client no-evict on
    $client(two) client no-touch on
    $client(sub) deferred 1
    $client(sub) subscribe ch
    $client(sub) read
    set addr [field $client(one) addr]
    set laddr [field $client(one) laddr]

    test {CLIENT LIST: each filter alone, and its negation} {
        set all {me one sub two}
        foreach {filter expected} [list \
            "id $idof(one)" one "id $idof(one) $idof(two) 99999" {one two} \
            {type normal} {me one two} {type pubsub} sub {type replica} {} {type primary} {} \
            {name one} one {name nobody} {} {lib-name lib1} one {lib-name nothing} {} {lib-ver 1.0} one \
            {db 5} two {db 0} {me one sub} {flags P} sub {flags eT} two {flags T} two {flags N} {me one} {flags Pe} {} \
            {capa r} one {ip 127.0.0.1} $all {ip 10.0.0.1} {} "addr $addr" one "laddr $laddr" $all \
            {user default} $all] {
            assert_equal $expected [listed {*}$filter] $filter
            set rest [lmap name $all { if {$name in $expected} continue; set name }]
            assert_equal $rest [listed not-[lindex $filter 0] {*}[lrange $filter 1 end]] "not-$filter"
        }
    }

    test {CLIENT LIST: filters together} {
        assert_equal one [listed type normal not-db 5 skipme yes]
        assert_equal {me sub} [listed not-id $idof(one) not-name two]
        assert_equal {one two} [listed id $idof(one) id $idof(two)]
        assert_equal {me one two} [listed id $idof(one) $idof(two) type normal id [r client id] not-id $idof(sub)]
        assert_equal {me two} [listed not-id $idof(one) not-id $idof(sub)]
        assert_equal {} [listed name one not-name one]
        assert_equal two [listed name one name two]
        assert_equal {one sub two} [listed skipme yes skipme yes]
        assert_equal {me one sub two} [listed skipme yes skipme no]
        assert_equal {me one} [listed not-type pubsub not-flags e]
        assert_equal {} [listed maxage 100000]
        assert_equal {} [listed idle 100000]
    }

    test {CLIENT LIST and KILL refuse wrong values} {
        foreach {filter error} {
            {type what} "ERR Unknown client type 'what'" {not-type what} "ERR Unknown client type 'what'"
            {user nobody} "ERR No such user 'nobody'" {flags PX} "ERR Unknown flags found in the provided filter: PX"
            {capa rz} "ERR Unknown capa found in the provided filter: rz"
            {not-flags PX} "ERR Unknown flags found in the NOT-FLAGS filter: PX"
            {not-capa rz} "ERR Unknown capa found in the NOT-CAPA filter: rz"
            {not-db x} "ERR NOT-DB is not an integer or out of range" {not-db 16} "ERR NOT-DB number should be between 0 and 15"
            {db x} "ERR DB is not an integer or out of range" {db 16} "ERR DB number should be between 0 and 15"
            {db -1} "ERR DB number should be between 0 and 15" {idle 0} "ERR idle should be greater than 0"
            {idle x} "ERR idle is not an integer or out of range" {maxage -1} "ERR maxage should be greater than 0"
            {id 0} "ERR client-id should be greater than 0" {id x} "ERR syntax error"
            {not-id -5} "ERR client-id should be greater than 0" {not-maxage 5} "ERR syntax error"
            {not-idle 5} "ERR syntax error" {not-skipme yes} "ERR syntax error" {skipme maybe} "ERR syntax error"
            {id 1 what} "ERR syntax error" {id 1 what x} "ERR syntax error" {not- x} "ERR syntax error"
        } {
            assert_error $error {r client list {*}$filter} "list $filter"
            assert_error $error {r client kill {*}$filter} "kill $filter"
        }
    }

    test {CLIENT CAPA} {
        assert_equal OK [r client capa what]
        assert_equal {} [field r capa]
        assert_equal r [field $client(one) capa]
        $client(one) reset
        assert_equal r [field $client(one) capa] "what it understands stays"
        $client(one) client setname one
    }

    test {CLIENT NO-TOUCH: reads do not count as use} {
        r select 5
        r set k v
        config_set maxmemory-policy allkeys-lfu
        set before [r object freq k]
        for {set i 0} {$i < 100} {incr i} { $client(two) get k }
        assert_equal $before [r object freq k]
        assert_error "ERR syntax error" {r client no-touch what}
        config_set maxmemory-policy noeviction
        r select 0
    }

    test {CLIENT KILL by the newer filters} {
        assert_equal 0 [r client kill name nobody]
        assert_equal 1 [r client kill lib-name lib2 db 5]
        assert_error "I/O error*" {$client(two) ping}
        assert_equal 1 [r client kill flags P]
        wait_for_condition 500 20 {[listed] eq {me one}} else { fail [listed] }
        assert_equal 1 [r client kill not-id [r client id] ip 127.0.0.1]
        wait_for_condition 500 20 {[listed] eq {me}} else { fail [listed] }
        foreach name {one two sub} { $client($name) close }
    }
}

start_server {tags {client}} {
    test {CLIENT INFO in a transaction shows EXEC; CLIENT LIST the last command, even a refused one} {
        set c [valkey_client]
        set id [$c client id]
        assert_match "* multi=-1 *" [$c client info]
        $c multi
        $c client info
        assert_match "*flags=x *cmd=exec *" [lindex [$c exec] 0]
        assert_match "* multi=0 *" [$c client info]
        foreach {command shown} {{get k} get {set k} set {nosuch x} NULL {config get hz} config|get} {
            catch {$c {*}$command}
            assert_match "*cmd=$shown *" [r client list id $id] $command
        }
        $c multi
        $c set k v
        assert_match "*multi=1 *cmd=set *" [r client list id $id]
        $c close
    }

    test {Memory: each field grows with the memory that it counts} {
        set c [valkey_deferring_client]
        $c client id
        set id [$c read]
        set before [dict_of_line [r client list id $id]]
        $c multi
        $c set k [string repeat x 20000]
        wait_for_condition 500 20 {[dict get [dict_of_line [r client list id $id]] multi] == 1} else { fail "not queued" }
        set queued [dict_of_line [r client list id $id]]
        assert_morethan_equal [dict get $queued multi-mem] 20000
        assert_morethan_equal [dict get $queued tot-mem] [expr {[dict get $before tot-mem] + 20000}]
        $c discard
        $c write "*2\r\n\$4\r\nECHO\r\n\$10000\r\n[string repeat y 9000]"
        wait_for_condition 500 20 {[dict get [dict_of_line [r client list id $id]] qbuf] >= 9000} else { fail "no input" }
        assert_morethan_equal [dict get [dict_of_line [r client list id $id]] tot-mem] 9000
        $c write "[string repeat y 1000]\r\n"
        foreach reply {OK QUEUED OK} { assert_equal $reply [$c read] }
        assert_equal 10000 [string length [$c read]]
        wait_for_condition 500 20 {[dict get [dict_of_line [r client list id $id]] qbuf] == 0} else { fail "input stays" }
        $c close
    }

    test {timeout: silent clients are disconnected, those that wait are not} {
        set silent [valkey_client]
        $silent client setname silent
        set sub [valkey_client]
        $sub deferred 1
        $sub subscribe ch
        $sub read
        set blocked [valkey_deferring_client]
        $blocked blpop nolist 0
        assert_error "*argument must be between 0 and 2147483647 inclusive*" {r config set timeout -1}
        config_set timeout 1
        wait_for_condition 300 50 {[r client list name silent] eq {}} else { fail "still connected" }
        config_set timeout 0
        assert_error "I/O error*" {$silent ping}
        r lpush nolist 1
        assert_equal {nolist 1} [$blocked read]
        r publish ch hello
        assert_equal {message ch hello} [$sub read]
        foreach c [list $silent $sub $blocked] { $c close }
    }

    test {Many blocked clients with timeouts} {
        set cs {}
        for {set i 0} {$i < 200} {incr i} {
            set c [valkey_deferring_client]
            $c blpop list [expr {$i % 2 ? 0.2 : 1000}]
            lappend cs $c
        }
        wait_for_condition 200 50 {[s clients_in_timeout_table] == 100} else { fail "[s clients_in_timeout_table]" }
        assert_equal {100 1} [list [s blocked_clients] [s total_blocking_keys]]
        for {set i 0} {$i < 100} {incr i} { r lpush list $i }
        assert_equal {0 0} [list [s blocked_clients] [s clients_in_timeout_table]]
        foreach c $cs { $c close }
    }

    test {Queued commands count against client-query-buffer-limit} {
        config_set client-query-buffer-limit 1mb
        set before [s client_query_buffer_limit_disconnections]
        set c [valkey_client]
        $c multi
        for {set i 0} {$i < 30} {incr i} {
            if {[catch {$c set k [string repeat x 50000]}]} { break }
        }
        assert_range $i 15 21
        assert_equal [expr {$before + 1}] [s client_query_buffer_limit_disconnections]
        assert_equal 0 [r exists k]
        $c close
        config_set client-query-buffer-limit 1gb
    }

    test {The fields of the largest buffers cover the last seconds} {
        r echo [string repeat x 500000]
        assert_morethan_equal [s client_recent_max_input_buffer] 500000
        wait_for_condition 300 100 {[s client_recent_max_input_buffer] < 100000} else { fail "it stays" }
    } {} {slow}

    test {The time of the soft limit runs although no more output is written} {
        config_set client-output-buffer-limit "normal 0 1mb 1"
        r set big [string repeat x 1000000]
        set before [s client_output_buffer_limit_disconnections]
        set c [valkey_deferring_client]
        for {set i 0} {$i < 15} {incr i} { $c get big }
        wait_for_condition 300 50 {[s client_output_buffer_limit_disconnections] == $before + 1} else { fail "connected" }
        $c close
        config_set client-output-buffer-limit "normal 0 0 0"
        r del big
    }

    test {SSUBSCRIBE is refused in a transaction} {
        r multi
        r ssubscribe ch
        assert_equal [list "ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client"] [r exec]
        assert_equal {ch 0} [r pubsub shardnumsub ch]
    }
}
