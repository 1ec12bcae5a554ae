# Changes of fields of hashes as messages (Redis 8.8): the letters S, T, I and V of notify-keyspace-events.

# All messages that the subscriber has received, as "channel message". Its own ECHO marks the end.
proc heard {c} {
    $c deferred 1
    $c echo the-end
    set all {}
    while {[set m [$c read]] ne "the-end"} { lappend all [join [lrange $m 2 end] { }] }
    return $all
}

proc subkey_listener {{pattern __subkey*}} {
    set c [valkey_client]
    $c hello 3
    $c psubscribe $pattern
    return $c
}

start_server {overrides {enable-debug-command yes} tags {keyspace-events needs:debug}} {
    test {each form of message about fields has its letter} {
        set c [subkey_listener]
        foreach {letters messages} {
            Sh {{__subkeyspace@0__:h hset|1:f,2:gg}}
            Th {{__subkeyevent@0__:hset 1:h|1:f,2:gg}}
            Ih {{__subkeyspaceitem@0__:h\nf hset} {__subkeyspaceitem@0__:h\ngg hset}}
            Vh {{__subkeyspaceevent@0__:hset|h 1:f,2:gg}}
            STIVA {{__subkeyspace@0__:h hset|1:f,2:gg} {__subkeyevent@0__:hset 1:h|1:f,2:gg} {__subkeyspaceitem@0__:h\nf hset}
                {__subkeyspaceitem@0__:h\ngg hset} {__subkeyspaceevent@0__:hset|h 1:f,2:gg}}
            STIV {} KEA {} STIVKEg$ {} {} {}
        } {
            config_set notify-keyspace-events $letters
            r del h
            r hset h f 1 gg 2
            assert_equal [lmap m $messages { subst -nocommands -novariables $m }] [heard $c] $letters
        }
        $c close
    }

    test {CONFIG GET shows S, T, I and V behind the others} {
        foreach {set shown} {KEASTIV AKESTIV VITS STIV STh hST hS hS} {
            config_set notify-keyspace-events $set
            assert_equal $shown [config_get notify-keyspace-events]
        }
    }

    test {messages about fields come with each event of a hash} {
        config_set notify-keyspace-events Th
        r debug set-active-expire 0
        set c [subkey_listener]
        foreach {prepare command events} {
            {} {hset h f 1} {hset f} {} {hset h f 1 g 2 f 3} {hset {f g f}} {hset h f 1} {hmset h f 1} {hset f}
            {} {hsetnx h f 1} {hset f} {hset h f 1} {hsetnx h f 2} {}
            {hset h f 1 g 2} {hdel h none f g f} {hdel {f g}} {hset h f 1} {hdel h x} {} {} {hdel h x} {}
            {hset h f 1 g 2} {hgetdel h fields 3 g x f} {hdel {g f}} {hset h f 1} {hgetdel h fields 1 x} {}
            {hset h f 1} {hincrby h f 2} {hincrby f} {} {hincrbyfloat h g 2} {hincrbyfloat g}
            {hset h f 1 g 2} {hexpire h 100 fields 3 g x f} {hexpire {g f}} {hset h f 1} {hexpire h 100 xx fields 1 f} {}
            {hset h f 1 g 2} {hpexpireat h 1 fields 2 x f} {hexpired f} {hset h f 1} {hexpire h 0 fields 1 f} {hexpired f}
            {hsetex h ex 100 fields 1 f 1; hset h g 1} {hpersist h fields 3 g f x} {hpersist f} {hset h f 1} {hpersist h fields 1 f} {}
            {hset h f 1} {hgetex h ex 100 fields 2 x f} {hexpire f} {hset h f 1} {hgetex h pxat 1 fields 1 f} {hexpired f}
            {hsetex h ex 100 fields 1 f 1} {hgetex h persist fields 1 f} {hpersist f} {hset h f 1} {hgetex h fields 1 f} {}
            {} {hsetex h fields 2 f 1 g 2} {hset {f g}} {} {hsetex h ex 100 fields 2 f 1 g 2} {hset {f g} hexpire {f g}}
            {hset h f 1} {hsetex h fnx fields 1 f 2} {} {hset h f 1} {hsetex h pxat 1 fields 2 f 1 g 1} {hset {f g} hexpire {f g} hexpired {f g}}
            {hset h f 1} {hget h f} {} {hset h f 1} {rename h h2} {} {hset h f 1} {del h} {}
        } {
            r del h
            foreach words [split $prepare \;] { r {*}$words }
            heard $c
            r {*}$command
            set wanted [lmap {event fields} $events { string cat "__subkeyevent@0__:$event 1:h|[join [lmap f $fields { string cat [string length $f] : $f }] ,]" }]
            assert_equal $wanted [heard $c] "$prepare; $command"
        }
        $c close
        r debug set-active-expire 1
    }

    test {fields that expire by themselves, and expired ones that are overwritten} {
        config_set notify-keyspace-events Th
        foreach limit {0 512} {
            config_set hash-max-listpack-entries $limit
            r flushall
            set c [subkey_listener __subkeyevent@0__:hexpired]
            r hset h f 1 g 2 stays 3
            r hpexpire h 20 fields 2 f g
            r hset gone x 1
            r hpexpire gone 20 fields 1 x
            wait_for_condition 200 10 {[r hlen h] == 1 && ![r exists gone]} else { fail "the fields stay" }
            set all [join [heard $c] ,]
            assert_equal {1:f 1:g 1:x} [lsort [regexp -all -inline {1:[fgx]} $all]]
            r debug set-active-expire 0
            foreach {command fields} {
                {hset h a 1 n 1 b 2} {1:a,1:b} {hincrby h b 1} 1:b {hincrbyfloat h a 1} 1:a {hsetnx h a 1} 1:a {hsetex h fields 2 a 1 b 2} {1:a,1:b}
                {hsetex h keepttl fields 1 b 2} 1:b {hdel h a} {} {hset h n 1} {}
            } {
                r del h
                r hset h a 1 b 2 c 3
                r hpexpire h 1 fields 2 a b
                after 5
                r {*}$command
                assert_equal [expr {$fields eq {} ? {} : [list "__subkeyevent@0__:hexpired 1:h|$fields"]}] [heard $c] $command
            }
            r del h
            r debug set-active-expire 1
            $c close
        }
    }

    test {keys and fields of any bytes} {
        config_set notify-keyspace-events STIVh
        set c [subkey_listener]
        r hset "a|b" "x,1:y" 1
        assert_equal [list {__subkeyspace@0__:a|b hset|5:x,1:y} {__subkeyevent@0__:hset 3:a|b|5:x,1:y} "__subkeyspaceitem@0__:a|b\nx,1:y hset" \
            {__subkeyspaceevent@0__:hset|a|b 5:x,1:y}] [heard $c]
        r hset {} {} 1
        assert_equal [list {__subkeyspace@0__: hset|0:} {__subkeyevent@0__:hset 0:|0:} "__subkeyspaceitem@0__:\n hset" {__subkeyspaceevent@0__:hset| 0:}] [heard $c]
        # A key with a line end could be taken for another one and a field.
        r hset "k\nf" "g\nh" 1
        assert_equal [list "__subkeyspace@0__:k\nf hset|3:g\nh" "__subkeyevent@0__:hset 3:k\nf|3:g\nh" "__subkeyspaceevent@0__:hset|k\nf 3:g\nh"] [heard $c]
        r select 3
        r hset h f 1
        assert_equal {{__subkeyspace@3__:h hset|1:f}} [lrange [heard $c] 0 0]
        r select 9
        $c close
    }

    test {a replica sends messages about fields for what its primary does} {
        start_server {} {
            r config set notify-keyspace-events Sh
            r replicaof [srv -1 host] [srv -1 port]
            wait_for_condition 200 50 {[s master_link_status] eq "up"} else { fail "no link" }
            set c [subkey_listener]
            r -1 select 0
            r -1 hset h2 f 1 g 2
            wait_for_condition 200 10 {[r hlen h2] == 2} else { fail "nothing arrived" }
            assert_equal {{__subkeyspace@0__:h2 hset|1:f,1:g}} [heard $c]
            $c close
        }
    }
}
