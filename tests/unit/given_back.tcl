# Requests that must not run yet, because one before them blocks or waits for the end of a pause: they are put back
# before the unparsed input, in any form, and run once and in order when the wait ends.

start_server {tags {protocol}} {
    # In every form that a request can have, from the first one and from the middle; the last one is cut off, or
    # breaks the protocol.
    test {any requests behind several blocking ones run in order} {
        set big [string repeat b 40000]
        set forms [list "ECHO inline\r\n" inline [resp::encode [list ECHO array]] array "\r\n\r\n[resp::encode [list ECHO empty]]" empty \
            "*0\r\n[resp::encode [list ECHO none]]" none "ECHO 'two words'\r\n" "two words" [resp::encode [list ECHO $big]] $big]
        for {set i 0} {$i < 60} {incr i} {
            set d [valkey_deferring_client]
            set bytes {}
            set expected {}
            set blocks 0
            for {set j [randomRange 3 40]} {$j} {incr j -1} {
                if {$j % 7 == 3} {
                    append bytes [resp::encode [list BZPOPMIN z 0]]
                    lappend expected [list z m$blocks $blocks]
                    incr blocks
                }
                # The big request is rare: without one, requests are put back as they came.
                set form [randomInt [expr {$i % 2 ? [llength $forms] / 2 : [llength $forms] / 2 - 1}]]
                append bytes [lindex $forms [expr {$form * 2}]]
                lappend expected [lindex $forms [expr {$form * 2 + 1}]]
            }
            set end [randomElement [list "*x\r\n" "*2\r\n\$4\r\nECHO\r\n\$3\r\nen"]]
            set cut [randomInt [string length $bytes]]
            $d write [string range $bytes 0 $cut]
            if {$i % 3} { after 1 }
            $d write "[string range $bytes $cut+1 end]$end"
            for {set j 0} {$j < $blocks} {incr j} { r zadd z $j m$j }
            foreach reply $expected { assert_equal $reply [$d read] "round $i" }
            if {$end eq "*x\r\n"} {
                assert_error "ERR Protocol error: invalid multibulk length" { $d read }
            } else {
                $d write "d\r\n"
                assert_equal end [$d read]
            }
            $d close
            r del z
        }
    }

    test {a pipeline of any form continues after a pause} {
        set d [valkey_deferring_client]
        r set x 0
        r client pause 200 write
        set big [string repeat b 40000]
        $d write "GET x\r\n[resp::encode [list APPEND x 1]]APPEND x 2\r\n[resp::encode [list APPEND x $big]][resp::encode [list STRLEN x]]*x\r\n"
        assert_equal 0 [$d read]
        assert_equal {2 3 40003 40003} [list [$d read] [$d read] [$d read] [$d read]]
        assert_error "ERR Protocol error: invalid multibulk length" { $d read }
        $d close
    }
}
