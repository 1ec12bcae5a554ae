# Procedures for the files stream*.tcl, which source this one. It has no tests of its own.

# Entries 1-0 to n-0 with one field.
proc fill_stream {key n} {
    r del $key
    for {set i 1} {$i <= $n} {incr i} { r xadd $key $i-0 n $i }
}

proc ids {entries} { lmap e $entries { lindex $e 0 } }

# The IDs that fill_stream gives.
proc ids_between {from to} { lmap i [numbers $from $to] { string cat $i -0 } }
