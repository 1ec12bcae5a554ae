# Decisions beside a model (9.2 §5): users with several roles and selectors, whose rules change at random while clients run.
# The model keeps rules as sets and decides by itself. Each decision is asked for by DRYRUN, and the command is run by a
# client that is logged in all the time: directly, or queued before the last change and executed after it.

# ---- The model -----------------------------------------------------------------------------------------------------

# The commands: categories, the places of their keys with the access that each needs (-: any), places of channels, of
# databases.
set facts {
    get         {{read string fast}             {1 R}}
    strlen      {{read string fast}             {1 -}}
    set         {{write string slow}            {1 W}}
    incr        {{write string fast}            {1 RW}}
    getset      {{write string fast}            {1 RW}}
    exists      {{keyspace read fast}           {1 -}}
    mget        {{read string fast}             {1 R 2 R}}
    mset        {{write string slow}            {1 W 3 W}}
    del         {{keyspace write slow}          {1 W 2 W}}
    copy        {{keyspace write slow}          {1 R 2 W}}
    rename      {{keyspace write slow}          {1 RW 2 W}}
    dbsize      {{keyspace read fast}           {}}
    ping        {{connection fast}              {}}
    config|get  {{admin dangerous slow}         {}}
    acl|whoami  {slow                           {}}
    publish     {{pubsub fast}                  {} 1}
    spublish    {{pubsub fast}                  {} 1}
    subscribe   {{pubsub slow}                  {} {1 2}}
    psubscribe  {{pubsub slow}                  {} {1}}
    select      {{connection fast}              {} {} 1}
    swapdb      {{keyspace write fast dangerous} {} {} {1 2}}
    multi       {{transaction fast}             {}}
    exec        {{transaction slow}             {}}
    eval        {{scripting slow}               {}}
}
# Those with arguments: K is a key, C a channel, D a database, P a pattern.
set calls {
    {get K} {get K} {get K} {strlen K} {set K 1} {set K 1} {incr K} {getset K 1} {exists K} {mget K K} {mset K 1 K 2} {del K K} {copy K K} {rename K K}
    dbsize ping {config get maxmemory} {acl whoami} {publish C m} {spublish C m} {subscribe C C} {psubscribe P} {select D} {swapdb D D}
}
set keys {a a1 ab abc b b1 key:1 key:12345678 key:2 other x}
set key_patterns {a* ab* a abc b? key:* key:1* key:12345678 {[ab]1} x *}
set channels {c c1 c2 n}
set channel_patterns {c* c c1 n *}
set databases {0 1 2}

proc new_selector {} { return [dict create commands {} first {} keys {} channels {} dbs all] }

proc names_in {what} {
    global facts
    if {$what eq "@all"} { return [dict keys $facts] }
    if {[string match @* $what]} {
        return [lmap {name fact} $facts { if {[string range $what 1 end] ni [lindex $fact 0]} continue; set name }]
    }
    return [lmap name [dict keys $facts] { if {$name ne $what && ![string match $what|* $name]} continue; set name }]
}

# The selector after one more rule. A rule that has to be refused is an error.
proc with_rule {s rule} {
    switch -glob -- $rule {
        allkeys - ~\\* { dict set s keys all }
        resetkeys { dict set s keys {} }
        allchannels - &\\* { dict set s channels all }
        resetchannels { dict set s channels {} }
        alldbs { dict set s dbs all }
        resetdbs { dict set s dbs {} }
        db=* { dict set s dbs [split [string range $rule 3 end] ,] }
        ~* - %* {
            if {[dict get $s keys] eq "all"} { error refused }
            regexp {^(?:%([RW]+))?~(.*)$} $rule -> access pattern
            dict set s keys $pattern "[expr {[dict exists $s keys $pattern] ? [dict get $s keys $pattern] : {}}][expr {$access eq {} ? "RW" : $access}]"
        }
        &* {
            if {[dict get $s channels] eq "all"} { error refused }
            dict lappend s channels [string range $rule 1 end]
        }
        +select|* {
            if {"select" ni [dict get $s commands]} { dict lappend s first [string range $rule 8 end] }
        }
        +* {
            set names [names_in [string range $rule 1 end]]
            dict set s commands [lsort -unique [concat [dict get $s commands] $names]]
            if {"select" in $names} { dict set s first {} }
        }
        -* {
            set names [names_in [string range $rule 1 end]]
            dict set s commands [lmap name [dict get $s commands] { if {$name in $names} continue; set name }]
            if {"select" in $names} { dict set s first {} }
        }
        default { error "no such rule: $rule" }
    }
    return $s
}

