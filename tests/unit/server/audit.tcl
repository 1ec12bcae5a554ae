# The log for machines (log-format json), and the log of changes.
source [file join [file dirname [info script]] server_util.tcl]

# The text of one JSON string, as a parser would read it; errors when `line` is not an object of the log.
proc json_message {line} {
    set text {(?:[^"\\\x00-\x1f]|\\["\\bfnrt]|\\u[0-9a-f]{4})*}
    set format "^\\{\"pid\":\\d+,\"role\":\"\\w+\"(?:,\"timestamp\":\"\[^\"\]+\")?,\"level\":\"\\w+\",\"message\":\"($text)\"\\}\$"
    if {![regexp $format $line -> message]} { error "not an object of JSON: $line" }
    return $message
}

proc json_log {} {
    return [lmap line [lrange [log_lines] 0 end-1] { json_message $line }]
}

# The last line about a change, without the client that made it.
proc last_change {{level 0}} {
    set line [lindex [lsearch -all -inline [log_lines $level] "* (by id=*"] end]
    if {![regexp {^\d+:\w .{24} \* (.*) \(by id=(\d+) addr=127\.0\.0\.1:\d+ laddr=127\.0\.0\.1:\d+ user=(\S+)\)$} $line -> what id user]} {
        return "nothing: $line"
    }
    return [list $what $id $user]
}

