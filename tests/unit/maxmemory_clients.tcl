# maxmemory-clients: the largest clients are disconnected when all together take too much.

proc names {} { return [lsort [lmap line [split [string trim [r client list]] \n] {
    regexp { name=(\S*)} $line -> name
    set name
}]] }

# Clients that each hold so many KiB of queued commands.
proc holder {name kib args} {
    set c [valkey_client]
    $c client setname $name
    foreach command $args { $c {*}$command }
    $c multi
    catch {$c set k [string repeat x [expr {$kib * 1024}]]} ;# it may be its last
    return $c
}

# Sends a command whose reply is several messages and reads them.
proc answers {c n args} {
    $c deferred 1
    $c {*}$args
    for {set i 0} {$i < $n} {incr i} { $c read }
}

proc alive {c} { return [expr {![catch {$c ping}]}] }

start_server {overrides {hide-user-data-from-log no} tags {client}} {
    r client setname me

    test {maxmemory-clients: accepted and refused values} {
        assert_equal 0 [config_get maxmemory-clients]
        foreach {value shown} {100mb 104857600 50% 50% 0 0} {
            config_set maxmemory-clients $value
            assert_equal $shown [config_get maxmemory-clients]
        }
        config_set maxmemory-clients 0
        assert_error "*argument must be a memory or percent value*" {r config set maxmemory-clients x}
        assert_error "*percentage argument must be less or equal to 100*" {r config set maxmemory-clients 101%}
    }

    test {A limit that is too small for any client closes no client} {
        config_set maxmemory-clients 1
        after 300
        assert_equal PONG [r ping]
        assert_equal 1 [config_get maxmemory-clients]
        config_set maxmemory-clients 0
        assert_equal 0 [s evicted_clients]
    }

    test {The largest clients are closed, until the rest fits} {
        foreach {name kib} {a 2000 b 500 d 100} { lappend cs [holder $name $kib] }
        assert_equal {a b d me} [names]
        config_set maxmemory-clients 800kb
        wait_for_condition 500 20 {[names] eq {b d me}} else { fail [names] }
        assert_equal 1 [s evicted_clients]
        assert_equal 1 [count_log_message "The clients exceed maxmemory-clients, so this one is disconnected: id=* name=a *"]
        config_set maxmemory-clients 200kb
        wait_for_condition 500 20 {[names] eq {d me}} else { fail [names] }
        config_set maxmemory-clients 0
        foreach c $cs { $c close }
    }

    test {A client that grows beyond the limit while it is set} {
        config_set maxmemory-clients 1mb
        set small [valkey_client]
        $small client setname small
        set c [holder large 10]
        for {set i 0} {$i < 300 && [alive $c]} {incr i} { catch {$c set k [string repeat x 10240]} }
        assert_range $i 50 150
        wait_for_condition 500 20 {[names] eq {me small}} else { fail [names] }
        $c close
        $small close
        config_set maxmemory-clients 0
    }

    test {Output, input, watched keys and subscriptions count} {
        r set big [string repeat x 100000]
        config_set maxmemory-clients 1mb
        set evicted [s evicted_clients]
        # Output that is not read.
        set c [valkey_deferring_client]
        fconfigure [$c channel] -blocking 0
        for {set i 0} {$i < 2000} {incr i} { catch {$c get big} }
        wait_for_condition 500 20 {[s evicted_clients] == $evicted + 1} else { fail "output" }
        $c close
        # A request that does not end.
        set c [valkey_client]
        catch {$c write "*2\r\n\$4\r\nECHO\r\n\$3000000\r\n[string repeat y 2900000]"}
        wait_for_condition 500 20 {[s evicted_clients] == $evicted + 2} else { fail "input" }
        $c close
        set c [valkey_client]
        for {set i 0} {$i < 40} {incr i} { catch {$c watch [string repeat $i 50000]} }
        wait_for_condition 500 20 {[s evicted_clients] == $evicted + 3} else { fail "watched keys" }
        $c close
        set c [valkey_client]
        for {set i 0} {$i < 100} {incr i} {
            set channels [lmap n [lrepeat 1000 {}] { incr channel }]
            if {[catch {answers $c 1000 psubscribe {*}$channels}]} { break }
        }
        wait_for_condition 500 20 {[s evicted_clients] == $evicted + 4} else { fail "subscriptions" }
        $c close
        config_set maxmemory-clients 0
        r del big
    }

    test {CLIENT NO-EVICT spares a client, and takes it out of the sum} {
        set evicted [s evicted_clients]
        set spared [holder spared 3000 {client no-evict on}]
        set small [holder small 100]
        config_set maxmemory-clients 1mb
        after 100
        assert_equal {me small spared} [names]
        assert_match "*flags=xe *" [r client list name spared]
        set large [holder large 900]
        catch {$large set k [string repeat x 200000]}
        wait_for_condition 500 20 {[names] eq {me small spared}} else { fail [names] }
        $spared discard
        assert_equal OK [$spared client no-evict off]
        assert_error "ERR syntax error" {$spared client no-evict what}
        $spared multi
        catch {$spared set k [string repeat x 3000000]}
        wait_for_condition 500 20 {[names] eq {me small}} else { fail [names] }
        assert_equal [expr {$evicted + 2}] [s evicted_clients]
        config_set maxmemory-clients 0
        foreach c [list $spared $small $large] { $c close }
    }

    test {A percentage is of maxmemory; without maxmemory there is no limit} {
        set c [holder large 3000]
        config_set maxmemory-clients 1%
        after 100
        assert_equal {large me} [names]
        config_set maxmemory 100mb
        wait_for_condition 500 20 {[names] eq {me}} else { fail [names] }
        config_set maxmemory 0
        config_set maxmemory-clients 0
        $c close
    }

    test {The statistics can be reset} {
        assert_morethan [s evicted_clients] 0
        r config resetstat
        assert_equal 0 [s evicted_clients]
    }
}

start_server {tags {client} overrides {maxmemory-clients 1mb}} {
    test {A limit from the configuration file} {
        set c [holder large 2000]
        wait_for_condition 500 20 {[s evicted_clients] == 1} else { fail "not evicted" }
        $c close
    }
}
