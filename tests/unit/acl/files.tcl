# Users from the configuration file and from a file of their own: start, ACL LOAD, ACL SAVE, CONFIG REWRITE.
source [file join [file dirname [info script]] .. server server_util.tcl]
source [file join [file dirname [info script]] acl_util.tcl]

set hash_of_p 148de9c5a7a44d19e56cd9ae1a554bf67847afb0c58f6e12fa29ac7ddfca9940

# Rules and names with each byte, in each place that accepts a text; selectors that contain what ends a selector or
# opens a quote. An accepted rule must be read back unchanged. Returns ACL LIST.
proc make_hostile_users {} {
    for {set byte 0} {$byte < 256} {incr byte} {
        set text [format a%cb $byte]
        set refused 0
        foreach rule [list "~$text" "%R~$text" "&$text" "+get|$text" "(~$text +get)" "(~x +get|$text)"] {
            incr refused [catch {r acl setuser by_rule$byte on >p resetchannels $rule}]
        }
        incr refused [catch {r acl setuser name$text on >p ~x}]
        # No line of a file of users could hold these, in any place.
        if {$byte in {0 9 10 11 12 13 32}} { assert_equal 7 $refused "byte $byte" } else { assert_lessthan $refused 3 "byte $byte" }
    }
    set evil "a\nuser evil on nopass ~* &* +@all"
    foreach rule [list "~$evil" "%RW~$evil" "&$evil" "+get|$evil" "-get|$evil" "+$evil" "(~$evil)" "('+get|$evil')" "#$evil" "!$evil" "db=0,\n1" $evil] {
        assert_error "ERR Error in ACL SETUSER modifier *" { r acl setuser evil1 $rule }
    }
    assert_error "ERR Usernames can't contain spaces or null characters" { r acl setuser $evil on }
    set n 0
    foreach rule [list {("~\"" +get)} {('~"a' resetchannels "&b'")} {(~a) +get)} {(~a +@all +get|x))} {(-@all +get|x))} {(~( resetchannels &) +@read)}] {
        assert_equal OK [r acl setuser selectors[incr n] on $rule]
    }
    return [r acl list]
}

proc delete_users_except {kept} {
    foreach user [r acl users] { if {$user ni $kept} { r acl deluser $user } }
}

# ---- `user` lines --------------------------------------------------------------------------------------------------

start_server {overrides {user {bob on >p ~app:* (+get ~x) +@read db=1} acl-pubsub-default allchannels} tags {acl external:skip}} {
    set bob "user bob on #$hash_of_p ~app:* &* db=1 -@all +@read (~x &* -@all +get)"

    test {a user line makes a user; directives behind it count} {
        assert_equal [list $bob {user default on nopass ~* &* +@all}] [r acl list]
    }

    test {CONFIG GET and CONFIG SET do not know user} {
        assert_error "ERR Unknown option or number of arguments for CONFIG SET - 'user'" {r config set user {bob off}}
        assert_equal {} [r config get user]
        assert_equal -1 [lsearch -exact [r config get *] user]
    }

    test {CONFIG REWRITE writes all users, and no plain password} {
        r acl setuser alice on nopass +@all -@dangerous
        assert_equal OK [r config rewrite]
        set text [read_file [srv dir]/server.conf]
        assert_match "*\n$bob\n*" $text
        assert_match "*\nuser alice on nopass resetchannels +@all -@dangerous\n*" [string map {&* resetchannels} $text]
        assert_equal 3 [regexp -all -line {^user } $text]
        assert_no_match "*>p*" $text
        set before [r acl list]
        restart_server
        assert_equal $before [r acl list]
    }

    test {CONFIG REWRITE quotes names and rules that are accepted} {
        set kept [r acl users]
        set before [make_hostile_users]
        r config rewrite
        restart_server
        assert_equal $before [r acl list]
        delete_users_except $kept
    }

    test {CONFIG REWRITE removes deleted users} {
        r acl deluser alice bob
        r config rewrite
        assert_equal {} [regexp -all -inline -line {^user (?:alice|bob) .*} [read_file [srv dir]/server.conf]]
        restart_server
        assert_equal default [r acl users]
    }

    test {requirepass and the default user are written to the file and read again} {
        config_set requirepass secret
        r acl setuser default -@admin +config +acl
        r config rewrite
        set text [read_file [srv dir]/server.conf]
        assert_match "*\nrequirepass \"secret\"\n*" $text
        assert_match "*\nuser default on #* ~\\* &\\* +@all -@admin +config +acl\n*" $text
        r config set requirepass {}
    }

    test {ACL LOAD and ACL SAVE need a file} {
        foreach what {load save} {
            assert_error "ERR This instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a configuration file set) in order to store users in the configuration." {
                r acl $what
            }
        }
    }
}

