# A value that a client sets never becomes a line of its own in a file that the next start reads: every directive that
# CONFIG GET shows is set to values with newlines, quotes and control bytes; an accepted value must be the same after
# CONFIG REWRITE and a restart, byte for byte. ACL files have their own such test in unit/acl/files, Sentinel's in
# unit/sentinel/set.
source $::support/module.tcl

set hostile [list "x\nenable-debug-command local" "x\r\nenable-debug-command local\r\n" {x"y} {x'y\z} "\"x\\" " x\ty " \
    "#x\x01\x7f\x1b\v\f" "x\u00e9\u20ac" "x\x00y"]

# Values of one word are tried in the place of a word of these, too.
set forms {bind {127.0.0.1 -%} metrics-bind {127.0.0.1 %} save {900 1 %} client-output-buffer-limit {normal 0 0 %} latency-tracking-info-percentiles {50 %}
    proc-title-template {{title} %} shutdown-on-sigint {nosave %}}

proc directives {} { return [lsort [dict keys [r config get *]]] }

# Values as they are set, and read. Passwords keep this connection.
proc values_now {} { return [lsort -stride 2 [r config get *]] }

# Sets each directive to that text, in each of its forms; how many took it.
proc set_everywhere {text} {
    set taken 0
    foreach name [directives] {
        # The first would close the connections of the test; an empty one is not a value.
        if {$name in {port tls-port maxclients}} continue
        set values [list $text]
        if {[dict exists $::forms $name]} { lappend values [string map [list % $text] [dict get $::forms $name]] }
        foreach value $values {
            if {![catch {r config set $name $value}]} { incr taken }
        }
    }
    return $taken
}

# Bytes that no line of a file contains, and injected lines.
proc assert_clean_lines {path} {
    set f [open $path rb]
    set text [read $f]
    close $f
    assert {![regexp {[\x00-\x09\x0b-\x1f\x7f]} $text]}
    foreach line [split $text \n] { assert_no_match "enable-debug-command local*" $line }
    return $text
}

# A node of a cluster, so that its announced values are in nodes.conf too.
start_server [list overrides [list enable-debug-command no enable-protected-configs yes cluster-enabled yes] tags {introspection external:skip}] {
    foreach text $hostile {
        test "CONFIG REWRITE of directives that are all [string map [list \n \\n \r \\r \t \\t \x01 ^A \x7f ^? \x1b ^\[ \x00 ^@ \v ^K \f ^L] $text]" {
            assert_morethan [set_everywhere $text] 10
            set before [values_now]
            assert_equal OK [r config rewrite]
            assert_clean_lines [srv dir]/server.conf
            assert_clean_lines [srv dir]/nodes.conf
            set password [dict get $before requirepass]
            restart_server
            r auth $password
            foreach {name value} $before { assert_equal $value [dict get [r config get *] $name] $name }
        }
    }
}

start_server {overrides {enable-protected-configs yes} tags {introspection external:skip}} {
    test {CONFIG REWRITE keeps the name of a primary that does not resolve} {
        foreach text $hostile {
            if {[string match *\x00* $text]} continue ;# a name ends there
            r replicaof $text 1
            set before [config_get replicaof]
            r config rewrite
            assert_clean_lines [srv dir]/server.conf
            restart_server
            assert_equal $before [config_get replicaof]
        }
        r replicaof no one
    }

    test {CONFIG REWRITE keeps names of folders and files with newlines and quotes} {
        set folder "[srv dir]/a\n\"b' c"
        file mkdir $folder
        r config set dir $folder dbfilename "\n\"x'.rdb"
        r set k v
        r save
        set before [list [config_get dir] [config_get dbfilename]]
        r config rewrite
        assert_clean_lines [srv dir]/server.conf
        restart_server
        assert_equal $before [list [config_get dir] [config_get dbfilename]]
        assert_equal v [r get k]
    }

    test {a value with a NUL in it is refused} {
        foreach name {cluster-announce-ip cluster-announce-hostname dbfilename} {
            catch { r config set $name "a\x00b" } said
            assert_match "ERR CONFIG SET failed (possibly related to argument '$name') - *" $said
        }
    }
}

start_server {overrides {enable-module-command yes} tags {introspection modules external:skip}} {
    test {CONFIG REWRITE of a module's path and arguments} {
        set so "$::work_dir/a \"mod\nule'.so"
        file copy -force [module_so hello] $so
        assert_equal OK [r module load $so {*}$hostile]
        set before [lsort [r module list]]
        r config rewrite
        assert_clean_lines [srv dir]/server.conf
        restart_server
        assert_equal $before [lsort [r module list]]
    }
}
