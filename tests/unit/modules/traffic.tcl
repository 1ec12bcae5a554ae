# Modules are loaded and unloaded while clients use them: freed code is never called or read. With
# tests/modules/infos.c, filters.c and configs.c.

source -encoding utf-8 $::support/module.tcl

set ::so [module_so infos]
set ::gone {ERR unknown command 'infos.use', with args beginning with: }

# Summarizes n replies.
proc replies {client n} {
    set all {}
    for {set i 0} {$i < $n} {incr i} {
        catch { $client read } reply
        lappend all $reply
    }
    return $all
}

with_modules {} {} {
    test {a module is loaded and unloaded within a pipeline} {
        set c [valkey_deferring_client]
        set lines {}
        for {set i 0} {$i < 20} {incr i} {
            append lines "infos.use 1\r\nmodule load $::so\r\ninfos.use 1\r\nget x\r\nmodule unload infos\r\n"
        }
        $c write $lines
        $c flush
        for {set i 0} {$i < 20} {incr i} {
            set got [replies $c 5]
            assert_match "ERR unknown command 'infos.use', with args beginning with: *" [lindex $got 0]
            assert_equal {OK {ERR none} {} OK} [lrange $got 1 end]
        }
        $c close
    }
}

foreach threads {1 4} {
    set overrides [list enable-module-command yes io-threads $threads io-threads-always-active yes]
    start_servers [list module [list kind ours overrides $overrides]] [string map [list THREADS $threads] {
        test {a queued command whose module was unloaded is an error, THREADS io-threads} {
            r module load $::so
            set c [valkey_client]
            $c multi
            assert_equal QUEUED [$c infos.use 1]
            assert_equal QUEUED [$c set a 1]
            r module unload infos
            assert_match "{ERR unknown command 'infos.use'*} OK" [$c exec]
            # The name belongs to another module then, or to the same one in another place.
            r module load $::so
            $c multi
            $c infos.use 1
            r module unload infos
            r module load $::so
            assert_equal {{ERR none}} [$c exec]
            r module unload infos
            $c close
        }

        test {CLIENT LIST and the slow log survive the command they name, THREADS io-threads} {
            r module load $::so
            r config set slowlog-log-slower-than 0
            set c [valkey_client]
            catch { $c infos.use 1 }
            assert_match "*cmd=infos.use*" [r client list]
            r module unload infos
            assert_match "*id=[$c client id]*" [r client list]
            catch { $c infos.use 1 }
            r client list
            r info commandstats
            r latency histogram
            assert_match "*infos.use 1*" [r slowlog get -1]
            r config set slowlog-log-slower-than 10000
            r command
            r command docs
            r acl cat
            $c close
        }

        test {modules are loaded and unloaded under traffic, THREADS io-threads} {
            set clients {}
            for {set i 0} {$i < 8} {incr i} { lappend clients [valkey_deferring_client] }
            set monitor [valkey_deferring_client]
            $monitor monitor
            $monitor read
            r acl setuser limited on nopass resetkeys ~x* resetchannels &n* +@all
            set commands {
                {infos.use 1} {get x} {filters.channel 2 news} {filters.channel 2 other} {filters.hide 1 x y}
                {multi} {exec} {configs.notes} {config get configs.*} {config set configs.number 7} {say hello}
                {echo @replace} {info modules} {info everything} {command docs infos.use} {client list}
                {command list filterby module filters} {config rewrite} {eval {return redis.call('say','x')} 0}
                {module list} {hello 3} {hello 2} {auth limited x} {filters.start} {filters.second 1}
            }
            set expected [lrepeat 8 0]
            for {set round 0} {$round < 150} {incr round} {
                for {set i 0} {$i < 8} {incr i} {
                    set c [lindex $clients $i]
                    for {set n [randomRange 1 12]} {$n > 0} {incr n -1} {
                        $c {*}[randomElement $commands]
                        lset expected $i [expr {[lindex $expected $i] + 1}]
                    }
                }
                set name [randomElement {infos filters configs}]
                if {[catch { r module unload $name }]} { catch { r module load [module_so $name] } }
                if {$round % 10 == 9} {
                    foreach c $clients n $expected { replies $c $n }
                    set expected [lrepeat 8 0]
                }
            }
            foreach c $clients { $c close }
            $monitor close
            foreach name {infos filters configs} { catch { r module unload $name } }
            assert_equal PONG [r ping]
            assert_equal lua [dict get [lindex [r module list] 0] name]
            assert_equal 1 [llength [r module list]]
            assert_equal @replace [r echo @replace]
        }
    }]
}
