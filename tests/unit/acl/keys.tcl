# The keys that a command is checked for are those that it touches: options that look like keywords, options given
# twice, options that decide whether a key is read or written.

# Whether bob, with these rights on keys, may run the command. The command is really run: DRYRUN and the command must
# agree.
proc verdict {c command} {
    set dry [r acl dryrun bob {*}$command]
    set refused [expr {[catch {$c {*}$command} said] && [string match "NOPERM*" $said]}]
    assert_equal [expr {$dry ne "OK"}] $refused "$command: DRYRUN said '$dry', the command '$said'"
    return [expr {$refused ? "no" : "yes"}]
}

start_server {tags {acl external:skip}} {
    r acl setuser bob on >pw +@all ~k %R~r %W~w
    set bob [valkey_client]
    $bob auth bob pw
    proc fill {} {
        r flushall
        r geoadd k 1 1 m 2 2 n
        r geoadd secret 1 1 m
        r rpush list 2 1
    }

    # Keys that COMMAND GETKEYS finds, and whether bob may. "secret" is no key of bob's.
    foreach {command keys allowed} {
        {georadius k 1 1 1000 km store k store secret}             {k secret}  no
        {georadius k 1 1 1000 km store secret store k}             {k k}       yes
        {georadius k 1 1 1000 km store secret storedist k}         {k k}       yes
        {georadius k 1 1 1000 km storedist k store secret}         {k secret}  no
        {georadius k 1 1 1000 km store store store k}              {k k}       yes
        {georadius k 1 1 1000 km store k store store}              {k store}   no
        {georadius k 1 1 1000 km withdist count 1 store secret}    {k secret}  no
        {georadius k 1 1 1000 km store}                            k           yes
        {georadius secret 1 1 1000 km nosuch}                      secret      no
        {georadiusbymember k m 1000 km store k store secret}       {k secret}  no
        {georadiusbymember k m 1000 km storedist secret store k}   {k k}       yes
        {georadiusbymember k store 1000 km}                        k           yes
        {georadius_ro k 1 1 1000 km store secret}                  k           yes
        {sort k store by store secret}                             {k secret}  no
        {sort k store secret store by by store}                    {k by}      no
        {sort k store secret store k by nosort}                    {k k}       yes
        {sort k by store store secret}                             {k secret}  no
        {sort k limit 0 store store secret}                        {k secret}  no
        {sort k store limit store secret}                          {k secret}  no
        {sort k alpha store w}                                     {k w}       yes
        {sort k alpha store r}                                     {k r}       no
        {xread streams k secret 0 0}                               {k secret}  no
        {xread count streams streams secret 0}                     secret      no
        {xread block 1 count 1 STREAMS r 0}                        r           yes
        {xread nosuch streams secret 0}                            secret      no
        {xreadgroup count 1 group streams c streams secret >}      secret      no
        {xreadgroup group streams streams streams k >}             k           yes
        {xreadgroup group g streams noack streams secret >}        secret      no
        {migrate h 1 {} 0 1 auth keys keys secret}                 secret      no
        {migrate h 1 {} 0 1 auth2 keys keys keys k secret}         {k secret}  no
        {migrate h 1 secret 0 1 auth k}                            secret      no
        {migrate h 1 {} 0 1 keys}                                  {{}}        no
        {msetex 2 k 1 secret 2}                                    {k secret}  no
        {bitop and w k secret}                                     {w k secret} no
        {zunionstore w 2 k r}                                      {w k r}     yes
        {zunionstore w 2 k secret weights 1 2}                     {w k secret} no
        {sintercard 2 k secret limit 1}                            {k secret}  no
        {sunioncard 2 k secret approx limit 1}                     {k secret}  no
        {sdiffcard 1 k}                                            k           yes
        {lmovem k secret left left count 2 bulk}                   {k secret}  no
        {eval {return 1} 1 secret}                                 secret      no
        {lmpop 2 k secret left}                                    {k secret}  no
        {copy k secret}                                            {k secret}  no
        {object encoding secret}                                   secret      no
        {memory usage secret}                                      secret      no
        {pfmerge k r secret}                                       {k r secret} no
        {pfmerge secret}                                           secret      no
        {pfcount k secret}                                         {k secret}  no
        {pfdebug encoding secret}                                  secret      no
        {watch secret}                                             secret      no
        {xgroup create secret g 0}                                 secret      no
    } {
        test "$command" {
            fill
            if {[string match xread* $command]} { r del k; r xadd k 1-1 f v; r xgroup create k streams 0 }
            if {[string match {*limit 1} $command] || [string match bitop* $command] || [string match pf* $command]} { r del k }
            assert_equal $keys [r command getkeys {*}$command]
            assert_equal $allowed [verdict $bob $command]
            assert_equal {m n} [expr {[r type k] eq "zset" && [r zcard k] == 2 ? [r zrange k 0 -1] : {m n}}]
            assert_equal m [r zrange secret 0 -1] "secret is what it was"
        }
    }

    test {GEORADIUS and SORT write to the last STORE} {
        fill
        assert_equal {2 0 2} [list [r georadius k 1 1 1000 km store a store b] [r exists a] [r zcard b]]
        assert_equal {2 2 0 0} [list [r sort list store by store c] [r llen c] [r exists by] [r exists store]] \
            "the first STORE stores to 'by', and the last one counts"
    }

    # How a command accesses its key, and whether a user may run it with the right to read only, or to write only.
    foreach {command flags reads writes} {
        {hgetex X fields 1 f}              {RW access update}  no  no
        {hgetex X ex 10 fields 1 f}        {RW access update}  no  no
        {hgetex X persist fields 1 f}      {RW access update}  no  no
        {hgetdel X fields 1 f}             {RW access delete}  no  no
        {hsetex X fields 1 f v}            {RW insert}         no  yes
        {getex X}                          {RW access update}  no  no
        {getdel X}                         {RW access delete}  no  no
        {delifeq X v}                      {RM delete}         no  yes
        {delex X ifeq v}                   {RM delete}         no  yes
        {delex X}                          {RM delete}         no  yes
        {digest X}                         {RO access}         yes no
        {increx X ex 10}                   {RW access update}  no  no
        {xackdel X g ids 1 1}              {RW update}         no  yes
        {xdelex X ids 1 1}                 {RW update}         no  yes
        {xadd X idmp p i * f v}            {RW update}         no  yes
        {xcfgset X idmp-maxsize 5}         {RW update}         no  yes
        {xidmprecord X p i 1-1}            {RW update}         no  yes
        {xnack X g fail ids 1 1}           {RW update}         no  yes
        {set X v}                          {OW update}         no  yes
        {set X get}                        {OW update}         no  yes
        {set X v get}                      {RW access update}  no  no
        {set X v ifeq get}                 {RW access update}  no  no
        {set X v ifne x}                   {RW access update}  no  no
        {set X v ifdeq x}                  {RW access update}  no  no
        {set X v IFDNE x}                  {RW access update}  no  no
        {set X v ex 10 get}                {RW access update}  no  no
        {bitfield X get u8 0}              {RO access}         yes no
        {bitfield X get u8 set}            {RO access}         yes no
        {bitfield X get u8 0 set u8 0 1}   {RW access update}  no  no
        {bitfield X overflow sat incrby u8 0 1} {RW access update} no no
        {bitfield X overflow incrby}       {RO access}         yes no
        {bitfield X}                       {RO access}         yes no
        {bitfield X nosuch}                {RW access update}  no  no
        {bitfield X get u8}                {RW access update}  no  no
        {bitfield X overflow}              {RW access update}  no  no
        {bitfield X get u8 0 nosuch}       {RW access update}  no  no
        {pfcount X}                        {RW access}         yes no
        {exists X}                         RO                  yes yes
    } {
        test "the access to the key: $command" {
            foreach {key allowed} [list r $reads w $writes] {
                set words [string map [list X $key] $command]
                assert_equal [list [list $key $flags]] [r command getkeysandflags {*}$words]
                assert_equal $allowed [verdict $bob $words] $words
                r del r w
            }
        }
    }

    $bob close
}

