# The error of a request that several rules refuse: the order of the table in src/command/admission.c. Every kind of
# client sends every kind of request in every state of the server, so that each pair of rules that can both apply
# meets. The expected error follows from the list of rules below; a running Valkey 9.1, where there is one, must give
# the same.

# The rules in their order, with the beginning of the error.
set rules {
    noauth    {NOAUTH Authentication required.}
    unknown   {ERR unknown command 'nosuch'*}
    arity     {ERR wrong number of arguments for 'set' command}
    protected {ERR DEBUG command not allowed.*}
    no_multi  {ERR Command 'watch' not allowed inside a transaction}
    noperm    {NOPERM User limited has no permissions to run the '*' command}
    redirect  {REDIRECT 127.0.0.1:1}
    oom       {OOM command not allowed when used memory > 'maxmemory'.}
    misconf   {MISCONF Valkey is configured to save RDB snapshots,*}
    noreplicas {NOREPLICAS Not enough good replicas to write.}
    readonly  {READONLY You can't write against a read only replica.}
    pubsub    {ERR Can't execute '*': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context}
    stale     {MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.}
    loading   {LOADING Valkey is loading the dataset in memory}
    busy      {BUSY Valkey is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.}
    monitor   {ERR Replica can't interact with the keyspace}
    queued    {QUEUED}
}
set requests {nosuch set {debug sleep 0} {watch k} {set k v} {get k} {del k} ping}
set clients {plain noauth limited pubsub monitor multi {limited pubsub} {limited monitor} {limited multi} {pubsub monitor}
    redirect {redirect limited} {redirect multi} {redirect pubsub}}

# Whether this rule refuses such a request. `state` is a list of oom, misconf, noreplicas, replica (its primary cannot
# be reached), stale (a replica that must not show its data), loading, busy. During a long command memory is not
# checked: nothing can be evicted then.
proc objects {rule client request state} {
    set name [lindex $request 0]
    set data [expr {$request in {{set k v} {get k} {del k}}}]
    set writes [expr {$request in {{set k v} {del k}}}]
    set replica [expr {"replica" in $state || "stale" in $state}]
    switch $rule {
        noauth    { return [expr {"noauth" in $client}] }
        unknown   { return [expr {$name eq "nosuch"}] }
        arity     { return [expr {$request eq "set"}] }
        protected { return [expr {$name eq "debug" && "debug" ni $state}] }
        no_multi  { return [expr {$name eq "watch" && "multi" in $client}] }
        noperm    { return [expr {"limited" in $client && $name in {set debug watch}}] }
        redirect  { return [expr {"redirect" in $client && $replica && $data}] }
        oom       { return [expr {"oom" in $state && "busy" ni $state && "loading" ni $state && $request eq "set k v"}] }
        misconf   { return [expr {"misconf" in $state && $request in {{set k v} {del k} ping}}] }
        noreplicas { return [expr {"noreplicas" in $state && !$replica && $writes}] }
        readonly  { return [expr {$replica && $writes}] }
        stale     { return [expr {"stale" in $state && ($data || $name eq "ping")}] }
        pubsub    { return [expr {"pubsub" in $client && $name ne "ping"}] }
        loading   { return [expr {"loading" in $state && ($data || $name eq "ping")}] }
        busy      { return [expr {"busy" in $state && $name ne "watch"}] }
        monitor   { return [expr {"monitor" in $client && $data}] }
        queued    { return [expr {"multi" in $client}] }
    }
}

# The expected answer: the first rule that refuses, or `runs`.
proc expected {client request state} {
    foreach {rule error} $::rules {
        if {[objects $rule $client $request $state]} { return $rule }
    }
    return runs
}

proc rule_of {reply} {
    foreach {rule error} $::rules {
        if {[string match $error $reply]} { return $rule }
    }
    return runs
}

# The next reply, past what MONITOR shows.
proc reply_of {c} {
    while 1 {
        if {[catch {$c read} reply]} { return $reply }
        if {![regexp {^\d+\.\d{6} \[} $reply]} { return $reply }
    }
}

proc ask {c args} {
    $c {*}$args
    return [reply_of $c]
}

proc open_client {kind} {
    set c [valkey_deferring_client]
    if {"noauth" in $kind} { return $c }
    assert_equal OK [ask $c auth [expr {"limited" in $kind ? "limited" : "default"}] pw]
    if {"redirect" in $kind} { assert_equal OK [ask $c client capa redirect] }
    if {"pubsub" in $kind} { ask $c subscribe ch }
    if {"monitor" in $kind} { assert_equal OK [ask $c monitor] }
    return $c
}

# With `pubsub` it may only subscribe, so MONITOR comes first.
proc open_clients {} {
    set all {}
    foreach kind $::clients {
        if {$kind eq {pubsub monitor}} {
            set c [open_client monitor]
            ask $c subscribe ch
        } else {
            set c [open_client $kind]
        }
        dict set all $kind $c
    }
    return $all
}

# Every client, every request: a dict of "client: request" to the rule that answered.
proc ask_all {all} {
    set said {}
    dict for {kind c} $all {
        foreach request $::requests {
            if {"multi" in $kind} { ask $c multi }
            dict set said "$kind: $request" [rule_of [ask $c {*}$request]]
            if {"multi" in $kind} { ask $c discard }
        }
    }
    return $said
}

proc expected_all {state} {
    set all {}
    foreach kind $::clients {
        foreach request $::requests { dict set all "$kind: $request" [expected $kind $request $state] }
    }
    return $all
}

proc differences {expected said} {
    set out {}
    dict for {key value} $expected {
        if {[dict get $said $key] ne $value} { lappend out "$key: [dict get $said $key], not $value" }
    }
    return $out
}

proc prepare {} {
    r config set requirepass pw
    r auth pw
    r acl setuser limited on >pw ~* &* +@all -set -debug -watch
}

# From now on saving fails, because its folder is deleted. After the change back to the old folder the failure stays.
proc break_saving {} {
    set dir [lindex [r config get dir] 1]
    file mkdir $dir/gone
    r config set dir $dir/gone
    file delete -force $dir/gone
    r config set save "100000 1000000"
    r bgsave
    wait_for_condition 100 20 {[s rdb_bgsave_in_progress] == 0 && [s rdb_last_bgsave_status] eq "err"} else { fail "it saves" }
    r config set dir $dir
}

# States that are there from `on` on, and end with `off`.
proc in_state {state body} {
    r config set maxmemory [expr {"oom" in $state ? 1 : 0}]
    r config set stop-writes-on-bgsave-error [expr {"misconf" in $state ? "yes" : "no"}]
    r config set min-replicas-to-write [expr {"noreplicas" in $state ? 1 : 0}]
    if {"replica" in $state || "stale" in $state} { r replicaof 127.0.0.1 1 }
    r config set replica-serve-stale-data [expr {"stale" in $state ? "no" : "yes"}]
    set c [open_client plain]
    if {"busy" in $state} {
        $c eval {while true do end} 0
        wait_for_condition 100 20 {[catch {r get k} error] && [string match BUSY* $error]} else { fail "not busy" }
    }
    if {"loading" in $state} {
        $c debug reload nosave
        wait_for_condition 100 20 {[s loading] == 1} else { fail "it does not load" }
    }
    uplevel 1 $body
    if {"busy" in $state} {
        r script kill
        assert_match "ERR Script killed by user*" [reply_of $c]
    }
    if {"loading" in $state} {
        assert_equal 1 [s loading] "it still loads"
        r config set key-load-delay 0
        assert_equal OK [ask $c ping]
        r config set key-load-delay 2000
    }
    $c close
    r replicaof no one
    r config set maxmemory 0
    r config set stop-writes-on-bgsave-error no
    r config set min-replicas-to-write 0
}

# All states that the innermost server can be in; a dict of state to the result of ask_all.
proc ask_in_states {states} {
    prepare
    set all [open_clients]
    set found {}
    foreach state $states { in_state $state { dict set found $state [ask_all $all] } }
    dict for {kind c} $all { $c close }
    return $found
}

# ---- Scripts -----------------------------------------------------------------------------------------------------

set script_rules {
    unknown  {ERR Unknown command called from script*}
    arity    {ERR Wrong number of args calling command from script*}
    noscript {ERR This Valkey command is not allowed from script*}
    oom      {OOM command not allowed when used memory > 'maxmemory'.*}
    noperm   {ERR ACL failure in script: User limited has no permissions to run the 'set' command*}
    readonly {ERR Write commands are not allowed from read-only scripts.*}
    noreplicas {NOREPLICAS Not enough good replicas to write.*}
    misconf  {MISCONF Valkey is configured to save RDB snapshots,*}
    replica  {READONLY You can't write against a read only replica.*}
}

# One that has changed something may go on, whatever memory there is.
set script_half_done {'del', 'k'); r = redis.call('append', 'k', 'v'}

proc script_objects {rule user eval call state} {
    set writes [expr {$call in [list {'set', 'k', 'v'} {'del', 'k'} $::script_half_done]}]
    switch $rule {
        noreplicas { return [expr {"noreplicas" in $state && "replica" ni $state && $writes}] }
        replica  { return [expr {"replica" in $state && $writes}] }
        unknown  { return [expr {$call eq "'nosuch'"}] }
        arity    { return [expr {$call eq "'set'"}] }
        noscript { return [expr {$call eq "'subscribe', 'c'"}] }
        oom      { return [expr {"oom" in $state && $call eq "'set', 'k', 'v'"}] }
        noperm   { return [expr {$user eq "limited" && $call eq "'set', 'k', 'v'"}] }
        readonly { return [expr {$eval eq "eval_ro" && $call in [list {'set', 'k', 'v'} {'del', 'k'} $::script_half_done]}] }
        misconf  { return [expr {"misconf" in $state && $call in [list {'set', 'k', 'v'} {'del', 'k'} $::script_half_done]}] }
    }
}

proc ask_scripts {expectedvar} {
    upvar 1 $expectedvar expected
    set found {}
    set expected {}
    foreach state {{} oom misconf {oom misconf} noreplicas {noreplicas misconf} replica {replica oom} {replica misconf}} {
        in_state $state {
            foreach user {default limited} {
                set c [open_client $user]
                foreach eval {eval eval_ro} {
                    foreach call {'nosuch' 'set' {'subscribe', 'c'} {'set', 'k', 'v'} {'del', 'k'} {'get', 'k'}
                                  {'del', 'k'); r = redis.call('append', 'k', 'v'}} {
                        set reply [ask $c $eval "local r = redis.call($call) return r" 0]
                        set key "$state $user $eval $call"
                        foreach list {found expected} { dict set $list $key runs }
                        foreach {error rule} [lreverse $::script_rules] {
                            if {[string match $error $reply]} { dict set found $key $rule }
                            if {[script_objects $rule $user $eval $call $state]} { dict set expected $key $rule }
                        }
                    }
                }
                $c close
            }
        }
    }
    return $found
}

# ---- EXEC, and commands that are tried again ---------------------------------------------------------------------

# The replies of EXEC in a state that began after its commands were queued.
proc ask_exec {states} {
    set found {}
    foreach state $states {
        foreach queued {{set k v} {get k} {del k}} {
            set c [open_client plain]
            ask $c multi
            ask $c {*}$queued
            set rest {}
            in_state $state {
                set reply [ask $c exec]
                if {![regsub {^EXECABORT Transaction discarded because of: } $reply {} reply]} { set reply runs }
                # The transaction is over.
                lappend rest [rule_of [ask $c discard]] [ask $c discard]
            }
            dict set found "$state: $queued" [concat [rule_of $reply] $rest]
            $c close
        }
    }
    return $found
}

# Clients that wait, served behind a transaction that also puts the server into another state.
proc ask_unblocked {} {
    set found {}
    r config resetstat
    foreach {state directive before after} {
        oom maxmemory 0 1
        misconf stop-writes-on-bgsave-error no yes
        calm maxmemory 0 0
    } {
        r config set $directive $before
        r del src dst
        set c [open_client plain]
        $c blmove src dst left left 0
        wait_for_condition 100 20 {[s blocked_clients] == 1} else { fail "it does not wait" }
        r rpush other v
        r multi
        r rename other src
        r config set $directive $after
        r exec
        dict set found $state [list [rule_of [reply_of $c]] [r llen src]]
        r config set $directive $before
        $c close
    }
    set c [open_client limited]
    r del src
    $c blmove src dst left left 0
    wait_for_condition 100 20 {[s blocked_clients] == 1} else { fail "it does not wait" }
    r acl setuser limited -blmove
    r rpush src v
    dict set found noperm [list [rule_of [reply_of $c]] [r llen src]]
    $c close
    regexp {calls=(\d+).*rejected_calls=(\d+)} [cmdstat blmove] - calls rejected
    dict set found counts [list $calls $rejected]
    return $found
}

proc cmdstat {name} {
    regexp "cmdstat_$name:\[^\r\n\]*" [r info commandstats] line
    return $line
}

# ---- The tests ---------------------------------------------------------------------------------------------------

set overrides {replica-ignore-maxmemory no busy-reply-threshold 10 enable-protected-configs yes loading-process-events-interval-bytes 1024}
set states {{} oom misconf {oom misconf} busy {busy oom} {busy misconf} noreplicas {noreplicas oom} {noreplicas misconf} {noreplicas busy}
    replica {replica oom} {replica misconf} {replica noreplicas} {replica busy} stale {stale oom} {stale misconf}}
set loading_states {{loading debug} {loading debug oom} {loading debug misconf}}

proc all_there_is {} {
    break_saving
    r config set stop-writes-on-bgsave-error no
    dict set found states [ask_in_states $::states]
    dict set found scripts [ask_scripts ::expected_scripts]
    dict set found exec [ask_exec {{} oom misconf {oom misconf} busy {busy misconf} noreplicas replica {replica misconf} stale}]
    dict set found unblocked [ask_unblocked]
    return $found
}

proc all_while_loading {} {
    r config set rdbcompression no
    r debug populate 20000 key 1100
    r save
    break_saving
    r config set stop-writes-on-bgsave-error no key-load-delay 2000
    dict set found states [ask_in_states $::loading_states]
    dict set found exec [ask_exec {{loading debug}}]
    return $found
}

tags {external:skip valgrind:skip} {
    start_server [list overrides [concat $overrides enable-debug-command no]] {
        test {every command from every origin in every state is admitted or refused as expected} {
            set ours [all_there_is]
            foreach state $states {
                assert_equal {} [differences [expected_all $state] [dict get $ours states $state]] $state
            }
        }

        test {commands in scripts are checked in an order of their own} {
            assert_equal {} [differences $expected_scripts [dict get $ours scripts]]
        }

        test {EXEC is checked as its commands would be, and a refusal ends the transaction} {
            foreach {key rule} {
                {: set k v} runs {: get k} runs {: del k} runs
                {oom: set k v} oom {oom: get k} runs {oom: del k} runs
                {misconf: set k v} misconf {misconf: get k} runs {misconf: del k} misconf
                {oom misconf: set k v} oom {oom misconf: get k} runs {oom misconf: del k} misconf
                {busy: get k} busy {busy misconf: set k v} misconf {busy misconf: get k} busy
                {noreplicas: set k v} noreplicas {noreplicas: get k} runs {replica: set k v} readonly {replica: get k} runs
                {replica misconf: del k} misconf {stale: set k v} readonly {stale: get k} stale
            } {
                assert_equal [list $rule runs {ERR DISCARD without MULTI}] [dict get $ours exec $key] $key
            }
        }

        test {a command that runs again after blocking is checked again} {
            assert_equal {oom 1} [dict get $ours unblocked oom]
            assert_equal {misconf 1} [dict get $ours unblocked misconf]
            assert_equal {runs 0} [dict get $ours unblocked calm]
            assert_equal {noperm 1} [dict get $ours unblocked noperm]
            assert_equal {1 3} [dict get $ours unblocked counts] "calls, and those that were refused"
        }

        test {a request that is refused does not wait for the end of a pause} {
            set c [open_client limited]
            r client pause 500 all
            set begin [clock milliseconds]
            assert_equal noperm [rule_of [ask $c set k v]]
            assert_equal arity [rule_of [ask $c set]]
            assert_equal unknown [rule_of [ask $c nosuch]]
            assert_lessthan [expr {[clock milliseconds] - $begin}] 450
            assert_equal {} [ask $c get k]
            assert_morethan [expr {[clock milliseconds] - $begin}] 450
            $c close
        }
    }

    start_server [list overrides [concat $overrides enable-debug-command yes] tags {needs:debug}] {
        test {every command from every origin is checked while a file is loaded} {
            set ours_loading [all_while_loading]
            foreach state $loading_states {
                assert_equal {} [differences [expected_all $state] [dict get $ours_loading states $state]] $state
            }
        }

        test {EXEC while a file is loaded is checked as its commands would be} {
            foreach queued {{set k v} {get k} {del k}} {
                assert_equal loading [lindex [dict get $ours_loading exec "loading debug: $queued"] 0] $queued
            }
        }
    }

    if {[valkey_oracle] eq {}} {
        test {Valkey 9.1 gives the same replies} { skip "no Valkey to compare with: utils/oracle fetches it" }
    } else {
        start_server [list executable [valkey_oracle] overrides [concat $overrides enable-debug-command no]] {
            test {Valkey 9.1 gives the same replies} {
                set theirs [all_there_is]
                foreach state $states {
                    assert_equal {} [differences [dict get $theirs states $state] [dict get $ours states $state]] $state
                }
                foreach part {scripts exec unblocked} {
                    assert_equal {} [differences [dict get $theirs $part] [dict get $ours $part]] $part
                }
            }
        }
        start_server [list executable [valkey_oracle] overrides [concat $overrides enable-debug-command yes]] {
            test {Valkey 9.1 gives the same replies while a file is loaded} {
                set theirs [all_while_loading]
                foreach state $loading_states {
                    assert_equal {} [differences [dict get $theirs states $state] [dict get $ours_loading states $state]] $state
                }
                assert_equal {} [differences [dict get $theirs exec] [dict get $ours_loading exec]]
            }
        }
    }
}
