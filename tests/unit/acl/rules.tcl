# ACL SETUSER: what each rule does, what is refused, and that the text of a user makes the same user again.

set hash_of_p 148de9c5a7a44d19e56cd9ae1a554bf67847afb0c58f6e12fa29ac7ddfca9940

# One field of ACL GETUSER.
proc user_field {user field} { return [dict get [r acl getuser $user] $field] }

# The line of ACL LIST without `user name`.
proc user_rules {user} {
    set line [lsearch -inline [r acl list] "user $user *"]
    return [join [lrange [split $line " "] 2 end] " "]
}

proc may {user args} { return [expr {[r acl dryrun $user {*}$args] eq "OK"}] }

start_server {tags {acl external:skip}} {
    test {the default user may do everything} {
        assert_equal default [r acl whoami]
        assert_equal {{user default on nopass ~* &* +@all}} [r acl list]
        assert_equal default [r acl users]
        assert_equal {flags {on nopass} passwords {} commands +@all keys ~* channels &* databases alldbs selectors {} roles {}} \
            [r acl getuser default]
    }

    test {a new user may do nothing} {
        assert_equal OK [r acl setuser u]
        assert_equal {off resetchannels -@all} [user_rules u]
        assert_equal {flags off passwords {} commands -@all keys {} channels {} databases alldbs selectors {} roles {}} \
            [r acl getuser u]
        assert_equal {default u} [r acl users]
        assert_equal {} [r acl getuser nobody]
    }

    test {GETUSER in RESP3} {
        r hello 3
        r write "*3\r\n\$3\r\nACL\r\n\$7\r\nGETUSER\r\n\$1\r\nu\r\n"
        assert_equal %8 [r rawread]
        assert_equal \$5,flags,~1 [r rawread],[r rawread],[r rawread]
        r reconnect
    }

    test {on, off} {
        r acl setuser u on
        assert_equal {on} [user_field u flags]
        r acl setuser u OFF
        assert_equal {off} [user_field u flags]
    }

    test {sanitize-payload, skip-sanitize-payload: known, but without a meaning} {
        r acl setuser u skip-sanitize-payload
        assert_equal {off resetchannels -@all} [user_rules u]
        r acl setuser u sanitize-payload
        assert_equal {off resetchannels -@all} [user_rules u]
    }

    test {passwords: added, removed, by their hash, nopass, resetpass} {
        r acl setuser u >p >p >q
        assert_equal 2 [llength [user_field u passwords]]
        assert_equal $hash_of_p [lindex [user_field u passwords] 0]
        r acl setuser u <q
        assert_equal $hash_of_p [user_field u passwords]
        r acl setuser u !$hash_of_p
        assert_equal {} [user_field u passwords]
        r acl setuser u #$hash_of_p
        assert_equal $hash_of_p [user_field u passwords]
        r acl setuser u nopass
        assert_equal {{off nopass} {}} [list [user_field u flags] [user_field u passwords]]
        r acl setuser u >
        assert_equal off [user_field u flags] "the empty password is one"
        r acl setuser u nopass resetpass
        assert_equal {off {}} [list [user_field u flags] [user_field u passwords]]
    }

    # Lists of rules, and the commands that result: a name is kept once, at its last mention; a command replaces rules
    # about its subcommands; @all replaces all.
    foreach {rules text} {
        {+get}                                      {-@all +get}
        {+GET +get +gEt}                            {-@all +get}
        {+get -get}                                 {-@all -get}
        {+@all -set}                                {+@all -set}
        {-set +@all}                                {+@all}
        {allcommands -@admin}                       {+@all -@admin}
        {+get nocommands}                           {-@all}
        {+@read +@write -@read}                     {-@all +@write -@read}
        {+@STRING -@string +@String}                {-@all +@string}
        {+@read +set +@read}                        {-@all +set +@read}
        {+config|get +config|set +config}           {-@all +config}
        {+config -config|set}                       {-@all +config -config|set}
        {+config|get -config}                       {-@all -config}
        {+select|0 +select|1 +select|0}             {-@all +select|1 +select|0}
        {+select|0 +select}                         {-@all +select}
        {+CLIENT|ID}                                {-@all +client|id}
    } {
        test "commands: $rules" {
            r acl setuser c reset {*}$rules
            assert_equal $text [user_field c commands]
        }
    }

    test {commands: what the rules allow} {
        r acl setuser c reset allkeys +@read -get +config|get +select|1 -client +client|id
        foreach {allowed command} {
            1 {strlen x}  0 {get x}  0 {set x y}  1 {config get x}  0 {config set x y}  1 {select 1}  0 {select 0}
            1 {client id}  0 {client list}  0 {acl whoami}  0 ping  1 {auth x}  1 hello  1 reset  1 quit
        } {
            assert_equal $allowed [may c {*}$command] $command
        }
        r acl setuser c +select -config +config|set
        foreach {allowed command} {1 {select 0} 0 {config get x} 1 {config set x y}} {
            assert_equal $allowed [may c {*}$command] $command
        }
        r acl setuser c -@all +@all -select
        foreach {allowed command} {1 {get x} 0 {select 1} 1 {client list}} {
            assert_equal $allowed [may c {*}$command] $command
        }
    }

    test {a first argument is compared without regard to case} {
        r acl setuser c reset allkeys +OBJECT|encoding +sort|A
        assert_equal {1 1 0} [list [may c sort a] [may c sort A] [may c sort b]]
    }

    foreach {rules text} {
        {~a ~b ~a}                   {~a ~b}
        {~a %R~b %W~c %RW~d %wr~e}   {~a %R~b %W~c ~d ~e}
        {%R~a %W~a}                  {~a}
        {%R~a %R~a}                  {%R~a}
        {~a allkeys}                 {~*}
        {~*}                         {~*}
        {~a resetkeys}               {}
        {allkeys resetkeys ~b}       {~b}
        {%RW~*}                      {%RW~*}
        {%RW~* ~a}                   {%RW~* ~a}
        {%R~*}                       {%R~*}
        {~}                          {~}
    } {
        test "keys: $rules" {
            r acl setuser k reset {*}$rules
            assert_equal $text [user_field k keys]
        }
    }

    foreach {rules text} {
        {&a &b* &a}                  {&a &b*}
        {&a allchannels}             {&*}
        {&*}                         {&*}
        {allchannels resetchannels}  {}
        {&a resetchannels &b}        {&b}
    } {
        test "channels: $rules" {
            r acl setuser k reset {*}$rules
            assert_equal $text [user_field k channels]
        }
    }

    test {%R and %W without a pattern match the empty key only} {
        r acl setuser k reset %R
        assert_equal %R~ [user_field k keys]
        r acl setuser k (%W)
        assert_equal {{commands -@all keys %W~ channels {} databases alldbs}} [user_field k selectors]
        r acl setuser k %W
        assert_equal ~ [user_field k keys]
    }

    foreach {rules text line} {
        {}                    alldbs    {}
        {db=1}                db=1      {db=1 }
        {db=3,0,3,2}          db=0,2,3  {db=0,2,3 }
        {db=1 db=2}           db=2      {db=2 }
        {DB=1}                db=1      {db=1 }
        {resetdbs}            {}        {resetdbs }
        {resetdbs db=4}       db=4      {db=4 }
        {db=1 alldbs}         alldbs    {}
        {db=1 resetdbs}       {}        {resetdbs }
        {db=99,2147483647}    db=99,2147483647  {db=99,2147483647 }
        {db=1 reset}          alldbs    {}
    } {
        test "databases: $rules" {
            r acl setuser k reset {*}$rules
            assert_equal $text [user_field k databases]
            assert_equal "off resetchannels $line-@all" [user_rules k]
        }
    }

    test {selectors} {
        r acl setuser s reset {(+get ~x)} (+set %W~y "&c db=1)" ()
        assert_equal {off resetchannels -@all (~x resetchannels -@all +get) (%W~y resetchannels &c db=1 -@all +set) (resetchannels -@all)} \
            [user_rules s]
        assert_equal {{commands {-@all +get} keys ~x channels {} databases alldbs} {commands {-@all +set} keys %W~y channels &c databases db=1} {commands -@all keys {} channels {} databases alldbs}} \
            [user_field s selectors]
        r acl setuser s clearselectors
        assert_equal {} [user_field s selectors]
    }

    test {reset} {
        r acl setuser s on nopass skip-sanitize-payload >p ~x &x db=1 +get (+set)
        r acl setuser s reset
        assert_equal {off resetchannels -@all} [user_rules s]
    }

    set after_all "is not valid and does not have any effect. Try"
    foreach {rule error} [list \
        bad {Syntax error}  on1 {Syntax error}  @all {Syntax error}  ) {Syntax error}  {~a b} {Syntax error}  \
        {&a b} {Syntax error}  "~a\x00b" {Syntax error}  %~x {Syntax error}  %X~x {Syntax error}  %RR~x {Syntax error}  % {Syntax error}  %RR {Syntax error}  %Rx {Syntax error}  \
        (bad) {Syntax error}  (on) {Syntax error}  (>p) {Syntax error}  (reset) {Syntax error}  {(+get (+set))} {Syntax error} \
        +get| {Syntax error}  db= {Syntax error}  db=x {Syntax error}  db=1, {Syntax error}  db=,1 {Syntax error} db=-0 {Syntax error} \
        db=2147483648 {The provided database ID is out of range}  db=1,-1 {The provided database ID is out of range} \
        + {Unknown command or category name in ACL}  +nosuch {Unknown command or category name in ACL} \
        -nosuch {Unknown command or category name in ACL}  +@nosuch {Unknown command or category name in ACL} \
        -@ {Unknown command or category name in ACL}  +config|nosuch {Unknown command or category name in ACL} \
        -get|x {Unknown command or category name in ACL}  +nosuch|x {Unknown command or category name in ACL} \
        (+nosuch) {Unknown command or category name in ACL}  +[string repeat x 500] {Unknown command or category name in ACL} \
        +config|get|x {Allowing first-arg of a subcommand is not supported} \
        <nosuch {The password you are trying to remove from the user does not exist} \
        ![string repeat a 64] {The password you are trying to remove from the user does not exist} \
        #abc {The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters} \
        #[string repeat A 64] {The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters} \
        !abc {The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters} \
        ~x "Adding a pattern after the * pattern (or the 'allkeys' flag) $after_all 'resetkeys' to start with an empty list of patterns" \
        &x "Adding a pattern after the * pattern (or the 'allchannels' flag) $after_all 'resetchannels' to start with an empty list of channels" \
    ] {
        test "refused: $rule" {
            # The last two are refused because all is allowed; the others, although.
            set all [expr {$rule in {~x &x}}]
            r acl setuser e reset >p {*}[expr {$all ? {allkeys allchannels} : {}}]
            set before [r acl getuser e]
            set wanted "ERR Error in ACL SETUSER modifier '$rule': $error"
            assert {[catch {r acl setuser e on +get $rule off} said]}
            assert_equal $wanted $said
            assert_equal $before [r acl getuser e] "nothing has changed"
        }
    }

    test {a parenthesis that is not closed} {
        assert_error "ERR Unmatched parenthesis in acl selector starting at '(+get'." {r acl setuser e (+get ~x}
        assert_error "ERR Unmatched parenthesis in acl selector starting at '('." {r acl setuser e on (}
    }

    test {an empty rule has no effect} {
        assert_equal OK [r acl setuser e {}]
    }

    test {a refused rule creates no user} {
        assert_error "*Syntax error" {r acl setuser nouser on bad}
        assert_equal {} [r acl getuser nouser]
    }

    test {names of users} {
        foreach name [list "a b" "a\x00b" "a\tb" "a\n"] {
            assert_error "ERR Usernames can't contain spaces or null characters" {r acl setuser $name}
        }
        assert_equal OK [r acl setuser A]
        assert_equal {} [r acl getuser a]
        assert_equal 1 [r acl deluser A]
    }

    test {DELUSER} {
        r acl setuser d1
        r acl setuser d2
        assert_error "ERR The 'default' user cannot be removed" {r acl deluser d1 default}
        assert_not_equal {} [r acl getuser d1]
        assert_equal 2 [r acl deluser d1 nosuch d2 d1]
        assert_equal {{} {}} [list [r acl getuser d1] [r acl getuser d2]]
    }

    test {the rules that ACL LIST shows create the same user} {
        foreach rules {
            {on >p ~a %R~b &c +@read -get +config|get +select|0 db=0,5}
            {nopass allkeys allchannels +@all -@dangerous -config|set}
            {on %RW~* %R~x skip-sanitize-payload resetdbs}
            {{(+get ~x)} {(allkeys &y +@all -set db=3)} ()}
            {~ & +get|x}
        } {
            r acl setuser x reset {*}$rules
            set text [user_rules x]
            set words [split $text " "]
            r acl setuser y reset {*}$words
            assert_equal $text [user_rules y]
            assert_equal [r acl getuser x] [r acl getuser y]
        }
    }

    test {CAT} {
        assert_equal {keyspace read write set sortedset list hash string bitmap hyperloglog geo stream pubsub admin fast slow blocking dangerous connection transaction scripting pathhash} \
            [r acl cat]
        assert_error "ERR Unknown category 'nosuch'" {r acl cat nosuch}
        assert_error "ERR unknown subcommand or wrong number of arguments for 'cat'. Try ACL HELP." {r acl cat read x}
        foreach category [r acl cat] {
            set listed [lsort [r acl cat [string toupper $category]]]
            assert_not_equal {} $listed $category
            r acl setuser x reset +@all -@$category
            r acl setuser y reset +@$category
            foreach name [lrange $listed 0 9] { ;# DRYRUN must get past the number of arguments
                set arity [lindex [r command info $name] 0 1]
                if {[lindex [r command info $name] 0 9] ne {}} continue
                set parts [split $name |]
                while {[llength $parts] < abs($arity)} { lappend parts 1 }
                if {"no_auth" in [lindex [r command info $name] 0 2]} continue ;# always allowed
                assert_match "User x has no permissions to run the '$name' command" [r acl dryrun x {*}$parts]
                assert_no_match "*permissions to run*" [r acl dryrun y {*}$parts]
            }
        }
    }

    test {COMMAND LIST FILTERBY ACLCAT and CAT agree} {
        foreach category {read geo transaction} {
            assert_equal [lsort [r acl cat $category]] [lsort [r command list filterby aclcat $category]]
        }
    }

    test {GENPASS} {
        foreach {args digits} {{} 64 1 1 4 1 5 2 256 64 4096 1024} {
            set password [r acl genpass {*}$args]
            assert_equal $digits [string length $password]
            assert {[string is xdigit $password] && [string tolower $password] eq $password}
        }
        assert_not_equal [r acl genpass] [r acl genpass]
        foreach bad {0 -1 4097} {
            assert_error "ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096" {
                r acl genpass $bad
            }
        }
        assert_error "ERR value is not an integer or out of range" {r acl genpass x}
        assert_error "ERR unknown subcommand or wrong number of arguments for 'genpass'. Try ACL HELP." {r acl genpass 1 2}
    }

    test {revoking a command revokes its allowed first arguments too} {
        r acl setuser first reset on >p +select|5 -select
        assert_equal {0 0} [list [may first select 5] [may first select 4]]
        r acl setuser first +select|5
        assert_equal {1 0} [list [may first select 5] [may first select 4]]
        r acl setuser first +select -select
        assert_equal {0 0} [list [may first select 5] [may first select 4]]
        r acl deluser first
    }

    test {ACL and its subcommands} {
        assert_error "ERR unknown subcommand 'foo'. Try ACL HELP." {r acl foo}
        assert_error "ERR wrong number of arguments for 'acl' command" {r acl}
        assert_error "ERR wrong number of arguments for 'acl|setuser' command" {r acl setuser}
        assert_match "*SETUSER <username>*" [r acl help]
    }

    test {acl-pubsub-default is for new users and selectors} {
        config_set acl-pubsub-default allchannels
        r acl setuser p1 (+get)
        assert_equal {&* &*} [list [user_field p1 channels] [dict get [lindex [user_field p1 selectors] 0] channels]]
        config_set acl-pubsub-default resetchannels
        r acl setuser p1 (+set)
        assert_equal {&* {}} [list [user_field p1 channels] [dict get [lindex [user_field p1 selectors] 1] channels]]
        r acl setuser p1 reset
        assert_equal {} [user_field p1 channels]
        assert_error "*argument(s) must be one of the following: allchannels, resetchannels" {r config set acl-pubsub-default x}
    }
}
