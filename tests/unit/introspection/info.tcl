# INFO: which sections are shown, their order, and the three that core itself fills.

proc info_titles {args} { return [regexp -all -inline -line {^# \w+} [r info {*}$args]] }

start_server {tags {introspection}} {
    test {INFO shows sections in their order, one blank line between} {
        set titles {{# Server} {# Clients} {# Memory} {# Persistence} {# Stats} {# Replication} {# CPU} {# Modules}
            {# Errorstats} {# Cluster} {# Keyspace}}
        assert_equal [lmap t $titles { set t }] [info_titles]
        assert_equal [info_titles] [info_titles default]
        set text [r info]
        assert_equal [expr {[llength $titles] - 1}] [regexp -all "\r\n\r\n" $text]
        assert_equal [expr {[llength $titles] - 1}] [regexp -all "\r\n\r\n# " $text]
    }

    test {INFO all and everything add the sections about commands} {
        foreach group {all everything} {
            set titles [info_titles $group]
            assert_equal 13 [llength $titles]
            assert_equal "# Commandstats" [lindex $titles 8]
            assert_equal "# Latencystats" [lindex $titles 10]
        }
    }

    test {INFO takes several sections in any case and order, unknown ones are nothing} {
        assert_equal {{# Server} {# Keyspace}} [info_titles KEYSPACE nosuch server SERVER]
        assert_equal {} [r info nosuch]
        assert_equal 12 [llength [info_titles default commandstats]]
    }

    test {every line of INFO is a title, a field or blank} {
        foreach line [split [string map {\r {}} [r info everything]] \n] {
            assert {[regexp {^$|^# \w+$|^[\w|.-]+:} $line]} $line
        }
    }

    test {no field is shown twice} {
        set fields [regexp -all -inline -line {^[\w|.-]+:} [r info everything]]
        set sorted [lsort $fields]
        for {set i 1} {$i < [llength $sorted]} {incr i} {
            assert_not_equal [lindex $sorted $i-1] [lindex $sorted $i]
        }
    }

    test {INFO is a verbatim string in RESP3} {
        r hello 3
        r deferred 1
        r info nosuch
        assert_equal =4 [r rawread]
        assert_equal txt: [r rawread]
        r deferred 0
        r hello 2
    }

    test {commandstats count calls, failures and refusals, subcommands by their own name} {
        r config resetstat
        r set k v
        r get k
        r get k
        catch {r incr k}
        catch {r get}
        r config get port
        set text [r info commandstats]
        assert_match "*cmdstat_get:calls=2,usec=*,usec_per_call=*,rejected_calls=1,failed_calls=0\r\n*" $text
        assert_match "*cmdstat_incr:calls=1,usec=*,usec_per_call=*,rejected_calls=0,failed_calls=1\r\n*" $text
        assert_match "*cmdstat_config|get:calls=1,*" $text
        assert_no_match "*cmdstat_config:*" $text
        assert_no_match "*cmdstat_del:*" $text
        assert {[regexp {cmdstat_get:calls=2,usec=\d+,usec_per_call=\d+\.\d\d,} $text]}
    }

    test {errorstats count errors by their code} {
        r config resetstat
        assert_equal "# Errorstats\r\n" [r info errorstats]
        r del k
        r zadd k 1 a
        catch {r get k}
        catch {r get k}
        catch {r nosuchcommand}
        assert_match "*errorstat_WRONGTYPE:count=2\r\n*" [r info errorstats]
        assert_match "*errorstat_ERR:count=1\r\n*" [r info errorstats]
        r config resetstat
        assert_equal "# Errorstats\r\n" [r info errorstats]
    }

    test {keyspace shows the databases that have keys} {
        r flushall
        assert_equal "# Keyspace\r\n" [r info keyspace]
        r set a 1
        r set b 1 ex 100
        assert_match "# Keyspace\r\ndb*:keys=2,expires=1,avg_ttl=*\r\n" [r info keyspace]
        r flushall
    }
}
