# Sentinels behind passwords, users with few rights, and TLS: among each other, towards what they watch, towards clients.

source -encoding utf-8 $::support/sentinel.tcl

set needed_on_servers "-@all +auth +ping +info +publish +subscribe +multi +exec +slaveof +config|rewrite +client|setname\
    +client|kill +script|kill +failover +client|pause +client|unpause resetchannels &__sentinel__:hello"
set needed_on_sentinels "-@all +auth +ping +publish +client|setname +sentinel|is-master-down-by-addr resetchannels &__sentinel__:hello"

proc catch_error {body} {
    catch {uplevel 1 $body} answer
    return $answer
}

# The primary dies; all agree on another.
proc fail_over {names} {
    set old [srv [at primary] port]
    stop_server primary KILL
    foreach name $names { wait_event $name "+switch-master mymaster 127.0.0.1 $old *" }
    set now [lsort -unique [lmap name $names { sentinel_primary $name }]]
    assert_equal 1 [llength $now]
    assert_match replica* $now
    wait_for_condition 100 50 {[lindex [ask $now role] 0] eq "master"} else { fail "$now is no primary" }
}

# ---- Clients of a Sentinel -------------------------------------------------------------------------------------

start_sentinel {kind ours tags {sentinel external:skip} lines {{monitor one 127.0.0.1 1 1}} wait 0
        overrides {requirepass secret user {viewer on >pw -@all +auth +sentinel|masters +sentinel|primary +info +subscribe resetchannels &+switch-master}}} {
    wait_for_log "+monitor*"
    set c [resp::connect 127.0.0.1 [srv port]]

    test {requirepass: only HELLO and AUTH are allowed without it} {
        foreach command {{ping} {sentinel masters} {info} {publish __sentinel__:hello x} {role} {shutdown}} {
            assert_error "NOAUTH Authentication required." { $c {*}$command }
        }
        assert_error "WRONGPASS*" { $c auth wrong }
        assert_equal OK [$c auth secret]
        assert_equal one [dict get [lindex [$c sentinel masters] 0] name]
    }

    test {users have the subcommands that they are given, each spelling separately} {
        assert_equal OK [$c auth viewer pw]
        assert_equal 1 [llength [$c sentinel masters]]
        assert_equal one [dict get [$c sentinel primary one] name]
        foreach command {primaries {master one} {set one quorum 2} {remove one} flushconfig myid {debug info-period 1}} {
            assert_error "NOPERM User viewer has no permissions to run the 'sentinel|[lindex $command 0]' command" { $c sentinel {*}$command }
        }
        assert_error "NOPERM No permissions to access a channel" { $c subscribe +sdown }
        assert_error "NOPERM*" { $c acl whoami }
        $c auth secret
        assert_equal {auth channel command} [lsort -unique [lmap entry [$c acl log] { dict get $entry reason }]]
    }

    test {users can be changed, and are in the file, without their passwords} {
        $c acl setuser other on >hush +ping
        assert_equal OK [$c sentinel flushconfig]
        set text [read_file [srv conf]]
        foreach user {viewer other default} { assert_match "*\nuser $user on *#*" $text }
        foreach word {>pw hush} { assert_no_match *$word* $text }
        set again [resp::connect 127.0.0.1 [srv port]]
        assert_equal OK [$again auth other hush]
        $again close
    }

    test {passwords are not in the log} {
        $c sentinel set one auth-pass topsecret1
        $c sentinel config set sentinel-pass topsecret2
        catch { $c sentinel set one auth-pass topsecret3 nosuch 1 }
        assert_no_match *topsecret* [read_file [srv log]]
        assert_match "*sentinel auth-pass one \"topsecret3\"*sentinel sentinel-pass \"topsecret2\"*" [read_file [srv conf]]
    }
    $c close
}

# ---- Among Sentinels -------------------------------------------------------------------------------------------

proc auth_all {names args} { foreach name $names { r [at $name] auth {*}$args } }

start_watched_set {kinds {ours ours} tags {sentinel external:skip}} {
    start_sentinels {a ours b valkey c redis} {quorum 3 agree 0 overrides {requirepass shared}} {
        test {Sentinels with the same requirepass find each other, vote and fail over} {
            auth_all {a b c} shared
            wait_sentinels_agree {a b c}
            foreach name {a b c} { assert_match "OK 3 usable*" [r [at $name] sentinel ckquorum mymaster] }
            fail_over {a b c}
        }
    }
}

