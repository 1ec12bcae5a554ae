# Roles in files (9.2 §5): `role` lines of the configuration and of an ACL file, which may stand before or behind the users
# who have them; CONFIG REWRITE, ACL SAVE, ACL LOAD, and a restart give back the same roles and users.
source [file join [file dirname [info script]] .. server server_util.tcl]
source [file join [file dirname [info script]] acl_util.tcl]

set default "user default on nopass ~* &* +@all"

# ---- Random roles and users ----------------------------------------------------------------------------------------

# A text of printable bytes and of some that are not, without those that end a word in a file.
proc random_text {bytes} {
    set text {}
    for {set n [randomRange 1 8]} {$n} {incr n -1} { append text [format %c [randomElement $bytes]] }
    return $text
}
set name_bytes [lmap byte [numbers 33 126] { if {[format %c $byte] in {, \" ' \\}} continue; set byte }]
set rule_bytes [lmap byte [numbers 1 255] { if {$byte in {9 10 11 12 13 32}} continue; set byte }]

proc random_file_rule {} {
    global rule_bytes
    switch [randomInt 6] {
        0 { return [randomElement {~ %R~ %W~ &}][random_text $rule_bytes] }
        1 { return +get|[random_text $rule_bytes] }
        2 { return [randomElement {+@read -@write +set -get +config|get -client|id +@all}] }
        3 { return [randomElement {db=3,1 resetdbs db=7 alldbs}] }
        default { return [randomElement {~* &* resetkeys resetchannels ~a* %RW~* %R~x}] }
    }
}

# Applies random rules one by one, as far as they are accepted.
proc apply_random_rules {what name} {
    for {set n [randomInt 6]} {$n} {incr n -1} {
        set rule [random_file_rule]
        if {[randomInt 4] == 0} { set rule "($rule [random_file_rule])" }
        catch {r acl set$what $name $rule}
    }
}

# Some roles and users with any names and rules. Returns ACL LIST.
proc make_random_roles {} {
    global name_bytes rule_bytes
    foreach user [r acl users] { if {$user ne "default"} { r acl deluser $user } }
    r acl setuser default resetroles
    if {[r acl roles] ne {}} { r acl delrole {*}[r acl roles] }
    set names {}
    for {set n [randomInt 6]} {$n} {incr n -1} {
        set name [random_text $name_bytes]
        r acl setrole $name
        apply_random_rules role $name
        lappend names $name
    }
    set users [list default]
    for {set n [randomInt 5]} {$n} {incr n -1} {
        set name [random_text $rule_bytes]
        r acl setuser $name [randomElement {on off nopass >secret}]
        apply_random_rules user $name
        lappend users $name
    }
    foreach user $users {
        if {$names ne {} && [randomInt 3]} { r acl setuser $user role=[join [lmap i {1 2 3} { randomElement $names }] ,] }
    }
    return [r acl list]
}

# ---- The configuration ---------------------------------------------------------------------------------------------

start_server {overrides {user {bob on nopass role=reader,writer} role {reader ~app:* (+get ~x) +@read db=1} role writer acl-pubsub-default allchannels} tags {acl external:skip}} {
    test {9.2 §5: role lines may follow the users who have them; directives behind them count} {
        assert_equal [list "role reader ~app:* &* db=1 -@all +@read (~x &* -@all +get)" "role writer &* -@all" "user bob on nopass &* -@all role=reader,writer" $default] \
            [r acl list]
        assert_equal OK [r acl dryrun bob get x]
    }

    test {CONFIG GET and CONFIG SET do not know role} {
        assert_error "ERR Unknown option or number of arguments for CONFIG SET - 'role'" {r config set role {x +get}}
        assert_equal {} [r config get role]
        assert_equal -1 [lsearch -exact [r config get *] role]
    }

    test {9.2 §5: CONFIG REWRITE writes all roles} {
        r acl setrole reader resetkeys ~new:*
        r acl setrole third +@write -@dangerous
        r acl delrole nosuch
        r acl setuser bob role=third,reader
        r acl delrole writer
        set before [r acl list]
        assert_equal OK [r config rewrite]
        set text [read_file [srv dir]/server.conf]
        assert_match "*\nrole reader ~new:* &\\* db=1 -@all +@read (~x &\\* -@all +get)\n*" $text
        assert_match "*\nrole third &\\* -@all +@write -@dangerous\n*" $text
        assert_match "*\nuser bob on nopass &\\* -@all role=third,reader\n*" $text
        assert_equal 2 [regexp -all -line {^role } $text]
        restart_server
        assert_equal $before [r acl list]
    }

    test {a rewritten configuration has no roles that were deleted} {
        r acl setuser bob resetroles
        r acl delrole reader third
        r config rewrite
        assert_equal 0 [regexp -all -line {^role } [read_file [srv dir]/server.conf]]
        restart_server
        assert_equal {} [r acl roles]
    }

    test {the default user may have roles, beside requirepass} {
        r acl setrole all +@all ~* &*
        r acl setuser default -@all +acl +config resetkeys role=all
        config_set requirepass secret
        set before [r acl list]
        r config rewrite
        restart_server
        r auth secret
        assert_equal $before [r acl list]
        assert_equal OK [r set k v]
        r config set requirepass {}
        r config rewrite
    }

    test {CONFIG REWRITE and a restart give the same roles and users, whatever their names and rules} {
        for {set i 0} {$i < 12} {incr i} {
            set before [make_random_roles]
            set digest [r acl digest]
            r acl setuser default +@all on nopass
            set before [r acl list]
            r config rewrite
            restart_server
            assert_equal $before [r acl list]
        }
    }
}

test {9.2 §5: a server refuses to start with faulty roles} {
    set dir $::work_dir
    set bad_name "Role names can't be empty and can only contain printable ASCII characters, excluding commas, quotes and backslashes"
    foreach {lines said} [list \
        {"role"}                             "*at line 1\n>>> 'role'\n*requires a role name*" \
        {"role \"\""}                        "*requires a role name*" \
        {"role \"a b\" +get"}                "*at line 1\n>>> 'role \"a b\" +get'\nError in role declaration 'a b': $bad_name*" \
        {"role a,b +get"}                    "*Error in role declaration 'a,b': $bad_name*" \
        {"role a +get" "role a +set"}        "*at line 2\n>>> 'role a +set'\nError in role declaration 'a': Duplicate role found. A role can only be defined once in config files*" \
        {"role a on"}                        "*Error in role declaration 'on': Syntax error*" \
        {"role a >secret"}                   "*Error in role declaration '>secret': Syntax error*" \
        {"role b +get" "role a role=b"}      "*Error in role declaration 'role=b': Syntax error*" \
        {"role a (+get"}                     "*Error in role declaration '(+get': Unmatched parenthesis*" \
        {"role a +nosuch"}                   "*The ACL rule '+nosuch' of the role 'a' is not accepted: Unknown command or category name in ACL\n*Critical error while loading ACLs. Exiting.*" \
        {"user bob role=a" "role b"}         "*The ACL rule 'role=a' of the user 'bob' is not accepted: The specified ACL role does not exist\n*Critical error while loading ACLs. Exiting.*" \
        {"user bob role="}                   "*Error in user declaration 'role=': Syntax error*" \
        {"role a" "aclfile /nosuch"}         "*Users are defined in the configuration file although aclfile is set.*" \
    ] {
        set conf [write_lines $dir/refused.conf {*}$lines "port [free_port]"]
        lassign [run_to_end $conf] code output
        assert_equal 1 $code $lines
        assert_match $said $output $lines
    }
} {} {external:skip}

# ---- A file of users -----------------------------------------------------------------------------------------------

set path $::work_dir/roles.acl
write_lines $path "user bob on nopass role=late,early" "" "role late ~b:* +get" " role early +set (+del ~x)  " $default

start_server [list overrides [list aclfile $path] tags {acl external:skip}] {
    proc client_as {user} {
        set c [valkey_client]
        $c auth $user p
        return $c
    }
    set loaded [list "role early resetchannels -@all +set (~x resetchannels -@all +del)" "role late ~b:* resetchannels -@all +get" \
        "user bob on nopass resetchannels -@all role=late,early" $default]

    test {9.2 §5: the lines of an ACL file may have any order} {
        assert_equal $loaded [r acl list]
        assert_equal OK [r acl dryrun bob get b:1]
    }

    test {9.2 §5: ACL SAVE writes roles before users} {
        r acl save
        assert_equal [join $loaded \n]\n [read_file $path]
        r acl load
        assert_equal $loaded [r acl list]
    }

    test {ACL LOAD removes roles that are not in the file} {
        r acl setrole extra +get
        r acl setuser eve role=extra
        r acl load
        assert_equal {early late} [r acl roles]
        assert_error "*The specified ACL role does not exist" {r acl setuser eve role=extra}
    }

    test {9.2 §5: ACL LOAD changes everything or nothing, and reports every wrong line} {
        r acl setrole early +append
        set before [r acl list]
        set digest [r acl digest]
        set bad_name "Role names can't be empty and can only contain printable ASCII characters, excluding commas, quotes and backslashes"
        foreach {line error} [list \
            "role"                 "$path:3: A line of a role requires a role name." \
            "role  +get"           "$path:3: $bad_name." \
            "role a\\b +get"       "$path:3: $bad_name." \
            "role fine"            "$path:3: Duplicate role found. A role can only be defined once in config files." \
            "role a bad"           "$path:3: Syntax error." \
            "role a role=fine"     "$path:3: Syntax error." \
            "role a on"            "$path:3: Syntax error." \
            "role a +nosuch"       "$path:3: Error in applying operation '+nosuch': Unknown command or category name in ACL." \
            "role a (+get"         "$path:3: Unmatched parenthesis in selector definition." \
            "user u role=nosuch"   "$path:3: The specified ACL role does not exist." \
            "user u role=late"     "$path:3: The specified ACL role does not exist." \
            "user u role="         "$path:3: Syntax error." \
            "Role a +get"          "$path:3 should start with user keyword followed by the username." \
        ] {
            write_lines $path "user new on role=fine" "role fine +get" $line "user fine on"
            catch {r acl load} said
            assert_equal "ERR $error WARNING: ACL errors detected, no change to the previously active ACL rules was performed" \
                [string map {definition.WARNING "definition. WARNING"} $said] $line
            assert_equal [list $before $digest] [list [r acl list] [r acl digest]] $line
        }
        assert_error "ERR Role 'early' is assigned*" {r acl delrole early}
        r acl setuser bob resetroles
        assert_equal 2 [r acl delrole early late]
    }

    test {ACL LOAD changes the rights of clients at once, and closes subscribers} {
        write_lines $path "role a +@all ~* &a &b" "user bob on nopass role=a" "user eve on nopass role=a" "user zoe on nopass role=a"
        r acl load
        foreach user {bob eve zoe} { set $user [client_as $user] }
        foreach round {1 2} { assert_equal {} [$bob get key:12345] }
        $eve subscribe a
        $zoe subscribe b
        write_lines $path "user bob on nopass role=a" "user eve on nopass role=a,b" "user zoe on nopass role=a" "role a +@all ~other:* &b" "role b &a +ping"
        r acl load
        assert_error "NOPERM No permissions to access a key" {$bob get key:12345}
        assert_match "*user=eve*" [r client list]
        assert_match "*user=zoe*" [r client list]
        write_lines $path "user eve on nopass role=a" "user zoe on nopass role=a" "role a +@all &b" "user bob on nopass +@all ~*"
        r acl load
        wait_for_condition 500 20 {![string match "*user=eve*" [r client list]]} else { fail "may not listen to a" }
        assert_match "*user=zoe*" [r client list]
        assert_equal {} [$bob get key:12345]
        foreach c [list $bob $eve $zoe] { $c close }
    }

    test {ACL LOAD with a default user who has roles, and without a default user} {
        write_lines $path "role a +@all ~* &*" "user default on nopass -@all +acl role=a"
        r acl load
        assert_equal {default} [dict get [r acl getrole a] users]
        assert_equal OK [r set k v]
        write_lines $path "role a +@all ~* &*"
        r acl load
        assert_equal {} [dict get [r acl getrole a] users]
        assert_equal $default [lindex [r acl list] end]
    }

    test {ACL SAVE and ACL LOAD give the same roles and users, whatever their names and rules} {
        for {set i 0} {$i < 150} {incr i} {
            make_random_roles
            r acl setuser default +@all on nopass
            set before [r acl list]
            set digest [r acl digest]
            assert_equal OK [r acl save]
            foreach role [r acl roles] { r acl setrole $role +@all allkeys -get }
            r acl setuser default resetroles
            assert_equal OK [r acl load]
            assert_equal [list $before $digest] [list [r acl list] [r acl digest]]
        }
    }

    # One damage to a text: bytes, words or lines.
    proc damaged {text} {
        set lines [split [string trimright $text \n] \n]
        set at [randomInt [llength $lines]]
        set words [split [lindex $lines $at] " "]
        set byte [format %c [randomRange 0 255]]
        set i [randomInt [string length $text]]
        switch [randomInt 8] {
            0 { return [string replace $text $i $i] }
            1 { return [string replace $text $i $i $byte] }
            2 { return [string replace $text $i $i "[string index $text $i]$byte"] }
            3 { return [string range $text 0 $i] }
            4 { return [join [lreplace $lines $at $at] \n] }
            5 { return [join [linsert $lines $at [randomElement $lines]] \n] }
            6 { return [join [lreplace $lines $at $at [join [lreplace $words [set w [randomInt [llength $words]]] $w] " "]] \n] }
            7 { return [join [lreplace $lines $at $at [join [linsert $words [randomInt [llength $words]] [randomElement $words]] " "]] \n] }
        }
    }

    test {a damaged ACL file changes everything or nothing} {
        array set count {accepted 0 refused 0}
        for {set i 0} {$i < 60} {incr i} {
            make_random_roles
            r acl setuser default +@all on nopass
            r acl save
            set text [read_file $path]
            for {set k 0} {$k < 10} {incr k} {
                set before [list [r acl list] [r acl digest]]
                set bad $text
                for {set n [randomRange 1 3]} {$n && $bad ne {}} {incr n -1} { set bad [damaged $bad] }
                set f [open $path wb]
                puts -nonewline $f $bad
                close $f
                if {[catch {r acl load} said]} {
                    assert_match "ERR *no change to the previously active ACL rules was performed" $said
                    assert_equal $before [list [r acl list] [r acl digest]] $bad
                    incr count(refused)
                    continue
                }
                incr count(accepted)
                if {[catch {r acl list} loaded] || [catch {r acl save}] || [catch {r acl load}]} break ;# no right to it any more
                assert_equal $loaded [r acl list] $bad
            }
            if {[catch {r acl setuser default +@all on nopass}]} {
                write_lines $path $default
                restart_server
            }
        }
        assert_morethan $count(accepted) 50
        assert_morethan $count(refused) 50
    }

    test {CONFIG REWRITE does not write roles that are in an ACL file} {
        r acl setrole only_here +get
        r config rewrite
        assert_equal 0 [regexp -all -line {^(role|user) } [read_file [srv dir]/server.conf]]
    }
}

# ---- Other servers -------------------------------------------------------------------------------------------------

start_servers [list ours {kind ours} theirs [list kind valkey overrides [list aclfile [write_lines $::work_dir/theirs.acl $default]]]] {
    test {Valkey 9.1 reads our lines as long as no role is used} {
        foreach kind {ours theirs} { r [at $kind] acl setuser bob on >p ~a (+get ~x db=1) }
        write_lines $::work_dir/theirs.acl {*}[r [at ours] acl list]
        assert_equal OK [r [at theirs] acl load]
        assert_equal [lsort [r [at ours] acl list]] [lsort [string map {" sanitize-payload" {}} [r [at theirs] acl list]]]
    }
}

start_server {args --sentinel overrides {sentinel {monitor m 127.0.0.1 1 1} user {bob on nopass role=a} role {a +ping}} tags {acl external:skip}} {
    test {9.2 §5: a Sentinel has roles, too} {
        assert_equal {{role a resetchannels -@all +ping} {user bob on nopass resetchannels -@all role=a}} [lrange [r acl list] 0 1]
        assert_equal OK [r acl setrole a +acl|whoami]
        assert_equal OK [r acl setrole b]
        assert_equal {a b} [r acl roles]
        assert_equal bob [dict get [r acl getrole a] users]
        assert_equal 64 [string length [r acl digest]]
        assert_equal 1 [r acl delrole b]
        set c [valkey_client]
        $c auth bob p
        assert_equal bob [$c acl whoami]
        assert_error "NOPERM*" {$c acl roles}
        $c close
        r sentinel flushconfig
        set text [read_file [srv dir]/server.conf]
        assert_match "*\nrole a resetchannels -@all +ping +acl|whoami\n*" $text
        set before [r acl list]
        restart_server
        assert_equal $before [r acl list]
    }
}