test {a server refuses to start with a faulty ACL file} {
    set dir $::work_dir
    foreach {lines said} {
        {"user"}                            "*FATAL CONFIG FILE ERROR*>>> 'user'*wrong number of arguments*"
        {"user bob on" "user bob off"}      "*at line 2\n>>> 'user bob off'\nError in user declaration 'bob': Duplicate user found. A user can only be defined once in config files*"
        {"user bob bad"}                    "*at line 1\n>>> 'user bob bad'\nError in user declaration 'bad': Syntax error*"
        {"user bob ~* ~x"}                  "*Error in user declaration '~x': Adding a pattern after the \\* pattern*"
        {"user bob (+get"}                  "*Error in user declaration '(+get': Unmatched parenthesis*"
        {"user bob +nosuch"}                "*The ACL rule '+nosuch' of the user 'bob' is not accepted: Unknown command or category name in ACL\n*Critical error while loading ACLs. Exiting.*"
        {"user bob db=-1"}                  "*at line 1\n>>> 'user bob db=-1'\nError in user declaration 'db=-1': The provided database ID is out of range*"
        {"user \"bob on\""}                 "*The name of an ACL user contains a space\n*Critical error while loading ACLs. Exiting.*"
        {"loadmodule \"/no such.so a\""}    "*The module /no such.so a could not be loaded, so the server exits*"
        {"rename-command \"get x\""}        "*FATAL CONFIG FILE ERROR*>>> 'rename-command \"get x\"'*Bad directive or wrong number of arguments*"
        {"user \"a b\" on"}                 "*The name of an ACL user contains a space\n*Critical error while loading ACLs. Exiting.*"
        {"user bob on" "aclfile /nosuch"}   "*Users are defined in the configuration file although aclfile is set.*"
        {"aclfile /nosuch"}                 "*The ACL file has errors, so the server exits: Error loading ACLs, opening file '/nosuch': No such file or directory*"
    } {
        set conf [write_lines $dir/refused.conf {*}$lines "port [free_port]"]
        lassign [run_to_end $conf] code output
        assert_equal 1 $code $lines
        assert_match $said $output $lines
    }
} {} {external:skip}

start_server {overrides {databases 20 user {bob on db=19,99}} tags {acl external:skip}} {
    test {rules may name databases that do not exist} {
        assert_equal db=19,99 [dict get [r acl getuser bob] databases]
    }
    test {a user that is on is not logged at start} {
        assert_equal 0 [count_log_message "cannot log in because"]
    }
}

start_server {overrides {user {bob +get}} tags {acl external:skip}} {
    test {a user without on is logged at start} {
        wait_for_log "The user 'bob' cannot log in because its rules do not contain 'on'. Check that this is meant."
    }
}

# ---- A file of users -----------------------------------------------------------------------------------------------

set path $::work_dir/users.acl
write_lines $path "user alice on nopass ~* &* +@all" "" "  user bob on >p ~b:* +@read  " "user default on nopass ~* &* +@all"

