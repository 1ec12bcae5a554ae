# The libraries of scripts: struct, cmsgpack, cjson, bit. Expected bytes are those of redis-server 7.0.

proc hex {text} { binary scan $text H* digits; return $digits }

# The bytes that the expression gives.
proc hex_of {expression} { return [hex [r eval "return $expression" 0]] }

proc assert_hex {pairs} { foreach {expression digits} $pairs { assert_equal $digits [hex_of $expression] $expression } }

proc assert_values {pairs} { foreach {expression values} $pairs { assert_equal $values [r eval "return {$expression}" 0] $expression } }

proc assert_fails {pairs} {
    foreach {expression message} $pairs { assert_error "ERR $message script: *" { r eval "return $expression" 0 } $expression }
}

start_server {tags {scripting}} {
    # ---- struct ----

    test {struct.pack: integers} {
        assert_hex {
            struct.pack('i',1) 01000000  struct.pack('>i',1) 00000001  struct.pack('<i',1) 01000000  struct.pack('>i3',-2) fffffe
            struct.pack('>I2',258) 0102  struct.pack('>I8',1) 0000000000000001  struct.pack('>i0',1) {}
            struct.pack('>i16',-1) 0000000000000000ffffffffffffffff  struct.pack('b',-1) ff  struct.pack('B',300) 2c
            struct.pack('>hH',-2,65535) fffeffff  struct.pack('>lLT',5,6,7) 000000000000000500000000000000060000000000000007
            struct.pack('>I4',-1) ffffffff  struct.pack('>I4',2^33) 00000000  struct.pack('>i4',1.7) 00000001
            struct.pack('>L',2^63) 8000000000000000  struct.pack('>l',-2^63) 8000000000000000  struct.pack('>i',1e300) 00000000
            struct.pack('i','5') 05000000  struct.pack('') {}
        }
    }

    test {struct.pack: reals, strings and blanks} {
        assert_hex {
            struct.pack('>f',1.5) 3fc00000  struct.pack('>d',1.5) 3ff8000000000000  struct.pack('<d',1.5) 000000000000f83f
            struct.pack('s','abc') 61626300  struct.pack('c3','abcdef') 616263  struct.pack('c0','abcdef') 616263646566
            struct.pack('c','abc') 61  struct.pack('s',5) 3500  struct.pack('bxb',1,2) 010002  {struct.pack(' b b ',1,2)} 0102
        }
    }

    test {struct.pack: alignment} {
        assert_hex {
            struct.pack('!4bi',1,2) 0100000002000000  struct.pack('!bi',1,2) 0100000002000000  struct.pack('!2bi',1,2) 010002000000
            struct.pack('!bd',1,2) 01000000000000000000000000000040  struct.pack('>!4bi',1,2) 0100000000000002
            struct.pack('!>bI3b',1,2,3) 01000000000203  struct.pack('!4>bI3I8',1,2,3) 01000000000200000000000000000003
            struct.pack('bi',1,2) 0102000000
        }
    }

    test {struct.unpack} {
        assert_values {
            {struct.unpack('>I2','\1\2')} {258 3}  {struct.unpack('>i3','\255\255\254')} {-2 4}  struct.unpack('>I4','abcdefgh',3) {1667523942 7}
            {struct.unpack('b','\255')} {-1 2}  {struct.unpack('B','\255')} {255 2}  {struct.unpack('>h','\255\254')} {-2 3}
            {struct.unpack('>H','\255\254')} {65534 3}  {struct.unpack('s','abc\0def')} {abc 5}  struct.unpack('c3','abcdef') {abc 4}
            {struct.unpack('Bc0','\3abcdef')} {abc 5}  struct.unpack('bxb','abc') {97 99 4}  struct.unpack('','abc') 1
            {struct.unpack('!4bi','\1\0\0\0\2\0\0\0')} {1 2 9}  tostring((struct.unpack('>d',struct.pack('>d',1.25)))) 1.25
            tostring((struct.unpack('>f',struct.pack('>f',1.25)))) 1.25  {struct.unpack('>i16',('\255'):rep(16))} {-1 17}
            {tostring((struct.unpack('>L',('\255'):rep(8))))} 1.844674407371e+19
        }
    }

    test {struct.size} {
        foreach {format size} {bxi 6 !bi 8 c5 5 >I2I4d 14 !8bd 16 {} 0 !4I3I8b 17 c2147483647c2147483647 4294967294} {
            assert_equal $size [r eval {return struct.size(ARGV[1])} 0 $format]
        }
    }

    test {struct: errors} {
        assert_fails {
            struct.pack('>i33',1) {user_script:1: integral size 33 is larger than limit of 32}
            struct.pack('c5','abc') {user_script:1: bad argument #3 to 'pack' (string too short)}
            struct.pack('!3bd',1,2) {user_script:1: alignment 3 is not a power of 2}
            struct.pack('=i',1) {user_script:1: bad argument #1 to 'pack' (invalid format option '=')}
            struct.pack('i') {user_script:1: bad argument #2 to 'pack' (number expected, got nil)}
            struct.pack('i2147483648',1) {user_script:1: integral size overflow}
            struct.unpack('>I4','abc') {user_script:1: bad argument #2 to 'unpack' (data string too short)}
            struct.unpack('>I4','abcd',0) {user_script:1: bad argument #3 to 'unpack' (offset must be 1 or greater)}
            struct.unpack('b','abc',-1) {user_script:1: bad argument #2 to 'unpack' (data string too short)}
            struct.unpack('b','abc',2^40) {user_script:1: bad argument #2 to 'unpack' (data string too short)}
            struct.unpack('s','abc') {user_script:1: unfinished string in data}
            struct.unpack('c0','abc') {user_script:1: format 'c0' needs a previous size}
            {struct.unpack('sc0','abc\0')} {user_script:1: format 'c0' needs a previous size}
            {struct.unpack('Bc0','\9abc')} {user_script:1: bad argument #2 to 'unpack' (data string too short)}
            {struct.unpack('bc0','\255abc')} {user_script:1: bad argument #2 to 'unpack' (data string too short)}
            struct.unpack('c2147483647','abc') {user_script:1: bad argument #2 to 'unpack' (data string too short)}
            struct.size('s') {user_script:1: bad argument #1 to 'size' (option 's' has no fixed size)}
        }
    }

    test {struct: what is packed is unpacked} {
        assert_equal 1 [r eval {
            for round = 1, 500 do
                local format, values = '><'
                format = math.random(2) == 1 and '>' or '<'
                values = {}
                for i = 1, 8 do
                    local size = math.random(1, 6)
                    format = format .. 'i' .. size
                    values[i] = math.random(-2 ^ 7, 2 ^ 7 - 1) * (size > 1 and 100 or 1)
                end
                local back = {struct.unpack(format, struct.pack(format, unpack(values)))}
                for i = 1, 8 do if back[i] ~= values[i] then return {format, i, tostring(values[i]), tostring(back[i])} end end
            end
            return 1
        } 0]
    }

    # ---- cmsgpack ----

    test {cmsgpack.pack: numbers} {
        assert_hex {
            cmsgpack.pack(127,128,255,256,65535,65536,4294967295,4294967296) 7fcc80ccffcd0100cdffffce00010000ceffffffffcf0000000100000000
            cmsgpack.pack(-1,-32,-33,-128,-129,-32768,-32769,-2147483648,-2147483649) ffe0d0dfd080d1ff7fd18000d2ffff7fffd280000000d3ffffffff7fffffff
            cmsgpack.pack(1.5) ca3fc00000  cmsgpack.pack(0.1) cb3fb999999999999a  cmsgpack.pack(1e300) cb7e37e43c8800759c
            cmsgpack.pack(2^63) ca5f000000  cmsgpack.pack(-2^63) d38000000000000000  cmsgpack.pack(1/0) ca7f800000  cmsgpack.pack(-0.0) 00
        }
    }

    test {cmsgpack.pack: other types} {
        assert_hex {
            cmsgpack.pack(true,false,nil) c3c2c0  cmsgpack.pack('abc') a3616263
        }
        assert_hex {
            cmsgpack.pack(('x'):rep(32)):sub(1,3) d92078  cmsgpack.pack(('x'):rep(256)):sub(1,4) da010078
            cmsgpack.pack(('x'):rep(65536)):sub(1,6) db0001000078  cmsgpack.pack({}) 90  cmsgpack.pack({1,2,3}) 93010203
            cmsgpack.pack({a=1}) 81a16101  cmsgpack.pack({[0]=1}) 810001  cmsgpack.pack({[1.5]=1}) 81ca3fc0000001
            cmsgpack.pack({{},{{}}}) 92909190  cmsgpack.pack({function()end}) 91c0  cmsgpack.pack(cjson.null) c0
        }
        assert_equal dc001001 [hex [r eval {local t = {} for i = 1, 16 do t[i] = i end return cmsgpack.pack(t):sub(1, 4)} 0]]
        assert_equal de0010 [hex [r eval {local t = {} for i = 1, 16 do t['k' .. i] = i end return cmsgpack.pack(t):sub(1, 3)} 0]]
        assert_equal [string repeat 91 16]c0 [hex [r eval {local t = {} t[1] = t return cmsgpack.pack(t)} 0]]
    }

    test {cmsgpack.unpack} {
        assert_values {
            {cmsgpack.unpack('\1\2\3')} {1 2 3}  {cmsgpack.unpack('\204\255\205\255\254\206\255\255\255\254')} {255 65534 4294967294}
            {cmsgpack.unpack('\208\255\209\255\254\210\255\255\255\254\224\255')} {-1 -2 -2 -32 -1}
            {cmsgpack.unpack('\163abc\217\3def\218\0\1g\219\0\0\0\1h')} {abc def g h}  {cmsgpack.unpack('\147\1\2\3')} {{1 2 3}}
            {cmsgpack.unpack('\220\0\2\1\2\221\0\0\0\1\5')} {{1 2} 5}
            {tostring(cmsgpack.unpack('\202\63\192\0\0'))} 1.5  {tostring(cmsgpack.unpack('\203\63\248\0\0\0\0\0\0'))} 1.5
            {cjson.encode(cmsgpack.unpack('\129\161a\1'))} {{{"a":1}}}  {cjson.encode(cmsgpack.unpack('\222\0\1\161a\1'))} {{{"a":1}}}
            {cmsgpack.unpack_one('\1\2\3')} {1 1}  {cmsgpack.unpack_one('\1\2\3',2)} {-1 3}  {cmsgpack.unpack_one('\1\2\3',3)} -1
            {cmsgpack.unpack_limit('\1\2\3',2)} {2 1 2}  {cmsgpack.unpack_limit('\1\2\3',1,1)} {2 2}  {cmsgpack.unpack_limit('\1\2\3',5)} {-1 1 2 3}
        }
    }

    test {cmsgpack: errors} {
        assert_fails {
            cmsgpack.pack() {user_script:1: bad argument #0 to 'pack' (MessagePack pack needs input.)}
            {cmsgpack.unpack('\193')} {user_script:1: Bad data format in input.}
            {cmsgpack.unpack('\204')} {user_script:1: Missing bytes in input.}
            {cmsgpack.unpack('\163ab')} {user_script:1: Missing bytes in input.}
            {cmsgpack.unpack('\221\255\255\255\255\1\2')} {user_script:1: Missing bytes in input.}
            {cmsgpack.unpack('\219\255\255\255\255a')} {user_script:1: Missing bytes in input.}
            {cmsgpack.unpack('\129\192\1')} {table index is nil}
            cmsgpack.unpack({}) {user_script:1: bad argument #1 to 'unpack' (string expected, got table)}
            {cmsgpack.unpack_one('\1\2\3',-1)} {user_script:1: Invalid request to unpack with offset of -1 and limit of 3.}
            {cmsgpack.unpack_one('\1\2\3',4)} {user_script:1: Start offset 4 greater than input length 3.}
            {cmsgpack.unpack_limit('\1\2\3')} {user_script:1: bad argument #2 to 'unpack_limit' (number expected, got no value)}
            {cmsgpack.unpack(('\145'):rep(100000))} {*nested too deeply to unpack*}
        }
    }

    test {cmsgpack: random bytes are taken or refused} {
        for {set i 0} {$i < 300} {incr i} {
            set reply [r eval {local ok, v = pcall(cmsgpack.unpack, ARGV[1]) return ok and 'taken' or v} 0 [randstring 1 60]]
            assert {$reply eq "taken" || [regexp {Bad data|Missing bytes|index is N} $reply] || $reply eq "table index is nil"} $reply
        }
    }

    # ---- cjson and bit ----

    test {cjson} {
        assert_values {
            cjson.encode({}) {{{}}}  cjson.encode({1,2,3}) {{[1,2,3]}}  cjson.encode({1,nil,3}) {{[1,null,3]}}  cjson.encode(1.5) 1.5
            {cjson.encode('a/b\n')} {{"a\/b\n"}}  cjson.encode(cjson.null) null  cjson.encode({[1.5]=1}) {{{"1.5":1}}}
        }
        assert_equal {1 2 3} [r eval {return cjson.decode('[1,2,3]')} 0]
        assert_equal 1 [r eval {return cjson.decode('{"a":[{"b":null}]}').a[1].b == cjson.null} 0]
        assert_fails {
            cjson.encode({[1]=1,[100]=2}) {user_script:1: Cannot serialise table: excessively sparse array}
            cjson.encode(0/0) {user_script:1: Cannot serialise number: must not be NaN or Inf}
            cjson.decode('[1,2') {user_script:1: Expected comma or array end but found T_END at character 5}
        }
        assert_error {*excessive nesting (1001)*} { r eval {local t = {} t.x = t return cjson.encode(t)} 0 }
        assert_equal 2.1.0 [r eval {return cjson._VERSION} 0]
    }

    test {bit} {
        foreach {expression value} {
            bit.band(0xff,0x0f) 15 bit.bor(1,2) 3 bit.bxor(3,1) 2 bit.bnot(0) -1 bit.lshift(1,31) -2147483648 bit.rshift(-1,28) 15
            bit.arshift(-1,1) -1 bit.rol(0x12345678,8) 878082066 bit.tohex(255) 000000ff bit.tobit(2^33+5) 5 bit.bswap(1) 16777216
        } { assert_equal $value [r eval "return $expression" 0] $expression }
    }
}