start_server {tags {acl external:skip} overrides {slowlog-log-slower-than 0}} {
    # (x) marks a secret.
    foreach {command shown} {
        {migrate h 1 k 0 1 auth pw}                              {migrate h 1 k 0 1 auth (x)}
        {migrate h 1 k 0 1 copy AUTH2 us pw}                     {migrate h 1 k 0 1 copy AUTH2 (x) (x)}
        {migrate h 1 {} 0 1 auth keys keys a auth b}             {migrate h 1 {} 0 1 auth (x) keys a auth b}
        {migrate h 1 k 0 1 auth}                                 {migrate h 1 k 0 1 auth}
        {acl setuser u >pw on}                                   {acl setuser (x) (x) (x)}
        {acl deluser u v}                                        {acl deluser (x) (x)}
        {acl getuser u}                                          {acl getuser (x)}
        {acl setrole a >pw on}                                   {acl setrole (x) (x) (x)}
        {acl delrole a b}                                        {acl delrole (x) (x)}
        {acl getrole a}                                          {acl getrole (x)}
        {hello 2 auth us pw setname n}                           {hello 2 auth (x) (x) setname n}
        {auth us pw}                                             {auth (x) (x)}
    } {
        test "secrets are not shown: $command" {
            set c [valkey_deferring_client]
            $c monitor
            assert_equal OK [$c read]
            r slowlog reset
            catch { r {*}$command }
            set logged [lindex [r slowlog get] end-1 3]
            assert_equal $shown [string map {(redacted) (x)} $logged]
            if {[lindex $command 0] ni {acl}} {
                r ping
                while {![string match {*"(redacted)"*} [set line [$c read]]] && ![string match {*"PING"*} [string toupper $line]]} {}
                assert_equal [expr {{(x)} in $shown}] [string match {*"(redacted)"*} $line] $line
                assert {![string match {*pw*} $line]}
            }
            $c close
        }
    }
}
