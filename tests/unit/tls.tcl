# TLS: handshakes, certificates, data of all sizes, changes while clients are connected, and the tools. Certificates are
# made here, with EC keys, which is quick; clients are Python's ssl module (tests/support/tls.py) and our own tools.

set ::tls_dir $::work_dir/certificates
set ::tls_lacks {}

proc openssl {args} {
    if {[catch {exec -ignorestderr -- openssl {*}$args 2>/dev/null} out]} { error "openssl $args: $out" }
    return $out
}

proc make_authority {name {days 30}} {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days $days -subj /CN=$name \
        -keyout $name.key -out $name.crt
}

proc make_certificate {name authority {subject {}} {uri urn:none} {days 30}} {
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj [expr {$subject eq {} ? "/CN=$name" : $subject}] \
        -addext subjectAltName=URI:$uri -keyout $name.key -out $name.csr
    openssl x509 -req -in $name.csr -CA $authority.crt -CAkey $authority.key -CAcreateserial -copy_extensions copy \
        -days $days -out $name.crt
}

# The common name is "alice", a zero byte and "x": it is put into a finished certificate, which is signed again.
proc make_certificate_with_nul {name authority} {
    make_certificate $name $authority /CN=aliceZx
    openssl x509 -in $name.crt -outform DER -out $name.der
    exec python3 -S -c {if 1:
        import base64, subprocess, sys
        name, authority = sys.argv[1:]
        def part(der, at):
            n = der[at + 1]
            if n < 128: return der[at:at + 2 + n]
            size = n & 127
            return der[at:at + 2 + size + int.from_bytes(der[at + 2:at + 2 + size], "big")]
        def join(tag, body):
            n = len(body)
            size = bytes([n]) if n < 128 else bytes([128 + len(b"%x" % n) // 2 + len(b"%x" % n) % 2]) + n.to_bytes((n.bit_length() + 7) // 8, "big")
            return bytes([tag]) + size + body
        der = open(name + ".der", "rb").read()
        inside = der.index(b"\x30", 1)
        tbs = part(der, inside)
        algorithm = part(der, inside + len(tbs))
        assert tbs.count(b"aliceZx") == 1
        tbs = tbs.replace(b"aliceZx", b"alice\0x")
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", authority + ".key"], input=tbs, stdout=subprocess.PIPE, check=True).stdout
        der = join(0x30, tbs + algorithm + join(3, b"\0" + signature))
        open(name + ".crt", "wb").write(b"-----BEGIN CERTIFICATE-----\n" + base64.encodebytes(der) + b"-----END CERTIFICATE-----\n")
    } $name $authority
}

proc make_certificates {} {
    file mkdir $::tls_dir
    set before [pwd]
    cd $::tls_dir
    try {
        make_authority ca
        make_authority foreign_ca
        make_certificate server ca
        make_certificate renewed ca
        make_certificate client ca /CN=alice urn:user:bob
        make_certificate nobody ca /O=nameless
        make_certificate many ca /CN=x urn:none,URI:urn:off,URI:urn:user:bob,URI:urn:user:eve
        make_certificate none ca /CN=x urn:none,URI:urn:off
        make_certificate_with_nul nul ca
        make_authority short 10
        make_authority longer 15
        make_certificate foreign foreign_ca
        make_certificate expired ca {} urn:none -1
        openssl ec -in server.key -aes128 -passout pass:hush -out locked.key
        foreach name {rsa rsa_renewed} {
            openssl req -newkey rsa:2048 -nodes -subj /CN=$name -keyout $name.key -out $name.csr
            openssl x509 -req -in $name.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 20 -out $name.crt
        }
        openssl rsa -in rsa.key -aes128 -passout pass:hush -out rsa_locked.key
        openssl genpkey -genparam -algorithm DH -pkeyopt group:ffdhe2048 -out server.dh
        file mkdir trusted
        file copy -force ca.crt trusted/[openssl x509 -in ca.crt -noout -hash].0
    } finally {
        cd $before
    }
}

proc tls_file {name} { return $::tls_dir/$name }

# Runs a script behind tests/support/tls.py, and returns what it prints.
proc python {script} {
    set begin "import sys; sys.dont_write_bytecode = True; sys.path.insert(0, '[file normalize $::support]'); from tls import *\n"
    set ::env(TLS_PORT) $::tls_port
    set ::env(PLAIN_PORT) [srv port]
    set indent [string length [lindex [regexp -inline {^\n*( *)} $script] 1]]
    set lines [lmap line [split [string trim $script \n] \n] { string range $line $indent end }]
    set before [pwd]
    cd $::tls_dir
    try {
        return [exec -- timeout 300 python3 -S -c $begin[join $lines \n] 2>@1]
    } finally {
        cd $before
    }
}

proc tool {name args} {
    set path [file join [file dirname $::options(server)] $name]
    if {![file executable $path]} { skip "no $name" }
    set code [catch {exec -- timeout 120 $path -h 127.0.0.1 -p $::tls_port {*}$args 2>@1} out]
    return $out
}

proc ours {args} {
    return [tool valkey-cli --tls --cacert [tls_file ca.crt] --cert [tls_file client.crt] --key [tls_file client.key] {*}$args]
}

# TLS settings for start_server, with a port of their own.
proc tls_overrides {args} {
    set ::tls_port [free_port]
    return [dict merge [list tls-port $::tls_port tls-cert-file [tls_file server.crt] tls-key-file [tls_file server.key] \
        tls-ca-cert-file [tls_file ca.crt]] $args]
}

foreach program {openssl python3} {
    if {[auto_execok $program] eq {}} { set ::tls_lacks "no $program" }
}
# A build without TLS knows tls-port only.
if {$::tls_lacks eq {} && [catch {exec grep -q tls-cert-file $::options(server)}]} { set ::tls_lacks "a build without TLS" }

if {$::tls_lacks eq "a build without TLS"} {
    test {a build without TLS refuses TLS directives} {
        set code [catch {exec $::options(server) --port 0 --tls-port [free_port] --dir $::work_dir} out]
        assert_equal 1 $code
        assert_match "*This build has no TLS*TLS could not be configured*" $out
    }
}
if {$::tls_lacks ne {}} {
    test {TLS} { skip $::tls_lacks }
    return
}
make_certificates

start_server [list overrides [tls_overrides] tags {tls external:skip}] {
    test {PING over TLS beside the plain port; INFO and CLIENT LIST} {
        assert_equal PONG [ours ping]
        assert_equal PONG [r ping]
        assert_match "*listener0:name=tcp,bind=127.0.0.1,port=[srv port]\r\nlistener1:name=tls,bind=127.0.0.1,port=$::tls_port\r\n*" [r info server]
        assert_match "id=* addr=127.0.0.1:* laddr=127.0.0.1:$::tls_port * flags=N *user=default*" [ours client list id 1 2 3 4 5 6 7 8 9]
        assert_equal 1 [count_log_message "Ready to accept connections tls"]
    }

    test {pipelines, one byte at a time, and many requests in one record} {
        assert_equal "same same 1000" [python {
            s = connect()
            for b in request("SET", "slow", "value"): s.sendall(bytes([b]))
            a = line(s)
            s.sendall(b"".join(request("INCR", "n") for _ in range(1000)))
            replies = [line(s) for _ in range(1000)]
            b = replies == [":%d" % i for i in range(1, 1001)]
            print("same" if a == "+OK" else a, "same" if b else replies[:5], ask(s, "GET", "n"))
        }]
    }

    test {values of 1 MB and of record sizes go both ways} {
        assert_equal ok [python {
            s = connect()
            for size in [1, 16383, 16384, 16385, 32768, 40000, 1 << 20, 5 << 20]:
                v = os.urandom(size)
                assert ask(s, "SET", "big", v) == "+OK"
                s.sendall(request("GET", "big") * 3)
                for _ in range(3):
                    assert line(s) == "$%d" % size, size
                    assert take(s, size) == v and take(s, 2) == b"\r\n", size
            print("ok")
        }]
    }

    test {RESP3, pushes and blocking commands} {
        assert_equal "+OK ok" [python {
            s, other = connect(), connect()
            s.sendall(request("HELLO", 3))
            while "modules" not in line(s): pass
            while line(s) != "*0": pass # the last word about its one module
            s.sendall(request("SUBSCRIBE", "news"))
            assert [line(s) for _ in range(6)] == [">3", "$9", "subscribe", "$4", "news", ":1"]
            assert ask(other, "PUBLISH", "news", "x" * 20000) == ":1"
            assert line(s) == ">3" and [line(s) for _ in range(4)] == ["$7", "message", "$4", "news"]
            assert line(s) == "$20000" and take(s, 20002) == b"x" * 20000 + b"\r\n"
            t = connect()
            t.sendall(request("BLPOP", "queue", 0) + request("SET", "after", "1"))
            ask(other, "RPUSH", "queue", "job")
            assert [line(t) for _ in range(5)] == ["*2", "$5", "queue", "$3", "job"]
            print(line(t), "ok")
        }]
    }

    test {many clients at once} {
        assert_equal "200 200" [python {
            c = context()
            all = [c.wrap_socket(tcp()) for _ in range(200)]
            for i, s in enumerate(all): s.sendall(request("SET", "c%d" % i, i) + request("GET", "c%d" % i))
            good = sum([line(s), line(s), line(s)] == ["+OK", "$%d" % len(str(i)), str(i)] for i, s in enumerate(all))
            print(good, ask(all[0], "EXISTS", *["c%d" % i for i in range(200)])[1:])
        }]
    }

    test {more output than the client reads at once} {
        r set large [string repeat y 1000000]
        assert_equal "20 True PONG" [python {
            s = connect()
            s.sendall(request("GET", "large") * 20)
            time.sleep(0.2)
            n, ok = 0, True
            for _ in range(20):
                ok = ok and line(s) == "$1000000" and take(s, 1000002).count(b"y") == 1000000
                n += 1
            print(n, ok, ask(s, "PING")[1:])
        }]
    }

    test {both directions full: the client writes without reading} {
        assert_equal "ok" [python {
            s = connect()
            data, n = request("ECHO", "z" * 100000), 200
            # OpenSSL connections are not for two threads at a time: non-blocking, reading only what is forced on us.
            s.setblocking(False)
            out, got = memoryview(data * n), 0
            want = n * len("$100000\r\n" + "z" * 100000 + "\r\n")
            deadline = time.time() + 100
            while (out or got < want) and time.time() < deadline:
                try:
                    if out: out = out[s.send(out[:65536]):]
                except (ssl.SSLWantWriteError, ssl.SSLWantReadError): pass
                if got < want:
                    try: got += len(s.recv(1 << 20))
                    except (ssl.SSLWantReadError, ssl.SSLWantWriteError): pass
            print("ok" if got == want else (got, want))
        }]
    }

    test {connections that end without close_notify, in a handshake, or before it} {
        set before [s connected_clients]
        assert_equal "+PONG 0 0 0" [python {
            s = connect()
            s.sendall(request("PING"))
            a = line(s)
            os.close(s.detach())                    # the socket only
            raw = tcp(); raw.send(b"\x16\x03\x01\x02\x00"); raw.shutdown(socket.SHUT_WR)
            b = len(raw.recv(10)); raw.close()
            raw = tcp(); raw.shutdown(socket.SHUT_WR)
            c = len(raw.recv(10)); raw.close()
            t = connect(); fd = socket.socket(fileno=os.dup(t.fileno())); fd.shutdown(socket.SHUT_WR)
            print(a, b, c, len(t.recv(10)))
        }]
        wait_for_condition 200 50 {[s connected_clients] == $before} else { fail "clients are left: [r client list]" }
    }

    test {plain text on the TLS port} {
        set from [expr {[llength [log_lines]] - 1}]
        assert_equal 0 [python {
            raw = tcp(); raw.sendall(request("PING")); n = 0
            try: n = len(raw.recv(100)) - 7              # an alert may come: 7 bytes
            except ConnectionError: pass
            print(0 if n in (0, -7) else n)
        }]
        wait_for_log "A connection could not be accepted: error:*:SSL routines::* (addr=127.0.0.1:* laddr=127.0.0.1:$::tls_port)" $from
    }

    test {TLS on the plain port is a protocol error, and does no harm} {
        assert_equal refused [python {
            def hello():
                raw = tcp(PLAIN)
                raw.settimeout(1)
                try: return context().wrap_socket(raw)
                except TimeoutError: raise ConnectionError
            print(outcome(hello))
        }]
        assert_equal PONG [r ping]
    }

    test {clients need a certificate of our authority: none, another's, an expired one} {
        assert_equal "refused refused refused +PONG" [python {
            print(*[outcome(lambda: connect(cert=c)) for c in (None, "foreign", "expired", "client")])
        }]
        assert_match "*certificate verify failed*" [tool valkey-cli --tls --cacert [tls_file foreign_ca.crt] --cert [tls_file client.crt] --key [tls_file client.key] ping]
    }

    test {tls-auth-clients no and optional} {
        config_set tls-auth-clients no
        assert_equal "+PONG +PONG +PONG" [python {
            print(*[outcome(lambda: connect(cert=c)) for c in (None, "foreign", "client")])
        }]
        config_set tls-auth-clients optional
        assert_equal "+PONG refused refused +PONG" [python {
            print(*[outcome(lambda: connect(cert=c)) for c in (None, "foreign", "expired", "client")])
        }]
        config_set tls-auth-clients yes
    }

    test {a folder of authorities} {
        assert_equal OK [r config set tls-ca-cert-file {} tls-ca-cert-dir [tls_file trusted]]
        assert_equal "+PONG refused" [python {
            print(*[outcome(lambda: connect(cert=c)) for c in ("client", "foreign")])
        }]
        assert_equal OK [r config set tls-ca-cert-dir {} tls-ca-cert-file [tls_file ca.crt]]
    }

    test {a renewed certificate is for new clients; connected ones stay} {
        set names [python {
            import subprocess
            def name(s): return s.getpeercert()["subject"][0][0][1]
            old = connect()
            admin = connect()
            print(name(old), end=" ")
            def config(*words): return ask(admin, "CONFIG", "SET", *words)
            d = os.getcwd() + "/"
            assert config("tls-cert-file", d + "renewed.crt", "tls-key-file", d + "renewed.key") == "+OK"
            print(name(connect()), ask(old, "PING"), end=" ")
            # The same names, other files.
            import shutil
            for e in (".crt", ".key"): shutil.copy("server" + e, "live" + e)
            assert config("tls-cert-file", d + "live.crt", "tls-key-file", d + "live.key") == "+OK"
            print(name(connect()), end=" ")
            for e in (".crt", ".key"): shutil.copy("renewed" + e, "live" + e)
            assert name(connect()) == "server"
            assert config("tls-cert-file", d + "live.crt") == "+OK"
            print(name(connect()), ask(old, "PING"))
        }]
        assert_equal "server renewed +PONG server renewed +PONG" $names
        assert_equal OK [r config set tls-cert-file [tls_file server.crt] tls-key-file [tls_file server.key]]
    }

    test {INFO has the serials of the certificates and how long they last} {
        proc serial {name} { return [string range [openssl x509 -in [tls_file $name.crt] -noout -serial] 7 end] }
        assert_equal [serial server] [s tls_server_cert_serial]
        assert_equal [serial ca] [s tls_ca_cert_serial]
        assert_equal none [s tls_client_cert_serial]
        assert_equal 0 [s tls_client_cert_expires_in_seconds]
        assert_range [s tls_server_cert_expires_in_seconds] [expr {29 * 86400}] [expr {30 * 86400}]
    }

    test {INFO has the authority that ends first, in a bundle and in a folder; none without TLS} {
        proc facts {} { return [list [s tls_ca_cert_serial] [expr {[s tls_ca_cert_expires_in_seconds] / 86400}]] }
        set before [r config get tls-ca-cert-file]
        set bundle ""
        file mkdir [tls_file folder]
        foreach name {ca short longer} {
            append bundle [read_file [tls_file $name.crt]]
            file copy -force [tls_file $name.crt] [tls_file folder/[openssl x509 -in [tls_file $name.crt] -noout -hash].0]
        }
        set f [open [tls_file bundle.crt] w]
        puts -nonewline $f $bundle
        close $f
        r config set tls-ca-cert-file [tls_file bundle.crt]
        assert_equal [list [serial short] 9] [facts]
        r config set tls-ca-cert-file {} tls-ca-cert-dir [tls_file folder]
        assert_equal [list [serial short] 9] [facts]
        r config set tls-ca-cert-file [tls_file longer.crt]
        assert_equal [list [serial short] 9] [facts]
        r config set {*}$before tls-ca-cert-dir {}
        assert_equal [serial ca] [lindex [facts] 0]
        set port [config_get tls-port]
        r config set tls-port 0
        assert_equal {none 0 none} [list {*}[facts] [s tls_server_cert_serial]]
        r config set tls-port $port
        assert_equal [serial ca] [lindex [facts] 0]
    }

    # Returns the serial of the certificate with which the server answers a client with these options.
    proc served {args} {
        set authority "-CAfile [tls_file ca.crt] -cert [tls_file client.crt] -key [tls_file client.key]"
        set shown "openssl s_client -connect 127.0.0.1:[config_get tls-port] $authority $args < /dev/null 2>&1"
        set serial [exec sh -c "$shown | openssl x509 -noout -serial 2>/dev/null || echo serial=none"]
        return [string range $serial 7 end]
    }
    set ecdsa {-tls1_3 -sigalgs ecdsa_secp256r1_sha256}
    set rsa {-tls1_3 -sigalgs rsa_pss_rsae_sha256:ecdsa_secp384r1_sha384}
    proc alt_facts {} { return [list [s tls_server_alt_cert_serial] [expr {[s tls_server_alt_cert_expires_in_seconds] / 86400}]] }

    test {9.2 §10: tls-alt-cert-file: the handshake chooses one of two certificates} {
        assert_equal {none 0} [alt_facts]
        assert_equal [list [serial server] none] [list [served {*}$ecdsa] [served {*}$rsa]]
        assert_equal OK [r config set tls-alt-cert-file [tls_file rsa.crt] tls-alt-key-file [tls_file rsa.key]]
        assert_equal [list [serial server] [serial rsa]] [list [served {*}$ecdsa] [served {*}$rsa]]
        assert_equal [serial server] [served -tls1_2 -cipher ECDHE-ECDSA-AES128-GCM-SHA256]
        assert_equal [serial rsa] [served -tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256]
        assert_equal [list [serial rsa] 19] [alt_facts]
        assert_equal [serial server] [s tls_server_cert_serial]
    }

    test {9.2 §10: tls-alt-cert-file: either of the two may be the first} {
        r config set tls-cert-file [tls_file rsa.crt] tls-key-file [tls_file rsa.key] tls-alt-cert-file [tls_file server.crt] tls-alt-key-file [tls_file server.key]
        assert_equal [list [serial server] [serial rsa]] [list [served {*}$ecdsa] [served {*}$rsa]]
        assert_equal [list [serial rsa] [serial server]] [list [s tls_server_cert_serial] [s tls_server_alt_cert_serial]]
        r config set tls-cert-file [tls_file server.crt] tls-key-file [tls_file server.key] tls-alt-cert-file [tls_file rsa.crt] tls-alt-key-file [tls_file rsa.key]
    }

    test {9.2 §10: tls-alt-*: what cannot be used is refused and changes nothing} {
        foreach change [list \
            [list tls-alt-cert-file [tls_file renewed.crt] tls-alt-key-file [tls_file renewed.key]] \
            [list tls-alt-cert-file [tls_file missing.crt]] [list tls-alt-key-file [tls_file client.key]] \
            [list tls-alt-key-file [tls_file server.key]] [list tls-key-file [tls_file rsa.key] tls-alt-key-file [tls_file server.key]] \
            [list tls-alt-key-file [tls_file rsa_locked.key]] \
            [list tls-alt-key-file [tls_file rsa_locked.key] tls-alt-key-file-pass wrong]] {
            assert_error "ERR CONFIG SET failed*Unable to update TLS configuration*" {r config set {*}$change} $change
            assert_equal [list [serial server] [serial rsa]] [list [served {*}$ecdsa] [served {*}$rsa]] $change
        }
        wait_for_log "tls-alt-cert-file has a certificate of the same algorithm as tls-cert-file"
        assert_equal OK [r config set tls-alt-key-file [tls_file rsa_locked.key] tls-alt-key-file-pass hush]
        assert_equal [serial rsa] [served {*}$rsa]
        assert_no_match "*hush*" [log_lines]
        r config set tls-alt-key-file [tls_file rsa.key] tls-alt-key-file-pass {}
    }

    test {9.2 §10: tls-auto-reload-interval watches the second certificate, too} {
        foreach e {crt key} { file copy -force [tls_file rsa.$e] [tls_file alt.$e] }
        r config set tls-alt-cert-file [tls_file alt.crt] tls-alt-key-file [tls_file alt.key]
        config_set tls-auto-reload-interval 1
        foreach e {crt key} { file copy -force [tls_file rsa_renewed.$e] [tls_file alt.$e] }
        wait_for_condition 100 50 {[served {*}$rsa] eq [serial rsa_renewed]} else { fail "the old one stays" }
        assert_equal [serial rsa_renewed] [s tls_server_alt_cert_serial]
        config_set tls-auto-reload-interval 0
    }

    test {9.2 §10: a second certificate without a key is not used} {
        r config set tls-alt-key-file {}
        assert_equal [list {none 0} none] [list [alt_facts] [served {*}$rsa]]
        r config set tls-alt-cert-file {}
        assert_equal [serial server] [served {*}$ecdsa]
    }

    test {tls-auto-reload-interval: a renewed file is taken into use by itself} {
        foreach e {crt key} { file copy -force [tls_file server.$e] [tls_file auto.$e] }
        assert_equal OK [r config set tls-cert-file [tls_file auto.crt] tls-key-file [tls_file auto.key]]
        foreach e {crt key} { file copy -force [tls_file renewed.$e] [tls_file auto.$e] }
        after 1500
        assert_equal [serial server] [s tls_server_cert_serial]
        config_set tls-auto-reload-interval 1
        wait_for_condition 100 50 {[s tls_server_cert_serial] eq [serial renewed]} else { fail "the old one stays" }
        wait_for_log "TLS certificates have changed"
        # A file that cannot be used is logged once, and the certificate before it stays in use.
        close [open [tls_file auto.crt] w]
        wait_for_log "Loading the certificate failed: *"
        assert_equal [serial renewed] [s tls_server_cert_serial]
        config_set tls-auto-reload-interval 0
        assert_equal OK [r config set tls-cert-file [tls_file server.crt] tls-key-file [tls_file server.key]]
        assert_equal [serial server] [s tls_server_cert_serial]
    }

    test {an unusable certificate or key is refused, and nothing changes} {
        set before [r config get tls-*]
        set why "Unable to update TLS configuration. Check server logs."
        foreach {name value log} [list \
            tls-cert-file /nowhere.crt "Loading the certificate failed: /nowhere.crt: error:80000002:system library::No such file or directory" \
            tls-cert-file [tls_file server.key] "Loading the certificate failed: *" \
            tls-key-file [tls_file client.key] "Loading the private key failed: *key values mismatch" \
            tls-key-file [tls_file locked.key] "Loading the private key failed: *" \
            tls-ca-cert-file /nowhere.crt "Loading the CA certificates failed: *" \
            tls-ca-cert-file {} "tls-cluster, tls-replication and tls-auth-clients need tls-ca-cert-file or tls-ca-cert-dir" \
            tls-cert-file {} "tls-cert-file is not set" \
            tls-key-file {} "tls-key-file is not set" \
            tls-protocols "TLSv1.2 SSLv3" "tls-protocols names an unknown protocol. It takes any of 'TLSv1', 'TLSv1.1', 'TLSv1.2' and 'TLSv1.3'." \
            tls-ciphers nonsense "Setting the ciphers failed: nonsense" \
            tls-ciphersuites nonsense "Setting the ciphersuites failed: nonsense" \
            tls-dh-params-file /nowhere.dh "Loading /nowhere.dh failed: No such file or directory"] {
            set from [expr {[llength [log_lines]] - 1}]
            assert_error "ERR CONFIG SET failed (possibly related to argument '$name') - $why" {r config set $name $value}
            wait_for_log $log $from
            assert_equal $before [r config get tls-*] "$name $value"
            assert_equal PONG [ours ping] "$name $value"
        }
        # Two wrong files together, each of which would be right alone, and a pair in which neither is.
        assert_error "ERR CONFIG SET failed*$why" {r config set tls-cert-file [tls_file client.crt] maxclients 500}
        assert_not_equal 500 [config_get maxclients]
        assert_error "ERR CONFIG SET failed*" {r config set tls-client-cert-file [tls_file client.crt] tls-client-key-file [tls_file server.key]}
        assert_equal OK [r config set tls-client-cert-file [tls_file client.crt] tls-client-key-file [tls_file client.key]]
        assert_error "*argument(s) must be one of the following: *" {r config set tls-auth-clients maybe}
        assert_error "*argument must be between 0 and 2147483647 inclusive" {r config set tls-session-cache-size -1}
    }

    test {a key with a password, and parameters for Diffie-Hellman} {
        assert_equal OK [r config set tls-key-file [tls_file locked.key] tls-key-file-pass hush tls-dh-params-file [tls_file server.dh]]
        assert_equal PONG [ours ping]
        assert_error "ERR CONFIG SET failed*" {r config set tls-key-file-pass wrong}
        assert_equal OK [r config set tls-key-file [tls_file server.key] tls-key-file-pass {} tls-dh-params-file {}]
    }

    test {protocols, ciphers and suites are limited} {
        set versions {
            V = ssl.TLSVersion
            def version(**o):
                try:
                    with connect(**o) as s: return s.version() if ask(s, "PING") == "+PONG" else "refused"
                except (ssl.SSLError, ConnectionError): return "refused"
            print(version(highest=V.TLSv1_2), version(lowest=V.TLSv1_3))
        }
        assert_equal "TLSv1.2 TLSv1.3" [python $versions]
        config_set tls-protocols TLSv1.2
        assert_equal "TLSv1.2 refused" [python $versions]
        config_set tls-protocols tlsv1.3
        assert_equal "refused TLSv1.3" [python $versions]
        config_set tls-protocols {}
        config_set tls-ciphers ECDHE-ECDSA-AES256-GCM-SHA384
        config_set tls-ciphersuites TLS_AES_128_GCM_SHA256
        assert_equal "ECDHE-ECDSA-AES256-GCM-SHA384 refused TLS_AES_128_GCM_SHA256" [python {
            V = ssl.TLSVersion
            def cipher(**o):
                try:
                    with connect(**o) as s: return s.cipher()[0] if ask(s, "PING") == "+PONG" else "refused"
                except (ssl.SSLError, ConnectionError): return "refused"
            print(cipher(highest=V.TLSv1_2), cipher(highest=V.TLSv1_2, ciphers="ECDHE-ECDSA-AES128-GCM-SHA256"), cipher(lowest=V.TLSv1_3))
        }]
        assert_match "*SSL_connect failed*" [ours --tls-ciphersuites TLS_AES_256_GCM_SHA384 ping]
        assert_equal OK [r config set tls-ciphers {} tls-ciphersuites {}]
    }

    test {sessions are resumed, unless tls-session-caching is off} {
        set resumed {
            def twice(version):
                c = context(lowest=version, highest=version)
                with c.wrap_socket(tcp()) as s:
                    ask(s, "PING")
                    session = s.session
                with c.wrap_socket(tcp(), session=session) as s:
                    return ask(s, "PING"), s.session_reused
            print(*twice(ssl.TLSVersion.TLSv1_2), *twice(ssl.TLSVersion.TLSv1_3))
        }
        assert_equal "+PONG True +PONG True" [python $resumed]
        config_set tls-session-caching no
        assert_equal "+PONG False +PONG False" [python $resumed]
        config_set tls-session-caching yes
    }

    test {CLIENT KILL works before the handshake is done too; maxclients} {
        assert_equal "end end" [python {
            admin, victim, raw = connect(), connect(), tcp()
            me, you = ask(admin, "CLIENT", "ID")[1:], ask(victim, "CLIENT", "ID")[1:]
            mine = "addr=127.0.0.1:%d " % raw.getsockname()[1]
            while mine not in ask(admin, "CLIENT", "LIST"): time.sleep(0.02)
            assert ask(admin, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes", "MAXAGE", "0") or True
            assert ask(admin, "CLIENT", "KILL", "ID", you) in (":1", ":0")
            ask(admin, "CLIENT", "KILL", "127.0.0.1:%d" % raw.getsockname()[1])
            def end(s):
                try: return "end" if s.recv(1) == b"" else "more"
                except ConnectionError: return "end"
            print(end(victim), end(raw))
        }]
        r client kill type normal
        set old [config_get maxclients]
        config_set maxclients [expr {[s connected_clients] + 1}]
        assert_equal "+PONG refused" [python {
            first = connect()
            print(ask(first, "PING"), outcome(connect))
        }]
        config_set maxclients $old
    }

    test {tls-port off and on while a client is connected} {
        set port $::tls_port
        assert_equal "+OK refused +PONG +OK +PONG" [python {
            s = connect()
            off = ask(s, "CONFIG", "SET", "tls-port", 0)
            print(off, outcome(connect), ask(s, "PING"), ask(s, "CONFIG", "SET", "tls-port", PORT), outcome(connect))
        }]
        assert_error "*Unable to listen on this port. Check server logs." {r config set tls-port [srv port]}
        assert_equal $port [config_get tls-port]
        assert_equal PONG [ours ping]
    }

    test {while a script is busy, TLS clients get replies} {
        config_set busy-reply-threshold 50
        set d [valkey_deferring_client]
        $d eval {while true do end} 0
        assert_equal "-BUSY -BUSY +OK" [python {
            s, t = connect(), connect()
            while (a := ask(s, "SET", "k", "v")) == "+OK": time.sleep(0.02)
            t.sendall(request("PING"))
            print(a.split()[0], line(t).split()[0], ask(s, "SCRIPT", "KILL"))
        }]
        assert_error "*" {$d read}
        $d close
    }

    test {valkey-cli over TLS: large replies, --pipe, URIs} {
        assert_equal [string repeat y 1000000] [ours get large]
        set uri valkeys://127.0.0.1:$::tls_port/3
        assert_equal OK [ours -u $uri set where three]
        assert_equal three [ours -u [string map {valkeys rediss} $uri] get where]
        assert_equal three [ours -n 3 --sni localhost get where]
        set f [open $::work_dir/commands w]
        for {set i 0} {$i < 5000} {incr i} { puts $f "SET piped:$i [string repeat v 50]" }
        close $f
        assert_match "*errors: 0, replies: 5000" [ours -n 4 --pipe < $::work_dir/commands]
        assert_equal 5000 [ours -n 4 dbsize]
        assert_match "Could not negotiate a TLS connection: *ciphers*" [ours --tls-ciphers nonsense ping]
        assert_match "Could not negotiate a TLS connection: *CA certificate*" [tool valkey-cli --tls --cacert /nowhere ping]
        assert_match "Could not connect to Valkey at 127.0.0.1:$::tls_port: SSL_connect failed: *certificate verify failed*" [tool valkey-cli --tls ping]
        config_set tls-auth-clients no
        assert_equal PONG [tool valkey-cli --tls --insecure ping]
        config_set tls-auth-clients yes
    }

    test {valkey-benchmark over TLS} {
        set with [list --tls --cacert [tls_file ca.crt] --cert [tls_file client.crt] --key [tls_file client.key]]
        foreach more {{} {-P 16} {-k 0 -n 100} {-d 100000 -n 200 -P 4} {--threads 2}} {
            assert_match "*GET: * requests per second*" [tool valkey-benchmark {*}$with -q -c 5 -n 1000 -t set,get {*}$more]
        }
        assert_match "*SSL_connect failed*" [tool valkey-benchmark --tls -q -n 10 -t get]
    }

    test {a TLS client that is blocked is not read from beyond a limit, and nothing is lost} {
        assert_equal "held 100000 pings gone" [python {
            s, admin = connect(), connect()
            number, count = ask(s, "CLIENT", "ID")[1:], 100000
            def kept(): return int(ask(admin, "CLIENT", "LIST", "ID", number).split(" qbuf=")[1].split(" ")[0])
            def until(fn):
                end = time.monotonic() + TIMEOUT_S
                while not fn():
                    assert time.monotonic() < end
                    time.sleep(0.05)
            s.sendall(request("BLPOP", "nokey", "0"))
            sender = threading.Thread(target=s.sendall, args=[request("PING") * count])
            sender.start()
            until(lambda: kept() >= 64 << 10)
            sender.join(1)
            print("held" if kept() < 256 << 10 else kept(), end=" ")
            assert ask(admin, "RPUSH", "nokey", "v") == ":1"
            replies = take(s, len(request("nokey", "v")) + 7 * count)
            sender.join()
            print(replies.count(b"+PONG"), "pings", end=" ")
            s.sendall(request("BLPOP", "nokey", "0") + request("PING") * 5000)
            until(lambda: kept() >= 64 << 10)
            s.close()
            until(lambda: ask(admin, "CLIENT", "LIST", "ID", number) == "")
            print("gone")
        }]
    }

    test {SHUTDOWN while TLS clients are connected} {
        assert_equal "True True" [python {
            s, t = connect(), connect()
            t.sendall(request("SHUTDOWN", "NOSAVE"))
            def end(c):
                try: return c.recv(1) == b""
                except ConnectionError: return True
            print(end(s), end(t))
        }]
        restart_server
        assert_equal PONG [ours ping]
    }
}

start_server [list overrides [tls_overrides tls-auth-clients-user CN] tags {tls external:skip}] {
    test {the user by the certificate's common name} {
        assert_equal {"default" "alice" "default" "bob"} [python {
            def who(cert="client"): return '"%s"' % ask(connect(cert=cert), "ACL", "WHOAMI")
            admin = connect(cert="server")
            out = [who()]
            ask(admin, "ACL", "SETUSER", "alice", "on", ">secret", "+@all", "~*")
            ask(admin, "ACL", "SETUSER", "bob", "on", "nopass", "+@all", "~*")
            out.append(who())
            ask(admin, "ACL", "SETUSER", "alice", "off")
            out.append(who())
            ask(admin, "CONFIG", "SET", "tls-auth-clients-user", "URI")
            ask(admin, "ACL", "SETUSER", "urn:user:bob", "on", "+acl|whoami")
            out.append('"bob"' if who() == '"urn:user:bob"' else who())
            print(*out)
        }]
        assert_match "*reason tls-cert*username alice*" [r acl log]
        # With several names, the first one of an enabled user counts; when none is a user, the last one is logged.
        r acl setuser urn:off off +@all
        r acl setuser urn:user:eve on +@all
        r acl log reset
        set denied [s acl_access_denied_tls_cert]
        assert_equal "urn:user:bob default" [python {
            print(ask(connect(cert="many"), "ACL", "WHOAMI"), ask(connect(cert="none"), "ACL", "WHOAMI"))
        }]
        assert_equal [expr {$denied + 1}] [s acl_access_denied_tls_cert]
        assert_equal {tls-cert urn:off} [lmap field {reason username} { dict get [lindex [r acl log] 0] $field }]
        # No user has a zero byte in its name, and the part before it is not used as a name.
        assert_equal default [python {
            ask(connect(cert="server"), "CONFIG", "SET", "tls-auth-clients-user", "CN")
            print(ask(connect(cert="nul"), "ACL", "WHOAMI"))
        }]
        assert_equal "alice\x00x" [dict get [lindex [r acl log] 0] username]
        r config set tls-auth-clients-user URI
        # "server" and "nobody" are no users.
        assert_morethan [s acl_access_denied_tls_cert] 0
    }

    test {a certificate that names a user is enough where the default user has a password} {
        r config set tls-auth-clients-user CN requirepass secret
        r auth secret
        r acl setuser alice on
        assert_equal "+PONG -NOAUTH" [python {
            print(outcome(connect), outcome(lambda: connect(cert="nobody")).split()[0])
        }]
        r config set requirepass {}
    }
}

start_server [list overrides [tls_overrides io-threads 3 io-threads-always-active yes tls-auth-clients-user CN] \
    tags {tls io-threads external:skip}] {
    test {handshakes in I/O threads give the same user and the same errors as without them} {
        wait_for_condition 50 100 {[s io_threads_active] == 1} else { fail "not active" }
        r config resetstat
        r acl setuser alice on nopass +@all ~*
        assert_equal "alice 40 default" [python {
            s = [connect() for _ in range(40)]
            who = {ask(one, "ACL", "WHOAMI") for one in s}
            print(*who, sum(ask(one, "PING") == "+PONG" for one in s), ask(connect(cert="nobody"), "ACL", "WHOAMI"))
        }]
        assert_morethan_equal [s io_threaded_accept_processed] 41
        assert_equal ok [python {
            s = tcp()
            s.sendall(b"PING\r\n" * 100)
            rest = take(s, 1000)
            print("ok" if b"PONG" not in rest else rest)
        }]
        wait_for_log "*A connection could not be accepted: *(addr=127.0.0.1:*"
    }

    test {data that arrives with the end of the handshake is not lost; a handshake that stops half way can be ended} {
        assert_equal "+PONG +PONG" [python {
            incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            s, t = tcp(), context().wrap_bio(incoming, outgoing)
            try:
                t.do_handshake()
            except ssl.SSLWantReadError:
                s.sendall(outgoing.read())
            incoming.write(s.recv(1 << 16))
            while True:
                try:
                    t.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    incoming.write(s.recv(1 << 16))
            t.write(request("PING") * 2)
            s.sendall(outgoing.read())
            out = b""
            while out.count(b"PONG") < 2:
                incoming.write(s.recv(1 << 16))
                try:
                    out += t.read(1000)
                except ssl.SSLWantReadError:
                    pass
            print(*out.decode().split())
        }]
        set half [socket 127.0.0.1 $::tls_port]
        wait_for_condition 50 100 {[string match "*laddr=127.0.0.1:$::tls_port*" [r client list]]} else { fail "not seen" }
        assert_equal 1 [r client kill laddr 127.0.0.1:$::tls_port]
        fconfigure $half -translation binary
        assert_equal {} [read $half]
        close $half
    }

    test {connections move between I/O threads and the main thread during handshakes} {
        assert_equal ok [python {
            stop = []
            def change():
                s = socket.create_connection(("127.0.0.1", PLAIN))
                for n in range(60):
                    assert ask(s, "CONFIG", "SET", "io-threads", 1 + n % 3) == "+OK"
                    time.sleep(0.05)
                ask(s, "CONFIG", "SET", "io-threads", 3)
                stop.append(1)
            changer = threading.Thread(target=change)
            changer.start()
            n = 0
            while not stop:
                s = connect()
                for i in range(5):
                    assert ask(s, "PING") == "+PONG"
                s.close()
                n += 1
            changer.join()
            print("ok" if n > 20 else n)
        }]
    }
}

start_server [list overrides [tls_overrides protected-mode yes bind {* -::*}] tags {tls external:skip}] {
    test {protected mode's error is sent over TLS} {
        set address [lindex [exec hostname -I] 0]
        if {$address eq {}} { skip "no address but the loopback's" }
        assert_match "-DENIED * protected mode*" [python [string map [list ADDRESS $address] {
            s = context().wrap_socket(socket.create_connection(("ADDRESS", PORT), timeout=TIMEOUT_S))
            print(line(s))
        }]]
    }
}

start_server [list overrides [tls_overrides tls-cluster yes] tags {tls external:skip}] {
start_server [list overrides [tls_overrides] tags {tls external:skip}] {
    test {MIGRATE speaks TLS where the bus of a cluster would, and TCP elsewhere} {
        r -1 mset a 1 b 2 c 3
        assert_equal OK [r -1 migrate 127.0.0.1 $::tls_port a 0 5000]
        assert_equal OK [r -1 migrate 127.0.0.1 $::tls_port {} 0 5000 keys b c]
        assert_equal {1 2 3} [r mget a b c]
        assert_equal 0 [r -1 dbsize]
        r -1 set k v
        assert_error "IOERR error or timeout connecting to the client" { r -1 migrate 127.0.0.1 [srv 0 port] k 0 300 }
        assert_equal OK [r -1 config set tls-cluster no]
        assert_equal OK [r -1 migrate 127.0.0.1 [srv 0 port] k 0 5000]
        assert_equal v [r get k]
    }
}
}

test {a server that listens over TLS only, and one without TLS} {
    set wrong [list \
        {} "*tls-cert-file is not set*" \
        [list --tls-cert-file [tls_file server.crt]] "*tls-key-file is not set*" \
        [list --tls-cert-file [tls_file server.crt] --tls-key-file [tls_file server.key]] "*need tls-ca-cert-file or tls-ca-cert-dir*"]
    foreach {flags why} $wrong {
        assert_equal 1 [catch {exec -- timeout 60 $::options(server) --port 0 --tls-port [free_port] --dir $::work_dir {*}$flags} out]
        assert_match "${why}TLS could not be configured*" $out
    }
    set overrides [tls_overrides port 0]
    set pid [exec $::options(server) --dir $::work_dir --save {} --bind 127.0.0.1 {*}[concat {*}[lmap {k v} $overrides { list --$k $v }]] > $::work_dir/only.log &]
    try {
        wait_for_condition 400 50 {[ours ping] eq "PONG"} else { fail "no answer: [read_file $::work_dir/only.log]" }
        assert_match "*listener0:name=tls,bind=127.0.0.1,port=$::tls_port*" [ours info server]
        assert_match "*tcp_port:$::tls_port*" [ours info server]
    } finally {
        exec kill $pid
        wait_for_condition 400 50 {[catch {exec kill -0 $pid}]} else { fail "it does not end" }
    }
}
