# Hashes of one shape: hashes with the same fields are kept without their names (hash-shapes), and nobody can tell.

proc shape_figure {name} { return [status r hash_shapes$name] }

# A hash of ten fields, of which many are created first, so that it has a shape.
set names {username email first_name last_name created_at last_login status country score session_id}
proc shape_values {i} {
    return [list user$i user$i@example.com Ada Lovelace-$i [expr {1700000000 + $i}] 2026-11-29T20:15 active Norway $i [string repeat $i 3]]
}
proc shape_pairs {i} {
    set pairs {}
    foreach name $::names value [shape_values $i] { lappend pairs $name $value }
    return $pairs
}
proc shape_fill {count {first 0}} {
    for {set i $first} {$i < $first + $count} {incr i} { r hset user:$i {*}[shape_pairs $i] }
}
proc shape_plain {key} {
    r config set hash-shapes no
    r del $key
    r hset $key {*}[shape_pairs 77]
    r config set hash-shapes yes
}
set user [shape_pairs 77]

start_server {tags {hash}} {
    r config set hash-shapes yes
    shape_fill 100

    test {hashes with the same fields get a shape} {
        assert_equal 1 [shape_figure {}]
        assert_morethan [shape_figure _hashes] 60
        assert_morethan [shape_figure _bytes] 100
        assert_equal listpack [r object encoding user:77]
        assert_equal $::user [r hgetall user:77]
    }

    test {a hash with a shape takes less memory} {
        shape_plain plain
        assert_morethan [r memory usage plain] [expr {1.5 * [r memory usage user:77]}]
    }

    test {it is the same in files, digests and copies} {
        assert_equal [r dump plain] [r dump user:77]
        assert_equal [r debug digest-value plain] [r debug digest-value user:77]
        assert_equal [lindex [r debug object plain] 4] [lindex [r debug object user:77] 4]
        set hashes [shape_figure _hashes]
        r copy user:77 copy
        assert_equal [expr {$hashes + 1}] [shape_figure _hashes]
        assert_equal [r dump plain] [r dump copy]
        r hset copy status gone
        assert_equal active [r hget user:77 status]
        r restore restored 0 [r dump plain]
        assert_equal [expr {$hashes + 2}] [shape_figure _hashes]
        assert_equal $::user [r hgetall restored]
        r rename restored renamed
        assert_equal $::user [r hgetall renamed]
        r del renamed copy
        assert_equal $hashes [shape_figure _hashes]
    }

    test {reading commands} {
        assert_equal user77@example.com [r hget user:77 email]
        assert_equal {} [r hget user:77 none]
        assert_equal {77 {} user77 {}} [r hmget user:77 score none username {}]
        assert_equal 10 [r hlen user:77]
        assert_equal $::names [r hkeys user:77]
        assert_equal [shape_values 77] [r hvals user:77]
        assert_equal 1 [r hexists user:77 session_id]
        assert_equal 0 [r hexists user:77 session_ix]
        assert_equal 10 [r hstrlen user:77 created_at]
        assert_equal [list 0 $::user] [r hscan user:77 0]
        assert_equal {0 {first_name last_name}} [r hscan user:77 0 match *t_name novalues]
        assert_equal $::names [r hrandfield user:77 10]
        assert_equal [lsort $::names] [lsort [dict keys [r hrandfield user:77 12 withvalues]]]
        assert_equal 5 [llength [lsort -unique [r hrandfield user:77 5]]]
        foreach {name value} [r hrandfield user:77 -50 withvalues] { assert_equal $value [r hget user:77 $name] }
        for {set i 0} {$i < 50} {incr i} { assert {[r hrandfield user:77] in $::names} }
        assert_equal {-1 -2} [r httl user:77 fields 2 email none]
        r del list
        r rpush list 3 1 2
        assert_equal {Lovelace-1 Lovelace-2 Lovelace-3} [r sort list get user:*->last_name]
        assert_equal {1 2 3} [r sort list by user:*->score]
        assert_equal Ada [r eval {return redis.call('HGET', KEYS[1], 'first_name')} 1 user:77]
    }

    # Each of these changes a hash with a shape as it changes one without.
    foreach command {
        {hset KEY email x} {hset KEY email a-longer-address-than-it-was-before@example.org} {hset KEY score 12345678901}
        {hset KEY new value} {hset KEY email x new value status y} {hset KEY status {}} {hset KEY {} {}}
        {hset KEY email {LONG}} {hset KEY {LONG} x} {hset KEY 12 34} {hmset KEY email x country y}
        {hsetnx KEY email x} {hsetnx KEY new x} {hincrby KEY score 5} {hincrby KEY new 5} {hincrby KEY email 1}
        {hincrbyfloat KEY score 1.5} {hincrbyfloat KEY none 1.5} {hdel KEY email} {hdel KEY none} {hdel KEY session_id username}
        {hdel KEY username email first_name last_name created_at last_login status country score session_id}
        {hgetdel KEY fields 2 email none} {hgetex KEY persist fields 1 email} {hgetex KEY pxat 9000000000000 fields 1 email}
        {hexpireat KEY 9000000000 fields 1 status} {hpexpireat KEY 1 fields 2 status score} {hpersist KEY fields 1 status}
        {hsetex KEY fields 1 email x} {hsetex KEY fnx fields 1 email x} {hsetex KEY exat 9000000000 fields 2 email x other y}
    } {
        test "changes: $command" {
            set command [string map [list LONG [string repeat x 65]] $command]
            foreach limit {512 10 3} {
                r config set hash-max-listpack-entries 512
                shape_plain plain
                r del shaped
                r hset shaped {*}[shape_pairs 77]
                assert_morethan [r memory usage plain] [expr {1.5 * [r memory usage shaped]}]
                r config set hash-max-listpack-entries $limit
                set expected [list [catch {r {*}[string map {KEY plain} $command]} reply] $reply]
                assert_equal $expected [list [catch {r {*}[string map {KEY shaped} $command]} reply] $reply]
                assert_equal [r exists plain] [r exists shaped]
                if {![r exists plain]} continue
                assert_equal [r object encoding plain] [r object encoding shaped]
                assert_equal [r debug digest-value plain] [r debug digest-value shaped]
                if {[r object encoding plain] eq {listpack} && ![string match {*ex*} $command]} {
                    assert_equal [r hgetall plain] [r hgetall shaped]
                    assert_equal [r dump plain] [r dump shaped]
                }
            }
            r config set hash-max-listpack-entries 512
            r del plain shaped
        }
    }

    test {a hash that gets its fields one by one has a shape at the end} {
        r flushall
        for {set i 0} {$i < 200} {incr i} {
            foreach {name value} [shape_pairs $i] { r hset user:$i $name $value }
        }
        shape_plain plain
        assert_morethan [r memory usage plain] [expr {1.5 * [r memory usage user:177]}]
        assert_equal [shape_pairs 177] [r hgetall user:177]
        assert_equal $::user [r hgetall user:77]
    }

    test {a hash that loses a field gets the shape of those without it} {
        for {set i 0} {$i < 200} {incr i} { r hdel user:$i country }
        r hset user:199 country x
        shape_plain plain
        r config set hash-shapes no
        r hdel plain country
        r config set hash-shapes yes
        assert_morethan [r memory usage plain] [expr {1.5 * [r memory usage user:190]}]
        assert_equal [lsearch -all -inline -not -exact $::names country] [r hkeys user:190]
    }

    test {shapes are freed with the last of their hashes} {
        r flushall async
        wait_for_condition 100 100 {[shape_figure {}] == 0} else { fail "shapes are still there" }
        assert_equal 0 [shape_figure _bytes]
        assert_equal 0 [shape_figure _hashes]
    }

    test {without hash-shapes there are none} {
        r config set hash-shapes no
        shape_fill 100
        assert_equal 0 [shape_figure {}]
        r config set hash-shapes yes
    }

    test {hashes without siblings get no shape} {
        r flushall
        wait_for_condition 100 100 {[shape_figure {}] == 0} else { fail "shapes are still there" }
        for {set i 0} {$i < 2000} {incr i} { r hset alone:$i id $i f$i [string repeat x 30] g$i [string repeat y 30] end $i }
        assert_equal 0 [shape_figure {}]
    }

    test {hashes in files get their shape when they are loaded} {
        r flushall
        shape_fill 300
        set digest [r debug digest]
        r debug reload
        assert_equal $digest [r debug digest]
        assert_morethan [shape_figure _hashes] 250
        assert_equal $::user [r hgetall user:77]
        r config set appendonly yes
        wait_for_condition 100 100 {[status r aof_rewrite_in_progress] == 0 && [status r aof_rewrite_scheduled] == 0} else { fail "the file is not written" }
        r debug loadaof
        assert_equal $digest [r debug digest]
        assert_morethan [shape_figure _hashes] 250
        r config set appendonly no
    }

    test {defragmentation moves hashes with a shape} {
        set digest [r debug digest]
        catch {r config set activedefrag yes}
        after 300
        catch {r config set activedefrag no}
        assert_equal $digest [r debug digest]
        assert_equal $::user [r hgetall user:77]
    }

    test {overwriting and expiry of hashes with a shape} {
        set hashes [shape_figure _hashes]
        r set user:290 text
        r pexpire user:291 1
        after 50
        assert_equal 0 [r exists user:291]
        r del user:292
        r unlink user:293
        assert_equal [expr {$hashes - 4}] [shape_figure _hashes]
    }
}
