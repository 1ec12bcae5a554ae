# Passwords: requirepass, AUTH, HELLO AUTH.

start_server {tags {auth external:skip}} {
    test {without a password every client is authenticated} {
        assert_error "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?" {
            r auth secret
        }
        assert_equal OK [r auth default anything]
        assert_error "WRONGPASS invalid username-password pair or user is disabled." {r auth nobody x}
        assert_error "ERR syntax error" {r auth a b c}
        assert_error "ERR wrong number of arguments for 'auth' command" {r auth}
        assert_equal {requirepass {}} [r config get requirepass]
    }

    test {connected clients stay authenticated when a password is set; new clients need it} {
        set old [valkey_client]
        r config set requirepass secret
        assert_equal PONG [r ping]
        assert_equal PONG [$old ping]
        set new [valkey_client]
        assert_error "NOAUTH Authentication required." {$new ping}
        assert_equal OK [$new auth secret]
        assert_equal PONG [$new ping]
        $new close
        $old close
    }

    test {a failed AUTH keeps the client's user} {
        assert_error "WRONGPASS *" {r auth bad}
        assert_equal PONG [r ping]
        set new [valkey_client]
        assert_error "WRONGPASS *" {$new auth bad}
        assert_error "NOAUTH *" {$new ping}
        $new close
    }

    test {after the password is removed no client needs one} {
        set new [valkey_client]
        r config set requirepass {}
        assert_equal PONG [$new ping]
        assert_equal OK [$new auth default x]
        $new close
    }
}

start_server {overrides {requirepass {"a secret"}} tags {auth external:skip}} {
    r auth "a secret"

    test {wrong passwords} {
        set c [valkey_client]
        set before [s acl_access_denied_auth]
        foreach bad [list {} a "a secre" "a secret " "A secret" "a secret\x00" [string repeat "a secret" 1000]] {
            assert_error "WRONGPASS invalid username-password pair or user is disabled." {$c auth $bad}
            assert_error "WRONGPASS *" {$c auth default $bad}
            assert_error "WRONGPASS *" {$c hello 3 auth default $bad}
        }
        assert_error "WRONGPASS *" {$c auth nobody "a secret"}
        assert_error "NOAUTH *" {$c ping}
        assert_equal [expr {$before + 22}] [s acl_access_denied_auth]
        r config resetstat
        assert_equal [expr {$before + 22}] [s acl_access_denied_auth] "refusals stay counted"
        $c close
    }

    test {before AUTH only few commands are allowed} {
        set c [valkey_client]
        foreach command {ping {get k} {echo x} {select 1} {client id} {config get port} {debug sleep 0} command} {
            assert_error "NOAUTH Authentication required." {$c {*}$command}
        }
        foreach command {nosuch {nosuch x} get config {config nosuch}} {
            assert_error "NOAUTH Authentication required." {$c {*}$command}
        }
        assert_error "ERR wrong number of arguments for 'auth' command" {$c auth}
        assert_error "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH*" {$c hello}
        assert_error "NOAUTH HELLO must be called*" {$c hello 3}
        assert_error "NOPROTO *" {$c hello 4}
        assert_equal RESET [$c reset]
        assert_equal OK [$c quit]
        $c close
    }

    test {AUTH, with and without the user's name} {
        foreach args {{{a secret}} {default {a secret}}} {
            set c [valkey_client]
            assert_equal OK [$c auth {*}$args]
            assert_equal PONG [$c ping]
            $c close
        }
    }

    test {HELLO AUTH} {
        set c [valkey_client]
        assert_equal 3 [dict get [$c hello 3 auth default "a secret" setname me] proto]
        assert_equal me [$c client getname]
        $c close
    }

    test {RESET logs out} {
        set c [valkey_client]
        $c auth "a secret"
        assert_equal RESET [$c reset]
        assert_error "NOAUTH *" {$c ping}
        $c close
    }

    test {large requests need a password} {
        foreach {bytes error} {
            "*11\r\n" "unauthenticated multibulk length"
            "*1\r\n\$16385\r\n" "unauthenticated bulk length"
        } {
            set c [valkey_client]
            $c write $bytes
            assert_error "ERR Protocol error: $error" {$c read}
            assert_error "I/O error*" {$c read}
            $c close
        }
    }

    test {a pipeline that begins with AUTH} {
        set d [valkey_deferring_client]
        $d write "*2\r\n\$4\r\nAUTH\r\n\$8\r\na secret\r\nPING\r\nRESET\r\nPING\r\n"
        assert_equal {OK PONG RESET} [list [$d read] [$d read] [$d read]]
        assert_error "NOAUTH *" {$d read}
        $d close
    }

    test {a big request right behind AUTH} {
        set d [valkey_deferring_client]
        set value [string repeat x 20000]
        $d write "*2\r\n\$4\r\nAUTH\r\n\$8\r\na secret\r\n*3\r\n\$3\r\nSET\r\n\$1\r\nk\r\n\$20000\r\n$value\r\n"
        assert_equal {OK OK} [list [$d read] [$d read]]
        $d close
    }

    test {the password is not logged} {
        assert_equal 0 [count_log_message "a secret"]
    }
}
