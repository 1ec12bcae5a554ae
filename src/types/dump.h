/* dump.h - one key's value as bytes: DUMP, RESTORE, and MIGRATE, which does both between two servers
 * (types/dump.c, types/migrate.c). */
#pragma once

void migrateInit(void); /* closes sockets that nobody has used for a while */
