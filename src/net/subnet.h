/* SPDX-License-Identifier: BSD-3-Clause */
/* subnet.h - lists of networks: "10.0.0.0/8, 192.168.1.7 fd00::/8".
 *
 * All addresses have IPv6's 16 bytes. An IPv4 address is ::ffff:a.b.c.d, as it is for a socket that takes
 * both. No network of IPv6 contains IPv4 addresses, however short its prefix is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define SUBNET_ADDRESS 16 /* bytes */

struct subnet {
    uint8_t address[SUBNET_ADDRESS];
    uint8_t bits; /* of the prefix, in IPv6's form: 96 more than written for IPv4 */
};
struct subnetList { /* zeroed: empty */
    struct subnet *at;
    int count;
};

/* Parses addresses and networks (CIDR) that commas, blanks or both separate. False: one is not valid, and
 * *list is empty. The caller frees the list. */
bool subnetsParse(struct str text, struct subnetList *list);
void subnetsFree(struct subnetList *list);
bool subnetsContain(const struct subnetList *list, const uint8_t address[SUBNET_ADDRESS]);
