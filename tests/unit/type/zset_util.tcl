# Procedures for the files zset*.tcl, which source this one. It has no tests of its own.

proc fill {key args} {
    r del $key
    r zadd $key {*}$args
}

set letters {1 a 2 b 3 c 4 d 5 e}

# A list of pairs sorted by score and member, as a flat list.
proc by_score {pairs} { return [lsort -stride 2 -real -index 1 [lsort -stride 2 $pairs]] }

# The encoding of sets that are too large for a listpack. A server without the directive has only one.
proc zset_big_encoding {} {
    set index [config_get zset-index]
    return [expr {$index eq {} ? "skiplist" : $index}]
}
# The tests call it "large".
proc zset_encoding {name} { return [expr {$name eq "large" ? [zset_big_encoding] : $name}] }
