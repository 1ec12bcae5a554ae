# Key changes as messages: the directive, the channels, and the events of commands, compared with Valkey's.

# What the subscriber has received so far: event and key of every __keyevent message, or the bare list of messages.
# Its own ECHO marks the end.
proc told {c} {
    $c deferred 1
    $c echo the-end
    set all {}
    while {[set m [$c read]] ne "the-end"} { lappend all [lrange $m 2 end] }
    return $all
}

proc listener {} {
    set c [valkey_client]
    $c hello 3
    $c psubscribe __key*
    return $c
}

# All events of these commands, one line per command, from a server of its own.
proc events_of {commands} {
    set c [listener]
    set lines {}
    foreach words $commands {
        if {[lindex $words 0] eq "after"} {
            after [lindex $words 1]
            continue
        }
        if {[catch {r {*}$words} reply] && [string match "ERR unknown command*" $reply]} { set reply unknown }
        lappend lines [list $words [expr {$reply eq "unknown" ? "unknown" : [told $c]}]]
    }
    $c close
    return $lines
}

proc words_of_lines {text} {
    set all {}
    foreach line [split [string trim $text] \n] {
        if {[string trim $line] ne {}} { lappend all [string trim $line] }
    }
    return $all
}

start_server {tags {keyspace-events}} {
    test {notify-keyspace-events: what it shows and refuses} {
        assert_equal {} [config_get notify-keyspace-events]
        foreach {set shown} {
            KEA AKE A A K K gAK AK Kxe xeK KEm KEm n n KEn nKE tdm tdm mEK KEm {$E} {$E} KEg$lshzxet g$lshzxetKE
            KEg$lshzxetd g$lshzxetdKE KEg$lshzxetdp AKE pK pK npK pnK AmK AKm {} {}
        } {
            config_set notify-keyspace-events $set
            assert_equal $shown [config_get notify-keyspace-events] $set
        }
        config_set notify-keyspace-events Kx
        assert_error "ERR CONFIG SET failed (possibly related to argument 'notify-keyspace-events') - Invalid event class character. Use 'Ag\$lshzxeKEtmdnp'." {
            r config set notify-keyspace-events Kq
        }
        assert_equal xK [config_get notify-keyspace-events]
        config_set notify-keyspace-events {}
    }

    test {an event is sent to two channels, with the number of its database} {
        set c [listener]
        config_set notify-keyspace-events KEA
        r set k v
        assert_equal {{__keyspace@0__:k set} {__keyevent@0__:set k}} [told $c]
        r select 9
        r set "a b" v
        assert_equal {{{__keyspace@9__:a b} set} {__keyevent@9__:set {a b}}} [told $c]
        r select 0
        config_set notify-keyspace-events K$
        r set k v
        assert_equal {{__keyspace@0__:k set}} [told $c]
        config_set notify-keyspace-events E$
        r set k v
        assert_equal {{__keyevent@0__:set k}} [told $c]
        config_set notify-keyspace-events A
        r set k v
        assert_equal {} [told $c]
        config_set notify-keyspace-events {}
        r set k v
        assert_equal {} [told $c]
        config_set notify-keyspace-events KE
        r set k v
        assert_equal {} [told $c]
        $c close
    }

    test {letters of notify-keyspace-events choose classes} {
        set c [listener]
        foreach {letter words event} {
            g {del k} del   $ {set k v} set   l {rpush l a} rpush   s {sadd s a} sadd   h {hset h f v} hset
            z {zadd z 1 a} zadd   m {get nokey} keymiss   n {set newkey v} new   g {expire newkey 100} expire
        } {
            config_set notify-keyspace-events {}
            r flushall
            r set k v
            if {$event eq "expire"} { r set newkey v }
            config_set notify-keyspace-events E$letter
            r {*}$words
            set told [told $c]
            assert_equal 1 [llength $told] "$letter $words"
            assert_match "__keyevent@0__:$event *" [lindex $told 0]
            # All other classes: this one is missing.
            config_set notify-keyspace-events {}
            r flushall
            r set k v
            if {$event eq "expire"} { r set newkey v }
            config_set notify-keyspace-events E[string map [list $letter {}] {g$lshzxemn}]
            r {*}$words
            foreach m [told $c] { assert_no_match "*:$event" [lindex $m 0] }
        }
        $c close
    }

    test {an expiry without an access publishes an event} {
        config_set notify-keyspace-events Ex
        set c [listener]
        r set gone v px 30
        r set lasting v ex 1000
        $c deferred 1
        assert_equal {pmessage __key* __keyevent@0__:expired gone} [$c read]
        assert_equal {} [told $c]
        $c close
    }

    test {RESP2 subscribers get events, and scripts cause them} {
        config_set notify-keyspace-events KA
        set c [valkey_client]
        $c subscribe __keyspace@0__:sk
        r eval {redis.call('set', KEYS[1], 1) redis.call('expire', KEYS[1], 100) return redis.call('del', KEYS[1])} 1 sk
        foreach event {set expire del} { assert_equal "message __keyspace@0__:sk $event" [$c read] }
        $c close
    }

    test {serving a blocked client publishes a keyspace event} {
        config_set notify-keyspace-events Kl
        r del bl
        set d [valkey_deferring_client]
        $d hello 3
        $d read
        $d psubscribe __keyspace*
        $d read
        $d blpop bl 0
        wait_for_condition 500 20 {[s blocked_clients] == 1} else { fail "not blocked" }
        r rpush bl x
        assert_equal {pmessage __keyspace* __keyspace@0__:bl rpush} [$d read]
        # Before the reply or behind it, but not within.
        assert_equal [lsort {{bl x} {pmessage __keyspace* __keyspace@0__:bl lpop}}] [lsort [list [$d read] [$d read]]]
        $d close
    }

    test {the setting survives a restart after CONFIG REWRITE} {
        config_set notify-keyspace-events gxE$
        r config rewrite
        restart_server
        assert_equal g\$xE [config_get notify-keyspace-events]
        set c [listener]
        r set k v
        assert_equal {{__keyevent@0__:set k}} [told $c]
        $c close
        config_set notify-keyspace-events {}
        r config rewrite
    } {} {external:skip}
}

