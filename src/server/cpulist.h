/* cpulist.h - which processors the server's threads and children may run on: server-cpulist, bio-cpulist,
 * bgsave-cpulist, aof-rewrite-cpulist. A list is numbers and ranges, with a step if need be:
 * "0,2-5,8-20:2". */
#pragma once

enum cpulistUser { CPULIST_SERVER, CPULIST_BIO, CPULIST_BGSAVE, CPULIST_AOF_REWRITE, CPULIST_USERS };
/* For the calling thread. Does nothing when no list is set, or it is not one, or the system refuses. */
void cpulistApply(enum cpulistUser user);
void cpulistInit(void); /* directives */