start_watched_set {kinds {ours ours} tags {sentinel external:skip}} {
    start_sentinels {a ours b valkey c ours} [list quorum 3 agree 0 lines {{sentinel-user peer} {sentinel-pass hush}} \
            overrides [list requirepass mine user "peer on >hush $needed_on_sentinels"]] {
        test {Sentinels work with a user that has only the rights they need} {
            auth_all {a b c} mine
            wait_sentinels_agree {a b c}
            foreach name {a b c} { assert_match "OK 3 usable*" [r [at $name] sentinel ckquorum mymaster] }
            fail_over {a b c}
            foreach name {a c} { assert_equal {} [r [at $name] acl log] }
        }

        test {a password that is set at run time is used from then on} {
            r [at a] sentinel config set sentinel-pass wrong
            foreach port [list [srv [at b] port] [srv [at c] port]] {
                wait_for_condition 200 50 {[string match *s_down* [sentinel_peer_field a sentinels $port flags]]} else {
                    fail "a still gets on with $port: [r [at a] sentinel sentinels mymaster]"
                }
            }
            assert_match "NOQUORUM*" [catch_error { r [at a] sentinel ckquorum mymaster }]
            r [at a] sentinel config set sentinel-pass hush
            wait_for_condition 200 50 {[string match "OK 3 usable*" [catch_error { r [at a] sentinel ckquorum mymaster }]]} else {
                fail [r [at a] sentinel sentinels mymaster]
            }
        }
    }
}

# ---- Towards what is watched -----------------------------------------------------------------------------------

start_watched_set [list kinds {ours valkey ours} tags {sentinel external:skip} overrides [list user "watcher on >hush $needed_on_servers"]] {
    start_sentinels {a ours b ours} {quorum 2 set {auth-user watcher auth-pass hush}} {
        test {a user with the rights that a Sentinel needs on servers is enough for a failover} {
            foreach name {primary replica1 replica2} {
                assert_match "*name=sentinel-*-cmd*user=watcher*" [r [at $name] client list]
                assert_match "*name=sentinel-*-pubsub*user=watcher*" [r [at $name] client list]
            }
            fail_over {a b}
            foreach name {replica1 replica2} { assert_equal {} [ask $name acl log] $name }
        }
    }
}

# ---- TLS -------------------------------------------------------------------------------------------------------

proc make_certificates {dir} {
    file mkdir $dir
    set key {-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes}
    exec -ignorestderr openssl req -x509 {*}$key -days 30 -subj /CN=ca -keyout $dir/ca.key -out $dir/ca.crt 2>/dev/null
    exec -ignorestderr openssl req {*}$key -subj /CN=node -keyout $dir/node.key -out $dir/node.csr 2>/dev/null
    exec -ignorestderr openssl x509 -req -in $dir/node.csr -CA $dir/ca.crt -CAkey $dir/ca.key -CAcreateserial -days 30 -out $dir/node.crt 2>/dev/null
}

proc tls_overrides {port} {
    set dir $::work_dir/certificates
    return [list tls-port $port tls-cert-file $dir/node.crt tls-key-file $dir/node.key tls-ca-cert-file $dir/ca.crt tls-replication yes]
}

# The plain ports are for the test: nodes know each other by those for TLS.
proc tls_set {body} {
    make_certificates $::work_dir/certificates
    set ports [list [free_port] [free_port] [free_port] [free_port] [free_port]]
    set lines [list [list monitor mymaster 127.0.0.1 [lindex $ports 0] 2] {down-after-milliseconds mymaster 1000} {failover-timeout mymaster 6000}]
    set servers {}
    foreach {name kind} {primary ours replica1 valkey a ours b valkey c ours} port $ports {
        if {$name eq {}} continue
        set options [list kind $kind overrides [tls_overrides $port] tags {sentinel external:skip} crash 1]
        if {$name in {a b c}} {
            dict set options overrides [sentinel_overrides [dict get $options overrides] $lines]
            dict set options args --sentinel
        }
        lappend servers $name $options
    }
    set ::tls_ports $ports
    uplevel 1 [list start_servers $servers $body]
}

set without_tls [expr {[auto_execok openssl] eq {} ? "no openssl" : [catch {exec grep -q tls-cert-file $::options(server)}] ? "no TLS in this build" : {}}]
if {$without_tls ne {}} {
    test {Sentinels over TLS} { skip $without_tls }
} else {
    set ports_left {}
    proc tls_body {} {
        set ::watched_count 2
        lassign $::tls_ports primary replica
        r [at replica1] replicaof 127.0.0.1 $primary
        wait_for_link replica1
        wait_sentinels_agree {a b c}
        test {Sentinels over TLS find each other by the TLS ports, and fail over} {
            foreach name {a c} {
                assert_equal [lsort [lmap {- port} {x 2 x 3 x 4} { lindex $::tls_ports $port }]] \
                    [lsort [concat [lmap map [r [at $name] sentinel sentinels mymaster] { dict get $map port }] [own_tls_port $name]]]
            }
            assert_match "OK 3 usable*" [r [at a] sentinel ckquorum mymaster]
            stop_server primary KILL
            foreach name {a b c} { wait_event $name "+switch-master mymaster 127.0.0.1 $primary 127.0.0.1 $replica" }
            assert_equal [list 127.0.0.1 $replica] [r [at a] sentinel get-primary-addr-by-name mymaster]
        }
    }
    proc own_tls_port {name} { return [lindex $::tls_ports [dict get {a 2 b 3 c 4} $name]] }
    tls_set tls_body
}