# A list of selectors after one more rule.
proc with_rules {selectors rules} {
    foreach rule $rules {
        if {$rule eq "clearselectors"} {
            set selectors [lrange $selectors 0 0]
        } elseif {[string match (* $rule]} {
            set s [new_selector]
            foreach inner [string range $rule 1 end-1] { set s [with_rule $s $inner] }
            lappend selectors $s
        } else {
            lset selectors 0 [with_rule [lindex $selectors 0] $rule]
        }
    }
    return $selectors
}

# Whether one of the patterns alone grants all of the access.
proc key_granted {patterns key access} {
    foreach {pattern granted} $patterns {
        if {![string match $pattern $key]} continue
        set missing [lmap need [split [string trim $access -] {}] { if {[string first $need $granted] >= 0} continue; set need }]
        if {$missing eq {}} { return 1 }
    }
    return 0
}

# What a selector denies first: 1 a database, 2 the command, 3 a key, 4 a channel; 0: nothing.
proc denied_by {s name words db} {
    global facts
    lassign [dict get $facts $name] categories key_places channel_places db_places
    set needed [lmap place $db_places { lindex $words $place }]
    if {$name ne "swapdb" && [lmap one {keyspace read write scripting} { if {$one ni $categories} continue; set one }] ne {}} { lappend needed $db }
    if {[dict get $s dbs] ne "all"} {
        foreach one $needed { if {$one ni [dict get $s dbs]} { return 1 } }
    }
    if {$name ni [dict get $s commands] && !($name eq "select" && [lindex $words 1] in [dict get $s first])} { return 2 }
    if {[dict get $s keys] ne "all"} {
        foreach {place access} $key_places {
            if {![key_granted [dict get $s keys] [lindex $words $place] $access]} { return 3 }
        }
    }
    if {[dict get $s channels] ne "all"} {
        foreach place $channel_places {
            set channel [lindex $words $place]
            set fits [lmap pattern [dict get $s channels] {
                expr {$name eq "psubscribe" ? $pattern eq $channel : [string match $pattern $channel]}
            }]
            if {1 ni $fits} { return 4 }
        }
    }
    return 0
}

# The selectors that count for a user.
proc grants_of {user {with_roles 1}} {
    global users roles
    set grants [dict get $users $user selectors]
    if {!$with_roles} { return $grants }
    foreach role [dict get $users $user roles] { lappend grants {*}[dict get $roles $role] }
    return $grants
}

proc name_of {words} {
    return [expr {[lindex $words 0] in {config acl} ? [join [lrange $words 0 1] |] : [lindex $words 0]}]
}

# What the model says about a command of a user: "OK", or the kind of the denial.
proc expected {user words db {with_roles 1}} {
    set furthest 0
    foreach s [grants_of $user $with_roles] {
        set denial [denied_by $s [name_of $words] $words $db]
        if {!$denial} { return OK }
        set furthest [expr {max($furthest, $denial)}]
    }
    return [lindex {- database command key channel} $furthest]
}

# ---- Random rules and calls ----------------------------------------------------------------------------------------

proc random_rule {} {
    global key_patterns channel_patterns facts databases
    switch [randomInt 14] {
        0 - 1 - 2 { return +[randomElement [dict keys $facts]] }
        3 { return -[randomElement [dict keys $facts]] }
        4 { return +@[randomElement {all read write string keyspace pubsub fast slow connection dangerous admin}] }
        5 { return -@[randomElement {all read write string keyspace pubsub fast slow connection dangerous admin}] }
        6 - 7 - 8 { return [randomElement {~ ~ %R~ %W~ %RW~}][randomElement $key_patterns] }
        9 { return &[randomElement $channel_patterns] }
        10 { return [randomElement {resetkeys resetkeys allkeys resetchannels allchannels}] }
        11 { return [randomElement {alldbs resetdbs db=0 db=1 db=0,1 db=0,2}] }
        12 { return +select|[randomElement $databases] }
        13 { return +@[randomElement {read write}] }
    }
}

# Selectors that allow all databases hide those that do not, so many rules are about databases.
proc random_rules {} {
    set rules [expr {[randomInt 3] ? {} : [list [randomElement {db=0 db=1 db=2 resetdbs}]]}]
    for {set n [randomRange 1 4]} {$n} {incr n -1} {
        set dice [randomInt 12]
        if {$dice == 0} {
            lappend rules clearselectors
        } elseif {$dice < 3} {
            set inner {}
            for {set k [randomRange 1 4]} {$k} {incr k -1} { lappend inner [random_rule] }
            lappend rules "([join $inner { }])"
        } else {
            lappend rules [random_rule]
        }
    }
    # Selectors are not meant to become many.
    return [expr {[randomInt 6] ? $rules : [linsert $rules 0 clearselectors]}]
}

proc random_call {} {
    global calls keys channels databases channel_patterns
    return [lmap word [randomElement $calls] {
        switch -exact -- $word {
            K { randomElement $keys }
            C { randomElement $channels }
            P { randomElement $channel_patterns }
            D { randomElement $databases }
            default { set word }
        }
    }]
}

# ---- Changes of the server and of the model ------------------------------------------------------------------------

# Gives a change of rules to both, which must agree on whether it is accepted.
proc change_selectors {what name selectors rules} {
    set refused [catch {with_rules $selectors $rules} changed]
    if {$refused && $changed ne "refused"} { error $changed }
    set said [catch {r acl set$what $name {*}$rules} reply]
    assert_equal $refused $said "set$what $name $rules: $reply"
    return [expr {$refused ? $selectors : $changed}]
}

proc random_change {} {
    global users roles
    set user [randomElement [dict keys $users]]
    set role [randomElement [dict keys $roles]]
    switch [randomInt 12] {
        0 - 1 - 2 - 3 - 4 {
            dict set roles $role [change_selectors role $role [dict get $roles $role] [random_rules]]
        }
        5 - 6 {
            dict set users $user selectors [change_selectors user $user [dict get $users $user selectors] [random_rules]]
        }
        7 - 8 - 9 {
            set wanted [lrange [lsort -command {apply {{a b} { expr {[randomInt 2] * 2 - 1} }}} [dict keys $roles]] 0 [randomInt 3]]
            r acl setuser $user role=[join $wanted ,]
            dict set users $user roles $wanted
        }
        10 {
            r acl setuser $user resetroles
            dict set users $user roles {}
        }
        11 {
            if {[randomInt 2]} {
                r acl setuser $user reset on nopass
                dict set users $user [dict create selectors [list [new_selector]] roles {}]
                return
            }
            # The role goes if nobody has it, and comes again without rules.
            set in_use [expr {1 in [lmap u [dict keys $users] { expr {$role in [dict get $users $u roles]} }]}]
            assert_equal $in_use [catch {r acl delrole $role}]
            assert_equal [lsort [lmap u [dict keys $users] { if {$role ni [dict get $users $u roles]} continue; set u }]] \
                [expr {$in_use ? [dict get [r acl getrole $role] users] : {}}]
            if {!$in_use} {
                r acl setrole $role
                dict set roles $role [list [new_selector]]
            }
        }
    }
}

# What kind of reply a command or DRYRUN got: OK, or the kind of its denial.
proc kind_of {said} {
    if {![regexp {^(?:NOPERM |User |ERR ACL failure)} $said]} { return OK }
    foreach {pattern kind} {{database} database {to run the '} command {permission to execute} command
        {a key} key {' key} key {touch} key {channel} channel} {
        if {[string first $pattern $said] >= 0} { return $kind }
    }
    return database ;# EXEC says no more than "no permission"
}

set path $::work_dir/model.acl
write_file $path "user default on nopass ~* &* +@all\n"

start_server [list overrides [list aclfile $path] tags {acl external:skip}] {
    set users {}
    set roles {}
    foreach role {r1 r2 r3 r4 r5} {
        r acl setrole $role
        dict set roles $role [list [new_selector]]
    }
    foreach user {u1 u2 u3} {
        r acl setuser $user on nopass
        dict set users $user [dict create selectors [list [new_selector]] roles {}]
        set client($user) [valkey_client]
        $client($user) auth $user any
        set db($user) 0
    }

    # Runs the command as the user, directly or in a script. Those that would change the client's mode are not run.
    proc run_directly {user words} {
        upvar 1 client client db db in_scripts in_scripts
        set name [lindex $words 0]
        if {[string match *subscribe $name]} { return [expected $user $words $db($user)] }
        if {[randomInt 2] && $name ni {acl config select swapdb} && [expected $user eval $db($user)] eq "OK"} {
            catch {$client($user) eval {return redis.pcall(unpack(ARGV))} 0 {*}$words} said
            incr in_scripts
        } else {
            catch {$client($user) {*}$words} said
        }
        if {$said eq "OK" && [lindex $words 0] eq "select"} { set db($user) [lindex $words 1] }
        return [kind_of $said]
    }

    test {9.2 §5: 20,000 random decisions are those of a model} {
        array set seen {}
        set decisions 0
        set by_role 0
        set in_scripts 0
        for {set round 0} {$round < 1500} {incr round} {
            random_change
            if {$round % 100 == 99} { # a file holds what has been decided by
                r acl save
                r acl setrole r1 reset[randomElement {keys channels dbs}] +@all
                r acl load
                assert_equal {r1 r2 r3 r4 r5} [r acl roles]
            }
            for {set i 0} {$i < 8} {incr i} {
                set user [randomElement [dict keys $users]]
                set words [random_call]
                set wanted [expected $user $words $db($user)]
                r select $db($user)
                set where "$words of $user in database $db($user), [r acl list]"
                assert_equal $wanted [kind_of [r acl dryrun $user {*}$words]] "DRYRUN $where"
                assert_equal $wanted [run_directly $user $words] $where
                incr seen($wanted)
                incr decisions 2
                incr by_role [expr {$wanted ne [expected $user $words $db($user) 0]}]
            }
        }
        assert_morethan $decisions 20000
        foreach {kind times} {OK 1000 database 50 command 1000 key 50 channel 50} { assert_morethan $seen($kind) $times $kind }
        assert_morethan $in_scripts 200
        assert_morethan $by_role 500 "without roles, these would be other decisions"
    }

    # Gives a user more rules, in the server and in the model.
    proc give {user args} {
        global users
        dict set users $user selectors [change_selectors user $user [dict get $users $user selectors] $args]
    }

    test {queued commands are decided when they run} {
        set decisions 0
        set denied 0
        for {set round 0} {$round < 800} {incr round} {
            set user [randomElement [dict keys $users]]
            set c $client($user)
            give $user "(+multi +exec)"
            $c multi
            set queued {}
            for {set i 0} {$i < 8} {incr i} {
                set words [random_call]
                if {[lindex $words 0] in {select subscribe psubscribe} || [expected $user $words $db($user)] ne "OK"} continue
                assert_equal QUEUED [$c {*}$words]
                lappend queued $words
            }
            random_change
            give $user "(+exec)"
            foreach words $queued reply [$c exec] {
                set wanted [expected $user $words $db($user)]
                assert_equal $wanted [kind_of $reply] "$words of $user, [r acl list]"
                incr decisions
                incr denied [expr {$wanted ne "OK"}]
            }
            give $user clearselectors
        }
        assert_morethan $decisions 1000
        assert_morethan $denied 30
    }

    proc clients_of {user} { return [llength [lsearch -all -regexp [split [r client list] \n] " user=$user "]] }

    # Whether one selector of the user has the channel, whatever commands it has.
    proc channel_granted {user words} {
        foreach s [grants_of $user] {
            if {![denied_by [dict replace $s commands [lindex $words 0] dbs all] [lindex $words 0] [concat $words [lindex $words 1]] 0]} { return 1 }
        }
        return 0
    }

    test {subscribers are closed exactly when a change takes a channel away} {
        array set count {0 0 1 0}
        for {set round 0} {$round < 300} {incr round} {
            set user [randomElement [dict keys $users]]
            r acl setuser $user reset on nopass
            dict set users $user [dict create selectors [list [new_selector]] roles {}]
            foreach role {r1 r2} {
                set rules {clearselectors -@all resetkeys resetchannels +subscribe +psubscribe}
                foreach pattern {c* c c1 n} { if {[randomInt 2]} { lappend rules &$pattern } }
                dict set roles $role [change_selectors role $role [dict get $roles $role] $rules]
            }
            r acl setuser $user role=r1,r2
            dict set users $user roles {r1 r2}
            set c [valkey_client]
            $c auth $user any
            set subscriptions {}
            foreach words {{subscribe c} {subscribe c1} {psubscribe c*} {subscribe n} {psubscribe n}} {
                if {[randomInt 2] || ![channel_granted $user $words]} continue
                $c {*}$words
                lappend subscriptions $words
            }
            switch [randomInt 4] {
                0 { r acl setuser $user role=r1; dict set users $user roles r1 }
                1 { give $user +ping &c }
                default {
                    dict set roles r2 [change_selectors role r2 [dict get $roles r2] [list resetchannels &[randomElement {c c* n}]]]
                }
            }
            set lost [expr {0 in [lmap words $subscriptions { channel_granted $user $words }]}]
            assert_equal [expr {$lost ? 1 : 2}] [clients_of $user] "$subscriptions, [r acl list]"
            incr count($lost)
            $c close
            wait_for_condition 500 10 {[clients_of $user] == 1} else { fail "still there" }
        }
        assert_morethan $count(0) 20
        assert_morethan $count(1) 20
    }

    foreach user [array names client] { $client($user) close }
}
