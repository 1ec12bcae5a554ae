# The effects of each command that writes: the number of changes (`rdb_changes_since_last_save`; a command that counts
# no change is neither saved nor written into the append-only file), the keys that WATCH sees change, and the events.

# Commands before it; the command; changes; keys that WATCH sees change; events. All is as in 9.1, except that XSETID
# and XGROUP touch watched streams too. INCREX, DELEX, SET IFNE, XACKDEL, XDELEX: 9.2 §2 and §3.
set effects {
    {} {set a 1} 1 {a} {set a}
    {} {set a 1 ex 100} 1 {a} {set a; expire a}
    {set a 1} {set a 2 nx} 0 {} {}
    {set a 1 px 1000} {set a 2 keepttl} 1 {a} {set a}
    {set a 1} {set a 2 pxat 1} 1 {a} {expired a}
    {} {setnx a 1} 1 {a} {set a}
    {} {setex a 100 1} 1 {a} {set a; expire a}
    {} {psetex a 100 1} 1 {a} {set a; expire a}
    {set a 1} {getset a 2} 1 {a} {set a}
    {set a 1} {getdel a} 1 {a} {del a}
    {} {getdel a} 0 {} {}
    {set a 1} {getex a ex 100} 1 {a} {expire a}
    {set a 1 ex 100} {getex a persist} 1 {a} {persist a}
    {set a 1} {getex a pxat 1} 1 {a} {expired a}
    {set a 1} {getex a} 0 {} {}
    {} {mset a 1 b 2 c 3} 3 {a b c} {set a; set b; set c}
    {} {msetnx a 1 b 2} 2 {a b} {set a; set b}
    {set a 1} {msetnx a 1 b 2} 0 {} {}
    {} {msetex 2 a 1 b 2} 2 {a b} {set a; set b}
    {} {msetex 2 a 1 b 2 ex 100} 2 {a b} {set a; expire a; set b; expire b}
    {set a 1} {delifeq a 1} 1 {a} {del a}
    {set a 1} {delifeq a 2} 0 {} {}
    {set a 1} {delex a ifeq 1} 1 {a} {del a}
    {set a 1} {delex a ifne 2} 1 {a} {del a}
    {set a 1} {delex a ifeq 2} 0 {} {}
    {} {delex a ifne 2} 0 {} {}
    {set a 1} {delex a} 1 {a} {del a}
    {rpush a 1} {delex a} 1 {a} {del a}
    {} {delex a} 0 {} {}
    {set a 7} {delex a ifdeq 06eed105b82285fa} 1 {a} {del a}
    {set a 7} {delex a ifdne 06eed105b82285fa} 0 {} {}
    {set a 7} {set a 2 ifdeq 06eed105b82285fa} 1 {a} {set a}
    {set a 7} {set a 2 ifdeq 06eed105b82285fb} 0 {} {}
    {set a 1} {set a 2 ifne 3} 1 {a} {set a}
    {} {set a 2 ifne 3 ex 100} 1 {a} {set a; expire a}
    {set a 1} {set a 2 ifne 1} 0 {} {}
    {set a 1} {set a 2 ifne 1 get} 0 {} {}
    {set a 1} {set a 2 ifne 1 pxat 1} 0 {} {}
    {} {increx a} 1 {a} {incrby a}
    {set a 1} {increx a byint 0} 1 {a} {incrby a}
    {} {increx a byfloat 1.5} 1 {a} {incrbyfloat a}
    {} {increx a ex 100} 1 {a} {incrby a; expire a}
    {set a 1 ex 100} {increx a ex 200 enx} 1 {a} {incrby a}
    {set a 1 ex 100} {increx a persist} 1 {a} {incrby a; persist a}
    {set a 1} {increx a persist} 1 {a} {incrby a}
    {set a 1} {increx a pxat 1} 1 {a} {del a}
    {} {increx a pxat 1} 0 {} {}
    {set a 1} {increx a nx ex 100} 0 {} {}
    {} {increx a xx} 0 {} {}
    {set a 1} {increx a ubound 1} 0 {} {}
    {set a 1} {increx a ubound 1 saturate} 1 {a} {incrby a}
    {set a 9223372036854775807} {increx a ex 100} 0 {} {}
    {} {incr a} 1 {a} {incrby a}
    {} {decrby a 5} 1 {a} {incrby a}
    {} {incrbyfloat a 1.5} 1 {a} {incrbyfloat a}
    {} {append a x} 1 {a} {append a}
    {set a x} {append a {}} 1 {a} {append a}
    {} {setrange a 5 x} 1 {a} {setrange a}
    {} {setrange a 5 {}} 0 {} {}
    {} {setbit a 7 1} 1 {a} {setbit a}
    {setbit a 7 1} {setbit a 7 1} 0 {} {}
    {} {bitfield a set u8 0 255 incrby u2 0 3} 2 {a} {setbit a}
    {} {bitfield a get u8 0} 0 {} {}
    {set a 1} {bitop not b a} 1 {b} {set b}
    {} {bitop not b a} 0 {} {}
    {set b 1} {bitop not b a} 1 {b} {del b}
    {set a 1; set b 1} {del a b c} 2 {a b} {del a; del b}
    {set a 1; set b 1} {unlink a b c} 2 {a b} {del a; del b}
    {set a 1} {rename a b} 1 {a b} {rename_from a; rename_to b}
    {set a 1; set b 2} {rename a b} 1 {a b} {rename_from a; rename_to b}
    {set a 1} {rename a a} 0 {} {}
    {set a 1} {renamenx a b} 1 {a b} {rename_from a; rename_to b}
    {set a 1} {copy a b} 1 {b} {copy_to b}
    {set a 1; set b 1} {copy a b replace} 1 {b} {copy_to b}
    {set a 1} {move a 3} 1 {a} {move_from a; move_to a}
    {set a 1} {move a 3 replace} 1 {a} {move_from a; move_to a}
    {select 3; set a 0; select 0; set a 1} {move a 3} 0 {} {}
    {select 3; set a 0; select 0; set a 1} {move a 3 replace} 1 {a} {move_from a; move_to a}
    {select 3; set a 0; select 0} {move a 3 replace} 0 {} {}
    {set a 1} {expire a 100} 1 {a} {expire a}
    {set a 1} {expire a -1} 1 {a} {expired a}
    {set a 1 ex 100} {persist a} 1 {a} {persist a}
    {set a 1} {persist a} 0 {} {}
    {set a 1} {expire a 100 xx} 0 {} {}
    {set a 1; set b 2} {flushdb} 2 {a} {}
    {} {flushdb} 0 {} {}
    {} {flushall} 0 {} {}
    {set a 1; set b 2} {flushall} 2 {a} {}
    {} {swapdb 0 1} 1 {} {}
    {} {swapdb 0 0} 1 {} {}
    {} {sadd s a b c} 3 {s} {sadd s}
    {sadd s a} {sadd s a b c} 2 {s} {sadd s}
    {sadd s a} {sadd s a} 0 {} {}
    {sadd s a b} {srem s a b c} 2 {s} {srem s; del s}
    {sadd s a b} {srem s x} 0 {} {}
    {sadd s a b c} {spop s} 1 {s} {spop s}
    {sadd s a b c d e} {spop s 2} 2 {s} {spop s}
    {sadd s a b c d e} {spop s 9} 5 {s} {spop s; del s}
    {sadd s a b c d e} {spop s 0} 0 {} {}
    {sadd s a b} {smove s t a} 2 {s t} {srem s; sadd t}
    {sadd s a b; sadd t a} {smove s t a} 1 {s} {srem s}
    {sadd s a b} {smove s s a} 0 {} {}
    {sadd s a b} {smove s t x} 0 {} {}
    {sadd s a b; sadd t b c} {sinterstore d s t} 1 {d} {sinterstore d}
    {sadd s a b; sadd t b c} {sunionstore d s t} 1 {d} {sunionstore d}
    {sadd s a b; sadd t b c} {sdiffstore d s t} 1 {d} {sdiffstore d}
    {sadd d a} {sinterstore d s t} 1 {d} {del d}
    {} {sinterstore d s t} 0 {} {}
    {} {lpush l a b c} 3 {l} {lpush l}
    {} {rpush l a b c} 3 {l} {rpush l}
    {} {rpushx l a b c} 0 {} {}
    {rpush l a} {lpushx l a b c} 3 {l} {lpush l}
    {rpush l a b c} {lpop l} 1 {l} {lpop l}
    {rpush l a b c} {lpop l 2} 2 {l} {lpop l}
    {rpush l a b c} {rpop l 9} 3 {l} {rpop l; del l}
    {rpush l a b c} {lpop l 0} 0 {} {}
    {rpush l a b c} {lset l 0 x} 1 {l} {lset l}
    {rpush l a b c} {linsert l before a x} 1 {l} {linsert l}
    {rpush l a b c} {linsert l before z x} 0 {} {}
    {rpush l a b a} {lrem l 0 a} 2 {l} {lrem l}
    {rpush l a b a} {lrem l 0 x} 0 {} {}
    {rpush l a b c} {ltrim l 0 0} 2 {l} {ltrim l}
    {rpush l a b c} {ltrim l 5 6} 3 {l} {ltrim l; del l}
    {rpush l a b c} {lmove l m left right} 1 {l m} {rpush m; lpop l}
    {rpush l a b c} {lmove l l left right} 1 {l} {rpush l; lpop l}
    {rpush l a b c} {rpoplpush l m} 1 {l m} {lpush m; rpop l}
    {rpush l a b c} {lmpop 1 l left count 2} 2 {l} {lpop l}
    {rpush l a b c} {blpop l 0} 1 {l} {lpop l}
    {rpush l a b c} {brpop l 0} 1 {l} {rpop l}
    {rpush l a b c} {blmove l m left right 0} 1 {l m} {rpush m; lpop l}
    {rpush l a b c} {brpoplpush l m 0} 1 {l m} {lpush m; rpop l}
    {rpush l a b c} {blmpop 0 1 l right count 2} 2 {l} {rpop l}
    {rpush l a b c} {lmovem l m left right count 2 bulk} 2 {l m} {rpush m; lpop l}
    {rpush l a b c} {lmovem l m right left exactly 3 obo} 3 {l m} {lpush m; rpop l; del l}
    {rpush l a b c} {lmovem l l left left exactly 3 obo} 3 {l} {lpush l; lpop l}
    {rpush l a b c} {lmovem l m right left exactly 4 obo} 0 {} {}
    {rpush l a b c} {blmovem l m left right 0 count 2 bulk} 2 {l m} {rpush m; lpop l}
    {rpush l 3 1 2} {sort l store d} 3 {d} {sortstore d}
    {} {sort l store d} 0 {} {}
    {rpush d 1} {sort l store d} 1 {d} {del d}
    {} {hset h a 1 b 2} 2 {h} {hset h}
    {hset h a 1} {hset h a 1} 1 {h} {hset h}
    {hset h a 1} {hset h a 2 c 3} 2 {h} {hset h}
    {} {hmset h a 1 b 2} 2 {h} {hset h}
    {} {hsetnx h a 1} 1 {h} {hset h}
    {hset h a 1} {hsetnx h a 2} 0 {} {}
    {hset h a 1 b 2} {hdel h a b c} 2 {h} {hdel h; del h}
    {hset h a 1} {hdel h x} 0 {} {}
    {} {hincrby h a 1} 1 {h} {hincrby h}
    {} {hincrbyfloat h a 1.5} 1 {h} {hincrbyfloat h}
    {hset h a 1 b 2} {hexpire h 100 fields 2 a b} 2 {h} {hexpire h}
    {hset h a 1 b 2} {hexpire h 100 fields 2 a x} 1 {h} {hexpire h}
    {hset h a 1 b 2} {hexpire h 100 xx fields 2 a x} 0 {} {}
    {hset h a 1 b 2} {hpexpireat h 1 fields 2 a x} 1 {h} {hexpired h}
    {hset h a 1 b 2} {hpexpireat h 1 fields 2 a b} 2 {h} {hexpired h; del h}
    {hset h a 1 b 2; hexpire h 100 fields 1 a} {hpersist h fields 2 a b} 1 {h} {hpersist h}
    {hset h a 1 b 2} {hpersist h fields 2 a b} 0 {} {}
    {hset h a 1 b 2; hexpire h 100 fields 1 a} {hgetex h persist fields 2 a b} 1 {h} {hpersist h}
    {hset h a 1 b 2} {hgetex h ex 100 fields 2 a b} 2 {h} {hexpire h}
    {hset h a 1 b 2} {hgetex h ex 100 fields 1 x} 0 {} {}
    {hset h a 1 b 2} {hgetex h fields 1 a} 0 {} {}
    {hset h a 1 b 2} {hgetex h pxat 1 fields 1 a} 1 {h} {hexpired h}
    {hset h a 1 b 2} {hgetdel h fields 3 a b c} 2 {h} {hdel h; del h}
    {hset h a 1 b 2} {hgetdel h fields 1 x} 0 {} {}
    {} {hsetex h ex 100 fields 2 a 1 b 2} 2 {h} {hset h; hexpire h}
    {} {hsetex h fields 2 a 1 b 2} 2 {h} {hset h}
    {hset h a 1} {hsetex h fnx fields 2 a 1 b 2} 0 {} {}
    {hset h a 1} {hsetex h keepttl fields 2 a 1 b 2} 2 {h} {hset h}
    {hset h a 1} {hsetex h pxat 1 fields 2 a 1 b 2} 1 {h} {hset h; hexpire h; hexpired h; del h}
    {} {zadd z 1 a 2 b} 2 {z} {zadd z}
    {zadd z 1 a} {zadd z 1 a} 0 {} {}
    {zadd z 1 a} {zadd z 2 a 3 b} 2 {z} {zadd z}
    {zadd z 1 a} {zadd z xx 2 a 3 b} 1 {z} {zadd z}
    {zadd z 1 a} {zadd z gt 0 a} 0 {} {}
    {} {zadd z incr 1 a} 1 {z} {zincr z}
    {} {zincrby z 1 a} 1 {z} {zincr z}
    {zadd z 1 a} {zincrby z 0 a} 0 {} {}
    {zadd z 1 a 2 b} {zrem z a b c} 2 {z} {zrem z; del z}
    {zadd z 1 a 2 b} {zrem z x} 0 {} {}
    {zadd z 1 a 2 b 3 c} {zremrangebyrank z 0 1} 2 {z} {zremrangebyrank z}
    {zadd z 1 a 2 b 3 c} {zremrangebyscore z 1 2} 2 {z} {zremrangebyscore z}
    {zadd z 1 a 1 b 1 c} {zremrangebylex z - [b} 2 {z} {zremrangebylex z}
    {zadd z 1 a 2 b 3 c} {zremrangebyrank z 5 6} 0 {} {}
    {zadd z 1 a 2 b 3 c} {zpopmin z} 1 {z} {zpopmin z}
    {zadd z 1 a 2 b 3 c} {zpopmax z 2} 2 {z} {zpopmax z}
    {zadd z 1 a 2 b 3 c} {zpopmin z 0} 0 {} {}
    {zadd z 1 a 2 b 3 c} {zmpop 1 z min count 2} 2 {z} {zpopmin z}
    {zadd z 1 a 2 b 3 c} {bzmpop 0 1 z max count 2} 2 {z} {zpopmax z}
    {zadd z 1 a 2 b 3 c} {bzpopmin z 0} 1 {z} {zpopmin z}
    {zadd z 1 a 2 b 3 c} {bzpopmax z 0} 1 {z} {zpopmax z}
    {zadd z 1 a 2 b; zadd y 2 b} {zunionstore d 2 z y} 1 {d} {zunionstore d}
    {zadd z 1 a 2 b; zadd y 2 b} {zinterstore d 2 z y} 1 {d} {zinterstore d}
    {zadd z 1 a 2 b; zadd y 2 b} {zdiffstore d 2 z y} 1 {d} {zdiffstore d}
    {zadd d 1 a} {zinterstore d 2 z y} 1 {d} {del d}
    {} {zinterstore d 2 z y} 0 {} {}
    {zadd z 1 a 2 b 3 c} {zrangestore d z 0 1} 1 {d} {zrangestore d}
    {zadd d 1 a} {zrangestore d z 0 1} 1 {d} {del d}
    {} {geoadd g 13.36 38.11 p 15.08 37.50 c} 2 {g} {zadd g}
    {geoadd g 13.36 38.11 p} {geoadd g 13.36 38.11 p} 0 {} {}
    {geoadd g 13.36 38.11 p 15.08 37.50 c} {geosearchstore d g fromlonlat 15 37 byradius 200 km} 2 {d} {geosearchstore d}
    {} {geosearchstore d g fromlonlat 15 37 byradius 200 km} 0 {} {}
    {geoadd d 13.36 38.11 p} {geosearchstore d g fromlonlat 15 37 byradius 200 km} 1 {d} {del d}
    {geoadd g 13.36 38.11 p 15.08 37.50 c} {georadius g 15 37 200 km store d} 2 {d} {georadiusstore d}
    {} {pfadd p a b c} 4 {p} {pfadd p}
    {} {pfadd p} 1 {p} {pfadd p}
    {pfadd p a} {pfadd p a} 0 {} {}
    {pfadd p a; pfadd q b} {pfmerge d p q} 1 {d} {pfadd d}
    {pfadd p a; pfadd p b} {pfcount p} 1 {p} {}
    {} {xadd s 1-1 f v} 1 {s} {xadd s}
    {} {xadd s * f v} 1 {s} {xadd s}
    {} {xadd s idmp p i * f v} 1 {s} {xadd s}
    {xadd s idmp p i * f v} {xadd s idmp p i * f v} 0 {} {}
    {xadd s idmpauto p * f v} {xadd s maxlen 0 idmpauto p * f v} 0 {} {}
    {xadd s 1-1 f v} {xcfgset s idmp-maxsize 5} 1 {} {}
    {xadd s 1-1 f v; xcfgset s idmp-maxsize 5} {xcfgset s idmp-maxsize 5} 0 {} {}
    {xadd s 1-1 f v} {xidmprecord s p i 1-1} 1 {} {xadd s}
    {xadd s 9999999999999-1 f v; xidmprecord s p i 9999999999999-1} {xidmprecord s p i 9999999999999-1} 0 {} {}
    {xadd s 1-1 f v; xadd s 2-1 f v; xadd s 3-1 f v} {xadd s maxlen 1 4-1 f v} 1 {s} {xadd s; xtrim s}
    {xadd s 1-1 f v; xadd s 2-1 f v; xadd s 3-1 f v} {xdel s 1-1 2-1 9-9} 2 {s} {xdel s}
    {xadd s 1-1 f v; xadd s 2-1 f v; xadd s 3-1 f v} {xtrim s maxlen 1} 2 {s} {xtrim s}
    {xadd s 1-1 f v; xadd s 2-1 f v; xadd s 3-1 f v} {xtrim s maxlen 9} 0 {} {}
    {} {xgroup create s g 0 mkstream} 1 {s} {xgroup-create s}
    {xadd s 1-1 f v; xgroup create s g 0; xgroup createconsumer s g a} {xgroup createconsumer s g a} 0 {} {}
    {xadd s 1-1 f v; xgroup create s g 0} {xgroup delconsumer s g a} 0 {} {}
    {xadd s 1-1 f v; xgroup create s g 0} {xgroup destroy s h} 0 {} {}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0} {xreadgroup group g a streams s >} 2 {} {xgroup-createconsumer s}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0} {xreadgroup group g a noack streams s >} 2 {} {xgroup-createconsumer s}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xreadgroup group g a streams s >} {xreadgroup group g a streams s 0} 1 {} {}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xreadgroup group g a streams s >} {xreadgroup group g a streams s >} 0 {} {}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xreadgroup group g a streams s >} {xreadgroup group g a claim 0 streams s >} 1 {} {}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xreadgroup group g a streams s >} {xnack s g fail ids 2 1-1 2-1} 3 {} {xgroup-createconsumer s}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xreadgroup group g a streams s >} {xnack s g fail ids 1 7-1} 0 {} {}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xreadgroup group g a streams s >} {xreadgroup group g a claim 100000 streams s >} 0 {} {}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g $} {xreadgroup group g a streams s >} 1 {} {xgroup-createconsumer s}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xreadgroup group g a streams s >} {xack s g 1-1 2-1 3-1} 2 {} {}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xreadgroup group g a streams s >} {xtrim s maxlen 0 delref} 2 {s} {xtrim s}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xreadgroup group g a streams s >} {xtrim s maxlen 0 acked} 0 {} {}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xreadgroup group g a streams s >} {xadd s acked maxlen 0 3-1 f v} 1 {s} {xadd s}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xreadgroup group g a streams s >} {xadd s delref maxlen 0 3-1 f v} 1 {s} {xadd s; xtrim s}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xreadgroup group g a streams s >; xgroup create s h 0; xreadgroup group h a streams s >} {xackdel s g ids 3 1-1 2-1 3-1} 2 {s} {xdel s}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xreadgroup group g a streams s >; xgroup create s h 0; xreadgroup group h a streams s >} {xackdel s g delref ids 2 1-1 2-1} 2 {s} {xdel s}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xreadgroup group g a streams s >; xgroup create s h 0; xreadgroup group h a streams s >} {xackdel s g acked ids 2 1-1 2-1} 2 {} {}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xreadgroup group g a streams s >; xgroup create s h 0; xreadgroup group h a streams s >; xdel s 1-1} {xackdel s g ids 1 1-1} 1 {} {}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xreadgroup group g a streams s >; xgroup create s h 0; xreadgroup group h a streams s >; xdel s 1-1} {xackdel s g delref ids 1 1-1} 1 {s} {}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xreadgroup group g a streams s >; xgroup create s h 0; xreadgroup group h a streams s >} {xackdel s g ids 1 3-1} 0 {} {}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xreadgroup group g a streams s >; xgroup create s h 0; xreadgroup group h a streams s >} {xdelex s ids 3 1-1 2-1 3-1} 2 {s} {xdel s}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xreadgroup group g a streams s >; xgroup create s h 0; xreadgroup group h a streams s >} {xdelex s delref ids 2 1-1 3-1} 1 {s} {xdel s}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xreadgroup group g a streams s >; xgroup create s h 0; xreadgroup group h a streams s >; xdel s 1-1} {xdelex s delref ids 2 1-1 3-1} 1 {s} {}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xreadgroup group g a streams s >; xgroup create s h 0; xreadgroup group h a streams s >; xdel s 1-1} {xdelex s ids 2 1-1 3-1} 0 {} {}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xreadgroup group g a streams s >; xgroup create s h 0; xreadgroup group h a streams s >} {xdelex s acked ids 2 1-1 2-1} 0 {} {}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xreadgroup group g a streams s >} {xclaim s g b 0 1-1 2-1} 3 {} {xgroup-createconsumer s}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xreadgroup group g a streams s >} {xclaim s g a 0 1-1 2-1} 2 {} {}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xreadgroup group g a streams s >; xdel s 1-1} {xclaim s g a 0 1-1 2-1} 2 {} {}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xreadgroup group g a streams s >; xdel s 1-1} {xautoclaim s g b 0 0} 3 {} {xgroup-createconsumer s}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0} {xclaim s g a 0 9-9 lastid 5-5} 2 {} {xgroup-createconsumer s}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xgroup createconsumer s g a} {xclaim s g a 0 9-9 lastid 5-5} 1 {} {}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xgroup createconsumer s g a} {xclaim s g a 0 9-9} 0 {} {}
    {} {function flush} 1 {} {}
    {} {script load "return 1"} 0 {} {}
    {set a 1} {touch a} 0 {} {}
    {set a 1} {object encoding a} 0 {} {}
    {xadd s 1-1 f v; xadd s 2-1 f v; xgroup create s g 0; xreadgroup group g a streams s >} {xreadgroup group g a streams s s 0 0} 2 {} {}
    {xadd s 1-1 f v; xadd t 2-1 f v; xgroup create s g 0;xgroup create t g 0; xreadgroup group g a streams s t > >} {xreadgroup group g a streams s t 0 0} 2 {} {}
    {xadd s 1-1 f v; xadd t 2-1 f v; xgroup create s g 0;xgroup create t g 0} {xreadgroup group g a streams s t > >} 4 {} {xgroup-createconsumer s; xgroup-createconsumer t}
    {pfadd p a} {pfadd p a b c} 2 {p} {pfadd p}
    {pfadd p a b c} {pfadd p d e f} 3 {p} {pfadd p}
    {pfadd p a} {pfadd p b} 1 {p} {pfadd p}
    {pfadd p a} {pfadd p} 0 {} {}
    {set a 1; set b 2} {flushall async} 2 {a} {}
    {set a 1; set b 2} {flushall sync} 2 {a} {}
    {rpush l a b c} {ltrim l 0 -1} 0 {} {ltrim l}
    {xadd s 1-1 f v} {xsetid s 5-1} 1 s {xsetid s}
    {xadd s 1-1 f v} {xgroup create s g 0} 1 s {xgroup-create s}
    {xadd s 1-1 f v; xgroup create s g 0} {xgroup setid s g 1-1} 1 s {xgroup-setid s}
    {xadd s 1-1 f v; xgroup create s g 0} {xgroup createconsumer s g a} 1 s {xgroup-createconsumer s}
    {xadd s 1-1 f v; xgroup create s g 0; xreadgroup group g a streams s >} {xgroup delconsumer s g a} 1 s {xgroup-delconsumer s}
    {xadd s 1-1 f v; xgroup create s g 0} {xgroup destroy s g} 1 s {xgroup-destroy s}
}