tags {external:skip} {
    test {log-format json: every line is an object, whatever its text} {
        start_server {overrides {log-format json always-show-logo yes}} {
            foreach {said logged} [list \
                "plain" plain "a\"b\\c" {a\"b\\c} "\x01\x1f\x7f" "\\u0001\\u001f\x7f" "\b\f\n\r\t" {\b\f\n\r\t} \
                "gr\u00fc\u00df \u20ac \U1F600" "gr\u00fc\u00df \u20ac \U1F600" \
            ] {
                r debug log [encoding convertto utf-8 $said]
                assert_equal "DEBUG LOG: [encoding convertto utf-8 $logged]" [json_message [lindex [split [read_file [srv log]] \n] end-1]]
            }
            foreach bytes {ff c080 e282 eda080 f4908080 80 e0808080} {
                r debug log [binary format H* $bytes]
                set line [json_message [lindex [log_lines] end-1]]
                assert_equal "DEBUG LOG: [regsub -all {..} $bytes {\\\\x&}]" $line
            }
            r debug log [string repeat "\n" 3000]
            assert_equal 3000 [regexp -all {\\n} [lindex [json_log] end]]
            assert_match "*Running in standalone mode*" [json_log]
        }
    }

    test {log-format json: the crash report, too, from threads and signal handlers} {
        start_server {crash 1 overrides {log-format json io-threads 2 io-threads-always-active yes}} {
            catch { r debug segfault }
            wait_for_exit [srv dir]
            assert_in_order [join [json_log] \n] {"crashed by signal: 11" "STACK TRACE" "debugSegfault" "expected stacktraces" "INFO OUTPUT" "BUG REPORT END"}
        }
        start_server {overrides {log-format json watchdog-period 50}} {
            r debug sleep 0.6
            wait_for_log "commandRun" ;# the stack follows the first line
            assert_in_order [join [json_log] \n] {"WATCHDOG TIMER EXPIRED" "commandRun"}
        }
    }

    test {CONFIG SET: the log has the client, the directive, the old and the new value} {
        start_server {overrides {maxmemory 0}} {
            set id [r client id]
            config_set maxmemory 100mb
            assert_equal [list {CONFIG SET maxmemory: "0" -> "104857600"} $id default] [last_change]
            config_set maxmemory 104857600
            assert_equal 1 [count_log_message " (by id="] "the same value is no change"
            assert_error "*maxmemory*" { r config set maxmemory nonsense }
            assert_error "*maxmemory*" { r config set hz 20 maxmemory nonsense }
            assert_equal 1 [count_log_message " (by id="] "nor is one that is refused"
            r config set hz 20 timeout 0 maxmemory-policy allkeys-lru
            assert_equal 3 [count_log_message " (by id="]
            r config set slave-read-only no
            assert_equal [list {CONFIG SET replica-read-only: "yes" -> "no"} $id default] [last_change] "by its own name"
        }
    }

    test {CONFIG SET in the log: no secrets, no injected lines, limited length} {
        start_server {} {
            foreach {name value} {requirepass secret-1 primaryauth secret-2 tls-key-file-pass secret-3} { config_set $name $value }
            assert_equal 3 [count_log_message "(redacted) -> (redacted) (by id="]
            assert_no_match "*secret-*" [read_file [srv log]]
            config_set proc-title-template "a\n1:M 01 Jan 2030 00:00:00.000 * forged"
            assert_match "*\\\\n1:M 01 Jan*" [lindex [last_change] 0]
            config_set proc-title-template [string repeat x 2000]
            assert_range [string length [last_change]] 300 600
            config_set requirepass ""
        }
    }

    test {the user is named, even where users' data is hidden} {
        start_server {} {
            r acl setuser admin on nopass +@all allkeys
            r auth admin ""
            r client setname mine
            config_set hide-user-data-from-log yes
            config_set hz 30
            assert_equal [list {CONFIG SET hz: "10" -> "30"} [r client id] admin] [last_change]
            assert_no_match "*mine*" [last_change]
        }
    }

    test {ACL: the log has the client and the change, without passwords} {
        set file [file join $::work_dir audit.acl]
        write_file $file "user default on nopass ~* &* +@all\n"
        start_server [list overrides [list aclfile $file]] {
            set id [r client id]
            set hash [string repeat 0a 32]
            r acl setuser bob on >secret-1 #$hash ~app:* "(+get %R~b)" +@read
            assert_equal [list "ACL SETUSER bob on >(redacted) #(redacted) ~app:* (+get %R~b) +@read" $id default] [last_change]
            r acl setuser bob <secret-1 !$hash
            assert_equal [list "ACL SETUSER bob <(redacted) !(redacted)" $id default] [last_change]
            r acl setuser "b\x01b" on nopass +@all ~*
            assert_equal [list {ACL SETUSER b\x01b on nopass +@all ~*} $id default] [last_change]
            assert_error "*modifier*" { r acl setuser bob nonsense }
            assert_equal 3 [count_log_message " (by id="] "what is refused changes nothing"
            r acl save
            assert_equal [list "ACL SAVE" $id default] [last_change]
            r acl load
            assert_equal [list "ACL LOAD" $id default] [last_change]
            assert_equal 0 [r acl deluser nobody]
            assert_equal [list "ACL LOAD" $id default] [last_change]
            assert_equal 1 [r acl deluser bob nobody]
            assert_equal [list "ACL DELUSER bob" $id default] [last_change]
            r acl setrole reader ~app:* "(+get %R~b)" +@read
            assert_equal [list "ACL SETROLE reader ~app:* (+get %R~b) +@read" $id default] [last_change]
            assert_error "*modifier*" { r acl setrole reader >secret-2 }
            assert_equal 1 [r acl delrole nobody reader]
            assert_equal [list "ACL DELROLE reader" $id default] [last_change]
            assert_no_match "*secret-*" [read_file [srv log]]
            assert_no_match "*$hash*" [read_file [srv log]]
        }
    }

    test {the log names a user that deletes itself} {
        set file [file join $::work_dir audit2.acl]
        write_file $file "user default on nopass ~* &* +@all\n"
        start_server [list overrides [list aclfile $file]] {
            r acl save
            foreach command {{acl deluser brief} {acl load}} {
                r acl setuser brief on nopass +@all ~*
                set c [valkey_client]
                $c auth brief ""
                set id [$c client id]
                assert_match {[1O]*} [$c {*}$command]
                assert_equal brief [lindex [last_change] 2] $command
                assert_equal $id [lindex [last_change] 1]
                $c close
            }
        }
    }
}
