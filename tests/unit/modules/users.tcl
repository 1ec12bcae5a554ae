# Users and logging in through the module interface (tests/modules/users.c), beside the oracle.

source -encoding utf-8 $::support/module.tcl
source -encoding utf-8 $::support/since_9_1.tcl

beside_modules {users states} {} {
    test {rules of a user of a module's own} {
        both users.create own
        both users.text own
        foreach rule {on ~app:* +get +nonsense +config|get|x ~x allkeys ~y allchannels &z <nopassword #short db=0 db=99999 nopass >secret !abc (+set (+set)} {
            both users.rule own $rule
        }
        both users.text own
        both users.rules own "reset on ~a* +get"
        both users.text own
        both users.rules own "+set +nonsense"
        both users.text own
        both users.rules own "(~b* +set"
        both users.rules own "clearselectors (~b* +set) db=0,2"
        both users.text own
        both acl list
        both users.text nobody
        both users.text default
        both acl setuser alice on ~k +get
        both users.text alice
        both users.rule alice +set
        foreach kind {ours valkey} { set $kind [since_9_1::without_roles [r [at $kind] acl getuser alice]] }
        assert_equal $valkey $ours
        both users.free own
        both users.text own
    }

    test {a user's right to run a command can be checked} {
        both users.create own
        both users.rules own "on ~a* %R~r* &c* +get +set +publish +config|get +@connection alldbs"
        foreach command {{get a} {get b} {get r1} {set r1 x} {set a 1} {del a} {nonsense} {config get x} {config set a b} {publish c x} {publish d x} {subscribe c} {ping} {auth x} {get}} {
            both users.command own - {*}$command
            both users.command own 0 {*}$command
        }
        both users.command own 99 get a
        both users.command own -1 get a
        both users.rules own "db=0,1"
        both users.command own - get a
        both users.command own - ping
        both users.command own 1 get a
        both users.command own 2 get a
        both users.free own
    }

    test {rights to keys, prefixes of keys and channels can be checked} {
        both users.create own
        both users.rules own "on ~a* %R~r* %W~w* ~exact ~q?x* ~e\\* ~s\[ab\]* &c* &d"
        foreach key {a app r1 w1 exact exactly qbx e* ex sa sc "" b} {
            foreach flags {0 16 32 64 128 48 240 1 256} { both users.key own $key $flags }
        }
        foreach prefix {a app r r1 w exact q qbx qbxy e sa sc "" b} {
            foreach flags {0 16 32 48} { both users.prefix own $prefix $flags }
        }
        foreach channel {c c1 d d1 c* d* x} {
            foreach flags {0 1 2 3 4 5 8 9 16} { both users.channel own $channel $flags }
        }
        both users.rules own "allkeys allchannels"
        both users.key own any 16
        both users.prefix own any 16
        both users.channel own any 4
        both users.free own
    }

    test {a module adds entries to ACL LOG} {
        both acl log reset
        both users.create own
        foreach reason {0 1 2 3 4 5 77} { both users.log own object$reason $reason }
        both users.logname somebody thing 2
        foreach kind {ours valkey} {
            set $kind [lmap e [r [at $kind] acl log] { dict remove $e age-seconds client-info timestamp-created timestamp-last-updated }]
        }
        assert_equal $valkey $ours
        assert_equal module [dict get [lindex $ours 0] context]
        both users.free own
        both acl log reset
    }

    test {a module logs clients in} {
        both users.create own
        both acl setuser alice on nopass ~* +@all
        both acl setuser off off
        both users.whoami
        both users.auth own
        both users.rules own "on ~a* +@all"
        both users.auth own
        both acl whoami
        both users.whoami
        both users.whoami alice
        both get b
        both get a
        both users.authacl alice
        both users.changes
        both acl whoami
        both users.authacl off
        both users.authacl nobody
        both auth default x
        both users.changes
        both users.auth own
        both reset
        both users.changes
        both acl whoami
        foreach kind {ours valkey} {
            set c [valkey_client [at $kind]]
            $c users.auth own
            $c close
        }
        after 100
        assert_equal 4 [both users.changes]
    }

    test {clients of a freed user are disconnected} {
        foreach kind {ours valkey} { set $kind [valkey_client [at $kind]]; [set $kind] users.auth own }
        both users.free own
        after 100
        foreach kind {ours valkey} { assert_error {*I/O error*} { [set $kind] ping }; catch { [set $kind] close } }
        foreach kind {ours valkey} {
            set c [valkey_client [at $kind]]
            set id($kind) [$c client id]
            $c users.authacl alice
            assert_equal 0 [r [at $kind] users.deauth $id($kind)]
            after 100
            assert_error {*I/O error*} { $c ping }
            catch { $c close }
            set c [valkey_client [at $kind]]
            catch { $c users.deauth me } answer($kind)
            after 50
            assert_error {*I/O error*} { $c ping }
            catch { $c close }
        }
        assert_equal $answer(valkey) $answer(ours)
        both users.deauth 999999
        both users.changes
    }

    test {a module decides about passwords} {
        both acl setuser alice on >secret ~* +@all
        both users.callback
        both acl log reset
        foreach password {secret allow deny code plain forget other} {
            both auth default x
            both auth alice $password
            both acl whoami
            both auth nobody $password
        }
        both auth deny
        both acl whoami
        foreach password {allow deny} {
            foreach kind {ours valkey} {
                set c [valkey_client [at $kind]]
                catch { $c hello 3 auth alice $password } answer($kind)
                set who($kind) [$c acl whoami]
                $c close
            }
            assert_equal $who(valkey) $who(ours)
        }
        foreach kind {ours valkey} { set $kind [lmap e [r [at $kind] acl log] { dict get $e username }] }
        assert_equal $valkey $ours
        both auth default x
    }

    test {a module can authenticate a client later, from a thread} {
        foreach password {later-allow later-deny later-code later-plain later-nothing later-abort secret} {
            both auth default x
            both auth alice $password
            both acl whoami
            both auth nobody $password
        }
        both auth default x
        both users.wait
        foreach kind {ours valkey} {
            set c [valkey_client [at $kind]]
            catch { $c hello 3 auth alice later-allow }
            set who($kind) [$c acl whoami]
            $c close
            # One that does not wait for the end; and what is behind the AUTH of another.
            set c [valkey_deferring_client [at $kind]]
            $c auth alice later-allow
            $c close
            set c [valkey_deferring_client [at $kind]]
            $c auth alice later-allow
            $c acl whoami
            lappend who($kind) [$c read] [$c read]
            $c close
        }
        assert_equal $who(valkey) $who(ours)
        assert_equal {alice OK alice} $who(ours)
        after 100
    }

    test {two authentication callbacks block one after the other} {
        both users.callback again
        foreach password {later-nothing later-deny later-abort secret later-allow} {
            both auth default x
            both auth alice $password
            both acl whoami
            both auth nobody $password
        }
        foreach kind {ours valkey} {
            assert_equal 0 [s [at $kind] blocked_clients]
        }
        both auth default x
    }

    test {blocking authentication is refused in a transaction and in a module's call} {
        foreach password {later-allow later-nothing plain secret} {
            both auth default x
            both multi
            both auth alice $password
            both acl whoami
            both exec
            both ping
            both auth default x
            if {$password eq {secret}} { continue }
            both multi
            both hello 2 auth alice $password
            both exec
            both acl whoami
        }
        both auth default x
        # 9.1.2 ends here.
        foreach how {- E} {
            assert_match {-ERR*cannot wait*} [lindex [r [at ours] states.call $how auth alice later-allow] 0]
            assert_match {-ERR*cannot wait*} [lindex [r [at ours] states.call $how hello 3 auth alice later-allow] 0]
        }
        assert_equal PONG [r [at ours] ping]
    }

    test {an invalid handle does no harm (9.1.2 crashes)} {
        assert_equal 0 [r [at ours] users.nohandle]
    }

    # 9.2 §5, which the oracle does not have.
    test {a user of a module's own may have roles} {
        set ours [at ours]
        r $ours acl setrole a +get ~a* &c
        r $ours acl setrole b +set ~b*
        r $ours users.create own
        assert_equal {1 {Error in ACL SETUSER modifier 'role=a,x': The specified ACL role does not exist}} [r $ours users.rules own "on role=a,x"]
        assert_equal {-1 2} [r $ours users.rule own role=x] "ENOENT"
        assert_equal {0 0} [r $ours users.rules own "on role=a,b"]
        assert_equal {on resetchannels -@all role=a,b} [r $ours users.text own]
        proc may {args} { return [expr {[lindex [r [at ours] {*}$args] 0] == 0}] }
        foreach {question allowed} {
            {users.command own - get a} 1  {users.command own 0 set b 1} 1  {users.command own - set a 1} 0  {users.command own - del a} 0
            {users.key own a1 16} 1  {users.key own c 16} 0  {users.prefix own a 16} 1  {users.prefix own c 16} 0  {users.channel own c 4} 1  {users.channel own d 4} 0
        } {
            assert_equal $allowed [may {*}$question] $question
        }
        r $ours acl setrole a -get resetkeys
        foreach question {{users.command own - get a} {users.key own a1 16} {users.prefix own a 16}} { assert {![may {*}$question]} $question }
        assert_error "ERR Role 'a' is assigned to one or more users*" { r $ours acl delrole a }
        assert_equal {} [dict get [r $ours acl getrole a] users] "GETROLE lists users that ACL LIST lists"
        r $ours users.free own
        assert_equal 2 [r $ours acl delrole a b]
    }

    test {unloading a module ends its users and logins} {
        foreach kind {ours valkey} { set $kind [valkey_client [at $kind]]; [set $kind] users.authacl alice }
        foreach kind {ours valkey} { set quiet_$kind [valkey_client [at $kind]]; [set quiet_$kind] auth alice allow }
        foreach kind {ours valkey} { ;# threads have handles still
            wait_for_condition 50 100 {![catch { r [at $kind] module unload users }]} else { fail "$kind: it does not go" }
        }
        after 100
        # Clients whose notification the module has cancelled.
        foreach kind {ours valkey} {
            assert_equal {PONG alice} [list [[set quiet_$kind] ping] [[set quiet_$kind] acl whoami]]
            [set quiet_$kind] close
        }
        foreach kind {ours valkey} { assert_error {*I/O error*} { [set $kind] ping }; catch { [set $kind] close } }
        catch { both auth alice allow }
        both auth alice secret
        both auth default x
    }
}

