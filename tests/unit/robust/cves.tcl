# Published vulnerabilities of Redis, Valkey, and the libraries that their scripts use: one test each, or the reason why
# there is none. The class of the fault is cited; the attack is ours.
#
# Lua 5.1
#   CVE-2025-49844, use after free   the compiler does not hold its chunk's name when that has a NUL: "chunk names"
#   CVE-2025-46819, long brackets    2^31 '=' in a row overflow a count: "the compiler takes no chunk of ..."
#   CVE-2025-46818, other users      metatables of basic types are read-only: scripting_sandbox.tcl, "shared tables" here
#   CVE-2025-46817, unpack           the number of results overflows an int: "unpack" here
#   CVE-2022-0543, packages of Linux a sandbox with `package` left in it: globals are chosen by name (scripting_sandbox.tcl)
#   CVE-2020-14147, CVE-2015-8080    getnum() of struct overflows: scripting_libs.tcl; our struct reads sizes up to INT_MAX
#   CVE-2015-4335, bytecode          nothing but text is compiled: scripting_sandbox.tcl, "bytecode" here
#   CVE-2014-5461, varargs           fixed in 5.1.5-9, with which we link: "many arguments" here
#   CVE-2021-43519, -44647, -44964,  of Lua 5.4 (coroutines, the collector), or of the lua program
#   CVE-2022-28805, -33099
#   deep patterns                    the matcher calls itself per item (CVE-less; 9.1.2 overflows its stack): "patterns"
#   table.insert far below 1, string.format's widths, xpcall's handler while killed: scripting_sandbox.tcl, scripting_busy.tcl
# cjson
#   CVE-2022-24834, encode           sizes overflow an int: "cjson.encode"; decode is limited likewise
# cmsgpack, struct, bit
#   CVE-2018-11218, CVE-2018-11219   our own (lua_cmsgpack.c, lua_struct.c), checked in scripting_libs.tcl; "nesting" here
#   CVE-2024-31449, bit.tohex        INT_MIN digits: our own tohex, "bit.tohex" here
# liblzf
#   lengths that lie                 what is unpacked goes into a buffer of the announced size, which the packed size
#                                    bounds (data/rdb/rdb.c); rdb_hooks_test.c and the fuzzers break them in every place
# Before authentication
#   CVE-2025-21605, output           "output before AUTH"
#   CVE-2021-32675, requests        10 arguments of 16 KiB: protocol.tcl, malformed.py
#   CVE-2025-48367, bad requests     errors of the protocol close only the sender's connection: malformed.py
#   CVE-2016-10517, cross-protocol   POST and Host: end the connection: protocol.tcl
# Values from outside: RESTORE, files
#   CVE-2021-32761, CVE-2021-41099,  lengths of 32 bit: sizes are size_t, and what is announced must be there
#   -32626 .. -32628, -32687, -32765 (hiredis' array sizes: resp_reply.c bounds what is announced by what came)
#   CVE-2026: zipmap, stream         "RESTORE refuses": lengths in two forms, an entry pending for two consumers
#   CVE-2025-32023, HyperLogLog      sparse runs that count past 16384 registers: "a HyperLogLog" here, hyperloglog_test.c
#   CVE-2022-35951, XAUTOCLAIM       COUNT overflows: "counts" here
#   CVE-2022-36021, KEYS patterns    many stars: "a pattern of many stars" here
#   CVE-2024-31228, nested patterns  the same, by recursion: "a long pattern" here
# Numbers in arguments
#   CVE-2022-35977 (SETRANGE, SORT), CVE-2023-25155 (SRANDMEMBER), CVE-2023-22458 (HRANDFIELD, ZRANDMEMBER),
#   CVE-2021-29477, -29478 (LCS, intsets), CVE-2021-21309 (proto-max-bulk-len), CVE-2023-28856 (HINCRBYFLOAT's result
#   that is no number), CVE-2022-24735, -24736 (scripts that change other scripts' functions): "counts", "HINCRBYFLOAT"
#   CVE-2023-36824 (COMMAND GETKEYS), CVE-2023-41053 (SORT_RO under ACL), CVE-2024-51741 (selectors): acl/*.tcl, and
#   "COMMAND GETKEYS" here
#   CVE-2023-28425 (MSETNX of one key twice), CVE-2021-3470 (allocator without sizes), CVE-2023-41056 (buffers that
#   grow to exactly their limit): "MSETNX"; the others: sizes are asked of jemalloc, and sds_test.c grows to every size
# The environment
#   CVE-2023-45145, the unix socket  has its mode before any client can connect: chmod runs before listen (net/connection.c)
#   CVE-2024-46981, FLUSH and the    flushing scripts while one runs is refused, and the old interpreter is freed when
#   collector                        nothing runs: scripting.tcl, "flushing" here
#   CVE-2022-3734, -3647, CVE-2020-21468, CVE-2022-31144 (Windows, LOLWUT of a debug build, 7.0 before release): other code
#   cluster bus, replication, Sentinel: not in this server yet

