# Helpers for tests of repl-compression. Source it where it is needed.
source [file join [file dirname [info script]] full_sync_util.tcl]
source [file join [file dirname [info script]] link_util.tcl]

# What precedes a frame: the codec (1 lz4, 2 zstd) and the kind (1 RDB, 2 stream).
proc envelope {codec kind} { return [binary format a3cccc VCS 1 $codec 0 $kind] }
proc starts_with {expected bytes} { return [expr {[string range $bytes 0 [string length $expected]-1] eq $expected}] }

proc stream_codec {name} {
    if {![regexp {repl_compression=([a-z0-9]+),repl_compressed_bytes=(\d+),repl_uncompressed_bytes=(\d+)} [s [at $name] slave0] - codec ::packed ::unpacked]} { return plain }
    return $codec
}
proc write_some {name {count 2000}} {
    for {set i 0} {$i < $count} {incr i} { r [at $name] set key:$i "value-of-key-$i-[string repeat z 50]" }
}
proc digest {name} { return [r [at $name] debug digest] }
proc assert_equal_data {a b} {
    wait_for_condition 400 50 {[digest $a] eq [digest $b]} else { fail "the data of $a and $b differ" }
    wait_for_offset_of $a $b
}
proc wait_for_offset_of {a b} {
    wait_for_condition 400 50 {[s [at $a] master_repl_offset] == [s [at $b] master_repl_offset]} else { fail "offsets differ" }
}
proc follow_from {name of} {
    r [at $name] replicaof 127.0.0.1 [srv [at $of] port]
    wait_for_condition 400 50 {[s [at $name] master_link_status] eq "up"} else { fail "the link of $name is not up" }
}

set common {save {} repl-diskless-sync-delay 0 enable-debug-command yes rdbcompression yes repl-compression no}
