# MIGRATE: keys go from one server to another.

proc migrate {args} { return [r -1 migrate [srv 0 host] [srv 0 port] {*}$args] }

# A port that accepts connections and never replies: the event loop is not served while a test waits for a reply.
proc silent_port {body} {
    upvar 1 port port
    set fd [socket -server {apply {{fd args} { close $fd }}} -myaddr 127.0.0.1 0]
    set port [lindex [fconfigure $fd -sockname] 2]
    catch { uplevel 1 $body } result how
    close $fd
    return -options $how $result
}

start_server {tags {migrate}} {
start_server {tags {migrate external:skip}} {
    test {MIGRATE moves a key} {
        r -1 set k value
        assert_equal OK [migrate k 9 5000]
        assert_equal {} [r -1 get k]
        r select 9
        assert_equal value [r get k]
        assert_equal -1 [r ttl k]
        r flushall
        r select 0
    }

    test {MIGRATE: values of every type arrive as they were} {
        r -1 rpush list {*}[lrepeat 3000 element]
        r -1 sadd set a b c
        r -1 hset hash f v g w
        r -1 zadd zset 1 a 2.5 b
        r -1 xadd stream 1-1 f v
        r -1 set string [string repeat x 1000000]
        assert_equal OK [migrate {} 0 5000 keys list set hash zset stream string]
        assert_equal 0 [r -1 dbsize]
        assert_equal 6 [r dbsize]
        assert_equal {3000 {a b c} {f v g w} {a 1 b 2.5} {{1-1 {f v}}} 1000000} [list [r llen list] [lsort [r smembers set]] \
            [r hgetall hash] [r zrange zset 0 -1 withscores] [r xrange stream - +] [r strlen string]]
        r flushall
    }

    test {MIGRATE: the time to live is moved too} {
        r -1 set k v px 5000000
        assert_equal OK [migrate k 0 5000]
        assert_range [r pttl k] 4000000 5000000
        r flushall
    }

    test {MIGRATE: nothing to do} {
        assert_equal NOKEY [migrate k 0 5000]
        assert_equal NOKEY [migrate {} 0 5000 keys a b c]
        assert_equal NOKEY [migrate {} 0 5000 keys]
        assert_equal NOKEY [migrate {} 0 5000]
    }

    test {MIGRATE: missing keys are left out, and a key that is named twice is sent once} {
        r -1 mset a 1 b 2
        assert_error "ERR Target instance replied with error: BUSYKEY*" { migrate {} 0 5000 keys a none b a }
        assert_equal {1 2 0} [list [r get a] [r get b] [r -1 dbsize]]
        r flushall
    }

    test {MIGRATE COPY leaves the key, REPLACE overwrites one} {
        r -1 set k one
        assert_equal OK [migrate k 0 5000 copy]
        assert_equal {one one} [list [r get k] [r -1 get k]]
        r -1 set k two
        assert_error "ERR Target instance replied with error: BUSYKEY Target key name already exists." { migrate k 0 5000 }
        assert_equal {one two} [list [r get k] [r -1 get k]]
        assert_equal OK [migrate k 0 5000 copy replace]
        assert_equal {two two} [list [r get k] [r -1 get k]]
        assert_equal OK [migrate k 0 5000 REPLACE]
        assert_equal {two {}} [list [r get k] [r -1 get k]]
        r flushall
    }

    test {MIGRATE: keys that the target refuses stay, the others move} {
        r -1 mset a 1 b 2 c 3
        r set b taken
        assert_error "ERR Target instance replied with error: BUSYKEY*" { migrate {} 0 5000 keys a b c }
        assert_equal {b} [r -1 keys *]
        assert_equal {1 taken 3} [r mget a b c]
        r flushall
        r -1 flushall
    }

    test {MIGRATE: a database that the target does not have} {
        r -1 set k v
        assert_error "ERR Target instance replied with error: ERR DB index is out of range" { migrate k 999 5000 }
        assert_equal v [r -1 get k]
        # The socket has forgotten its database.
        assert_equal OK [migrate k 3 5000]
        r select 3
        assert_equal v [r get k]
        r flushall
        r select 0
    }

    test {MIGRATE: the socket is cached, and replaced when it was closed} {
        r -1 set k v
        assert_equal OK [migrate k 0 5000]
        set connections [s total_connections_received]
        r -1 set l v
        assert_equal OK [migrate l 0 5000]
        assert_equal $connections [s total_connections_received]
        r client kill type normal skipme yes
        r -1 set m v
        assert_equal OK [migrate m 0 5000]
        assert_equal [expr {$connections + 1}] [s total_connections_received]
        assert_equal {k l m} [lsort [r keys *]]
        r flushall
    }

    test {MIGRATE AUTH and AUTH2} {
        r config set requirepass secret
        r client kill type normal skipme yes
        r -1 set k v
        assert_error "ERR Target instance replied with error: NOAUTH*" { migrate k 0 5000 }
        assert_error "ERR Target instance replied with error: WRONGPASS*" { migrate k 0 5000 auth wrong }
        assert_error "ERR Target instance replied with error: WRONGPASS*" { migrate k 0 5000 auth2 default wrong }
        assert_equal v [r -1 get k]
        assert_equal OK [migrate k 0 5000 auth secret]
        r -1 set k2 v
        r client kill type normal skipme yes
        assert_equal OK [migrate {} 0 5000 auth2 default secret keys k2]
        assert_equal {k k2} [lsort [r keys *]]
        r config set requirepass {}
        r flushall
    }

    test {MIGRATE: IOERR when the target does not accept, or does not reply} {
        r -1 set k v
        silent_port {
            assert_error "IOERR error or timeout reading to target instance" { r -1 migrate 127.0.0.1 $port k 0 50 }
        }
        assert_error "IOERR error or timeout writing to target instance" { r -1 migrate 127.0.0.1 $port k 0 200 }
        assert_error "IOERR error or timeout connecting to the client" { r -1 migrate no-such-host.invalid 1 k 0 200 }
        assert_equal v [r -1 get k]
    }

    test {MIGRATE: errors of arguments} {
        assert_error "ERR syntax error" { migrate k 0 100 nonsense }
        assert_error "ERR syntax error" { migrate k 0 100 auth }
        assert_error "ERR syntax error" { migrate k 0 100 auth2 user }
        assert_error "ERR When using MIGRATE KEYS option, the key argument must be set to the empty string" { migrate k 0 100 keys a }
        assert_error "ERR value is not an integer or out of range" { migrate k x 100 }
        assert_error "ERR value is not an integer or out of range" { migrate k 0 x }
        assert_equal v [r -1 get k]
    }

    test {MIGRATE: which arguments are keys} {
        assert_equal k [r command getkeys migrate h p k 0 1]
        assert_equal {a b} [r command getkeys migrate h p {} 0 1 copy keys a b]
        assert_equal b [r command getkeys migrate h p {} 0 1 auth keys keys b]
        assert_equal {{a {RW access delete}}} [r command getkeysandflags migrate h p {} 0 1 auth2 keys keys keys a]
    }
}
}

start_server {tags {migrate external:skip}} {
    if {[oracle] eq {}} {
        test {MIGRATE from Redis 7.0} { skip "no redis-server here" }
    } else {
        start_server [list executable [oracle]] {
            test {MIGRATE from Redis 7.0, and a version that it does not read} {
                r set k v
                assert_equal OK [r migrate [srv -1 host] [srv -1 port] k 0 5000]
                assert_equal v [r -1 get k]
                assert_error "ERR Target instance replied with error: ERR DUMP payload version or checksum are wrong" {
                    r -1 migrate [srv 0 host] [srv 0 port] k 0 5000
                }
                assert_equal v [r -1 get k]
            }
        }
    }
}