source [file join [file dirname [info script]] .. .. support dump.tcl]

start_server {tags {robust scripting external:skip}} {
    test {chunk names with a NUL do not crash the compiler} {
        r eval {
            local n = 0
            local f = load(function()
                n = n + 1
                collectgarbage()
                for i = 1, 50 do local s = string.rep('x', 8) .. i end
                return n == 1 and 'return ' or n < 500 and '1+' or n == 500 and '1' or nil
            end, '@na\0me')
            assert(f() == 499)
            local _, e = load(function() collectgarbage() return n == 501 and error('x', 0) or nil end, 'a\0b')
            local ok, e = loadstring('x x', '@na\0me')
            assert(e == "na:1: '=' expected near 'x'", e)
        } 0
    }

    test {the compiler takes no chunk of more than half a gigabyte} {
        assert_match {*chunk has too many bytes} [r eval {
            local piece, first = string.rep('=', 2 ^ 20), true
            local _, e = load(function() if first then first = false return '[' end return piece end)
            return e
        } 0]
    } {} {slow}

    test {bytecode is not run, whatever stands before it} {
        foreach code {{loadstring(string.dump(function() end))} {load(function() return string.dump(function() end) end)}
            {loadstring('\27Lua')}} {
            assert_match {*unexpected symbol*} [r eval "local f, e = $code return e" 0]
        }
    }

    test {unpack of the widest ranges is an error} {
        foreach range {{1, 8000} {0, 2147483647} {-2147483648, 2147483647} {-2147483648, -1} {1, 1e9} {2147483647, 2147483648}} {
            catch { r eval "return select('#', unpack({}, $range))" 0 } result
            assert {$result eq {ERR user_script:1: too many results to unpack script: on @user_script:1.} || $result in {0 1}}
        }
        assert_equal 0 [r eval {return select('#', unpack({}, 2147483647, -2147483648))} 0]
    }

    test {many arguments and results} {
        assert_equal 200 [r eval {local function f(...) return select('#', ...) end return f(unpack({}, 1, 200))} 0]
        assert_error {*stack overflow*} { r eval {local function f(...) return f(...) + 1 end return f(unpack({}, 1, 20))} 0 }
    }

    test {patterns that would overflow the stack are refused} {
        foreach call {{string.find('a', p)} {string.match('a', p)} {string.gsub('a', p, '')} {string.gmatch('a', p)} {string.gfind('a', p)}
            {('a'):find(p)} {string.find('a', p, 1, false)}} {
            foreach item {a? a* a+ a-} {
                assert_error {ERR user_script:1: pattern too complex*} { r eval "local p = string.rep('$item', 1e5) return $call" 0 }
            }
        }
        assert_equal {1 5000} [r eval {return {string.find(string.rep('a', 1e4), string.rep('a?', 5000))}} 0]
        assert_equal {2 100001} [r eval {local p = string.rep('-', 1e5) return {string.find('+' .. p, p, 1, true)}} 0]
        assert_equal {1 2} [r eval {return {string.gsub(string.rep('ab', 1), '(a)(b)', '%2%1') == 'ba' and 1, 2}} 0]
    }

    test {cjson.encode of a value that may become too large is an error} {
        assert_equal {1 1 1 20000002} [r eval {
            local long, shorter = string.rep(string.rep('x', 1e6), 180), string.rep(string.rep('x', 1e6), 20)
            local function refused(encode, value)
                local ok, e = pcall(encode, value)
                return not ok and e:find('Cannot serialise, the result may be larger than', 1, true)
            end
            return {refused(cjson.encode, long), refused(cjson.encode, {[long] = 1}), refused(cjson.new().encode, {{long}}), #cjson.encode(shorter)}
        } 0]
        r eval {collectgarbage()} 0
    } {} {slow}

    test {cjson.encode of few tables with a huge text is an error} {
        assert_match {*may be larger*} [r eval {local t = {string.rep('x', 2 ^ 20)} for i = 1, 20 do t = {t, t} end local _, e = pcall(cjson.encode, t) return e} 0]
        assert_match {*may be larger*} [r eval {
            cjson.encode_sparse_array(false, 0, 0)
            local _, e = pcall(cjson.encode, {[2 ^ 29] = 1})
            cjson.encode_sparse_array(false, 2, 10)
            return e
        } 0]
        assert_equal {Cannot serialise table: excessively sparse array} [r eval {local _, e = pcall(cjson.encode, {[2 ^ 29] = 1}) return e} 0]
        assert_equal {{"536870912":1}} [r eval {cjson.encode_sparse_array(true) local s = cjson.encode({[2 ^ 29] = 1}) cjson.encode_sparse_array(false) return s} 0]
    }

    test {cjson: the depth is limited, whatever the setting} {
        foreach {what call} {encode {local t = {} for i = 1, 1e5 do t = {t} end local _, e = pcall(cjson.encode, t)}
            decode {local _, e = pcall(cjson.decode, string.rep('[', 1e6))}} {
            assert_match {*nest*} [r eval "cjson.${what}_max_depth(1e8) $call cjson.${what}_max_depth(1000) return e" 0]
        }
    }

    test {cmsgpack: the nesting is limited} {
        assert_error {*nested too deeply*} { r eval {return cmsgpack.unpack(string.rep('\145', 1e6))} 0 }
        r eval {local t = {} for i = 1, 1e5 do t = {t} end return #cmsgpack.pack(t)} 0
    }

    test {bit.tohex takes any number of digits} {
        foreach {digits hex} {-2147483648 0000FFFF 2147483647 0000ffff -1e300 0000FFFF 4 ffff -4 FFFF 0 {}} {
            assert_equal $hex [r eval "return bit.tohex(65535, $digits)" 0]
        }
    }

    test {shared tables are read-only} {
        foreach code {
            {getmetatable('').__index = {}} {getmetatable('').__index.len = 1} {getmetatable('').__gc = 1} {string.len = 1} {redis.call = 1}
            {rawset(string, 'len', 1)} {setmetatable(string, {})} {setmetatable(_G, {})} {getmetatable(_G).__index = 1} {_G.x = 1}
            {cjson.encode = 1} {cmsgpack.pack = 1} {table.insert(string, 1)} {coroutine.wrap = 1} {math.pi = 3} {redis.x = 1}
        } {
            assert_error {*readonly table*} { r eval $code 0 }
        }
        foreach value {nil 1 true {function() end} {coroutine.create(function() end)} cjson.null} {
            assert_equal {} [r eval "return getmetatable($value)" 0]
            assert_error {*bad argument*} { r eval "return setmetatable($value, {})" 0 }
        }
    }

    test {flushing from within is refused} {
        foreach command {{'script', 'flush'} {'function', 'flush'} {'flushall', 'x', 'y'}} {
            catch { r eval "return redis.call($command)" 0 } error
            assert_match {ERR *} $error
        }
    }
}

start_server {tags {robust external:skip}} {
    test {a HyperLogLog with runs past its last register is refused} {
        r pfadd hll a b c
        set good [r get hll]
        foreach {at bytes} {16 \x7f\xff\x7f\xff\x7f\xff 16 \xff\xff\xff\xff 15 \x00\x7f\xff\x7f\xff\x7f\xff 16 \x3f\x3f\x3f} {
            r set bad [string replace $good $at [expr {$at + [string length $bytes] - 1}] $bytes]
            foreach command {{pfcount bad} {pfadd bad x y z} {pfmerge other bad} {pfdebug getreg bad} {pfcount bad hll}} {
                catch { r {*}$command }
            }
            assert_error {INVALIDOBJ *} { r pfcount bad hll }
        }
        assert_equal 3 [r pfcount hll]
    }

    test {counts at the limits of their range} {
        r sadd s a b c
        r hset h a 1 b 2
        r zadd z 1 a 2 b
        r rpush l 3 1 2
        r set t text
        r xadd x 1-1 f v
        r xgroup create x g 0
        set least -9223372036854775808
        set most 9223372036854775807
        # (Numbers in between would request billions of members.)
        foreach command {{srandmember s N} {hrandfield h N} {hrandfield h N withvalues} {zrandmember z N} {zrandmember z N withscores}} {
            assert_error "ERR value is out of range*" { r {*}[string map [list N $least] $command] }
        }
        foreach command {
            {spop nokey N} {sort l limit N N} {sort l limit 1 N} {sort l limit N 1} {xautoclaim x g c 0 0 count N} {xrange x - + count N}
            {xread count N streams x 0} {xpending x g - + N} {setrange t N x} {getrange t N N} {setbit t N 1} {bitcount t N N} {bitpos t 1 N N}
            {bitfield t set u8 N 1} {bitfield t set u8 #N 1} {bitfield t incrby i64 0 N} {lpos l 1 rank N} {lpos l 1 count N maxlen N} {ltrim nokey N N}
            {lrange l N N} {lindex l N} {linsert l before x y} {lrem l N x} {zrange z N N} {zrangebyscore z -inf +inf limit N N} {zrevrange z N N}
            {zunionstore d N z} {zunion N z} {zdiff N z} {sintercard N s} {sintercard 1 s limit N} {sunioncard N s} {sdiffcard N s} {sunioncard 1 s limit N} {sdiffcard 1 s limit N} {lmovem nokey l left left count N bulk} {zintercard 1 z limit N} {lmpop N l left} {zmpop N z min}
            {lmpop 1 nokey left count N} {zpopmin nokey N} {lpop nokey N} {eval {return 1} N} {lcs t t minmatchlen N idx} {xtrim x maxlen N}
            {geosearch z fromlonlat 0 0 byradius 1 m count N} {scan N} {scan 0 count N} {hscan h N} {sscan s 0 count N} {expire t N nx} {psetex t2 N x}
            {copy s s2 db N} {object freq nokey} {getex t2 px N} {hexpire h N fields 1 nofield} {hexpire h 1 fields N a} {mset a 1} {substr t N N}
            {incrby n N} {decrby n N} {hincrby hh f N} {client kill id N} {slowlog get N} {xsetid x 9-9 entriesadded N} {xclaim x g c N 1-1}
        } {
            foreach n [list $least $most -2147483648 2147483647 4294967296 -9223372036854775809 -1 0] {
                catch { r {*}[string map [list N $n] $command] } reply
                assert_equal PONG [r ping] "$command with $n"
            }
        }
    }

    test {the results of HINCRBYFLOAT and INCRBYFLOAT are finite numbers} {
        foreach big {1e4931 1.7e308 inf nan} {
            catch { r hincrbyfloat hf f $big }
            catch { r hincrbyfloat hf f $big }
            catch { r incrbyfloat if $big }
        }
        r hincrbyfloat hf f 1
        assert {[string is double [r hget hf f]]}
    }

    test {a pattern of many stars does not block the server} {
        r set [string repeat a 64] 1
        r set [string repeat a 4000] 1
        set start [clock milliseconds]
        foreach pattern [list [string repeat a* 64]b [string repeat *?a 100]b [string repeat * 10000]b [string repeat *a 2000]b] {
            assert_equal {} [r keys $pattern]
            assert_equal {0 {}} [r scan 0 match $pattern count 1000]
        }
        assert_lessthan [expr {[clock milliseconds] - $start}] 10000
    }

    test {a long pattern does not overflow the stack} {
        foreach piece {* ? a \[a-z\] \[ \\ \[^ *?} { r keys [string repeat $piece 200000] }
        r psubscribe [string repeat *? 100000]
        r punsubscribe
    }

    test {COMMAND GETKEYS of commands with wrong key counts} {
        foreach command {{eval x 5 a} {eval x -1 a} {eval x 9999999999 a} {zunionstore d 99 a} {xread streams} {sort a store} {migrate h p {} 0 1 keys}
            {fcall f 2147483647 k} {lmpop 4294967297 a left} {georadius k 1 1 1 m store} {xreadgroup group g c streams}} {
            catch { r command getkeys {*}$command } reply
            catch { r command getkeysandflags {*}$command }
            assert_equal PONG [r ping]
        }
    }

    test {MSETNX of one key twice} {
        r del k
        assert_equal 1 [r msetnx k 1 k 2]
        assert_equal 2 [r get k]
    }

    # A stream of two entries; its group has two consumers, and each has read one.
    set stream_head 1501100000000000000001000000000000000128280000000f00020100010101816602000102010001000181760204010201010100018176020401ff020201010100000201016702010202000000000000000100000000000000018886a401a201000001000000000000000200000000000000018886a401a201000001
    set stream_a 0201618886a401a20100008886a401a2010000
    set stream_b_name 01628886a401a20100008886a401a2010000
    proc restored {hex} {
        r del restored
        return [catch { r restore restored 0 [dump_seal [binary format H* $hex] 11] }]
    }

    test {RESTORE refuses entries that are pending for two consumers, or for none} {
        set first 00000000000000010000000000000001
        set second 00000000000000020000000000000001
        assert_equal 0 [restored $stream_head${stream_a}01$first${stream_b_name}01$second]
        assert_equal 1 [restored $stream_head${stream_a}01$first${stream_b_name}01$first]
        assert_equal 1 [restored $stream_head${stream_a}01$first${stream_b_name}02$second$first]
        assert_equal 1 [restored $stream_head${stream_a}01$first${stream_b_name}00]
        assert_equal 1 [restored $stream_head${stream_a}01$second${stream_b_name}01$second]
    }

    test {RESTORE refuses zipmaps with lengths in a non-canonical form} {
        foreach {zipmap refused} {0101610100 1  010161010078ff 0  01fe0100000061010078ff 1  010161fe010000000078ff 1  01feffffff7f61010078ff 1
            010161feffffff7f0078ff 1  ff0161010078ff 1  010161010578ff 1} {
            set bytes [format %02x [expr {[string length $zipmap] / 2}]]
            assert_equal $refused [restored 09$bytes$zipmap] $zipmap
        }
    }

    test {a group of the oldest stream format: entries-read is known at both ends} {
        assert_equal 0 [restored 0f01100000000000000001000000000000000128280000000f00020100010101816602000102010001000181760204010201010100018176020401ff0202010203656e6402010000036e657700000000]
        set groups [r xinfo groups restored]
        assert_equal {2 0} [lmap group $groups { dict get $group entries-read }]
        assert_equal {0 2} [lmap group $groups { dict get $group lag }]
    }
}

start_server {tags {robust external:skip} overrides {requirepass secret}} {
    r auth secret

    # As in 9.1.2, the limit is one reply buffer.
    test {output before AUTH is limited} {
        foreach request [list "PING\r\n" "*2\r\n\$3\r\nGET\r\n\$1\r\na\r\n" "NOSUCH\r\n" "RESET\r\n" "*2\r\n\$4\r\nAUTH\r\n\$1\r\na\r\n" "*1\r\n\$5\r\nHELLO\r\n"] {
            set before [s client_output_buffer_limit_disconnections]
            set c [valkey_deferring_client]
            catch {
                for {set i 0} {$i < 100} {incr i} { $c write [string repeat $request 10000] }
            }
            wait_for_condition 200 50 {[s client_output_buffer_limit_disconnections] > $before} else { fail "$request: served without end" }
            $c close
        }
        wait_for_condition 100 50 {[s connected_clients] == 1} else { fail "a client is left" }
    }

    test {an authenticated client may send more} {
        set c [valkey_deferring_client]
        $c auth secret
        $c read
        $c write [string repeat "PING\r\n" 10000]
        for {set i 0} {$i < 10000} {incr i} { assert_equal PONG [$c read] }
        $c close
    }
}