set users_file [file join $::work_dir module_users.acl]
write_file $users_file "role a +get ~a* &a +subscribe\nrole b +set ~b*\nuser default on nopass ~* &* +@all\n"

with_modules {users} [list kinds ours overrides [list aclfile $users_file]] {
    test {ACL LOAD: a module's own user keeps the roles that still exist, by name (9.2 §5)} {
        r users.create own
        r users.rules own "on role=a,b"
        proc may {args} { return [expr {[lindex [r users.command own - {*}$args] 0] == 0}] }
        set c [valkey_client]
        $c users.auth own
        set d [valkey_client]
        $d users.auth own
        $d subscribe a
        r acl load
        assert_equal {on resetchannels -@all role=a,b} [r users.text own]
        assert_equal {1 1 0} [list [may get a] [may set b 1] [may set c 1]]
        assert_equal {} [$c get a1]
        write_file $users_file "role b +set ~c*\nrole other\n"
        r acl load
        assert_equal {on resetchannels -@all role=b} [r users.text own]
        assert_equal {0 0 1} [list [may get a] [may set b 1] [may set c 1]]
        assert_error "NOPERM*" { $c get a1 }
        assert_error "*I/O error*" { $d ping }
        assert_error "ERR Role 'b' *" { r acl delrole b other }
        r users.free own
        assert_equal 2 [r acl delrole b other]
        foreach client [list $c $d] { catch { $client close } }
    }

    test {ACL LOAD leaves clients of a module's user alone, even if a listed user has its name} {
        write_file $users_file "user own on nopass +@all ~*\n"
        r acl load
        r users.create own
        r users.rules own "on +get ~a"
        set c [valkey_client]
        $c users.auth own
        set d [valkey_client]
        $d auth own any
        foreach text {"user own on nopass +@all ~*\n" ""} {
            write_file $users_file $text
            r acl load
            assert_equal {} [$c get a]
            assert_error "NOPERM*" { $c get b }
        }
        assert_error "*I/O error*" { $d ping }
        r users.free own
        foreach client [list $c $d] { catch { $client close } }
    }
}
