# How many bytes a key costs: the figures that the design promises (tables included).

start_server {tags {memory external:skip}} {
    # Bytes per key of n keys that `script` makes of ARGV[1] .. ARGV[2].
    proc bytes_per_key {n script} {
        r flushall sync
        r script flush sync
        r eval $script 0 0 -1
        set before [s used_memory]
        for {set at 0} {$at < $n} {incr at 1000} { r eval $script 0 $at [expr {$at + 999}] }
        assert_equal $n [r dbsize]
        return [expr {double([s used_memory] - $before) / $n}]
    }

    if {![string match jemalloc* [s mem_allocator]]} { return }

    test {strings: 16 bytes of key, 10 of value} {
        assert_range [bytes_per_key 200000 {
            for i = ARGV[1], ARGV[2] do redis.call('set', string.format('key:%012d', i), '0123456789') end
        }] 32 66
    } {} {slow}

    test {strings with an expiry} {
        assert_range [bytes_per_key 100000 {
            for i = ARGV[1], ARGV[2] do redis.call('set', string.format('key:%012d', i), '0123456789', 'ex', 1000) end
        }] 40 90
    }

    test {lists of five short elements} {
        assert_range [bytes_per_key 100000 {
            for i = ARGV[1], ARGV[2] do
                redis.call('rpush', string.format('key:%012d', i), '0123456789', '0123456789', '0123456789', '0123456789', '0123456789')
            end
        }] 80 130
    }

    foreach {size least} {32 0.35 64 0.45 128 0.6 1024 0.75 16384 0.78} {
        test "values of $size bytes are at least $least of the memory" {
            set n [expr {min(50000, 20000000 / $size / 1000 * 1000)}]
            set per_key [bytes_per_key $n "
                for i = ARGV\[1\], ARGV\[2\] do redis.call('set', string.format('key:%012d', i), string.rep('x', $size)) end
            "]
            assert_morethan [expr {$size / $per_key}] $least
        }
    }
}