proc run_all {commands} {
    foreach command [split $commands \;] { r {*}$command }
}

# The keys of a command here have names of one letter.
proc letters_of {command} {
    return [lsort -unique [lmap word [lrange $command 1 end] { if {![regexp {^[a-z]$} $word]} continue; set word }]]
}

tags {external:skip} {
start_server {overrides {save {}}} {
    test {each command counts its changes} {
        set wrong {}
        foreach {before command changes touched events} $effects {
            r flushall
            run_all $before
            set was [s rdb_changes_since_last_save]
            r {*}$command
            set now [expr {[s rdb_changes_since_last_save] - $was}]
            if {$now != $changes} { lappend wrong "$before; $command: $now, not $changes" }
        }
        assert_equal {} $wrong
    }

    test {each command touches the watched keys that it has changed, and no others} {
        set wrong {}
        set watcher [valkey_client]
        foreach {before command changes touched events} $effects {
            foreach key [letters_of $command] {
                r flushall
                run_all $before
                $watcher watch $key
                r {*}$command
                $watcher multi
                $watcher ping
                set seen [expr {[$watcher exec] eq {}}]
                if {$seen != ($key in $touched)} { lappend wrong "$before; $command: $key [expr {$seen ? {changed} : {did not change}}]" }
            }
        }
        $watcher close
        assert_equal {} $wrong
    }

    test {each command sends its events} {
        set wrong {}
        r config set notify-keyspace-events EA
        set listener [valkey_deferring_client]
        $listener psubscribe __keyevent@*
        $listener read
        foreach {before command changes touched events} $effects {
            r flushall
            run_all $before
            r publish __keyevent@end before
            while {[lindex [$listener read] 3] ne "before"} {}
            r {*}$command
            r publish __keyevent@end after
            set sent {}
            while {[lindex [set message [$listener read]] 3] ne "after"} {
                lappend sent "[lindex [split [lindex $message 2] :] 1] [lindex $message 3]"
            }
            set sent [join $sent "; "]
            if {$sent ne $events} { lappend wrong "$before; $command: $sent, not $events" }
        }
        $listener close
        r config set notify-keyspace-events {}
        assert_equal {} $wrong
    }

    test {an event has its database} {
        r flushall
        r set k v
        r config set notify-keyspace-events EA
        set listener [valkey_deferring_client]
        $listener psubscribe __keyevent@*
        $listener read
        r move k 3
        r copy k k2 db 4
        r select 3
        r copy k k2 db 4
        r select 0
        set events [lmap i {1 2 3} { lrange [$listener read] 2 3 }]
        $listener close
        r config set notify-keyspace-events {}
        assert_equal {{__keyevent@0__:move_from k} {__keyevent@3__:move_to k} {__keyevent@4__:copy_to k2}} $events
    }

    # A client that tracks keys and subscribes to events gets the invalidation first, then the events; for a rename
    # one invalidation of two keys; and for a key that expires by itself the events first.
    test {invalidations come before keyspace events} {
        r config set notify-keyspace-events EA
        set c [valkey_client]
        $c hello 3
        $c client tracking on
        $c psubscribe __keyevent@0__:*
        foreach {before command expected} {
            {} {set k v} {{invalidate k} {set k}}
            {} {mset k v l w} {{invalidate k} {set k} {invalidate l} {set l}}
            {set k v} {rename k l} {{invalidate k} {invalidate l} {rename_from k} {rename_to l}}
            {set k v} {move k 1} {{invalidate k} {move_from k}}
            {sadd k a} {smove k l a} {{invalidate k} {srem k} {del k} {invalidate l} {sadd l}}
            {rpush k a} {rpoplpush k l} {{invalidate l} {lpush l} {invalidate k} {rpop k} {del k}}
            {hset k f v} {hsetex k pxat 1 fields 1 f w}
                {{invalidate k} {hset k} {hexpire k} {hexpired k} {del k}}
            {set k v} {pexpireat k 1} {{invalidate k} {expired k}}
            {set k v px 300} {debug sleep 0.35} {{expired k} {invalidate k}}
        } {
            r flushall
            if {$before ne {}} { r {*}$before }
            $c mget k l ;# from now on it gets invalidations
            $c deferred 1
            $c echo begin
            while {[$c read] ne "begin"} {}
            r {*}$command
            if {$command eq "debug sleep 0.35"} { r exists k }
            $c echo end
            set told {}
            while {[set m [$c read]] ne "end"} {
                if {[lindex $m 0] eq "invalidate"} { lappend told "invalidate [lindex $m 1]"; continue }
                lappend told [list [lindex [split [lindex $m 2] :] 1] [lindex $m 3]]
            }
            $c deferred 0
            assert_equal $expected $told $command
        }
        $c close
        r config set notify-keyspace-events {}
    }

    test {reads count as hits or misses, writes do not} {
        r flushall
        r config resetstat
        r set k v
        r get k
        r mget k nosuch k
        r append k w
        r strlen nosuch
        assert_equal {3 2} [list [s keyspace_hits] [s keyspace_misses]]
    }

    test {keys and fields that expire by themselves count as changes for save points (9.2 §0)} {
        r flushall
        foreach i {1 2 3} { r set $i v px 10 }
        r hset h a 1 b 2 c 3
        r hpexpire h 10 fields 2 a b
        r hset gone a 1
        r hpexpire gone 10 fields 1 a
        set was [s rdb_changes_since_last_save]
        wait_for_condition 400 10 {[r dbsize] == 1 && [r hlen h] == 1} else { fail "they stay" }
        assert_equal [expr {$was + 6}] [s rdb_changes_since_last_save]
    }

    test {an expired key that a command finds does not count as a change} {
        r flushall
        r debug set-active-expire 0
        r set k v px 10
        after 20
        set was [s rdb_changes_since_last_save]
        assert_equal {} [r get k]
        assert_equal 0 [r dbsize]
        assert_equal $was [s rdb_changes_since_last_save]
        r debug set-active-expire 1
    }
}
}
