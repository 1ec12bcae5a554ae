# ACL LOG: the entries and their fields, how equal entries are counted together, and the limits.
source [file join [file dirname [info script]] acl_util.tcl]

# Entry i as a dict.
proc entry {{i 0}} { return [lindex [r acl log 100] $i] }

proc fields {entry args} { return [lmap f $args { dict get $entry $f }] }

start_server {tags {acl external:skip}} {
    r acl setuser bob on >pw +@all -get ~k* &c* db=0,1
    set c [valkey_client]
    $c auth bob pw
    catch {$c get k}

    test {an entry's fields} {
        assert_equal 1 [llength [r acl log]]
        assert_equal {count reason context object username age-seconds client-info entry-id timestamp-created timestamp-last-updated} \
            [dict keys [entry]]
        assert_equal {1 command toplevel get bob} [fields [entry] count reason context object username]
        assert_match "id=* addr=127.0.0.1:* cmd=get user=bob *" [dict get [entry] client-info]
        assert_morethan [dict get [entry] timestamp-created] 1700000000000
        assert_morethan_equal [dict get [entry] age-seconds] 0
    }

    test {reasons and objects} {
        foreach {command reason object} {
            {set other 1} key other  {mset k1 1 other2 1} key other2  {publish x m} channel x  {psubscribe c?} channel c?
            {GET k} command get  {select 2} database 2  {FLUSHALL} database flushall  {swapdb 0 3} database 3
        } {
            r acl log reset
            catch {$c {*}$command}
            assert_equal [list 1 $reason toplevel $object bob] [fields [entry] count reason context object username] $command
        }
        r acl setuser bob -config|set
        catch {$c config set maxmemory 0}
        assert_equal {command config|set} [fields [entry] reason object]
    }

    test {contexts: in MULTI, at EXEC, in scripts} {
        r acl log reset
        $c multi
        catch {$c set other 1}
        assert_equal {key multi other} [fields [entry] reason context object]
        catch {$c exec}
        $c multi
        $c set k1 v
        r acl setuser bob resetkeys
        $c exec
        assert_equal {key multi k1} [fields [entry] reason context object]
        r acl setuser bob ~k*
        catch {$c eval {return redis.call('get', 'k')} 0}
        assert_equal {command lua get bob} [fields [entry] reason context object username]
        assert_match "*user=bob*" [dict get [entry] client-info]
        assert_match "*addr=127.0.0.1:*" [dict get [entry] client-info] "the caller, not the script's client"
    }

    test {failed logins} {
        r acl log reset
        set d [valkey_client]
        catch {$d auth bob bad}
        catch {$d AUTH nobody bad}
        catch {$d hello 3 auth bob bad}
        assert_equal {auth toplevel hello bob} [fields [entry 0] reason context object username]
        assert_equal {auth toplevel AUTH nobody} [fields [entry 1] reason context object username]
        assert_equal {auth toplevel auth bob} [fields [entry 2] reason context object username]
        $d close
    }

    test {a repeated denial is counted, and its entry moves to the front} {
        r acl log reset
        catch {$c get k}
        set first [entry]
        catch {$c set other 1}
        catch {$c get k2}
        catch {$c get k3}
        assert_equal 2 [llength [r acl log]]
        assert_equal {3 command get} [fields [entry 0] count reason object]
        assert_equal [fields $first entry-id timestamp-created] [fields [entry 0] entry-id timestamp-created]
        assert_morethan_equal [dict get [entry 0] timestamp-last-updated] [dict get $first timestamp-last-updated]
        assert_equal {1 key other} [fields [entry 1] count reason object]
        assert_equal [expr {[dict get $first entry-id] + 1}] [dict get [entry 1] entry-id]
        r acl setuser alice on nopass
        set d [valkey_client]
        $d auth alice x
        catch {$d get k}
        assert_equal {1 get alice} [fields [entry 0] count object username] "another user is another entry"
        assert_equal 3 [llength [r acl log]]
        $d close
    }

    test {the count of ACL LOG, and RESET} {
        r acl log reset
        for {set i 0} {$i < 12} {incr i} { catch {$c set other$i 1} }
        assert_equal {10 3 0 0 12} [list [llength [r acl log]] [llength [r acl log 3]] [llength [r acl log 0]] [llength [r acl log -1]] [llength [r acl log 100]]]
        assert_equal {other11 other10 other9} [lmap e [r acl log 3] { dict get $e object }]
        assert_equal {OK {}} [list [r acl log reset] [r acl log]]
        assert_error "ERR value is not an integer or out of range" {r acl log x}
        assert_error "ERR unknown subcommand or wrong number of arguments for 'log'. Try ACL HELP." {r acl log reset x}
    }

    test {acllog-max-len} {
        config_set acllog-max-len 3
        for {set i 0} {$i < 5} {incr i} { catch {$c set other$i 1} }
        assert_equal {other4 other3 other2} [lmap e [r acl log 100] { dict get $e object }]
        config_set acllog-max-len 0
        catch {$c set another 1}
        assert_equal {} [r acl log]
        config_set acllog-max-len 128
    }

    test {INFO counts refusals; ACL DRYRUN does not count} {
        set before [denials cmd key channel db auth]
        foreach command {{get k} {get k} {set x 1} {publish x m} {select 3} {auth bob bad}} { catch {$c {*}$command} }
        r acl dryrun bob get k
        assert_equal {2 1 1 1 1} [differences [denials cmd key channel db auth] $before]
        r config resetstat
        assert_equal {2 1 1 1 1} [differences [denials cmd key channel db auth] $before] "refusals stay counted"
    }

    test {in RESP3 an entry is a map, and its age a double} {
        r acl log reset
        catch {$c get k}
        r hello 3
        r write "*2\r\n\$3\r\nACL\r\n\$3\r\nLOG\r\n"
        assert_equal {*1 %10} [list [r rawread] [r rawread]]
        for {set i 0} {$i < 24} {incr i} { lappend lines [r rawread] }
        assert_match ",*" [lindex $lines [expr {[lsearch $lines age-seconds] + 1}]]
        r reconnect
    }
    $c close
}