start_server [list overrides [list aclfile $path] tags {acl external:skip}] {
    proc client_as {user} {
        set c [valkey_client]
        $c auth $user p
        return $c
    }
    set alice "user alice on nopass ~* &* +@all"
    set bob "user bob on #$hash_of_p ~b:* resetchannels -@all +@read"
    set default "user default on nopass ~* &* +@all"

    test {the file is loaded at start} {
        assert_equal [list $alice $bob $default] [r acl list]
        assert_equal $path [config_get aclfile]
        assert_error "*can't set immutable config" {r config set aclfile x}
    }

    test {ACL SAVE writes what ACL LOAD reads, and keeps the file's permissions} {
        file attributes $path -permissions 0640
        r acl setuser carol on >secret ~a %R~b &c db=2,1 +get (+set ~s)
        assert_equal OK [r acl save]
        assert_equal [join [r acl list] \n]\n [read_file $path]
        assert_equal 0o640 0o[string range [file attributes $path -permissions] end-2 end]
        assert_no_match "*secret*" [read_file $path]
        assert_equal {} [glob -nocomplain $path.*] "nothing is left behind"
        set before [r acl list]
        r acl deluser carol alice
        assert_equal OK [r acl load]
        assert_equal $before [r acl list]
    }

    test {ACL SAVE writes what ACL LOAD reads, for any names and rules} {
        set kept [r acl users]
        set before [make_hostile_users]
        foreach round {1 2} {
            assert_equal OK [r acl save]
            assert_equal OK [r acl load]
            assert_equal $before [r acl list]
        }
        delete_users_except $kept
        r acl save
    }

    test {ACL LOAD removes users that are not in the file} {
        r acl setuser extra on
        r acl load
        assert_equal {} [r acl getuser extra]
    }

    test {ACL LOAD changes everything or nothing, and reports every wrong line} {
        set before [r acl list]
        write_lines $path "user new on +nosuch" "user y bad >secret" "" "usr x" "user" "user new on" "user b (+get" "user c >secret <other" "user ok on"
        catch {r acl load} said
        assert_equal [join [list "ERR $path:1: Error in applying operation '+nosuch': Unknown command or category name in ACL." \
            "$path:2: Syntax error." "$path:4 should start with user keyword followed by the username." \
            "$path:5 should start with user keyword followed by the username." "WARNING: Duplicate user 'new' found on line 6." \
            "$path:7: Unmatched parenthesis in selector definition.$path:8: The password you are trying to remove from the user does not exist." \
            "WARNING: ACL errors detected, no change to the previously active ACL rules was performed"]] $said
        assert_equal $before [r acl list]
        assert_no_match "*secret*" $said
    }

    test {ACL LOAD fails when the file is missing} {
        set before [r acl list]
        file delete $path
        assert_error "ERR Error loading ACLs, opening file '$path': No such file or directory" {r acl load}
        assert_equal $before [r acl list]
    }

    test {ACL SAVE fails when the file cannot be written} {
        file mkdir $path
        assert_error "ERR There was an error trying to save the ACLs. Please check the server logs for more information" {r acl save}
        assert_equal {} [glob -nocomplain $path.*] "nothing is left behind"
        file delete $path
    }

    test {without a default user in the file that user has its initial rules} {
        r acl setuser default -flushall
        write_lines $path "user alice on nopass +@all"
        assert_equal OK [r acl load]
        assert_equal $default [lindex [r acl list] 1]
        write_lines $path ""
        r acl load
        assert_equal default [r acl users]
    }

    test {ACL LOAD keeps clients whose rights still suffice, and closes the others} {
        write_lines $path "user alice on nopass +@all &a*" "user bob on nopass +@all &b*" "user carol on nopass +@all &c*"
        r acl load
        foreach user {alice bob carol} { set $user [client_as $user] }
        $bob subscribe b1
        $carol subscribe c1
        write_lines $path "user bob on nopass +@all &c*" "user carol on >new -@all +acl|whoami +unsubscribe &c1 &c*"
        r acl load
        assert {[is_closed $alice]} "gone"
        wait_for_condition 500 20 {![string match "*user=bob*" [r client list]]} else { fail "may not listen to b1" }
        assert_match "*user=carol*" [r client list] "another password, other rules"
        $carol unsubscribe c1
        assert_equal carol [$carol acl whoami]
        assert_error "NOPERM*" {$carol ping}
        foreach c [list $alice $bob $carol] { $c close }
    }

    test {a client whose user is removed by its ACL LOAD still gets the reply} {
        write_lines $path "user alice on nopass +@all"
        r acl load
        set c [client_as alice]
        write_lines $path "user bob on"
        assert_equal OK [$c acl load]
        assert {[is_closed $c]}
        $c close
    }

    test {CONFIG REWRITE does not write users that are in an ACL file} {
        r acl setuser dora on
        assert_equal OK [r config rewrite]
        set text [read_file [srv dir]/server.conf]
        assert_equal 0 [regexp -all -line {^user } $text]
        assert_match "*aclfile*users.acl*" $text
        assert_no_match "*dora*" [read_file $path]
    }

    test {a broken ACL file ends the start} {
        write_lines $::work_dir/broken.acl "user x +nosuch"
        lassign [run_to_end --port [free_port] --aclfile $::work_dir/broken.acl] code output
        assert_equal 1 $code
        assert_match "*The ACL file has errors, so the server exits: $::work_dir/broken.acl:1: Error in applying operation '+nosuch': Unknown command or category name in ACL. WARNING: ACL errors detected, no change to the previously active ACL rules was performed*" $output
    }
}
