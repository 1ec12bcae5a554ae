# What Valkey 9.2 has and 9.1.2, the oracle, has not, or has otherwise. Comparisons of whole tables with the oracle leave
# these out; tests of their own say how they behave. A name that is missing here fails the comparison.
namespace eval since_9_1 {
    # Commands that 9.1.2 does not know, or whose facts (arity, flags, keys, arguments, history) have changed.
    variable commands {
        blmovem lmovem sdiffcard sunioncard zinter zinterstore zunion zunionstore
        {acl|delrole} {acl|digest} {acl|getrole} {acl|getuser} {acl|roles} {acl|setrole} {acl|setuser} {config|info}
        bitop delex digest exec hotkeys {hotkeys|get} {hotkeys|help} {hotkeys|reset} {hotkeys|start} {hotkeys|stop} increx move
        phcard phdel phdelprefix phexists phget phgetall phlongest phmget phmset phprefixes phscan phset
        {script|load} set sismember xackdel xadd xdelex xtrim
        {script|load} set sismember xackdel xadd xcfgset xdelex xidmprecord
        {script|load} set sismember xackdel xadd xdelex xread xreadgroup xtrim
        {script|load} set sismember xackdel xadd xdelex xnack xread xreadgroup xtrim
        zrange zrangebylex zrangebyscore zrevrange zrevrangebylex zrevrangebyscore
    }
    # Leaves the names of these commands out of a list.
    proc unchanged {names} {
        variable commands
        return [lmap name $names { if {$name in $commands} continue; set name }]
    }
    # Leaves the field `roles` out of a reply of ACL GETUSER.
    proc without_roles {user} { return [dict remove $user roles] }
    # Leaves what has changed out of a dict by the name of a command (command_facts.tcl).
    proc without_changed {facts} {
        variable commands
        return [dict filter $facts script {name fact} { expr {$name ni $commands} }]
    }
}
