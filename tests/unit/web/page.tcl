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
        assert_equal "\['now', 'rights', 'info', 'survey', 'largest', 'hot', 'slow', 'clients']" [json_says $json "list(d)"]
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
        set sizes {}
        foreach size {390x844 820x1180 1440x900} { foreach theme {light dark} { lappend sizes $size:$theme } }
        set looks [exec python3 -B [file join [file dirname [info script]] browser.py] $chromium http://localhost:[config_get metrics-port]/ 5 {*}$pictures {*}$sizes]
        set backgrounds {}
        foreach look [split $looks \n] {
            set size [json_says $look "d\['size']"]
            foreach {expression wanted} {
                d['problems'] [] d['scrolls'] False d['wide'] [] d['small'] 0 d['unnamed'] 0 d['state'] live
                len(d['tiles']) 8 d['lines']||>=||3 True
                "'eval'||in||d['parts']['commands']" True
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
