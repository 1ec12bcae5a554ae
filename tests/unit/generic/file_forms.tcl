# The form of commands on strings, hashes and expiry in the append-only file and for replicas: as Valkey 9.1.2 writes
# them, with few exceptions that are named here. Commands of 9.2 take forms that 9.1.2 can read (9.2 §3). Their effect must not depend on when they run.
source [file join [file dirname [info script]] .. persist aof_util.tcl]

# What these commands add to the file, with times as <ms>. `after` is a pause, `;` begins the next command.
proc forms {text} {
    set seen [llength [aof_commands]]
    foreach command [split $text ";"] {
        set words [regexp -all -inline {\S+} $command]
        if {[lindex $words 0] eq "after"} { after [lindex $words 1] } else { r {*}$words }
    }
    set lines {}
    foreach words [lrange [aof_commands] $seen end] {
        if {[lindex $words 0] eq "SELECT"} continue
        lappend lines [regsub -all {\m1[6-9]\d{11}\M} [join $words] <ms>]
    }
    return [join $lines " ; "]
}

start_server {overrides {appendonly yes appendfsync no auto-aof-rewrite-percentage 0 save {}} tags {needs:debug external:skip}} {
    r debug set-active-expire 0

    foreach {group table} {
        {SET and its relatives} {
            {SET k v EX 100}                    {SET k v PXAT <ms>}
            {SET k v XX EX 100 GET}             {SET k v PXAT <ms>}
            {SET k v XX PXAT 4102444800000}     {SET k v XX PXAT 4102444800000}
            {SET k v EXAT 4102444800}           {SET k v PXAT 4102444800000}
            {SETEX k 100 v}                     {SET k v PXAT <ms>}
            {PSETEX k 100000 v}                 {SET k v PXAT <ms>}
            {SET k v GET}                       {SET k v}
            {SET k v XX GET}                    {SET k v XX}
            {SET k v get KEEPTTL GET}           {SET k v KEEPTTL}
            {SET k get IFEQ v GET}              {SET k get IFEQ v}
            {SET k v GET IFEQ get}              {SET k v IFEQ get}
            {SET k v IFEQ v EX 100}             {SET k v PXAT <ms>}
            {SET k v NX GET}                    {}
            {SET k v PXAT 1}                    {UNLINK k}
            {SET k v PXAT 1}                    {}
            {SET k v EX 100 ; SET k v IFEQ v EXAT 1}   {SET k v PXAT <ms> ; UNLINK k}
            {SET k v ; GETEX k EX 100}          {SET k v ; PEXPIREAT k <ms>}
            {GETEX k PERSIST ; GETEX k PERSIST} {PERSIST k}
            {GETEX k EXAT 1}                    {UNLINK k}
            {SET k v ; GETSET k w ; GETDEL k}   {SET k v ; SET k w ; DEL k}
            {SET k v ; DELIFEQ k w ; DELIFEQ k v}  {SET k v ; DEL k}
            {INCRBYFLOAT f 1.5}                 {SET f 1.5 KEEPTTL}
            {SET k v ; SET k w IFNE w}          {SET k v ; SET k w}
            {SET k v IFNE w}                    {}
            {SET k v IFNE w GET}                {}
            {SET k v IFNE x GET}                {SET k v}
            {SET k w IFNE x KEEPTTL}            {SET k w KEEPTTL}
            {SET k v IFNE x EX 100 GET}         {SET k v PXAT <ms>}
            {SET k w IFNE x PXAT 4102444800000} {SET k w PXAT 4102444800000}
            {SET k get IFNE get GET}            {SET k get}
            {SET k v IFNE x PXAT 1}             {UNLINK k}
            {SET k v ; DELEX k IFEQ w ; DELEX k IFNE w}  {SET k v ; DEL k}
            {SET k 7 ; SET k 8 IFDEQ 06eed105b82285fa ; SET k 9 IFDEQ 06eed105b82285fa}  {SET k 7 ; SET k 8}
            {SET k 7 IFDNE 06eed105b82285fa KEEPTTL GET}  {SET k 7 KEEPTTL}
            {SET k 8 IFDEQ 06eed105b82285fa EX 100}  {SET k 8 PXAT <ms>}
            {SET k 7 IFDNE 06eed105b82285fa PXAT 4102444800000}  {SET k 7 PXAT 4102444800000}
            {DELEX k IFDNE 06eed105b82285fa ; DELEX k IFDEQ 06eed105b82285fa ; DELEX k}  {DEL k}
            {LPUSH k x ; DELEX k}               {LPUSH k x ; DEL k}
            {INCREX k}                          {SET k 1 KEEPTTL}
            {INCREX k BYINT 5 EX 100}           {SET k 6 PXAT <ms>}
            {INCREX k ENX EX 500}               {SET k 7 KEEPTTL}
            {INCREX k PERSIST}                  {SET k 8}
            {INCREX k BYFLOAT 0.25 PXAT 4102444800000}  {SET k 8.25 PXAT 4102444800000}
            {INCREX k BYFLOAT 9 UBOUND 8.5}     {}
            {INCREX k BYFLOAT 9 UBOUND 8.5 SATURATE}    {SET k 8.5 KEEPTTL}
            {INCREX k BYFLOAT 0.5 PXAT 1}       {DEL k}
            {INCREX k PXAT 1}                   {}
            {MSETEX 2 a 1 b 2 EX 100}           {MSETEX 2 a 1 b 2 PXAT <ms>}
            {MSETEX 2 a 1 b 2 XX ex 100}        {MSETEX 2 a 1 b 2 XX PXAT <ms>}
            {MSETEX 2 a EX b PX EXAT 4102444800 XX} {MSETEX 2 a EX b PX PXAT 4102444800000 XX}
            {MSETEX 2 a 1 b 2 XX KEEPTTL}       {MSETEX 2 a 1 b 2 XX KEEPTTL}
        }
        {EXPIRE and its relatives: conditions are kept} {
            {SET k v ; EXPIRE k 100}            {SET k v ; PEXPIREAT k <ms>}
            {EXPIRE k 100 LT ; EXPIRE k 50 LT}  {PEXPIREAT k <ms> LT}
            {PEXPIRE k 5000000 GT XX}           {PEXPIREAT k <ms> GT XX}
            {EXPIREAT k 4102444800 xx}          {PEXPIREAT k 4102444800000 xx}
            {PERSIST k ; EXPIRE k 100 NX}       {PERSIST k ; PEXPIREAT k <ms> NX}
            {EXPIRE k 0}                        {UNLINK k}
            {SET k v ; PEXPIREAT k 1 NX}        {SET k v ; UNLINK k}
            {CONFIG SET lazyfree-lazy-expire no ; SET k v ; EXPIRE k -1 ; SET k v ; GETEX k PXAT 1 ; CONFIG SET lazyfree-lazy-expire yes}
                                                {SET k v ; DEL k ; SET k v ; DEL k}
        }
        {hashes} {
            {HSET h a 1 b 2 c 3}                {HSET h a 1 b 2 c 3}
            {HINCRBY h a 1}                     {HINCRBY h a 1}
            {HINCRBYFLOAT h a 1.5}              {HSET h a 3.5}
            {HSET h a 1 ; HEXPIRE h 100 FIELDS 2 a nof}   {HSET h a 1 ; HPEXPIREAT h <ms> FIELDS 2 a nof}
            {HEXPIRE h 50 LT FIELDS 1 a}        {HPEXPIREAT h <ms> LT FIELDS 1 a}
            {HPEXPIREAT h 4102444800000 NX FIELDS 2 a b}  {HPEXPIREAT h 4102444800000 NX FIELDS 2 a b}
            {HPEXPIREAT h 4102444800000 FIELDS 1 a}       {HPEXPIREAT h 4102444800000 FIELDS 1 a}
            {HINCRBY h a 1}                     {HSETEX h PXAT 4102444800000 FIELDS 1 a 2}
            {HINCRBYFLOAT h a 1.5}              {HSETEX h PXAT 4102444800000 FIELDS 1 a 3.5}
            {HINCRBY h c 1}                     {HSET h c 4}
            {HSETNX h d 1}                      {HSET h d 1}
            {HPERSIST h FIELDS 2 a nof}         {HPERSIST h FIELDS 2 a nof}
            {HEXPIRE h 0 FIELDS 2 a nof}        {HDEL h a}
            {HSETEX h EX 100 FNX FIELDS 1 a 1}  {HSETEX h PXAT <ms> FIELDS 1 a 1}
            {HSETEX h XX FIELDS 2 a 1 e 2}      {HSETEX h FIELDS 2 a 1 e 2}
            {HSETEX h KEEPTTL FIELDS 1 a 1}     {HSETEX h KEEPTTL FIELDS 1 a 1}
            {HSETEX h PXAT 1 FIELDS 2 a 1 nof 1}    {HDEL h a}
            {HSETEX h2 PXAT 1 FIELDS 1 a 1}     {}
            {HGETEX h EX 100 FIELDS 2 b nof}    {HPEXPIREAT h <ms> FIELDS 1 b}
            {HGETEX h PERSIST FIELDS 2 b nof}   {HPERSIST h FIELDS 1 b}
            {HGETEX h EX 0 FIELDS 2 b b}        {HDEL h b}
            {HGETDEL h FIELDS 2 c nof}          {HGETDEL h FIELDS 2 c nof}
            {HGETDEL h FIELDS 1 nof}            {}
        }
    } {
        test "forms: $group" {
            foreach {commands expected} $table { assert_equal $expected [forms $commands] $commands }
            set digest [r debug digest]
            r debug loadaof
            assert_equal $digest [r debug digest]
        }
    }

    # When the file is read again the field may be alive: named in full, the command would give it another time. (Valkey
    # 9.1.2 names it.)
    test {forms: a command that names an expired field does not revive it} {
        r del h
        r hset h dead 1 live 2
        r hpexpire h 1 fields 1 dead
        after 5
        assert_match {HPEXPIREAT h <ms> FIELDS 1 live} [forms {HEXPIRE h 100 NX FIELDS 2 dead live}]
        assert_match {HPERSIST h FIELDS 1 live} [forms {HPERSIST h FIELDS 2 dead live}]
        r debug loadaof
        assert_equal {live 2} [r hgetall h]
    }

    test {a file that sets an expiry in the past can still persist the key} {
        r flushall
        r set k v
        r set ex v
        r hset h a 1 b 2
        r pexpire k 200
        r set px v px 200
        r getex ex px 200
        r hpexpire h 200 fields 1 a
        r hsetex h px 200 fields 1 b 3
        r hgetex h px 200 fields 1 b
        r persist k
        r persist px
        r persist ex
        r hpersist h fields 2 a b
        set digest [r debug digest]
        after 250
        r debug loadaof
        assert_equal {v v v 1 3} [concat [r mget k px ex] [r hmget h a b]]
        assert_equal $digest [r debug digest]
    }
}
