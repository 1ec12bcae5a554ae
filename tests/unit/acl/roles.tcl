# Roles (9.2 §5): named rules that users share, and ACL DIGEST. Random decisions beside a model are in roles_model.tcl, files
# in roles_files.tcl.
source [file join [file dirname [info script]] acl_util.tcl]
source -encoding utf-8 $::support/command_facts.tcl

set denied_key "NOPERM No permissions to access a key"

proc role_field {role field} { return [dict get [r acl getrole $role] $field] }
proc role_line {role} { return [lsearch -inline [r acl list] "role $role *"] }
proc user_line {user} { return [lsearch -inline [r acl list] "user $user *"] }
proc may {user args} { return [expr {[r acl dryrun $user {*}$args] eq "OK"}] }

proc drop_all {} {
    foreach user [r acl users] { if {$user ne "default"} { r acl deluser $user } }
    if {[r acl roles] ne {}} { r acl delrole {*}[r acl roles] }
}

start_server {tags {acl external:skip}} {
    # ---- SETROLE, GETROLE, ROLES, DELROLE ------------------------------------------------------------------------------

    test {9.2 §5: a new role has no commands, no keys, and all databases} {
        assert_equal {} [r acl roles]
        assert_equal OK [r acl setrole empty]
        assert_equal {role empty resetchannels -@all} [role_line empty]
        assert_equal {commands -@all keys {} channels {} databases alldbs selectors {} users {}} [r acl getrole empty]
        assert_equal {} [r acl getrole nosuch]
    }

    test {9.2 §5: its channels are those of acl-pubsub-default} {
        config_set acl-pubsub-default allchannels
        r acl setrole open (+get)
        config_set acl-pubsub-default resetchannels
        assert_equal {&* &*} [list [role_field open channels] [dict get [lindex [role_field open selectors] 0] channels]]
    }

    test {9.2 §5: SETROLE adds to a role} {
        r acl setrole reader +get
        r acl setrole reader ~app:* &news
        assert_equal {role reader ~app:* resetchannels &news -@all +get} [role_line reader]
        r acl setrole reader -get +@read resetkeys %R~x db=1,0
        assert_equal {role reader %R~x resetchannels &news db=0,1 -@all -get +@read} [role_line reader]
    }

    test {9.2 §5: a role may have selectors} {
        r acl setrole s +get ~a (+set ~b db=2) {(+del allkeys &c)}
        assert_equal {role s ~a resetchannels -@all +get (~b resetchannels db=2 -@all +set) (~* resetchannels &c -@all +del)} [role_line s]
        assert_equal {{commands {-@all +set} keys ~b channels {} databases db=2} {commands {-@all +del} keys ~* channels &c databases alldbs}} \
            [role_field s selectors]
        r acl setrole s clearselectors
        assert_equal {} [role_field s selectors]
        r acl setrole s "(+set" ~b ")"
        assert_equal {{commands {-@all +set} keys ~b channels {} databases alldbs}} [role_field s selectors]
        assert_error "ERR Unmatched parenthesis in acl selector starting at '(+get'." {r acl setrole s (+get ~x}
    }

    foreach rule {on off nopass resetpass reset sanitize-payload skip-sanitize-payload >pw <pw ON RESET role=reader ROLE=reader role= role:reader
        resetroles ResetRoles bad ) (on) (role=reader) (>pw)} {
        test "9.2 §5: no rule of a role: $rule" {
            set before [r acl list]
            refused "ERR Error in ACL SETROLE modifier '$rule': Syntax error" {r acl setrole reader +strlen $rule}
            refused "ERR Error in ACL SETROLE modifier '$rule': Syntax error" {r acl setrole fresh +strlen $rule}
            assert_equal $before [r acl list] "nothing has changed, and no role was created"
        }
    }

    test {9.2 §5: no rule of a role: #hash, !hash} {
        foreach rule [list #[string repeat a 64] ![string repeat a 64] #x !x] {
            refused "ERR Error in ACL SETROLE modifier '$rule': Syntax error" {r acl setrole reader $rule}
        }
    }

    test {other rules are refused as those of a user} {
        assert_error "ERR Error in ACL SETROLE modifier '+nosuch': Unknown command or category name in ACL" {r acl setrole reader +nosuch}
        assert_error "ERR Error in ACL SETROLE modifier '~x': Adding a pattern after the \\* pattern*" {r acl setrole reader allkeys ~x}
        assert_error "ERR Error in ACL SETROLE modifier 'db=-1': The provided database ID is out of range" {r acl setrole reader db=-1}
        assert_equal OK [r acl setrole reader {}] "an empty word has no effect"
    }

    test {9.2 §5: names of roles} {
        set error "ERR Role names can't be empty and can only contain printable ASCII characters, excluding commas, quotes and backslashes"
        drop_all
        for {set byte 0} {$byte < 256} {incr byte} {
            set char [format %c $byte]
            set good [expr {$byte > 32 && $byte < 127 && $char ni {, \" ' \\}}]
            foreach name [list $char a$char ${char}a] {
                if {!$good} {
                    refused $error {r acl setrole $name +get}
                    continue
                }
                assert_equal OK [r acl setrole $name +get]
                assert_equal {-@all +get} [role_field $name commands]
                assert_equal OK [r acl setuser u reset role=$name]
                assert_equal [list $name] [dict get [r acl getuser u] roles]
                r acl deluser u
                assert_equal 1 [r acl delrole $name]
            }
        }
        refused $error {r acl setrole {}}
        assert_equal {} [r acl roles]
    }

    test {9.2 §5: a role may be called like a user, a command or a category, in any case} {
        foreach name {default get @all +@all Reader reader (x) role= on} { assert_equal OK [r acl setrole $name +get] }
        assert_equal OK [r acl setuser u reset role=default,@all,role=,(x),Reader,reader]
        assert_equal {default @all role= (x) Reader reader} [dict get [r acl getuser u] roles]
        drop_all
        assert_equal OK [r acl setrole R]
        assert_error "ERR Error in ACL SETUSER modifier 'role=r': The specified ACL role does not exist" {r acl setuser u role=r}
        assert_equal default [r acl users]
    }

    test {9.2 §5: ROLES, in the order of bytes; USERS without roles} {
        drop_all
        foreach name {b a Z a1 ~} { r acl setrole $name }
        assert_equal {Z a a1 b ~} [r acl roles]
        assert_equal default [r acl users]
    }

    test {9.2 §5: LIST shows roles first} {
        drop_all
        r acl setrole zz +get
        r acl setrole aa ~x
        r acl setuser alice role=zz
        assert_equal {{role aa ~x resetchannels -@all} {role zz resetchannels -@all +get} {user alice off resetchannels -@all role=zz} {user default on nopass ~* &* +@all}} \
            [r acl list]
    }

    test {9.2 §5: DELROLE counts what it deletes} {
        drop_all
        foreach name {a b c} { r acl setrole $name }
        assert_equal 2 [r acl delrole a nosuch c a]
        assert_equal b [r acl roles]
        assert_equal 0 [r acl delrole nosuch]
    }

    test {9.2 §5: DELROLE deletes nothing while one of them has users} {
        drop_all
        foreach name {a b c} { r acl setrole $name }
        r acl setuser u role=b
        refused "ERR Role 'b' is assigned to one or more users. Remove it from them first." {r acl delrole a b c}
        assert_equal {a b c} [r acl roles]
        r acl setuser v role=a,b
        r acl deluser u
        assert_error "ERR Role 'b' *" {r acl delrole b}
        r acl setuser v role=c
        assert_error "ERR Role 'c' *" {r acl delrole a b c}
        r acl setuser v reset
        assert_equal 3 [r acl delrole a b c]
    }

    test {a refused SETUSER leaves no role in use} {
        r acl setrole a
        assert_error "*Syntax error" {r acl setuser nobody role=a bad}
        r acl setuser u role=a
        assert_error "*Syntax error" {r acl setuser u role=a role=a bad}
        r acl setuser u role=a,a,a
        r acl setuser u resetroles
        assert_equal 1 [r acl delrole a]
    }

    test {9.2 §5: GETROLE names the users who have the role} {
        drop_all
        r acl setrole a +get
        foreach user {zoe bob} { r acl setuser $user role=a }
        r acl setuser eve
        r acl setuser default role=a
        assert_equal {bob default zoe} [role_field a users]
        r acl setuser default resetroles
        assert_equal {bob zoe} [role_field a users]
    }

    test {GETROLE in RESP3 is a map} {
        r hello 3
        r write "*3\r\n\$3\r\nACL\r\n\$7\r\nGETROLE\r\n\$1\r\na\r\n"
        assert_equal %6,\$8,commands [r rawread],[r rawread],[r rawread]
        r reconnect
    }

    # ---- role=, resetroles -----------------------------------------------------------------------------------------

    test {9.2 §5: role= replaces the roles, in the given order; the rules end with it} {
        drop_all
        foreach name {a b c} { r acl setrole $name +get }
        r acl setuser u reset on +set role=c,a (+del)
        assert_equal {user u on resetchannels -@all +set (resetchannels -@all +del) role=c,a} [user_line u]
        assert_equal {c a} [dict get [r acl getuser u] roles]
        assert_equal roles [lindex [r acl getuser u] end-1] "the last field"
        r acl setuser u ROLE=b
        assert_equal b [dict get [r acl getuser u] roles]
        r acl setuser u role=b,b,a,b
        assert_equal {b a} [dict get [r acl getuser u] roles]
    }

    test {other rules leave the roles of a user} {
        r acl setuser u reset role=c,a
        r acl setuser u on +get ~x (+set) clearselectors resetpass
        assert_equal {c a} [dict get [r acl getuser u] roles]
        assert_equal u [role_field a users]
        r acl setuser u reset on +set (+del) role=b
    }

    test {9.2 §5: resetroles; reset includes it} {
        r acl setuser u resetroles
        assert_equal {{} {user u on resetchannels -@all +set (resetchannels -@all +del)}} [list [dict get [r acl getuser u] roles] [user_line u]]
        r acl setuser u role=a ResetRoles role=b
        assert_equal b [dict get [r acl getuser u] roles]
        r acl setuser u reset
        assert_equal {user u off resetchannels -@all} [user_line u]
    }

    test {9.2 §5: role= needs existing roles, at least one} {
        r acl setuser u reset role=b
        set before [r acl list]
        foreach {rule error} {
            role=x {The specified ACL role does not exist}  role=a,x {The specified ACL role does not exist}  role=x,a {The specified ACL role does not exist}
            role= {Syntax error}  role=, {Syntax error}  role=a, {Syntax error}  role=,a {Syntax error}  role=a,,b {Syntax error}
            role {Syntax error}  (role=a) {Syntax error}  (resetroles) {Syntax error}  +@role:a {Unknown command or category name in ACL}
        } {
            refused "ERR Error in ACL SETUSER modifier '$rule': $error" {r acl setuser u on $rule}
            assert_equal $before [r acl list] $rule
        }
    }

    test {the rules that LIST shows create the same roles and users} {
        drop_all
        r acl setrole a ~a %R~b &c +@read -get +config|get +select|0 db=0,5 (+set %W~s)
        r acl setrole b allkeys allchannels +@all -@dangerous
        r acl setuser u on >p ~x +get (+set ~y) role=b,a
        set before [r acl list]
        drop_all
        foreach line $before {
            set words [split $line " "]
            if {[lindex $words 0] eq "role"} { r acl setrole {*}[lrange $words 1 end] } else { r acl setuser {*}[lrange $words 1 end] }
        }
        assert_equal $before [r acl list]
    }

    # ---- Decisions -------------------------------------------------------------------------------------------------

    test {9.2 §5: allowed is what the user or one of its roles allows} {
        drop_all
        r acl setrole get_a +get ~a
        r acl setrole set_b +set ~b
        set c [client_of bob +strlen ~c role=get_a,set_b]
        foreach {command allowed} {
            {strlen c} 1  {get a} 1  {set b 1} 1  {get b} 0  {get c} 0  {set a 1} 0  {strlen a} 0  {del a} 0
        } {
            assert_equal $allowed [may bob {*}$command] $command
            assert_equal $allowed [expr {![catch {$c {*}$command}]}] $command
        }
        $c close
    }

    test {9.2 §5: a user cannot restrict a role} {
        r acl setrole all +@all ~* &*
        set c [client_of bob role=all -@all -get resetkeys resetdbs]
        assert_equal {} [$c get x]
        r acl setuser bob resetroles
        refused "NOPERM No permissions to access database" {$c get x}
        $c close
    }

    test {databases of a role} {
        r acl setrole one +@all ~* db=1
        set c [client_of bob resetdbs role=one]
        refused "NOPERM No permissions to access database" {$c get k}
        assert_equal {OK {}} [list [$c select 1] [$c get k]]
        r acl setrole one db=0,2
        refused "NOPERM No permissions to access database" {$c get k}
        $c close
    }

    test {9.2 §5: a change of a role acts at once} {
        drop_all
        r acl setrole a +get ~*
        set c [client_of bob role=a]
        set d [client_of eve role=a]
        foreach round {1 2} { foreach client [list $c $d] { assert_equal {} [$client get key:12345] } }
        r acl setrole a -get
        refused [denied_command bob get] {$c get key:12345}
        refused [denied_command eve get] {$d get key:12345}
        r acl setrole a +get resetkeys ~key:*
        foreach round {1 2} { foreach client [list $c $d] { assert_equal {} [$client get key:12345] } }
        r acl setrole a resetkeys ~other:*
        foreach client [list $c $d] { refused $denied_key {$client get key:12345} }
        r acl setrole a +@all ~* &*
        foreach client [list $c $d] { assert_equal OK [$client set key:12345 v] }
        r acl setrole a -set
        foreach client [list $c $d] { assert_error "NOPERM*'set'*" {$client set key:12345 w} }
        $c close
        $d close
        r del key:12345
    }

    test {checks begin and end when a role becomes the only limit} {
        drop_all
        r acl setrole everything +@all ~* &*
        set c [client_of bob role=everything]
        assert_equal OK [$c set key:12345 v]
        r acl setrole everything -set
        refused [denied_command bob set] {$c set key:12345 v}
        r acl setrole everything +@all
        assert_equal OK [$c set key:12345 v]
        $c close
    }

    test {the default user may have roles} {
        drop_all
        r acl setrole a +@all ~*
        set c [valkey_client]
        r acl setuser default resetkeys role=a
        assert_equal OK [$c set k v]
        r acl setrole a resetkeys ~x
        refused $denied_key {$c set k v}
        r acl setuser default resetroles ~*
        assert_equal OK [$c set k v]
        $c close
    }

    test {the denial that came furthest is reported, also of a role} {
        drop_all
        r acl setrole a +get ~a
        set c [client_of bob +set ~s role=a]
        refused $denied_key {$c get x}
        refused $denied_key {$c set a 1}
        refused [denied_command bob del] {$c del a}
        assert_equal "User bob has no permissions to access the 'x' key" [r acl dryrun bob get x]
        r acl log reset
        catch {$c get x}
        catch {$c del a}
        assert_equal {{command del bob} {key x bob}} [lmap e [r acl log] { list [dict get $e reason] [dict get $e object] [dict get $e username] }]
        $c close
    }

    test {a selector of a role that grants everything makes its users unlimited} {
        r acl setrole a -@all resetkeys {(+@all ~* &*)}
        set c [client_of bob role=a]
        assert_equal {OK 0} [list [$c set any v] [$c publish any m]]
        r acl setrole a clearselectors
        refused [denied_command bob set] {$c set any v}
        $c close
    }

    test {SORT with BY and GET needs all keys of a selector, also of a role} {
        drop_all
        r del l
        r rpush l 1 2
        r acl setrole a +sort ~*
        set c [client_of bob +sort ~l role=a]
        assert_equal {1 2} [$c sort l by w_* get #]
        r acl setuser bob resetroles
        assert_error "ERR BY option of SORT denied due to insufficient ACL permissions." {$c sort l by w_*}
        $c close
    }

    # ---- Clients that are busy -------------------------------------------------------------------------------------

    test {a blocked command is checked again, after a change of a role} {
        drop_all
        r acl setrole a +@all ~*
        set c [client_of bob role=a]
        r del list
        $c deferred 1
        $c blpop list 0
        wait_for_condition 500 20 {[s blocked_clients] == 1} else { fail "not blocked" }
        r acl setrole a -blpop
        r rpush list v
        refused [denied_command bob blpop] {$c read}
        assert_equal 1 [r llen list]
        $c close
    }

    test {EXEC checks queued commands by the role as it is then} {
        set why "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This command is no longer allowed for the following reason: no permission"
        r acl setrole a +@all ~*
        set c [client_of bob role=a]
        $c multi
        foreach command {{set k1 v} {set k2 v} ping} { assert_equal QUEUED [$c {*}$command] }
        r acl setrole a resetkeys ~k2
        assert_equal [list "$why to touch the specified keys" OK PONG] [$c exec]
        $c multi
        $c ping
        r acl setuser bob resetroles +exec
        assert_equal [list "$why to execute the command or subcommand"] [$c exec]
        $c close
    }

    test {a transaction that changes the own role} {
        drop_all
        r acl setrole a +@all ~*
        set c [client_of bob role=a]
        $c multi
        $c acl setrole a -set
        $c set k v
        assert_match {OK {NOPERM ACLs rules changed*}} [$c exec]
        $c close
    }

    test {scripts are checked by the roles of their user} {
        drop_all
        r acl setrole a +@all ~k*
        set c [client_of bob role=a]
        assert_equal OK [$c eval {return redis.call('set', 'k', 1)} 0]
        assert_equal {1 {}} [list [$c eval {return redis.acl_check_cmd('set', 'k', 1)} 0] [$c eval {return redis.acl_check_cmd('set', 'x', 1)} 0]]
        r acl setrole a -set
        assert_error "ERR ACL failure in script: User bob has no permissions to run the 'set' command*" {$c eval {return redis.call('set', 'k', 1)} 0}
        $c close
    }

    test {9.2 §5: subscribers that lose a channel of a role are closed} {
        foreach {subscribe rules closed} {
            {subscribe a:1}      {resetchannels}            1
            {subscribe a:1}      {resetchannels &a:*}       0
            {subscribe a:1}      {resetchannels &b:*}       1
            {subscribe a:1}      {allchannels}              0
            {subscribe a:1}      {resetchannels (&a:*)}     0
            {ssubscribe a:1}     {resetchannels &b:*}       1
            {psubscribe a:*}     {resetchannels &a:1}       1
            {psubscribe a:*}     {resetchannels &a:* &c}    0
            {subscribe own:1}    {resetchannels}            0
            {subscribe a:1}      {-@all}                    0
            {ping}               {resetchannels}            0
        } {
            drop_all
            r acl setrole a &a:* &b:* +@all
            set c [client_of bob +@all &own:* role=a]
            set own [client_of eve +@all &a:* role=a]
            set other [client_of zoe +@all &a:*]
            foreach client [list $own $other] { $client subscribe a:1 }
            $c {*}$subscribe
            r acl setrole a {*}$rules
            assert_equal [expr {!$closed}] [string match "*user=bob*" [r client list]] [list $subscribe $rules]
            foreach user {eve zoe} { assert_match "*user=$user*" [r client list] "allowed by rules of their own" }
            foreach client [list $c $own $other] { $client close }
            wait_for_condition 500 20 {![regexp {user=(bob|eve|zoe)} [r client list]]} else { fail "still there" }
        }
    }

    test {subscribers whose user loses the role are closed} {
        foreach {rules closed} {resetroles 1  reset 1  role=b 1  {role=b,a} 0  {resetroles &a:*} 0} {
            drop_all
            r acl setrole a &a:* +subscribe
            r acl setrole b &b:* +subscribe
            set c [client_of bob +@all role=a]
            $c subscribe a:1
            r acl setuser bob {*}$rules
            assert_equal [expr {!$closed}] [string match "*user=bob*" [r client list]] $rules
            $c close
            wait_for_condition 500 20 {![string match "*user=bob*" [r client list]]} else { fail "still there" }
        }
    }

    test {a client that closes itself by a change of its role} {
        drop_all
        r acl setrole a +@all &a
        set c [client_of bob role=a]
        $c hello 3
        $c subscribe a
        catch {$c acl setrole a resetchannels}
        assert {[is_closed $c]}
        assert_equal {} [role_field a channels]
        $c close
    }

    # ---- DIGEST ----------------------------------------------------------------------------------------------------

    # The digest of lines, computed here.
    proc digest_of {lines} {
        set digest [string repeat 0 64]
        foreach line $lines {
            if {![regsub {^user } $line {} line]} { regsub {^role } $line role= line }
            set hash [exec sha256sum << $line]
            set sum {}
            foreach a [split $digest {}] b [split [string range $hash 0 63] {}] { append sum [format %x [expr {"0x$a" ^ "0x$b"}]] }
            set digest $sum
        }
        return $digest
    }

    test {9.2 §5: DIGEST is the XOR of SHA-256 over the users' lines} {
        drop_all
        assert_equal [lindex [exec sha256sum << "default on nopass ~* &* +@all"] 0] [r acl digest]
        r acl setuser bob on >pw ~app:* +get (+set ~x)
        assert_equal [digest_of [r acl list]] [r acl digest]
        assert {[regexp {^[0-9a-f]{64}$} [r acl digest]]}
    }

    test {9.2 §5 (U): DIGEST covers roles} {
        set before [r acl digest]
        r acl setrole a +get
        set with [r acl digest]
        assert_not_equal $before $with
        assert_equal [digest_of [r acl list]] $with
        r acl setrole a ~x
        assert_not_equal $with [r acl digest]
        r acl setrole a resetkeys
        assert_equal $with [r acl digest]
        r acl delrole a
        assert_equal $before [r acl digest]
    }

    test {a role never cancels a user in DIGEST} {
        drop_all
        set before [r acl digest]
        r acl setrole on ~*
        foreach user {role role=on} { r acl setuser $user on ~* }
        assert_not_equal $before [r acl digest]
    }

    test {DIGEST and roles in ACL HELP; wrong arguments} {
        set help [join [r acl help] \n]
        foreach word {SETROLE DELROLE GETROLE ROLES DIGEST} { assert_match "*\n$word*" \n$help }
        foreach command {{setrole} {delrole} {getrole} {getrole a b} {roles x} {digest x}} {
            assert_error "ERR wrong number of arguments for 'acl|[lindex $command 0]' command" {r acl {*}$command}
        }
    }

    # ---- Facts -----------------------------------------------------------------------------------------------------

    # arity, further flags and tips, arguments, as commands-9.2.json says.
    foreach {name arity tips arguments} {
        setrole -3 {request_policy:all_nodes response_policy:all_succeeded} {{name rolename type string flags {}} {name rule type string flags {multiple optional}}}
        delrole -3 {request_policy:all_nodes response_policy:all_succeeded} {{name rolename type string flags multiple}}
        getrole 3  {} {{name rolename type string flags {}}}
        roles   2  {} {}
        digest  2  {} {}
    } {
        test "9.2 §5: facts of ACL [string toupper $name]" {
            assert_equal [list acl|$name [list $arity {admin loading noscript stale} 0,0,0 {@admin @dangerous @slow} $tips {}]] \
                [info_facts [r command info acl|$name]]
            set doc [dict get [r command docs acl|$name] acl|$name]
            assert_equal {9.2.0 server} [list [dict get $doc since] [dict get $doc group]]
            set found [expr {[dict exists $doc arguments] ? [dict get $doc arguments] : {}}]
            assert_equal $arguments [lmap arg $found {
                list name [dict get $arg name] type [dict get $arg type] flags [lsort [expr {[dict exists $arg flags] ? [dict get $arg flags] : {}}]]
            }]
        }
    }

    test {9.2 §5: GETUSER and SETUSER have changed} {
        foreach name {getuser setuser} {
            assert_equal {6.2.0 7.0.0 9.1.0 9.2.0} [lmap change [dict get [r command docs acl|$name] acl|$name history] { lindex $change 0 }]
        }
    }

    test {roles are changed by users with the right to it} {
        drop_all
        r acl setrole a +get
        set c [client_of bob +acl|roles]
        assert_equal a [$c acl roles]
        refused [denied_command bob acl|setrole] {$c acl setrole a +@all}
        assert_error "NOPERM*" {$c eval {return redis.call('acl', 'setrole', 'a')} 0}
        $c close
        assert_error "ERR This Valkey command is not allowed from script*" {r eval {return redis.call('acl', 'setrole', 'a')} 0}
    }
}

start_servers {one {kind ours} two {kind ours}} {
    test {9.2 §5: DIGEST is equal on servers with equal users and roles, whatever their order} {
        assert_equal [r [at one] acl digest] [r [at two] acl digest]
        set commands {{setrole a +get} {setrole b ~x +set} {setuser u on >p role=a,b} {setuser v +@all (+get ~x)}}
        foreach command $commands { r [at one] acl {*}$command }
        foreach i {1 0 3 2} { r [at two] acl {*}[lindex $commands $i] }
        assert_equal [r [at one] acl digest] [r [at two] acl digest]
        r [at two] acl setuser u role=b,a
        assert_not_equal [r [at one] acl digest] [r [at two] acl digest] "roles in another order are other rules"
    }

    test {a replica that connects as a user with a role} {
        r [at one] acl setrole syncs +psync +replconf +ping
        r [at one] acl setuser replica on >secret role=syncs
        r [at one] set k v
        r [at two] config set primaryuser replica
        r [at two] config set primaryauth secret
        r [at two] replicaof [srv [at one] host] [srv [at one] port]
        wait_for_condition 200 50 {[s [at two] master_link_status] eq "up" && [r [at two] get k] eq "v"} else { fail "not synchronized" }
        assert_equal {a b} [r [at two] acl roles] "roles are not replicated"
        r [at one] acl setrole syncs -psync -replconf -ping
        r [at one] client kill type replica
        wait_for_condition 200 50 {[s [at two] master_link_status] eq "down"} else { fail "still up" }
        r [at two] replicaof no one
    }
}
