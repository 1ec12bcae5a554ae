# Command filters, hidden arguments, and the channels and databases that commands of modules declare, with
# tests/modules/filters.c; on this server and the oracle.

source -encoding utf-8 $::support/module.tcl

with_modules {filters} {} {
    test {a filter changes the command} {
        assert_equal 1 [r filters.start]
        foreach {command reply} {
            {say a} a
            {echo @replace} replaced
            {echo @delete x} x
            {@delete echo x} x
            {mset @insert} OK
            {mset @append} OK
            {echo @count} 2
            {echo @range} 8
            {set @replace 1} OK
            {get replaced} 1
            {get before} behind
        } {
            assert_equal $reply [r {*}$command] $command
        }
        assert_equal last [r get {last but one}]
        assert_equal [r client id] [r echo @client]
        assert_error "ERR wrong number of arguments for 'echo' command" { r echo @delete }
        assert_error "ERR wrong number of arguments for 'get' command" { r get @insert }
        assert_error "ERR unknown command 'replaced', with args beginning with: 'x' " { r @replace x }
        assert_equal {maxmemory 0} [r config get maxmemory]
        assert_equal OK [r @delete config @delete set @delete maxmemory 0]
        assert_match "*cmdstat_config|set:calls=1,*" [r info commandstats]
        assert_match "*cmdstat_echo:calls=*" [r info commandstats]
        assert_no_match "*cmdstat_say*" [r info commandstats]
    }

    test {big arguments and many, in a pipeline} {
        set big [string repeat x 100000]
        r write [string cat "*3\r\n\$3\r\nset\r\n\$3\r\nbig\r\n\$100000\r\n$big\r\n" \
            "*4\r\n\$3\r\nset\r\n\$7\r\n@delete\r\n\$4\r\nbig2\r\n\$100000\r\n$big\r\n" \
            "*2\r\n\$3\r\nsay\r\n\$1\r\na\r\n" "*2\r\n\$4\r\necho\r\n\$1\r\nb\r\n" "say c\r\n"]
        r flush
        foreach reply {OK OK a b c} { assert_equal $reply [r read] }
        assert_equal $big [r get big2]
        assert_equal 100 [r rpush list {*}[lrepeat 100 @replace]]
        assert_equal [lrepeat 100 replaced] [r lrange list 0 -1]
    }

    test {filters run one after the other, and are counted} {
        r filters.second 1
        assert_equal {replaced twice} [r echo @replace]
        assert_match "*name=filters,*filters=2,*" [r info modules]
        r filters.second 0
        assert_equal replaced [r echo @replace]
        assert_match "*name=filters,*filters=1,*" [r info modules]
    }

    test {queued commands are filtered when queued, and not again} {
        r multi
        r echo @replace
        r say x
        r filters.calls
        assert_equal {replaced x} [lrange [r exec] 0 1]
        r filters.calls
        r multi
        r ping
        r exec
        assert_equal {4 0} [r filters.calls]
    }

    test {commands of scripts are filtered too} {
        assert_equal replaced [r eval {return redis.call('echo', '@replace')} 0]
        assert_equal x [r eval {return redis.call('say', 'x')} 0]
        assert_error "*" { r eval {return redis.call('@replace', 'x')} 0 }
        assert_equal {a replaced} [r eval {return {redis.pcall('say', 'a'), redis.call('echo', '@replace')}} 0]
    }

    test {a blocked command is not filtered again} {
        set c [valkey_deferring_client]
        r del queue
        r filters.calls
        $c blpop queue @count 0
        wait_for_blocked 1
        r rpush queue v
        assert_equal {queue v} [$c read]
        $c close
        # blpop, info (waiting), rpush, this one
        assert {[lindex [r filters.calls] 0] >= 4}
        r del 4
    }

    test {CLIENT REPLY SKIP skips one reply, filtered or not} {
        r write "client reply skip\r\nsay a\r\nsay b\r\n"
        r flush
        assert_equal b [r read]
    }

    test {without its filter a command is what it was} {
        assert_equal 0 [r filters.stop]
        assert_equal @replace [r echo @replace]
        assert_error "ERR unknown command 'say'*" { r say x }
        r filters.calls
        r ping
        assert_equal {0 0} [r filters.calls]
        assert_match "*name=filters,*filters=0,*" [r info modules]
    }

    test {unloading a module removes its filters} {
        r filters.start
        assert_equal OK [r module unload filters]
        assert_equal @replace [r echo @replace]
        assert_equal OK [r module load [module_so filters] filter]
        assert_equal replaced [r echo @replace]
        assert_equal 0 [r filters.stop]
    }

    test {MONITOR and the slow log show the filtered command, without secrets} {
        r filters.start
        set m [valkey_deferring_client]
        $m monitor
        assert_equal OK [$m read]
        r config set commandlog-execution-slower-than 0
        r echo @replace
        assert_match {*"echo" "replaced"} [$m read]
        r filters.hide 2 secret shown
        assert_match {*"filters.hide" "2" "(redacted)" "shown"} [$m read]
        r filters.hide 3 shown secret
        assert_match {*"filters.hide" "3" "shown" "(redacted)"} [$m read]
        r echo open
        assert_match {*"echo" "open"} [$m read]
        assert_equal woken [r filters.hideandblock 2 secret shown]
        assert_match {*"filters.hideandblock" "2" "(redacted)" "shown"} [$m read]
        assert_equal 1 [r filters.hide 0 shown]
        assert_match {*"filters.hide" "0" "shown"} [$m read]
        $m close
        set log [lmap entry [r commandlog get -1 slow] { lindex $entry 3 }]
        assert {{filters.hide 2 (redacted) shown} in $log}
        assert {{filters.hide 3 shown (redacted)} in $log}
        assert {{filters.hideandblock 2 (redacted) shown} in $log}
        assert {{echo replaced} in $log}
        assert_equal 1 [r filters.hide 0]
        r config set commandlog-execution-slower-than 10000
        r filters.stop
    }

    test {users may use channels that a command names} {
        r acl setuser bob on nopass +@all ~* &news* resetchannels &news*
        set c [valkey_client]
        $c auth bob x
        foreach {flags channel allowed} {
            2 news1 1  2 other 0  4 news1 1  4 other 0  8 other 1
            5 news* 1  5 new* 0  5 news1 0  0 other 1
        } {
            set denied [catch { $c filters.channel $flags $channel } reply]
            assert_equal [expr {!$allowed}] $denied "$flags $channel: $reply"
            if {$denied} { assert_match "NOPERM*channel*" $reply }
        }
        assert_equal 4 [$c filters.channel 2 news1 news2]
        assert_error "NOPERM*" { $c filters.channel 2 news1 other }
        $c close
        r acl deluser bob
    }

    test {a command with ALLDBS needs the right to all databases} {
        r acl setuser carol on nopass +@all ~* resetdbs db=0,1
        set c [valkey_client]
        $c auth carol x
        assert_error "NOPERM*database*" { $c filters.everywhere }
        r acl setuser carol alldbs
        assert_equal OK [$c filters.everywhere]
        $c close
        r acl deluser carol
    }
}

start_servers [list \
    primary {kind ours overrides {repl-diskless-sync-delay 0}} \
    replica [list kind ours overrides [module_overrides {{filters filter}} {overrides {repl-diskless-sync-delay 0}}]] \
    below {kind ours overrides {}}] {
    test {the stream of a primary is filtered; sub-replicas get it unchanged} {
        follow replica primary
        follow below replica
        r [at primary] mset @replace 1 b 2
        wait_for_offset replica primary
        wait_for_offset below replica
        assert_equal 1 [r [at replica] get replaced]
        assert_equal 2 [r [at replica] dbsize]
        assert_equal 1 [r [at below] exists @replace]
        assert_equal 0 [r [at below] exists replaced]
    }
}
