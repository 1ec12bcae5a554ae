# Rights to commands, keys, channels and databases, in transactions, in scripts and after blocking; and the effect of
# a change of rules on connected clients.
source [file join [file dirname [info script]] acl_util.tcl]

set denied_key "NOPERM No permissions to access a key"
set denied_channel "NOPERM No permissions to access a channel"
set denied_db "NOPERM No permissions to access database"

start_server {tags {acl external:skip}} {
    test {logging in as a user} {
        r acl setuser alice on >pw +acl|whoami
        set c [valkey_client]
        assert_error "WRONGPASS invalid username-password pair or user is disabled." {$c auth alice bad}
        assert_error "WRONGPASS *" {$c auth Alice pw}
        assert_equal default [$c acl whoami]
        assert_equal OK [$c auth alice pw]
        assert_equal alice [$c acl whoami]
        assert_match "*user=alice *" [r client list]
        assert_equal default [$c reset; $c acl whoami]
        r acl setuser alice off
        assert_error "WRONGPASS *" {$c auth alice pw}
        r acl setuser alice on nopass
        assert_equal OK [$c auth alice anything]
        r acl setuser alice resetpass
        assert_error "WRONGPASS *" {$c auth alice pw}
        assert_equal alice [$c acl whoami] "who is in stays in"
        $c close
    }

    test {a user may have several passwords, and a removed one is refused} {
        r acl setuser alice reset on >one >two +@all
        set c [valkey_client]
        foreach password {one two} { assert_equal OK [$c auth alice $password] }
        r acl setuser alice <one
        assert_error "WRONGPASS *" {$c auth alice one}
        assert_equal OK [$c auth alice two]
        $c close
    }

    test {HELLO AUTH and a user} {
        r acl setuser alice reset on >pw +@all
        set c [valkey_client]
        assert_error "WRONGPASS *" {$c hello 3 auth alice bad}
        assert_equal 3 [dict get [$c hello 3 auth alice pw] proto]
        assert_equal alice [$c acl whoami]
        $c close
    }

    test {the default user can be locked} {
        r acl setuser default off
        set c [valkey_client]
        assert_error "NOAUTH Authentication required." {$c ping}
        assert_error "NOAUTH HELLO must be called*" {$c hello 3}
        assert_error "ERR AUTH <password> called without any password configured*" {$c auth x}
        assert_error "WRONGPASS *" {$c auth default x}
        assert_equal OK [$c auth alice pw]
        assert_equal PONG [r ping] "who is in stays in"
        r acl setuser default on
        $c close
    }

    test {requirepass is a password of the default user} {
        config_set requirepass secret
        assert_equal 1 [llength [dict get [r acl getuser default] passwords]]
        r acl setuser default >other
        set c [valkey_client]
        assert_equal {OK OK} [list [$c auth other] [$c auth default secret]]
        assert_equal secret [config_get requirepass]
        config_set requirepass third
        assert_error "WRONGPASS *" {$c auth other}
        config_set requirepass {}
        assert_equal {on nopass} [dict get [r acl getuser default] flags]
        $c close
    }

    test {commands} {
        set c [client_of bob allkeys +@all -get -config|set -@dangerous +keys]
        refused [denied_command bob get] {$c get k}
        refused [denied_command bob config|set] {$c config set maxmemory 0}
        refused [denied_command bob config|get] {$c config get maxmemory}
        refused [denied_command bob flushall] {$c FLUSHALL}
        assert_equal {{} OK} [list [$c keys *] [$c set k v]]
        assert_error "ERR unknown command*" {$c nosuch}
        assert_error "ERR wrong number of arguments*" {$c get}
        $c close
    }

    test {a change of rules applies at once to clients that are logged in} {
        set c [client_of bob allkeys +get]
        assert_equal v [$c get k]
        r acl setuser bob -get +strlen
        refused [denied_command bob get] {$c get k}
        assert_equal 1 [$c strlen k]
        r acl setuser bob +@all allchannels
        assert_equal v [$c get k]
        r acl setuser bob resetkeys
        refused $denied_key {$c get k}
        $c close
    }

    test {refusals count in rejected_calls and errorstats} {
        r config resetstat
        set before [s acl_access_denied_cmd]
        set c [client_of bob +ping]
        catch {$c get k}
        catch {$c get k}
        assert_match "*cmdstat_get:calls=0,*rejected_calls=2,*" [r info commandstats]
        assert_match "*errorstat_NOPERM:count=2*" [r info errorstats]
        assert_equal [expr {$before + 2}] [s acl_access_denied_cmd]
        $c close
    }

    test {keys} {
        set c [client_of bob +@all ~app:* ~exact {~[xy]?}]
        foreach key {app: app:1 exact xa y1} { assert_equal OK [$c set $key v] }
        foreach key {app xapp:1 exact1 exac x xaa {}} { refused $denied_key {$c set $key v} }
        refused $denied_key {$c mset app:1 v other v}
        assert_equal OK [$c mset app:1 v app:2 v]
        refused $denied_key {$c del app:1 app:2 other}
        refused $denied_key {$c zunionstore app:z 2 app:1 other}
        refused $denied_key {$c eval {return 1} 1 other}
        assert_equal 1 [$c eval {return 1} 1 app:1]
        assert_error "ERR syntax error" {$c zunionstore app:z 9 app:1}
        $c close
    }

    test {an empty name is matched by no pattern but the empty one} {
        foreach {rules key_allowed channel_allowed} {
            {~* &*} 1 1  {allkeys allchannels} 1 1  {%R~* %W~* resetchannels &**} 0 0  {~** resetchannels &x*} 0 0
            {~ resetchannels &} 1 1  {~?* resetchannels} 0 0  {%RW~* resetchannels} 0 0
        } {
            r acl setuser nameless reset on nopass +@all {*}$rules
            foreach command {{set {} v} {mget {} {}} {eval {return 1} 1 {}}} {
                assert_equal $key_allowed [expr {[r acl dryrun nameless {*}$command] eq "OK"}] "$rules: $command"
            }
            assert_equal $channel_allowed [expr {[r acl dryrun nameless publish {} m] eq "OK"}] "$rules: publish"
        }
        r acl deluser nameless
        set c [valkey_deferring_client]
        foreach pattern {* **} {
            $c psubscribe $pattern
            $c read
        }
        assert_equal 0 [r publish {} m]
        assert_equal 2 [r publish x m]
        $c close
        r set {} v
        assert {{} in [r keys *] && {} in [lindex [r scan 0 match * count 1000] 1]}
        assert {{} ni [r keys **] && {} ni [lindex [r scan 0 match ** count 1000] 1]}
        r del {}
    }

    test {reading and writing} {
        set c [client_of bob +@all %R~r* %W~w* ~rw*]
        r mset r 1 w 2
        foreach {key allowed} {
            r {{get r} {strlen r} {exists r} {type r} {sort_ro r} {copy r w} {bitfield r get u8 0} {lrange rl 0 1}}
            w {{set w 1} {setex w 10 1} {del w} {exists w} {type w} {expire w 10} {persist w} {append w 1} {unlink w}}
            rw {{set rw 1 get} {incr rw} {getset rw 1} {getdel rw} {getex rw} {ttl rw} {lpop rwl}}
        } {
            foreach command $allowed {
                if {[catch {$c {*}$command} said]} { assert_no_match "NOPERM*" $said $command }
            }
        }
        foreach command {
            {set r 1} {del r} {append r 1} {incr r} {expire r 10} {copy r r2} {rename r w} {bitfield r set u8 0 1} {getset r 1}
            {get w} {ttl w} {incr w} {set w 1 get} {getset w 1} {getdel w} {lpop w} {copy w w2} {set w 1 ifeq 2}
            {smove r w x} {sort r store w2 by nosort get other}
        } {
            if {$command eq {sort r store w2 by nosort get other}} {
                assert_error "ERR GET option of SORT denied due to insufficient ACL permissions." {$c {*}$command}
            } else {
                refused $denied_key {$c {*}$command}
            }
        }
        $c close
    }

    test {reading and writing are not put together from two patterns} {
        set c [client_of bob +@all %R~key %W~ke*]
        refused $denied_key {$c getset key 1}
        r acl setuser bob %W~key
        r set key 0
        assert_equal 0 [$c getset key 1]
        $c close
    }

    test {SORT with BY and GET needs all keys} {
        r del l
        r rpush l 1 2
        set c [client_of bob +@all ~l ~w_* ~#]
        foreach {option command} {BY {sort l by w_*} GET {sort l get w_*} GET {sort l get #} GET {sort_ro l get w_*}} {
            assert_error "ERR $option option of SORT denied due to insufficient ACL permissions." {$c {*}$command}
        }
        assert_equal {1 2} [$c sort l by nosort]
        r acl setuser bob %R~*
        assert_equal {1 2} [$c sort l by w_* get #]
        r acl setuser bob resetkeys ~l {(+sort ~* )}
        assert_equal {1 2} [$c sort l by w_* get #]
        $c close
    }

    test {selectors: each command needs one that allows all of it} {
        set c [client_of bob +get ~g* {(+set ~s*)} {(+mget allkeys)}]
        r set g1 1
        assert_equal {1 OK} [list [$c get g1] [$c set s1 v]]
        refused $denied_key {$c set g1 v}
        refused $denied_key {$c get s1}
        refused [denied_command bob del] {$c del g1}
        assert_equal {1 v} [$c mget g1 s1]
        r acl setuser bob clearselectors
        refused [denied_command bob mget] {$c mget g1}
        $c close
    }

    test {channels} {
        set c [client_of bob +@all &news &app:*]
        foreach channel {news app: app:1} {
            assert_equal 0 [$c publish $channel m]
            assert_equal 0 [$c spublish $channel m]
            $c ssubscribe $channel
            $c subscribe $channel
            $c sunsubscribe
            $c unsubscribe
        }
        foreach channel {new news1 app other} {
            refused $denied_channel {$c publish $channel m}
            refused $denied_channel {$c spublish $channel m}
            refused $denied_channel {$c subscribe $channel}
            refused $denied_channel {$c ssubscribe $channel}
        }
        refused $denied_channel {$c subscribe news other}
        refused $denied_channel {$c psubscribe app:x*}
        refused $denied_channel {$c psubscribe *}
        $c psubscribe app:* news
        $c close
        set c [client_of bob +@all]
        assert_match "unsubscribe*" [$c unsubscribe other]
        refused $denied_channel {$c psubscribe news}
        $c close
    }

    test {databases} {
        set c [client_of bob +@all allkeys db=0,2]
        assert_equal {OK v} [list [$c set k v] [$c get k]]
        refused $denied_db {$c select 1}
        assert_equal OK [$c select 2]
        assert_equal 0 [$c dbsize]
        refused $denied_db {$c swapdb 2 1}
        refused $denied_db {$c swapdb 1 2}
        assert_equal OK [$c swapdb 0 2]
        assert_equal OK [$c swapdb 0 2]
        assert_equal OK [$c set m 1]
        refused $denied_db {$c move m 1}
        refused $denied_db {$c copy m m db 1}
        refused $denied_db {$c copy m m replace DB 1}
        refused $denied_db {$c copy m n db 1 db 0}
        refused $denied_db {$c copy m n db 0 db 1}
        assert_equal {1 1} [list [$c copy m m db 0] [$c copy m n]]
        refused $denied_db {$c flushall}
        $c close
    }

    test {naming every existing database is the same as naming all} {
        set c [client_of bob +@all allkeys db=[join {0 1 2 3 4 5 6 7 8 9 10 11 12 13 14} ,]]
        refused $denied_db {$c flushall}
        r acl setuser bob db=[join {0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 99} ,]
        assert_equal OK [$c flushall]
        $c close
    }

    test {the command itself refuses an argument that is no database} {
        set c [client_of bob +@all allkeys db=0]
        foreach {command error} {
            {select x} "value is not an integer*"  {select 99} "DB index is out of range"  {select -1} "DB index is out of range"
            {move k x} "value is not an integer*"  {move k 99} "DB index is out of range"  {swapdb 0 x} "invalid second DB index"
            {swapdb x 0} "invalid first DB index"  {swapdb 99 1} "DB index is out of range"  {swapdb 1 99} "DB index is out of range"
            {copy a b db 99} "DB index is out of range"  {copy a b db 1 nosuch} "syntax error"  {copy a b nosuch db 1} "syntax error"
        } {
            assert_error "ERR $error" {$c {*}$command}
        }
        $c close
    }

    test {the database comes before the command} {
        set c [client_of bob +get +select allkeys db=0]
        foreach command {{swapdb 0 1} flushall {move k 1} {select 1}} { refused $denied_db {$c {*}$command} }
        refused [denied_command bob swapdb] {$c swapdb 0 0}
        refused [denied_command bob set] {$c set k v}
        r acl setuser bob reset on >p +get ~a db=0 {(+set ~b db=1)}
        foreach command {{set a 1} {set b 1} {del a}} { refused [denied_command bob [lindex $command 0]] {$c {*}$command} }
        refused $denied_key {$c get b}
        $c close
    }

    test {DRYRUN names the database of an argument, else the command} {
        r acl setuser bob reset +@all allkeys db=1
        foreach {command named} {
            {get k} get  {SET k v} SET  {flushall} flushall  {select 2} 2  {swapdb 3 1} 3  {swapdb 1 3} 3  {move k 1} move  {move k 2} 2  {copy a b db 2} 2  {lolwut} lolwut
        } {
            assert_equal "User bob has no permissions to access database $named" [r acl dryrun bob {*}$command]
        }
        r select 1
        assert_equal "User bob has no permissions to access database 2" [r acl dryrun bob move k 2]
        assert_equal "User bob has no permissions to access database 5" [r acl dryrun bob copy a b db 5 db 1]
        assert_equal OK [r acl dryrun bob get k]
        r select 0
    }

    test {in MULTI, the database is the one that SELECT leads to} {
        set c [client_of bob +@all allkeys db=1,2]
        r flushall
        $c multi
        assert_equal {QUEUED QUEUED QUEUED QUEUED} [list [$c select 1] [$c set k one] [$c select 2] [$c set k two]]
        assert_equal {OK OK OK OK} [$c exec]
        assert_equal {1 2} [list [$c dbsize] [dict get [regsub -all {[ \n]+|=} [$c client info] { }] db]]
        $c multi
        assert_equal {QUEUED QUEUED QUEUED} [list [$c select x] [$c select 99] [$c get k]]
        refused $denied_db {$c select 0}
        assert_equal QUEUED [$c get k] "still in database 2"
        assert_error "EXECABORT *" {$c exec}
        r acl setuser bob reset on >p +@all allkeys db=2,0
        $c select 0
        $c multi
        assert_equal {QUEUED QUEUED} [list [$c move k 2] [$c select 2]]
        refused $denied_db {$c move k 1}
        assert_error "EXECABORT *" {$c exec}
        $c multi
        $c select 2
        $c discard
        r acl setuser bob db=0
        assert_equal {} [$c get k]
        $c multi
        refused $denied_db {$c select 2}
        refused $denied_db {$c select 1}
        assert_error "EXECABORT *" {$c exec}
        r acl setuser bob db=1
        $c multi
        refused $denied_db {$c get k}
        assert_equal QUEUED [$c select 1]
        refused $denied_db {$c get k}
        assert_error "EXECABORT *" {$c exec}
        $c multi
        assert_equal {QUEUED QUEUED} [list [$c select 1] [$c get k]]
        assert_error "ERR Command 'watch' not allowed inside a transaction" {$c watch k}
        refused $denied_db {$c get k}
        assert_error "EXECABORT *" {$c exec}
        $c close
    }

    test {in a forbidden database only SELECT is allowed} {
        set c [client_of bob +@all allkeys db=3]
        foreach command {{get k} {set k v} {mget k l} {keys *} {scan 0} dbsize randomkey flushdb {watch k} {eval {return 1} 1 k}
            {eval {return 1} 0} {evalsha x 0} {fcall x 0} lolwut {function flush} {function delete x} {function load x} {function restore x}
            {object help} {sort k} {pfcount k} {xread streams k 0}} {
            refused $denied_db {$c {*}$command}
        }
        foreach command {{script exists x} {function list} {script flush} unwatch {info keyspace}} { $c {*}$command }
        assert_equal {PONG bob} [list [$c ping] [$c acl whoami]]
        assert_equal OK [$c select 3]
        assert_error "ERR ACL failure in script: No permissions to access database script: *" {
            $c eval {redis.call('dbsize') redis.call('select', 0)} 0
        }
        assert_equal {OK v 1} [list [$c set k v] [$c get k] [$c dbsize]]
        assert_equal OK [$c flushdb]
        r acl setuser bob resetdbs
        refused $denied_db {$c get k}
        refused $denied_db {$c select 3}
        r acl setuser bob {(db=3 +get allkeys)}
        assert_equal {} [$c get k]
        refused [denied_command bob set] {$c set k v}
        $c close
    }

    test {in MULTI, a refused command makes EXEC fail} {
        set c [client_of bob +@all -get ~k*]
        assert_equal {OK QUEUED} [list [$c multi] [$c set k v]]
        refused [denied_command bob get] {$c get k}
        assert_error "EXECABORT Transaction discarded because of previous errors." {$c exec}
        $c multi
        refused $denied_key {$c set other v}
        assert_error "EXECABORT *" {$c exec}
        r acl setuser bob -exec
        $c multi
        refused "EXECABORT Transaction discarded because of: [denied_command bob exec]" {$c exec}
        $c close
    }

    test {EXEC checks the rules again} {
        set why "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This command is no longer allowed for the following reason: no permission"
        set c [client_of bob +@all ~k* &c* db=0,1]
        r config resetstat
        set before [denials cmd key channel db]
        r del k2
        $c multi
        foreach command {{set k1 v} {set k2 v} {publish c1 m} {strlen k2} {select 1} ping} { assert_equal QUEUED [$c {*}$command] }
        r acl setuser bob resetkeys ~k2 resetchannels -strlen db=0
        assert_equal [list "$why to touch the specified keys" OK "$why to access one of the channels used as arguments" \
            "$why to execute the command or subcommand" "$why" PONG] [$c exec]
        assert_equal v [r get k2]
        assert_match "*cmdstat_strlen:calls=0,*rejected_calls=1,*" [r info commandstats]
        assert_equal {1 1 1 1} [differences [denials cmd key channel db] $before]
        $c close
    }

    test {commands in scripts are checked} {
        set c [client_of bob +@all -get -config ~k* &c*]
        foreach {script reason} {
            {return redis.call('get', 'k')} {User bob has no permissions to run the 'get' command}
            {return redis.call('set', 'x', 1)} {No permissions to access a key}
            {return redis.call('publish', 'x', 1)} {No permissions to access a channel}
        } {
            r config resetstat
            refused "ERR ACL failure in script: $reason script: on @user_script:1." {$c eval $script 0}
            refused "ERR ACL failure in script: $reason" {$c eval [string map {.call .pcall} $script] 0}
            assert_equal "ERR ACL failure in script: $reason" \
                [$c eval "[string map {{return } {local e = } .call .pcall} $script] return e.err" 0]
            assert_equal errorstat_NOPERM:count=3 [regexp -all -inline {errorstat_\w+:count=\d+} [r info errorstats]] "INFO counts what it was"
        }
        assert_equal OK [$c eval {return redis.call('set', 'k', 1)} 0]
        assert_equal 1 [r eval {return redis.call('get', 'k')} 0] "the next one is somebody else"
        $c close
    }

    test {acl_check_cmd} {
        set c [client_of bob +@all -get ~k*]
        foreach {command allowed} {'set','k','1' 1  'set','x','1' {}  'get','k' {}  'client','id' 1} {
            assert_equal $allowed [$c eval "return redis.acl_check_cmd($command)" 0] $command
        }
        assert_error "ERR Invalid command passed to server.acl_check_cmd()*" {$c eval {return redis.acl_check_cmd('nosuch')} 0}
        $c close
    }

    test {a blocked command is checked again when it runs} {
        set c [client_of bob +@all allkeys]
        r del list
        $c deferred 1
        $c blpop list 0
        wait_for_condition 500 20 {[s blocked_clients] == 1} else { fail "not blocked" }
        r acl setuser bob -blpop
        r rpush list v
        refused [denied_command bob blpop] {$c read}
        assert_equal 1 [r llen list]
        $c close
    }

    test {AUTH, HELLO, RESET and QUIT are allowed for every user} {
        set c [client_of bob -@all]
        refused [denied_command bob ping] {$c ping}
        assert_equal 2 [dict get [$c hello 2] proto]
        assert_equal OK [$c auth bob pw]
        assert_equal RESET [$c reset]
        assert_equal OK [$c quit]
        $c close
    }

    test {DRYRUN} {
        r acl setuser dry reset on ~a %R~r &c +get +set +publish +config|get
        assert_equal OK [r acl dryrun dry get a]
        assert_equal OK [r acl dryrun dry get r]
        assert_equal "User dry has no permissions to access the 'r' key" [r acl dryrun dry set r 1]
        assert_equal "User dry has no permissions to access the 'x' channel" [r acl dryrun dry publish x m]
        assert_equal "User dry has no permissions to run the 'del' command" [r acl dryrun dry del a]
        assert_equal "User dry has no permissions to run the 'config|set' command" [r acl dryrun dry config set a b]
        assert_error "ERR User 'nobody' not found" {r acl dryrun nobody get a}
        assert_error "ERR Command 'nosuch' not found" {r acl dryrun dry nosuch}
        assert_error "ERR wrong number of arguments for 'get' command" {r acl dryrun dry get}
        assert_error "ERR wrong number of arguments for 'acl|dryrun' command" {r acl dryrun dry}
        assert_equal 0 [r exists a]
    }
}

start_server {tags {acl external:skip}} {
    test {DELUSER closes the clients of the user, and only those} {
        set bob [client_of bob +@all]
        set waiting [client_of bob +@all allkeys]
        set other [client_of alice +@all]
        $waiting deferred 1
        $waiting blpop list 0
        wait_for_condition 500 20 {[s blocked_clients] == 1} else { fail "not blocked" }
        assert_equal 1 [r acl deluser bob]
        assert {[is_closed $bob]}
        assert_error "I/O error*" {$waiting read}
        assert_equal PONG [$other ping]
        foreach c [list $bob $waiting $other] { $c close }
    }

    test {a user that deletes itself still gets the reply} {
        set c [client_of bob +@all]
        assert_equal 1 [$c acl deluser bob]
        assert {[is_closed $c]}
        $c close
    }

    test {a user that deletes itself in a transaction has no rights for the rest of it} {
        set c [client_of bob +@all]
        $c multi
        $c acl deluser bob
        $c ping
        assert_match "1 {NOPERM ACLs rules changed*}" [$c exec]
        assert {[is_closed $c]}
        $c close
    }

    test {subscribers that lose their right to a channel are closed} {
        foreach {subscribe rules closed} {
            {subscribe a:1}      {resetchannels}            1
            {subscribe a:1}      {resetchannels &a:*}       0
            {subscribe a:1}      {resetchannels &a:1}       0
            {subscribe a:1}      {resetchannels &b:*}       1
            {subscribe a:1}      {allchannels}              0
            {subscribe a:1}      {resetchannels {(&a:*)}}   0
            {ssubscribe a:1}     {resetchannels &b:*}       1
            {ssubscribe a:1}     {resetchannels &a:1}       0
            {psubscribe a:*}     {resetchannels &a:1}       1
            {psubscribe a:*}     {resetchannels &a:* &c}    0
            {subscribe a:1}      {-@all}                    0
            {ping}               {resetchannels}            0
        } {
            set c [client_of bob +@all &a:* &b:*]
            $c {*}$subscribe
            r acl setuser bob {*}$rules
            assert_equal [expr {!$closed}] [string match "*user=bob*" [r client list]] [list $subscribe $rules]
            $c close
            wait_for_condition 500 20 {![string match "*user=bob*" [r client list]]} else { fail "still there" }
        }
    }

    test {a change that revokes no channel closes no subscriber} {
        set c [client_of bob +@all &a:*]
        r acl setuser alice reset on >pw +@all &c
        $c hello 3
        $c subscribe a:1
        $c auth alice pw
        r acl setuser alice -get
        assert_equal PONG [$c ping]
        r acl setuser alice resetchannels
        assert {[is_closed $c]}
        $c close
    }

    test {CLIENT KILL USER and CLIENT LIST} {
        set a [client_of alice +@all]
        set b [client_of bob +@all]
        assert_error "ERR No such user 'nobody'" {r client kill user nobody}
        assert_match "*user=bob*" [$b client info]
        assert_equal 1 [r client kill user bob]
        assert {[is_closed $b]}
        assert_equal PONG [$a ping]
        $a close
        $b close
    }

    # Permissions are cached: none of this may depend on earlier commands.
    test {the cached permission of a command does not extend to other keys} {
        set c [client_of bob +@all resetkeys ~application:one:* %W~written:* ~app:*]
        foreach round {1 2} {
            foreach key {application:one: application:one:x app:12345 app:} {
                assert_equal {} [$c get $key]
                assert_equal 0 [$c exists $key]
            }
            foreach key {application:one application:two:x applicat app ap ap:12345 APP:12345 {}} {
                assert_error "NOPERM*key*" {$c get $key}
                assert_error "NOPERM*key*" {$c exists $key}
            }
            assert_equal OK [$c set written:key v]
            assert_error "NOPERM*key*" {$c set written:key v get}
            assert_error "NOPERM*key*" {$c get written:key}
        }
        $c close
    }

    test {the cached permission of a command does not extend to other databases and arguments} {
        set c [client_of bob resetkeys -@all +select|0 +select|1 +get +move db=0,1 ~zero:* ~one:* (+incr db=1 ~one:*)]
        foreach round {1 2} {
            $c select 0
            assert_equal {} [$c get zero:12345]
            assert_error "NOPERM*" {$c incr one:12345}
            assert_error "NOPERM*" {$c move zero:12345 2}
            assert_equal 0 [$c move zero:12345 1]
            assert_error "NOPERM*" {$c select 2}
            $c select 1
            assert_equal $round [$c incr one:12345]
            assert_error "NOPERM*" {$c incr zero:12345}
        }
        r acl setuser bob resetdbs db=0
        assert_error "NOPERM*run the 'get'*" {$c get zero:12345}
        r acl setuser bob clearselectors
        assert_error "NOPERM*database*" {$c get zero:12345}
        r acl setuser bob clearselectors alldbs
        assert_equal {} [$c get zero:12345]
        assert_error "NOPERM*" {$c incr one:12345}
        $c close
        r flushall
    }

    test {cached permissions are dropped when the rules change} {
        set c [client_of bob +@all ~* resetchannels]
        foreach {rules allowed} {
            {resetkeys ~key:*} 1    {resetkeys ~other:*} 0    {~key:1*} 1    {-get} 0    {+get} 1
            {resetkeys} 0           {~*} 1                    {reset} 0      {on +get %R~key:1*} 1
        } {
            r acl setuser bob {*}$rules
            foreach round {1 2} {
                assert_equal [expr {!$allowed}] [catch {$c get key:12345} said] "$rules, $said"
            }
        }
        $c close
    }

    test {checks begin with the first rule or password, and end with the last} {
        r acl deluser alice bob
        set c [valkey_client]
        assert_equal {} [$c get key:12345]
        r acl setuser bob on nopass +get ~key:*
        assert_equal {} [$c get key:12345]
        $c auth bob any
        assert_error "NOPERM*" {$c set key:12345 v}
        r acl setuser bob +@all ~* &*
        assert_equal OK [$c set key:12345 v]
        r acl setuser bob -set
        assert_error "NOPERM*" {$c set key:12345 v}
        r acl deluser bob
        $c close
        r config set requirepass secret
        set c [valkey_client]
        assert_error "NOAUTH*" {$c get key:12345}
        r config set requirepass ""
        assert_equal v [$c get key:12345]
        r acl setuser default off
        set d [valkey_client]
        assert_error "NOAUTH*" {$d get key:12345}
        r acl setuser default on
        assert_equal v [$d get key:12345]
        $c close
        $d close
        r del key:12345
    }
}
