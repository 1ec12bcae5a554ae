# Helpers that the tests of the append-only file share.

# Protocol text of commands.
proc aof_text {args} {
    set text {}
    foreach command $args {
        append text "*[llength $command]\r\n"
        foreach word $command { append text "\$[string length $word]\r\n$word\r\n" }
    }
    return $text
}

proc aof_manifest {} { return [read_file [config_get dir]/appendonlydir/appendonly.aof.manifest] }

# Types of the files in use: {b i}.
proc aof_state_files {} {
    if {[catch aof_manifest text]} { return {} }
    return [lmap {- type} [regexp -all -inline -line {type (\w)$} $text] { set type }]
}

# Commands of the base or of the last increment.
proc aof_path {kind} {
    set name {}
    foreach line [split [aof_manifest] \n] {
        if {[lindex $line 5] eq [string index $kind 0]} { set name [lindex $line 1] }
    }
    return [config_get dir]/appendonlydir/$name
}

# The commands of the last increment, as lists.
proc aof_commands {{path {}}} {
    if {$path eq {}} { set path [aof_path incr] }
    set text [read_file $path]
    set commands {}
    set at 0
    while {$at < [string length $text]} {
        set end [string first \r\n $text $at]
        set argc [string range $text $at+1 $end-1]
        set at [expr {$end + 2}]
        set command {}
        for {set i 0} {$i < $argc} {incr i} {
            set end [string first \r\n $text $at]
            set len [string range $text $at+1 $end-1]
            lappend command [string range $text $end+2 [expr {$end + 1 + $len}]]
            set at [expr {$end + 4 + $len}]
        }
        lappend commands $command
    }
    return $commands
}

proc aof_wait_rewrite {} {
    wait_for_condition 400 50 {![s aof_rewrite_in_progress] && ![s aof_rewrite_scheduled]} else {
        fail "the rewrite does not end"
    }
}

# Some of everything.
proc aof_fill {} {
    r set string value
    r set number 12345
    r set volatile x ex 10000
    r set long [string repeat abc 10000]
    for {set i 0} {$i < 300} {incr i} {
        r rpush list $i
        r sadd set member:$i
        r sadd ints $i
        r zadd zset $i.5 member:$i
        r hset hash field:$i value:$i
        r xadd stream [expr {$i + 1}]-0 field $i
    }
    r zadd small 1 a 2 b
    r hset few a 1 b 2
    r hset expiring a 1 b 2
    r hpexpire expiring 1000000 FIELDS 1 a
    r xgroup create stream group 0
    r xreadgroup group group alice count 10 streams stream >
    r xack stream group 1-0
    r xadd emptied 1-0 a b
    r xdel emptied 1-0
    r select 3
    r set elsewhere 1
    r select 0
}

# Files of a server that does not run yet: name, text, ...
proc aof_put_files {dir files} {
    foreach {name text} $files {
        file mkdir [file dirname $dir/$name]
        set f [open $dir/$name wb]
        puts -nonewline $f $text
        close $f
    }
}

proc aof_one_file {text} {
    return [list appendonlydir/appendonly.aof.1.incr.aof $text \
                appendonlydir/appendonly.aof.manifest "file appendonly.aof.1.incr.aof seq 1 type i\n"]
}

# A server that finds these files when it starts.
proc aof_with_files {files overrides body} {
    set dir $::work_dir/files.[incr ::server_count]
    aof_put_files $dir $files
    uplevel 1 [list start_server [list overrides [concat [list appendonly yes dir $dir] $overrides]] $body]
}

# The server does not start, logs why, and does not change the files.
proc aof_refused {files overrides pattern} {
    set dir $::work_dir/files.[incr ::server_count]
    aof_put_files $dir $files
    set args {}
    foreach {key value} $overrides { lappend args --$key $value }
    lassign [run_to_end_quietly --port [free_port] --bind 127.0.0.1 --appendonly yes --dir $dir {*}$args] code output
    assert_equal 1 $code
    assert_match $pattern $output
    foreach {name text} $files { assert_equal $text [read_file $dir/$name] }
}

proc run_to_end_quietly {args} {
    set code 0
    if {[catch {exec timeout 60 $::options(server) {*}$args </dev/null 2>@1} output how]} {
        set code [lindex [dict get $how -errorcode] 2]
    }
    return [list $code $output]
}