# Commands of one group after the other, on the same data. `after` is a pause: what is to expire must have expired by
# then, and nothing but a lookup may delete it.
set groups {
    {commands of Valkey} {
        SET a 1
        SET a 2 IFEQ 1
        SET a 2 IFEQ 1
        SET a 3 IFEQ 2 PXAT 1
        SET a 3 PXAT 1
        DELIFEQ a 2
        SET a 2
        DELIFEQ a 2
        MSETEX 2 a 1 b 2
        MSETEX 2 a 1 c 2 NX
        MSETEX 2 a 1 b 2 XX EX 100
        MSETEX 2 a 1 b 2 KEEPTTL
        HSETEX h EX 100 FIELDS 2 a 1 b 2
        HSETEX h FNX EX 100 FIELDS 1 a 1
        HSETEX h XX FIELDS 1 c 1
        HSETEX h KEEPTTL FIELDS 1 a 1
        HSETEX h PXAT 1 FIELDS 2 a 1 new 1
        HSETEX h3 PXAT 1 FIELDS 1 a 1
        HSETEX h3 NX PX 1 FIELDS 1 a 1
        HEXPIRE h 100 FIELDS 2 a c
        HEXPIRE h 100 NX FIELDS 2 b c
        HEXPIREAT h 1 FIELDS 1 c
        HPERSIST h FIELDS 2 b a
        HPERSIST h FIELDS 2 b a
        HTTL h FIELDS 1 b
        HTTL nokey FIELDS 1 b
        HGETEX h FIELDS 1 b
        HGETEX h EX 100 FIELDS 2 b nof
        HGETEX h PERSIST FIELDS 1 b
        HGETEX h EX 0 FIELDS 1 b
        HGETEX nokey EX 0 FIELDS 1 b
        HSET h a 1 b 2
        HPEXPIRE h 1 FIELDS 1 a
        after 10
        HINCRBY h a 1
        HPEXPIRE h 1 FIELDS 1 a
        after 10
        HINCRBYFLOAT h a 1
        HPEXPIRE h 1 FIELDS 1 a
        after 10
        HSETNX h a 1
        HPEXPIRE h 1 FIELDS 1 a
        after 10
        HSETEX h KEEPTTL FIELDS 2 a 1 b 2
        HPEXPIRE h 1 FIELDS 1 a
        after 10
        HDEL h a
        HEXISTS h a
        HSET h a 1 b 2
        HGETDEL h FIELDS 2 a nof
        HGETDEL h FIELDS 1 b
        HGETDEL h FIELDS 1 b
    }
    {strings} {
        SET a 1
        SET a 2 EX 100
        SET a 3 KEEPTTL
        SET a 4 NX
        SET b 5 NX
        SET a 5 XX GET
        SET a 7 PX 100000 GET
        SET a 1 EXAT 1
        SETNX a 1
        SETNX c 1
        SETEX c 100 v
        PSETEX c 100000 v
        GETSET c w
        GETDEL c
        GETDEL c
        SET c x
        GETEX c
        GETEX c EX 100
        GETEX c PERSIST
        GETEX c PERSIST
        GETEX c PXAT 1
        MSET a 1 b 2 c 3
        MSETNX a 1 n 2
        MSETNX n1 1 n2 2
        APPEND a xyz
        APPEND new xyz
        APPEND new ""
        STRLEN a
        SETRANGE a 2 zz
        SETRANGE a 2 ""
        SETRANGE nosr 0 ""
        SETRANGE nosr 1 x
        INCR i
        INCRBY i 5
        DECR i
        DECRBY i 3
        INCRBYFLOAT i 1.5
        INCR a
        GET nokey
        MGET a nokey nokey2
        GETRANGE nokey 0 1
        EXISTS nokey
        TYPE nokey
        TTL nokey
        TTL a
        OBJECT ENCODING nokey
        OBJECT ENCODING a
        TOUCH nokey a
        STRLEN nokey
    }
    {generic} {
        DEL a b nokey
        UNLINK c nokey i
        SET e v
        EXPIRE e 100
        EXPIRE e 50 GT
        EXPIRE e 50 NX
        PEXPIRE e 100000
        EXPIREAT e 99999999999
        PEXPIREAT e 9999999999999
        PERSIST e
        PERSIST e
        EXPIRE e -1
        SET e v
        PEXPIREAT e 1
        EXPIRE nokey 1
        SET e v
        RENAME e f
        RENAMENX f g
        SET f 1
        RENAMENX f g
        RENAME f g
        RENAME g g
        COPY g h
        COPY g h
        COPY g h REPLACE
        COPY g h2 DB 1
        DBSIZE
        RANDOMKEY
        FLUSHDB
    }
    {lists} {
        LPUSH l a b c
        RPUSH l d e
        LPUSHX l x
        RPUSHX nol x
        LPUSHX nol x
        LPOP l
        RPOP l
        LPOP l 2
        RPOP l 1
        LPOP l 0
        LPOP nol
        RPOP nol 2
        LLEN nol
        LRANGE nol 0 1
        RPUSH l 1 2 3 4 5 6 7 8
        LINSERT l BEFORE 3 x
        LINSERT l AFTER nope x
        LINSERT nol AFTER nope x
        LSET l 0 z
        LSET l 99 z
        LREM l 0 z
        LREM l 0 nope
        LTRIM l 1 -2
        LTRIM l 0 -1
        LTRIM nol 0 -1
        LTRIM l 5 3
        LPOS nol a
        RPUSH l a b c
        LMOVE l l LEFT RIGHT
        LMOVE l m LEFT RIGHT
        LMOVE l m RIGHT LEFT
        LMOVE l m RIGHT LEFT
        LMOVE l m RIGHT LEFT
        RPOPLPUSH m l
        RPOPLPUSH m m
        BLMOVE m l LEFT LEFT 1
        BLPOP l 1
        BRPOP l m 1
        BRPOPLPUSH m l 1
        LMPOP 2 nol l LEFT COUNT 10
        LMPOP 2 nol l LEFT COUNT 10
        BLMPOP 1 1 m LEFT COUNT 10
        RPUSH m 1 2 3
        BLMPOP 1 1 m RIGHT COUNT 2
        BLPOP m 1
        LINDEX nol 0
        SORT nol
        RPUSH l 3 1 2
        SORT l STORE sorted
        SORT nol STORE sorted
        SORT nol STORE sorted
        DEL l
    }
    {sets} {
        SADD s a b c
        SADD s a
        SREM s a
        SREM s zz
        SREM nos zz
        SMOVE s t b
        SMOVE s t nope
        SMOVE s t c
        SMOVE t t c
        SADD s 1 2 3
        SPOP s
        SPOP s 1
        SPOP s 10
        SPOP s
        SPOP nos 2
        SPOP t 0
        SRANDMEMBER nos
        SMEMBERS nos
        SISMEMBER nos a
        SCARD nos
        SADD s 1 2 3
        SADD t 2 3 4
        SINTERSTORE d s t
        SINTERSTORE d s nos
        SINTERSTORE d s nos
        SUNIONSTORE d s t
        SUNIONSTORE d nos nos2
        SDIFFSTORE d s t
        SDIFFSTORE d s s
        SDIFFSTORE d nos s
        SET str x
        SINTERSTORE str s t
        SINTER s nos
        SUNION s nos
        SDIFF nos s
        SINTERCARD 2 s nos
        SSCAN nos 0
    }
    {hashes} {
        HSET h f v
        HSET h f v g w
        HSETNX h f v
        HSETNX h n v
        HMSET h a 1 b 2
        HINCRBY h cnt 1
        HINCRBY h f 1
        HINCRBYFLOAT h cnt 1.5
        HDEL h f g zz
        HDEL h zz
        HDEL noh zz
        HGET noh f
        HMGET noh f g
        HGETALL noh
        HLEN noh
        HKEYS noh
        HVALS noh
        HSTRLEN noh f
        HEXISTS noh f
        HRANDFIELD noh
        HRANDFIELD noh 2
        HSCAN noh 0
        HDEL h n a b cnt
    }
    {sorted sets} {
        ZADD z 1 a 2 b 3 c
        ZADD z 1 a
        ZADD z CH 5 a
        ZADD z XX 1 new
        ZADD z NX 1 a
        ZADD z INCR 1 a
        ZADD z NX INCR 1 a
        ZADD noz XX 1 a
        ZADD z GT 1 a
        ZINCRBY z 1 a
        ZINCRBY noz 1 a
        ZREM z a
        ZREM z zzz
        ZREM noz a
        ZREM noz zz
        ZADD z 1 a 2 b 3 c 4 d 5 e 6 f 7 g
        ZREMRANGEBYRANK z 0 0
        ZREMRANGEBYRANK z 50 60
        ZREMRANGEBYSCORE z 2 2
        ZREMRANGEBYSCORE z 200 300
        ZREMRANGEBYSCORE noz 200 300
        ZREMRANGEBYLEX z - [a
        ZREMRANGEBYLEX z [c [c
        ZPOPMIN z
        ZPOPMAX z 1
        ZPOPMIN z 0
        ZPOPMIN noz
        ZPOPMAX noz 3
        ZPOPMAX z 10
        ZADD z 1 a 2 b 3 c
        ZMPOP 2 noz z MIN COUNT 2
        ZMPOP 2 noz z MAX COUNT 2
        ZMPOP 2 noz z MAX COUNT 2
        ZADD z 1 a 2 b 3 c 4 d
        BZPOPMIN z 1
        BZPOPMAX noz z 1
        BZMPOP 1 1 z MIN COUNT 1
        BZMPOP 1 1 z MIN COUNT 5
        ZADD z1 1 a 2 b
        ZADD z2 1 b 2 c
        ZUNIONSTORE zd 2 z1 z2
        ZINTERSTORE zd 2 z1 z2
        ZINTERSTORE zd 2 z1 noz
        ZINTERSTORE zd 2 z1 noz
        ZDIFFSTORE zd 2 z1 z2
        ZDIFFSTORE zd 1 noz
        ZDIFFSTORE zd 1 noz
        ZRANGESTORE zd z1 0 -1
        ZRANGESTORE zd z1 5 6
        ZRANGESTORE zd noz 5 6
        ZRANGESTORE zd z1 0 -1
        ZUNIONSTORE str 2 z1 z2
        ZCARD noz
        ZSCORE noz a
        ZMSCORE noz a b
        ZRANK noz a
        ZREVRANK noz a
        ZCOUNT noz 0 1
        ZLEXCOUNT noz - +
        ZRANGE noz 0 1
        ZRANGEBYSCORE noz 0 1
        ZREVRANGE noz 0 1
        ZRANGEBYLEX noz - +
        ZRANDMEMBER noz
        ZRANDMEMBER noz 3
        ZUNION 2 noz z1
        ZINTER 2 noz z1
        ZDIFF 2 noz z1
        ZINTERCARD 2 z1 noz
        ZSCAN noz 0
    }
    {bitmaps} {
        SETBIT bm 7 1
        SETBIT bm 7 1
        SETBIT bm 100 0
        GETBIT nobm 1
        BITCOUNT nobm
        BITPOS nobm 1
        BITOP AND bd bm nobm
        BITOP OR bd nobm nobm2
        BITOP OR bd nobm nobm2
        BITOP NOT bd bm
        BITFIELD bm SET u8 0 255
        BITFIELD bm SET u8 0 255
        BITFIELD bm GET u8 0
        BITFIELD bm INCRBY u8 0 1 SET u8 8 1
        BITFIELD bm OVERFLOW FAIL INCRBY u8 8 300
        BITFIELD nobm GET u8 0
        BITFIELD nobm2 SET u8 0 0
        BITFIELD_RO nobm GET u8 0
    }
    {hyperloglogs} {
        PFADD hll a b c
        PFADD hll a
        PFADD hll2
        PFADD hll2
        PFADD hll2 x
        PFCOUNT hll
        PFCOUNT nohll
        PFCOUNT hll hll2 nohll
        PFMERGE hll3 hll hll2
        PFMERGE hll3
        PFMERGE hll4 nohll
    }
    {geo} {
        GEOADD geo 13.361389 38.115556 Palermo 15.087269 37.502669 Catania
        GEOADD geo NX 13.361389 38.115556 Palermo
        GEODIST geo Palermo Catania
        GEOPOS nogeo x
        GEOSEARCH nogeo FROMLONLAT 15 37 BYRADIUS 200 km
        GEOSEARCHSTORE gd geo FROMLONLAT 15 37 BYRADIUS 200 km
        GEOSEARCHSTORE gd geo FROMLONLAT 0 0 BYRADIUS 1 km
        GEOSEARCHSTORE gd nogeo FROMLONLAT 0 0 BYRADIUS 1 km
        GEORADIUS geo 15 37 200 km STORE gd
    }
    {streams} {
        XADD st 1-1 f v
        XADD st MAXLEN 1 2-1 f v
        XADD nost NOMKSTREAM 1-1 f v
        XLEN nost
        XRANGE nost - +
        XTRIM st MAXLEN 0
        XTRIM st MAXLEN 0
        XADD st 3-1 f v
        XDEL st 3-1
        XDEL st 3-1
        XSETID st 9-9
        XGROUP CREATE st g 0
        XGROUP CREATE st2 g 0 MKSTREAM
        XGROUP CREATECONSUMER st g c
        XGROUP CREATECONSUMER st g c
        XADD st 10-1 f v
        XREADGROUP GROUP g c2 STREAMS st >
        XACK st g 10-1
        XGROUP SETID st g 0
        XGROUP DELCONSUMER st g c
        XGROUP DELCONSUMER st g c
        XGROUP DESTROY st g
        XGROUP DESTROY st g
    }
    {wrong types and expiry} {
        SET w x
        LPUSH w 1
        HSET w a b
        GET l
        LPUSH wl 1
        GET wl
        SET x1 v PX 30
        after 80
        GET x1
        SET x2 v PX 30
        LPUSH x3 v
        PEXPIRE x3 30
        SADD x4 v
        PEXPIRE x4 30
        after 80
        EXISTS x2
        LPUSH x3 a
        DEL x4
        SET x5 v PX 30
        after 80
        SET x5 w
        RENAME x5 x6
        SET x7 v PX 20
        after 80
        RENAME x6 x7
        SET x8 v PX 20
        after 80
        COPY x7 x8
        SET x9 v PX 20
        after 80
        INCR x9
    }
    {databases and the rest} {
        SADD ss 3 1 2
        SORT ss STORE so
        MOVE so 1
        EVAL {redis.call('set',KEYS[1],1) redis.call('expire',KEYS[1],100) return redis.call('del',KEYS[1])} 1 k
        EVAL {return redis.call('get',KEYS[1])} 1 nokey
        SELECT 3
        SET in3 x
        DEL in3
        GETSET in3 y
        SELECT 0
        DUMP nokey
        SWAPDB 0 1
        SWAPDB 0 1
        FLUSHALL
        SUBSTR nokey 0 1
        LCS nokey nokey2
        MEMORY USAGE nokey
        SETEX q 100 x
        APPEND q y
        SET q z KEEPTTL
        GETEX q EX 10
        GETEX q EXAT 99999999999
        KEYS *
        SCAN 0
        EXPIRETIME nokey
        PTTL nokey
    }
}

# The events as the comparison shows them, for where there is no oracle.
start_server {tags {keyspace-events needs:debug external:skip}} {
    test {a time in the past: expired, and hexpired} {
        r debug set-active-expire 0
        config_set notify-keyspace-events EAn
        foreach {setup command events} {
            {}            {SET k v PXAT 1}                            {}
            {SET k v}     {SET k v PXAT 1}                            {{expired k}}
            {SET k v}     {SET k w IFEQ v PXAT 1}                     {{expired k}}
            {SET k v}     {GETEX k PXAT 1}                            {{expired k}}
            {SET k v}     {EXPIRE k -1}                               {{expired k}}
            {SADD k v}    {PEXPIREAT k 1}                             {{expired k}}
            {}            {HSETEX h PXAT 1 FIELDS 1 a 1}              {{new h} {hset h} {hexpire h} {hexpired h} {del h}}
            {HSET h a 1}  {HSETEX h EX 0 FIELDS 2 b 1 c 1}            {{hset h} {hexpire h} {hexpired h}}
            {HSET h a 1}  {HSETEX h EX 0 FIELDS 2 a 1 c 1}            {{hset h} {hexpire h} {hexpired h} {del h}}
            {HSET h a 1}  {HEXPIRE h 0 FIELDS 1 a}                    {{hexpired h} {del h}}
            {HSET h a 1}  {HGETEX h EX 0 FIELDS 1 a}                  {{hexpired h} {del h}}
        } {
            r flushall
            if {$setup ne {}} { r {*}$setup }
            set lines [events_of [list $command]]
            set told [lmap m [lindex $lines 0 1] { list [string range [lindex $m 0] 15 end] [lindex $m 1] }]
            assert_equal $events $told "$setup, $command"
        }
    }

    test {RESTORE publishes new and restore, also when it replaces a key} {
        r flushall
        r set k v
        foreach before {1 0} {
            set command [list RESTORE k 0 [r dump k] REPLACE]
            if {!$before} { r del k }
            set events [lmap m [lindex [events_of [list $command]] 0 1] { string range [lindex $m 0] 15 end }]
            assert_equal {new restore} $events
        }
    }

    test {overwriting an expired field publishes hexpired first} {
        foreach command {{HSET h a 2} {HINCRBY h a 1} {HINCRBYFLOAT h a 1} {HSETNX h a 1} {HSETEX h FIELDS 1 a 1}
                         {HSETEX h KEEPTTL FIELDS 1 a 1}} {
            r flushall
            r hset h a 1
            r hpexpire h 1 fields 1 a
            after 5
            assert_match {{__keyevent@0__:hexpired h} {__keyevent@0__:h* h}} [lindex [events_of [list $command]] 0 1] $command
        }
    }
}

proc events_of_groups {groups} {
    r debug set-active-expire 0
    config_set notify-keyspace-events KEAmn
    set all {}
    foreach {name text} $groups { lappend all $name [events_of [words_of_lines $text]] }
    return $all
}

start_server {tags {keyspace-events needs:debug external:skip}} {
    if {[valkey_oracle] eq {}} {
        test {events agree with Valkey} { skip "no Valkey to compare with: utils/oracle fetches it" }
    } else {
        set ours [events_of_groups $groups]
        start_server [list executable [valkey_oracle] overrides {enable-debug-command yes}] {
            set theirs [events_of_groups $groups]
        }
        foreach {name lines} $ours {- expected} $theirs {
            test "events agree with Valkey: $name" {
                foreach line $lines wanted $expected { assert_equal $wanted $line }
            }
        }
    }
}

# Events o and c: a command has replaced a value, perhaps by one of another type. Commands before it; the command; its events,
# where @n is a database. All are those of Redis 8.6.3, which is asked as well where there is one.
set replacements {
    {set a 1} {set a 2} {overwritten a; set a}
    {set a 1} {set a 1} {overwritten a; set a}
    {rpush a 1} {set a 2} {overwritten a; type_changed a; set a}
    {set a 1} {set a 2 ex 100} {overwritten a; set a; expire a}
    {set a 1 ex 100} {set a 2 keepttl} {overwritten a; set a}
    {rpush a x} {set a 2 ex 100} {overwritten a; type_changed a; set a; expire a}
    {set a 1} {set a 2 get} {overwritten a; set a}
    {set a 1} {setex a 100 2} {overwritten a; set a; expire a}
    {rpush a 1} {setex a 100 2} {overwritten a; type_changed a; set a; expire a}
    {set a 1} {psetex a 10000 2} {overwritten a; set a; expire a}
    {set a 1} {setnx a 2} {}
    {set a 1} {getset a 2} {overwritten a; set a}
    {set a 1} {getdel a} {del a}
    {set a 1} {mset a 2 b 3} {overwritten a; set a; new b; set b}
    {rpush a 1} {mset a 2 b 3} {overwritten a; type_changed a; set a; new b; set b}
    {rpush a 1} {mset a 2 a 3} {overwritten a; type_changed a; set a; overwritten a; set a}
    {} {msetnx a 1 b 2} {new a; set a; new b; set b}
    {} {msetnx a 1 a 2} {new a; set a; overwritten a; set a}
    {set a 1} {msetex 1 a 2} {overwritten a; set a}
    {set a 1} {incr a} {incrby a}
    {set a 1} {incrbyfloat a 1} {incrbyfloat a}
    {set a 1} {append a 1} {append a}
    {set a 1} {setrange a 0 x} {setrange a}
    {set a 1} {setbit a 0 1} {setbit a}
    {set a 1} {bitfield a set u8 0 1} {setbit a}
    {set a 1; set b 2} {rename a b} {new b; rename_from a; rename_to b; overwritten b}
    {set a 1; rpush b 2} {rename a b} {new b; rename_from a; rename_to b; overwritten b; type_changed b}
    {set a 1} {rename a b} {new b; rename_from a; rename_to b}
    {set a 1} {rename a a} {}
    {set a 1; set b 2} {renamenx a b} {}
    {set a 1; set b 2} {copy a b replace} {new b; copy_to b; overwritten b}
    {set a 1; rpush b 2} {copy a b replace} {new b; copy_to b; overwritten b; type_changed b}
    {set a 1} {copy a b replace} {new b; copy_to b}
    {set a 1; set b 2} {copy a b db 1 replace} {new b @1; copy_to b @1}
    {set a 1; select 1; rpush a x; select 0} {copy a a db 1 replace} {new a @1; copy_to a @1; overwritten a @1; type_changed a @1}
    {set a 1; set b 2; set d 3} {bitop and d a b} {overwritten d; set d}
    {set a 1; set b 2; rpush d 3} {bitop and d a b} {overwritten d; type_changed d; set d}
    {set a 1} {bitop and a b c} {del a}
    {pfadd a 1; pfadd d 2} {pfmerge d a} {pfadd d}
    {pfadd a 1} {pfmerge d a} {new d; pfadd d}
    {pfadd a 1; rpush d 2} {pfmerge d a} {}
    {pfadd d 2} {pfadd d 3} {pfadd d}
    {rpush a 3 1 2; rpush d 1} {sort a store d} {overwritten d; sortstore d}
    {rpush a 3 1 2; set d 1} {sort a store d} {overwritten d; type_changed d; sortstore d}
    {rpush a 3 1 2} {sort a store a} {overwritten a; sortstore a}
    {sadd a 1 2; sadd d 5} {sinterstore d a} {overwritten d; sinterstore d}
    {sadd a 1 2; set d 5} {sinterstore d a} {overwritten d; type_changed d; sinterstore d}
    {sadd a 1 2; set d 5} {sunionstore d a none} {overwritten d; type_changed d; sunionstore d}
    {sadd a 1 2; sadd d 5} {sunionstore d a none} {overwritten d; sunionstore d}
    {sadd a 1 2; sadd d 5} {sdiffstore d a none} {overwritten d; sdiffstore d}
    {sadd a 1 2; zadd d 5 x} {sdiffstore d a none} {overwritten d; type_changed d; sdiffstore d}
    {sadd a 1 2} {sdiffstore a a none} {overwritten a; sdiffstore a}
    {zadd a 1 a; zadd d 1 z} {zunionstore d 1 a} {overwritten d; zunionstore d}
    {zadd a 1 a; set d 1} {zunionstore d 1 a} {overwritten d; type_changed d; zunionstore d}
    {zadd a 1 a; set d 1} {zinterstore d 1 a} {overwritten d; type_changed d; zinterstore d}
    {zadd a 1 a; zadd d 1 z} {zdiffstore d 1 a} {overwritten d; zdiffstore d}
    {zadd a 1 a; zadd d 1 z} {zrangestore d a 0 -1} {overwritten d; zrangestore d}
    {zadd a 1 a; set d 1} {zrangestore d a 0 -1} {overwritten d; type_changed d; zrangestore d}
    {geoadd a 13 38 x; zadd d 1 z} {geosearchstore d a fromlonlat 13 38 byradius 100 km} {overwritten d; geosearchstore d}
    {geoadd a 13 38 x; set d 1} {geosearchstore d a fromlonlat 13 38 byradius 100 km} {overwritten d; type_changed d; geosearchstore d}
    {geoadd a 13 38 x; set d 1} {georadius a 13 38 100 km store d} {overwritten d; type_changed d; georadiusstore d}
    {geoadd a 13 38 x; zadd d 1 a} {georadius a 13 38 100 km storedist d} {overwritten d; georadiusstore d}
    {rpush a x; rpush b y} {lmove a b left right} {rpush b; lpop a; del a}
    {rpush a x; set b y} {lmove a b left right} {}
    {sadd a x; sadd b y} {smove a b x} {srem a; del a; sadd b}
    {hset a f v} {hset a f w} {hset a}
    {set a 1} {delex a} {del a}
    {set a 1} {delex a ifeq 1} {del a}
    {set a 1} {delex a ifdne 0000000000000000} {del a}
    {set a 1} {set a 2 ifdne 0000000000000000} {overwritten a; set a}
    {set a 1} {set a 2 ifne 0} {overwritten a; set a}
    {set a 1 ex 100; set b 2} {rename a b} {new b; rename_from a; rename_to b; overwritten b}
    {xadd a 1-1 f v} {xadd a 2-1 f v} {xadd a}
    {xadd a 1-1 f v} {set a 1} {overwritten a; type_changed a; set a}
    {hset a f v} {set a 1} {overwritten a; type_changed a; set a}
    {sadd a f} {set a 1} {overwritten a; type_changed a; set a}
    {zadd a 1 f} {set a 1} {overwritten a; type_changed a; set a}
    {set a 1} {incrbyfloat a 2} {incrbyfloat a}
    {set a 1} {hset a f v} {}
}
# In Valkey's order, or not in Redis: MSETEX with an expiry, MOVE REPLACE.
set replacements_of_ours {
    {rpush a 1} {msetex 1 a 2 ex 100} {overwritten a; type_changed a; set a; expire a}
    {set a 1; select 1; rpush a x; select 0} {move a 1 replace} {new a @1; move_from a; move_to a @1; overwritten a @1; type_changed a @1}
}

proc assert_replacements {rows} {
    config_set notify-keyspace-events EAocn
    set wrong {}
    foreach {before command events} $rows {
        r flushall
        foreach words [split $before ";"] { r {*}[string trim $words] }
        set told [lmap m [lindex [events_of [list $command]] 0 1] {
            regexp {^__keyevent@(\d+)__:(.*)$} [lindex $m 0] - db event
            string cat "$event [lindex $m 1]" [expr {$db ? " @$db" : ""}]
        }]
        if {[join $told "; "] ne $events} { lappend wrong [list $before $command [join $told "; "]] }
    }
    assert_equal {} $wrong
}

start_server {tags {keyspace-events needs:debug external:skip}} {
    test {notify-keyspace-events: o and c are no part of A, and are not shown beside it} {
        foreach {set shown} {Ko oK c c Koc ocK nocxmE xnocEm KEA AKE nAoc A KEAocm AKEm oK oK {} {}} {
            config_set notify-keyspace-events $set
            assert_equal $shown [config_get notify-keyspace-events] $set
        }
        config_set notify-keyspace-events KEAn
        r set k 1
        r rpush l 1
        set lines [events_of {{set k 2} {set l 2} {rename l k} {copy k l}}]
        assert_no_match "*overwritten*" $lines
        assert_no_match "*type_changed*" $lines
        foreach {letters seen} {Eo {overwritten overwritten} Ec type_changed Eoc {overwritten overwritten type_changed} E {} Em {}} {
            config_set notify-keyspace-events $letters
            r del k l
            r set k 1
            r rpush l 1
            set lines [events_of {{set k 2} {set l 2}}]
            set told [lmap m [concat [lindex $lines 0 1] [lindex $lines 1 1]] { string range [lindex $m 0] 15 end }]
            assert_equal $seen $told $letters
        }
    }

    test {overwritten and type_changed, command by command} {
        assert_replacements $replacements
        assert_replacements $replacements_of_ours
    }

    test {overwritten and type_changed of RESTORE come after its own event} {
        r flushall
        r set s v
        r rpush l a
        config_set notify-keyspace-events EAocn
        set payload [r dump s]
        foreach {key events} {new {new restore} s {new restore overwritten} l {new restore overwritten type_changed}} {
            set told [lindex [events_of [list [list restore $key 0 $payload replace]]] 0 1]
            assert_equal $events [lmap m $told { string range [lindex $m 0] 15 end }] $key
        }
    }

    test {a value that has expired is not overwritten} {
        config_set notify-keyspace-events EAoc
        r debug set-active-expire 0
        foreach command {{set k 2} {rename other k} {copy other k} {sinterstore k s} {bitop or k other}} {
            r flushall
            r sadd s a
            r set other 1
            r set k 1 px 1
            after 10
            assert_no_match "*overwritten*" [events_of [list $command]] $command
        }
        r debug set-active-expire 1
    }
}

if {[redis8] ne {}} {
    start_server [list tags {keyspace-events external:skip} executable [redis8]] {
        test {overwritten and type_changed: Redis 8 has the same events} { assert_replacements $replacements }
    }
}
