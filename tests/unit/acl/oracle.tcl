# Hundreds of random rules are given to Redis 7.0 and to this server: the replies of SETUSER, GETUSER and of DRYRUN of
# many commands must be equal. Left out are the text of command rules, which Valkey keeps in the order they were
# given; databases; the flags about payloads; %RW~* and %R without ~, and one parenthesis within another, which Redis
# accepts and garbles.

set categories {all read write keyspace fast slow dangerous admin string hash list set sortedset stream connection pubsub
    transaction scripting blocking bitmap geo hyperloglog nosuch READ {}}
set names {get set del config config|get config|set CONFIG|GET config|nosuch config| client client|id client|list select
    select|0 select|1 nosuch get|x get| | sort acl acl|list acl|whoami mget publish subscribe psubscribe xgroup|create
    object object|encoding config|get|x nosuch|x nosuch| lpush hset select|0|1 |get eval copy}
set key_patterns {a a* ab* a*c {[ab]*} b\\* {} {a b} foo foo* x? *z ab abc abc*}
set channel_patterns {c c* n* * {} c1 {[c]*}}
set words {allkeys resetkeys allchannels resetchannels allcommands nocommands ALLKEYS ResetKeys ~* on off nopass resetpass >p >q
    <p <q reset clearselectors sanitize-payload skip-sanitize-payload ON > !x #x bad {} () (x}
lappend words #[string repeat a 64] ![string repeat a 64] #[string repeat A 64]

set commands {
    {get a} {set a 1} {set ab 1 get} {set foo 1} {mget a ab abc} {mset a 1 foo 2} {del a abz} {getset a 1} {copy a ab}
    {exists a} {type foo} {ttl ab} {append a 1} {incr abc} {rename a ab} {config get x} {config set a b} {config resetstat}
    {client id} {client list} {select 0} {select 1} {select 2} {sort a} {sort a store b} {sort_ro a} {acl list} {acl whoami}
    {publish c m} {publish c1 m} {publish n m} {spublish c m} {subscribe c c1} {psubscribe c*} {psubscribe c} {ssubscribe n1}
    {unsubscribe x} ping {auth x} hello multi exec {eval x 1 a} {eval x 2 a foo} {evalsha x 0} {lpush a 1} {lrange a 0 1}
    {blpop a ab 0} {lmove a ab left right} {hset a b c} {hget foo x} {sadd a 1} {sinterstore a ab abc} {smove a ab x}
    {zadd a 1 1} {zunionstore a 2 ab abc} {zunionstore a 9 ab abc} {zunion 2 a foo} {georadius a 1 1 1 m}
    {georadius a 1 1 1 m store ab} {xadd a * f v} {xread streams a foo 0 0} {xgroup create a g 0} {object encoding a}
    {object help} {keys *} {scan 0} dbsize flushall {swapdb 0 1} {move a 1} {bitop and a ab abc} {bitfield a get u8 0}
    {bitfield a set u8 0 1} {pfcount a ab} {pfadd a b} {debug object} info {touch a ab} {unlink a} {expire a 1} {getex a}
    {watch a b} {zrangestore a ab 0 1} {zmpop 1 a min} {lmpop 1 ab left} get {nosuch x} {config nosuch}
}

proc random_simple_rule {} {
    switch [randomInt 8] {
        0 { return [randomElement {+ -}]@[randomElement $::categories] }
        1 - 2 { return [randomElement {+ -}][randomElement $::names] }
        3 { return [randomElement {~ ~ %R~ %W~ %RW~ %WR~ %r~ %~ %RR~ %X~}][randomElement $::key_patterns] }
        4 { return &[randomElement $::channel_patterns] }
        5 - 6 { return [randomElement $::words] }
        7 { return [randomElement {+@read +@write ~a* &c* +get +@all on}] }
    }
}

proc random_rule {} {
    if {[randomInt 12]} { return [random_simple_rule] }
    set inner {}
    for {set n [randomInt 4]} {$n} {incr n -1} {
        set rule [random_simple_rule]
        if {![regexp {[()]} $rule]} { lappend inner $rule }
    }
    return "([join $inner { }])"
}

# A reply or an error, with the words that differ between versions made equal.
proc ask {level args} {
    catch {r $level {*}$args} said
    return [string map {"This user has" "The user has" "User u has" "The user has"} $said]
}

proc comparable_user {level} {
    set user [ask $level acl getuser u]
    if {$user eq {}} { return {} }
    set comparable {}
    foreach field {passwords keys channels} { lappend comparable [dict get $user $field] }
    foreach flag {on nopass} { lappend comparable [expr {$flag in [dict get $user flags]}] }
    foreach selector [dict get $user selectors] { lappend comparable [dict get $selector keys] [dict get $selector channels] }
    return $comparable
}

start_server {tags {acl external:skip}} {
    if {[oracle] eq {}} {
        test {rules mean the same to Redis 7.0} { skip "no redis-server here" }
    } else {
        start_server [list executable [oracle]] {
            test {rules mean the same to Redis 7.0} {
                set accepted 0
                for {set i 0} {$i < 400} {incr i} {
                    if {[randomInt 4] == 0} { foreach level {0 -1} { r $level acl setuser u reset } }
                    set rules {}
                    for {set n [randomRange 1 5]} {$n} {incr n -1} { lappend rules [random_rule] }
                    set theirs [ask 0 acl setuser u {*}$rules]
                    assert_equal $theirs [ask -1 acl setuser u {*}$rules] $rules
                    incr accepted [expr {$theirs eq "OK"}]
                    assert_equal [comparable_user 0] [comparable_user -1] $rules
                    for {set n 12} {$n} {incr n -1} {
                        set command [randomElement $commands]
                        assert_equal [ask 0 acl dryrun u {*}$command] [ask -1 acl dryrun u {*}$command] "$command, [r -1 acl list]"
                    }
                }
                assert_morethan $accepted 100
            }

            test {categories have the same commands, of those that both servers know} {
                foreach category [r acl cat] {
                    foreach {level other} {0 -1 -1 0} {
                        set names [r $level acl cat $category]
                        set listed($level) [lsort [lmap name $names facts [r $other command info {*}$names] {
                            if {$facts eq {} || ($category eq "blocking" && $name eq "wait")} continue ;# Valkey's change
                            set name
                        }]]
                    }
                    assert_equal $listed(0) $listed(-1) $category
                }
            }
        }
    }
}

# A call of each command and subcommand, with its arity.
proc arities {entries} {
    set all {}
    foreach e $entries {
        lappend all [split [lindex $e 0] |] [lindex $e 1]
        lappend all {*}[arities [lindex $e 9]]
    }
    return $all
}

# May users of some databases run it, given as few arguments as it takes, or one or two more? As decisions, which name
# the arguments where they are no `yes`.
proc db_decisions {level words arity} {
    set decisions {}
    foreach user {none zero one two} {
        foreach more [expr {$arity < 0 ? {0 1 2} : 0}] {
            foreach fill {k 0 1} {
                set arguments [lrepeat [expr {max(0, abs($arity) - [llength $words] + $more)}] $fill]
                catch {r $level acl dryrun $user {*}$words {*}$arguments} said
                if {$said ne "OK"} { lappend decisions $user $arguments $said }
            }
        }
    }
    return $decisions
}

foreach {kind overrides} {standalone {} cluster {cluster-enabled yes cluster-databases 4} "cluster of one database" {cluster-enabled yes}} {
    start_servers [list ours [list kind ours overrides $overrides] theirs [list kind valkey overrides $overrides]] {
        test "databases mean the same to Valkey 9.1 for every command, $kind" {
            foreach level [list [at ours] [at theirs]] {
                foreach {user dbs} {none {} zero db=0 one db=1 two {db=1 db=2}} { r $level acl setuser $user on nopass +@all ~* &* resetdbs {*}$dbs }
            }
            set tried 0
            set denied 0
            foreach {words arity} [arities [r [at ours] command]] {
                if {[lindex [r [at theirs] command info [join $words |]] 0 1] ne $arity} continue ;# it is new, or 9.2 has changed it
                set decisions [db_decisions [at theirs] $words $arity]
                assert_equal $decisions [db_decisions [at ours] $words $arity] $words
                incr tried
                incr denied [llength $decisions]
            }
            assert_morethan $tried 350
            assert_morethan $denied 1000
        }
    }
}
