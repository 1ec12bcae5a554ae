# The page for people, and its data. It runs in a real browser where there is one.
source [file join [file dirname [info script]] web_util.tcl]

# Text of JSON as dicts and lists, by python3.
proc json_says {json expression} {
    return [exec python3 -c "
import json, sys
d = json.load(sys.stdin)
print($expression)" << $json]
}

with_web {} {
    test {the page is one file: it loads nothing from elsewhere} {
        set page [web_body /]
        assert_match "<!doctype html>*</html>*" $page
        assert_equal {} [regexp -all -inline {(?:src|href)="(?:https?:)?//[^"]*"} $page]
        assert_equal {} [regexp -all -inline {@import|url\(} $page]
        assert_equal {} [regexp -all -inline { (?:on\w+|style)="} $page]
    }

    test {the content security policy has the hashes of script and style} {
        if {[auto_execok openssl] eq {}} { skip "no openssl" }
        set page [web_body /]
        set policy [web_header content-security-policy /]
        foreach tag {style script} {
            regexp "<$tag>(.*?)</$tag>" $page -> text
            set file [open $::work_dir/part wb]
            puts -nonewline $file $text
            close $file
            set digest [exec openssl dgst -sha256 -binary $::work_dir/part | base64]
            assert_match "*$tag-src 'sha256-$digest'*" $policy
        }
    }

    test {the figures are valid JSON for any names of keys, clients and commands} {
        if {[auto_execok python3] eq {}} { skip "no python3" }
        r set "\x00\xff\xfe\"\\\n\t</script>\u00e9" [string repeat x 5000]
        r set [encoding convertto utf-8 "sch\u00f6n \u20ac \ud83d"] [string repeat x 4000]
        r set "" [string repeat x 4500]
        r config set slowlog-log-slower-than 0
        r echo "\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80 \x1b\[31m"
        r config set slowlog-log-slower-than 10000
        web_body /api/stats
        wait_for_condition 50 100 {[json_says [web_body /api/stats] "len(d\['largest'])"] >= 3} else { fail "no survey" }
        set json [web_body /api/stats]
        assert_equal "\['now', 'rights', 'info', 'survey', 'largest', 'hot', 'slow', 'clients', 'latency', 'warnings', 'node_url']" [json_says $json "list(d)"]
        assert_match "*4096*" [json_says $json "2 ** (len(d\['survey']\['types']\[0]\['sizes']) - 1)"]
        assert_equal 1 [json_says $json "sum('</script>' in k\['key'] for k in d\['largest'])"]
    }

    test {the survey counts every type, and the largest are the largest} {
        if {[auto_execok python3] eq {}} { skip "no python3" }
        r flushall
        for {set i 0} {$i < 500} {incr i} { r set s:$i [string repeat x [expr {$i + 1}]] }
        for {set i 0} {$i < 50} {incr i} { r hset h:$i f v; r sadd set:$i a b; r rpush l:$i a; r zadd z:$i 1 a; r xadd x:$i * a b; r phset p:$i a FIELDS 1 f v }
        r set big [string repeat x 100000]
        after 7200 ;# WATCH_LASTS_MS and a period
        web_body /api/stats
        wait_for_condition 50 100 {[json_says [web_body /api/stats] "d\['survey']\['whole']"]} else { fail "it does not end" }
        set json [web_body /api/stats]
        assert_equal 801 [json_says $json "d\['survey']\['seen']"]
        assert_equal "hash 50 list 50 pathhash 50 set 50 stream 50 string 501 zset 50" [json_says $json "' '.join(sorted(f\"{t\['type']} {t\['keys']}\" for t in d\['survey']\['types']))"]
        assert_equal big [json_says $json "d\['largest']\[0]\['key']"]
        assert_range [json_says $json "d\['largest']\[0]\['bytes']"] 100000 120000
        assert_equal True [json_says $json "sum(sum(t\['sizes']) for t in d\['survey']\['types']) == 801"]
    }

    test {hot keys are sampled while the page is open} {
        if {[auto_execok python3] eq {}} { skip "no python3" }
        web_body /api/stats
        for {set i 0} {$i < 6000} {incr i} { r get hot; if {$i % 4 == 0} { r get cold:$i } }
        set json [web_body /api/stats]
        assert_equal hot [json_says $json "d\['hot']\[0]\['key']"]
        assert_range [json_says $json "d\['hot']\[0]\['share']"] 0.6 0.95
        after 7200 ;# WATCH_LASTS_MS and a period
        assert_equal 0 [json_says [web_body /api/stats] "len(d\['hot'])"]
    }
}

# The id and severity of each warning that the page shows, to a user.
proc warnings_shown {args} {
    return [json_says [web_body /api/stats {*}$args] "' '.join(w\['id'] + ' ' + w\['severity'] for w in d\['warnings'])"]
}

with_web {latency-tracking yes} {
    test {latencies are counted by powers of two, for the commands with the most calls} {
        if {[auto_execok python3] eq {}} { skip "no python3" }
        r config resetstat
        for {set i 0} {$i < 100} {incr i} { r set key value }
        for {set i 0} {$i < 10} {incr i} { r get key }
        set json [web_body /api/stats]
        assert_equal "set 100 get 10" [json_says $json "' '.join(f\"{l\['cmd']} {l\['calls']}\" for l in d\['latency']\[:2])"]
        assert_equal True [json_says $json "all(sum(l\['counts']) == l\['calls'] and l\['counts']\[0] and l\['counts']\[-1] for l in d\['latency'])"]
        assert_equal True [json_says $json "all(0 < l\['p50'] <= l\['p99'] <= l\['p999'] <= l\['max'] for l in d\['latency'])"]
        # The slowest call is in the last bucket, the middle one in any.
        assert_equal True [json_says $json "all(2 ** (l\['first'] + len(l\['counts']) - 1) <= l\['max'] * 1000 < 2 ** (l\['first'] + len(l\['counts'])) for l in d\['latency'])"]
        r config set latency-tracking no
        r config resetstat
        r get key
        assert_equal 0 [json_says [web_body /api/stats] "len(d\['latency'])"]
        r config set latency-tracking yes
    }

    test {the history grows by a sample every two seconds, and is dropped with the port} {
        if {[auto_execok python3] eq {}} { skip "no python3" }
        set port [config_get metrics-port]
        r config set metrics-port 0
        r config set metrics-port $port
        assert_equal 0 [json_says [web_body /api/history] "len(d\['times'])"]
        r set other value
        wait_for_condition 100 100 {[json_says [web_body /api/history] "len(d\['times'])"] >= 3} else { fail "no samples" }
        set json [web_body /api/history]
        assert_equal "\['period_ms', 'times', 'series']" [json_says $json "list(d)"]
        assert_equal True [json_says $json "all(1900 <= b - a <= 3000 for a, b in zip(d\['times'], d\['times']\[1:]))"]
        assert_equal True [json_says $json "all(len(v) == len(d\['times']) for v in d\['series'].values())"]
        assert_range [json_says $json "d\['times']\[-1]"] [expr {[clock milliseconds] - 10000}] [clock milliseconds]
        assert_equal 2.0 [json_says $json "float(d\['series']\['keys']\[-1])"]
        assert_equal True [json_says $json "d\['series']\['commands']\[-1] >= 1 and d\['series']\['memory']\[-1] > 100000"]
    }

    test {warnings come and go with their cause} {
        if {[auto_execok python3] eq {}} { skip "no python3" }
        r config set protected-mode yes maxmemory 0
        assert_match "*no-password note*" [warnings_shown]
        assert_match "*no-maxmemory note*" [warnings_shown]
        assert_match "*nothing-saved note*" [warnings_shown]
        r config set maxmemory 1 maxmemory-policy noeviction
        assert_match "memory-full error*" [warnings_shown]
        assert_no_match "*no-maxmemory*" [warnings_shown]
        r config set maxmemory 0 requirepass secret
        assert_no_match "*no-password*" [warnings_shown -headers [basic default secret]]
        r config set requirepass {}
        r config set save {3600 1}
        assert_no_match "*nothing-saved*" [warnings_shown]
        r config set save {}
        r config set min-replicas-to-write 1
        assert_match "*too-few-replicas error*" [warnings_shown]
        r config set min-replicas-to-write 0
        assert_no_match "*error*" [warnings_shown]
    }

    test {what happened in the last minutes is counted from the history} {
        if {[auto_execok python3] eq {}} { skip "no python3" }
        set history {[json_says [web_body /api/history] "d\['series']\['failed_logins']\[-1]"] >= 12}
        assert_no_match "*failed-logins*" [warnings_shown]
        for {set i 0} {$i < 12} {incr i} { catch {r auth nobody wrong} }
        wait_for_condition 100 100 $history else { fail "no sample has them" }
        assert_match "*failed-logins warning*" [warnings_shown]
    }

    test {settings and the host are for users who may run CONFIG GET} {
        if {[auto_execok python3] eq {}} { skip "no python3" }
        r acl setuser figures on >figures +info
        r acl setuser settings on >settings +info +config|get
        r config set metrics-node-url http://{host}:9121/
        foreach {user sees} {figures False settings True} {
            assert_equal $sees [json_says [web_body /api/stats -headers [basic $user $user]] "'node_url' in d"]
            set shown [warnings_shown -headers [basic $user $user]]
            assert_match "*no-maxmemory note*" $shown
            assert_equal [expr {$sees eq {True}}] [string match "*no-password note*" $shown] "$user: $shown"
            assert_equal 200 [web_status /api/history -headers [basic $user $user]]
        }
        r acl setuser nothing on >nothing
        assert_equal 403 [web_status /api/history -headers [basic nothing nothing]]
        assert_equal 401 [web_status /api/history -headers [basic figures wrong]]
        r config set metrics-node-url {}
    }

    test {metrics-node-url takes addresses of pages only, and is escaped} {
        if {[auto_execok python3] eq {}} { skip "no python3" }
        r config set metrics-node-url https://pages/{host}/{port}
        foreach bad {javascript:alert('{host}') //evil/{host} http:/{host} {HTTP://{host}/} http://page/ {http://{host}/ x} "http://{host}/\n" "http://{host}/\u00e9" { http://{host}/} {data:text/html,{host}}} {
            assert_error {*must begin with http:// or https://, contain {host}*} {r config set metrics-node-url $bad}
        }
        assert_equal https://pages/{host}/{port} [config_get metrics-node-url]
        set hostile "http://{host}/\"></script><script>alert(1)</script>\\"
        r config set metrics-node-url $hostile
        assert_equal $hostile [json_says [web_body /api/stats] "d\['node_url']"]
        r config set metrics-node-url {}
    }
}

with_web {} {
    test {in a browser: figures are shown, without errors or overflow, light and dark} {
        set chromium [lindex [concat [auto_execok chromium] [auto_execok chromium-browser] [auto_execok google-chrome]] 0]
        if {$chromium eq {} || [auto_execok python3] eq {}} { skip "no chromium, or no python3" }
        set pictures {}
        if {[info exists ::env(WEB_PICTURES)]} { set pictures [list --pictures $::env(WEB_PICTURES)] }
        r set [string repeat long_name_without_a_break_ 15] [string repeat x 30000]
        r config set slowlog-log-slower-than 0
        r eval "return '[string repeat long_argument 30]'" 0
        r config set slowlog-log-slower-than 10000
        r client setname [string repeat somebody_with_a_long_name_ 10]
        r config set latency-tracking yes
        set sizes {390x844:light 390x844:dark 820x1180:light 1280x800:light 1280x800:dark 1920x1080:dark}
        set looks [exec python3 -B [file join [file dirname [info script]] browser.py] $chromium http://localhost:[config_get metrics-port]/ 5 {*}$pictures {*}$sizes]
        set backgrounds {}
        foreach look [split $looks \n] {
            set size [json_says $look "d\['size']"]
            foreach {expression wanted} {
                d['problems'] [] d['scrolls'] False d['wide'] [] d['cut'] [] d['small'] 0 d['unnamed'] 0 d['state'] live
                len(d['tiles']) 8 d['lines']||>=||3 True
                "'eval'||in||d['parts']['commands']" True
                "'notes'||in||d['parts']['warnings']" True "'eval'||in||d['parts']['latency']" True "'db0'||in||d['parts']['databases']" True
                "'string'||in||d['parts']['memory']" True "'KiB'||in||d['parts']['sizes']" True
                "'long_name'||in||d['parts']['keys']" True "'eval'||in||d['parts']['slow']" True
                "'primary'||in||d['parts']['replication']" True "'somebody'||in||d['parts']['clients']" True
            } {
                set expression [string map {|| { }} $expression]
                assert_equal $wanted [json_says $look $expression] "$size: $expression"
            }
            lappend backgrounds [json_says $look "d\['background']"]
        }
        assert_equal 6 [llength $backgrounds]
        assert_equal 2 [llength [lsort -unique $backgrounds]]
    }
}

# A replica chooses the address that it announces, so the page of its primary must not be led by it.
with_web {metrics-node-url http://{host}:9121/{port}} {
    test {in a browser: links go to the announced host, whatever it looks like} {
        set chromium [lindex [concat [auto_execok chromium] [auto_execok chromium-browser] [auto_execok google-chrome]] 0]
        if {$chromium eq {} || [auto_execok python3] eq {}} { skip "no chromium, or no python3" }
        set primary_port [srv port]
        set url http://localhost:[config_get metrics-port]/
        foreach {announced link} {
            127.0.0.7 http://127.0.0.7:9121/7000
            ::7 http://[::7]:9121/7000
            x:@evil.example/# {}
            <b>evil</b> {}
        } {
            start_server [list overrides [list save {} replicaof "127.0.0.1 $primary_port" replica-announce-ip $announced replica-announce-port 7000] tags {external:skip}] {
                wait_for_condition 100 100 {[string match *state=online* [r -1 info replication]]} else { fail "no replica" }
                set look [exec python3 -B [file join [file dirname [info script]] browser.py] $chromium $url 3 1280x800:light]
                assert_equal $link [json_says $look "' '.join(d\['links'])"] $announced
                assert_equal "\[] True" [json_says $look "d\['problems'], '$announced' in d\['parts']\['replication']"]
            }
        }
    }
}
