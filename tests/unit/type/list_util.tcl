# Procedures for the files list*.tcl, which source this one. It has no tests of its own.

# The list at key is made of these elements.
proc fill {key args} {
    r del $key
    if {[llength $args]} { r rpush $key {*}$args }
}

proc all {key} { return [r lrange $key 0 -1] }

# Limits under which the lists of these tests are one listpack; many nodes; many nodes, most of them compressed.
set forms {
    listpack {list-max-listpack-size -2}
    quicklist {list-max-listpack-size 2}
    compressed {list-max-listpack-size 3 list-compress-depth 1}
}
