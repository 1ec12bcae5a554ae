/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_geo.c - the geo commands. */
#include "commands/cmd_geo.h"

#include "commands/cmd_grammar.h"

static const struct commandArg geoaddArgs_condition[] = {
    {.name = "nx", .type = ARG_PURE_TOKEN, .token = "NX"},
    {.name = "xx", .type = ARG_PURE_TOKEN, .token = "XX"},
    {0},
};

static const struct commandArg geoaddArgs_data[] = {
    {.name = "longitude", .type = ARG_DOUBLE},
    {.name = "latitude", .type = ARG_DOUBLE},
    {.name = "member", .type = ARG_STRING},
    {0},
};

static const struct commandArg geoaddArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "condition",
     .type = ARG_ONEOF,
     .since = "6.2.0",
     .flags = ARG_OPTIONAL,
     .args = geoaddArgs_condition},
    {.name = "change", .type = ARG_PURE_TOKEN, .token = "CH", .since = "6.2.0", .flags = ARG_OPTIONAL},
    {.name = "data", .type = ARG_BLOCK, .flags = ARG_MULTIPLE, .args = geoaddArgs_data},
    {0},
};

static const struct commandArg geodistArgs_unit[] = {
    {.name = "m", .type = ARG_PURE_TOKEN, .token = "M"},
    {.name = "km", .type = ARG_PURE_TOKEN, .token = "KM"},
    {.name = "ft", .type = ARG_PURE_TOKEN, .token = "FT"},
    {.name = "mi", .type = ARG_PURE_TOKEN, .token = "MI"},
    {0},
};

static const struct commandArg geodistArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "member1", .type = ARG_STRING},
    {.name = "member2", .type = ARG_STRING},
    {.name = "unit", .type = ARG_ONEOF, .flags = ARG_OPTIONAL, .args = geodistArgs_unit},
    {0},
};

static const struct commandArg geohashArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "member", .type = ARG_STRING, .flags = ARG_OPTIONAL | ARG_MULTIPLE},
    {0},
};

static const struct commandArg georadiusArgs_count_block[] = {
    {.name = "count", .type = ARG_INTEGER, .token = "COUNT"},
    {.name = "any", .type = ARG_PURE_TOKEN, .token = "ANY", .since = "6.2.0", .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg georadiusArgs_order[] = {
    {.name = "asc", .type = ARG_PURE_TOKEN, .token = "ASC"},
    {.name = "desc", .type = ARG_PURE_TOKEN, .token = "DESC"},
    {0},
};

static const struct commandArg georadiusArgs_store[] = {
    {.name = "storekey", .type = ARG_KEY, .key_spec = 2, .token = "STORE", .display = "key"},
    {.name = "storedistkey", .type = ARG_KEY, .key_spec = 3, .token = "STOREDIST", .display = "key"},
    {0},
};

static const struct commandArg georadiusArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "longitude", .type = ARG_DOUBLE},
    {.name = "latitude", .type = ARG_DOUBLE},
    {.name = "radius", .type = ARG_DOUBLE},
    {.name = "unit", .type = ARG_ONEOF, .args = geodistArgs_unit},
    {.name = "withcoord", .type = ARG_PURE_TOKEN, .token = "WITHCOORD", .flags = ARG_OPTIONAL},
    {.name = "withdist", .type = ARG_PURE_TOKEN, .token = "WITHDIST", .flags = ARG_OPTIONAL},
    {.name = "withhash", .type = ARG_PURE_TOKEN, .token = "WITHHASH", .flags = ARG_OPTIONAL},
    {.name = "count-block", .type = ARG_BLOCK, .flags = ARG_OPTIONAL, .args = georadiusArgs_count_block},
    {.name = "order", .type = ARG_ONEOF, .flags = ARG_OPTIONAL, .args = georadiusArgs_order},
    {.name = "store", .type = ARG_ONEOF, .flags = ARG_OPTIONAL, .args = georadiusArgs_store},
    {0},
};

static const struct commandArg georadiusbymemberArgs_count_block[] = {
    {.name = "count", .type = ARG_INTEGER, .token = "COUNT"},
    {.name = "any", .type = ARG_PURE_TOKEN, .token = "ANY", .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg georadiusbymemberArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "member", .type = ARG_STRING},
    {.name = "radius", .type = ARG_DOUBLE},
    {.name = "unit", .type = ARG_ONEOF, .args = geodistArgs_unit},
    {.name = "withcoord", .type = ARG_PURE_TOKEN, .token = "WITHCOORD", .flags = ARG_OPTIONAL},
    {.name = "withdist", .type = ARG_PURE_TOKEN, .token = "WITHDIST", .flags = ARG_OPTIONAL},
    {.name = "withhash", .type = ARG_PURE_TOKEN, .token = "WITHHASH", .flags = ARG_OPTIONAL},
    {.name = "count-block",
     .type = ARG_BLOCK,
     .flags = ARG_OPTIONAL,
     .args = georadiusbymemberArgs_count_block},
    {.name = "order", .type = ARG_ONEOF, .flags = ARG_OPTIONAL, .args = georadiusArgs_order},
    {.name = "store", .type = ARG_ONEOF, .flags = ARG_OPTIONAL, .args = georadiusArgs_store},
    {0},
};

static const struct commandArg georadiusbymemberRoArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "member", .type = ARG_STRING},
    {.name = "radius", .type = ARG_DOUBLE},
    {.name = "unit", .type = ARG_ONEOF, .args = geodistArgs_unit},
    {.name = "withcoord", .type = ARG_PURE_TOKEN, .token = "WITHCOORD", .flags = ARG_OPTIONAL},
    {.name = "withdist", .type = ARG_PURE_TOKEN, .token = "WITHDIST", .flags = ARG_OPTIONAL},
    {.name = "withhash", .type = ARG_PURE_TOKEN, .token = "WITHHASH", .flags = ARG_OPTIONAL},
    {.name = "count-block",
     .type = ARG_BLOCK,
     .flags = ARG_OPTIONAL,
     .args = georadiusbymemberArgs_count_block},
    {.name = "order", .type = ARG_ONEOF, .flags = ARG_OPTIONAL, .args = georadiusArgs_order},
    {0},
};

static const struct commandArg georadiusRoArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "longitude", .type = ARG_DOUBLE},
    {.name = "latitude", .type = ARG_DOUBLE},
    {.name = "radius", .type = ARG_DOUBLE},
    {.name = "unit", .type = ARG_ONEOF, .args = geodistArgs_unit},
    {.name = "withcoord", .type = ARG_PURE_TOKEN, .token = "WITHCOORD", .flags = ARG_OPTIONAL},
    {.name = "withdist", .type = ARG_PURE_TOKEN, .token = "WITHDIST", .flags = ARG_OPTIONAL},
    {.name = "withhash", .type = ARG_PURE_TOKEN, .token = "WITHHASH", .flags = ARG_OPTIONAL},
    {.name = "count-block", .type = ARG_BLOCK, .flags = ARG_OPTIONAL, .args = georadiusArgs_count_block},
    {.name = "order", .type = ARG_ONEOF, .flags = ARG_OPTIONAL, .args = georadiusArgs_order},
    {0},
};

static const struct commandArg geosearchArgs_from_fromlonlat[] = {
    {.name = "longitude", .type = ARG_DOUBLE},
    {.name = "latitude", .type = ARG_DOUBLE},
    {0},
};

static const struct commandArg geosearchArgs_from[] = {
    {.name = "member", .type = ARG_STRING, .token = "FROMMEMBER"},
    {.name = "fromlonlat", .type = ARG_BLOCK, .token = "FROMLONLAT", .args = geosearchArgs_from_fromlonlat},
    {0},
};

static const struct commandArg geosearchArgs_by_circle[] = {
    {.name = "radius", .type = ARG_DOUBLE, .token = "BYRADIUS"},
    {.name = "unit", .type = ARG_ONEOF, .args = geodistArgs_unit},
    {0},
};

static const struct commandArg geosearchArgs_by_box[] = {
    {.name = "width", .type = ARG_DOUBLE, .token = "BYBOX"},
    {.name = "height", .type = ARG_DOUBLE},
    {.name = "unit", .type = ARG_ONEOF, .args = geodistArgs_unit},
    {0},
};

static const struct commandArg geosearchArgs_by_polygon_vertex[] = {
    {.name = "longitude", .type = ARG_DOUBLE},
    {.name = "latitude", .type = ARG_DOUBLE},
    {0},
};

static const struct commandArg geosearchArgs_by_polygon[] = {
    {.name = "num-vertices", .type = ARG_INTEGER, .token = "BYPOLYGON"},
    {.name = "vertices", .type = ARG_BLOCK, .flags = ARG_MULTIPLE, .args = geosearchArgs_by_polygon_vertex},
    {0},
};

static const struct commandArg geosearchArgs_by[] = {
    {.name = "circle", .type = ARG_BLOCK, .args = geosearchArgs_by_circle},
    {.name = "box", .type = ARG_BLOCK, .args = geosearchArgs_by_box},
    {.name = "polygon", .type = ARG_BLOCK, .since = "9.0.0", .args = geosearchArgs_by_polygon},
    {0},
};

static const struct commandArg geosearchArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "from", .type = ARG_ONEOF, .flags = ARG_OPTIONAL, .args = geosearchArgs_from},
    {.name = "by", .type = ARG_ONEOF, .args = geosearchArgs_by},
    {.name = "order", .type = ARG_ONEOF, .flags = ARG_OPTIONAL, .args = georadiusArgs_order},
    {.name = "count-block",
     .type = ARG_BLOCK,
     .flags = ARG_OPTIONAL,
     .args = georadiusbymemberArgs_count_block},
    {.name = "withcoord", .type = ARG_PURE_TOKEN, .token = "WITHCOORD", .flags = ARG_OPTIONAL},
    {.name = "withdist", .type = ARG_PURE_TOKEN, .token = "WITHDIST", .flags = ARG_OPTIONAL},
    {.name = "withhash", .type = ARG_PURE_TOKEN, .token = "WITHHASH", .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg geosearchstoreArgs[] = {
    {.name = "destination", .type = ARG_KEY, .key_spec = 1},
    {.name = "source", .type = ARG_KEY, .key_spec = 2},
    {.name = "from", .type = ARG_ONEOF, .flags = ARG_OPTIONAL, .args = geosearchArgs_from},
    {.name = "by", .type = ARG_ONEOF, .args = geosearchArgs_by},
    {.name = "order", .type = ARG_ONEOF, .flags = ARG_OPTIONAL, .args = georadiusArgs_order},
    {.name = "count-block",
     .type = ARG_BLOCK,
     .flags = ARG_OPTIONAL,
     .args = georadiusbymemberArgs_count_block},
    {.name = "storedist", .type = ARG_PURE_TOKEN, .token = "STOREDIST", .flags = ARG_OPTIONAL},
    {0},
};

const struct commandSpec commandsGeo[] = {
    {.name = "geoadd",
     .summary = "Add members with their coordinates.",
     .complexity = "O(log n) per member",
     .since = "3.2.0",
     .group = "geo",
     .history = HISTORY({"6.2.0", "`CH`, `NX` and `XX`."}),
     .proc = geoaddCommand,
     .arity = -5,
     .flags = CMD_WRITE | CMD_DENYOOM,
     .acl = ACL_GEO,
     KEYS({.flags = KEY_RW | KEY_UPDATE, KEY_AT(1)}),
     .args = geoaddArgs},
    {.name = "geodist",
     .summary = "The distance between two members.",
     .complexity = "O(1)",
     .since = "3.2.0",
     .group = "geo",
     .proc = geodistCommand,
     .arity = -4,
     .flags = CMD_READONLY | CMD_PARALLEL_READ,
     .acl = ACL_GEO,
     KEYS({.flags = KEY_RO | KEY_ACCESS, KEY_AT(1)}),
     .args = geodistArgs},
    {.name = "geohash",
     .summary = "Members' positions as standard geohash strings.",
     .complexity = "O(n) in the number of members given",
     .since = "3.2.0",
     .group = "geo",
     .proc = geohashCommand,
     .arity = -2,
     .flags = CMD_READONLY | CMD_PARALLEL_READ,
     .acl = ACL_GEO,
     KEYS({.flags = KEY_RO | KEY_ACCESS, KEY_AT(1)}),
     .args = geohashArgs},
    {.name = "geopos",
     .summary = "Members' coordinates.",
     .complexity = "O(n) in the number of members given",
     .since = "3.2.0",
     .group = "geo",
     .proc = geoposCommand,
     .arity = -2,
     .flags = CMD_READONLY | CMD_PARALLEL_READ,
     .acl = ACL_GEO,
     KEYS({.flags = KEY_RO | KEY_ACCESS, KEY_AT(1)}),
     .args = geohashArgs},
    {.name = "georadius",
     .summary = "Members within a distance of a point; optionally store them.",
     .complexity = "O(n+log m), n the members in the area, m found",
     .since = "3.2.0",
     .group = "geo",
     .history = HISTORY({"6.2.0", "`ANY` behind `COUNT`."}, {"7.0.0", "Units in upper case."}),
     .proc = georadiusCommand,
     .arity = -6,
     .flags = CMD_WRITE | CMD_DENYOOM,
     .acl = ACL_GEO,
     KEYS({.flags = KEY_RO | KEY_ACCESS, KEY_AT(1)},
          {.flags = KEY_OW | KEY_UPDATE | KEY_VARIABLE_FLAGS,
           .begin = KEYS_BEGIN_KEYWORD,
           .keyword = "STORE",
           .pos = 6,
           KEYS_RANGE(0, 1)},
          {.flags = KEY_OW | KEY_UPDATE | KEY_VARIABLE_FLAGS,
           .begin = KEYS_BEGIN_KEYWORD,
           .keyword = "STOREDIST",
           .pos = 6,
           KEYS_RANGE(0, 1)}),
     .getkeys = georadiusGetKeys,
     .args = georadiusArgs},
    {.name = "georadiusbymember",
     .summary = "Members within a distance of a member; optionally store them.",
     .complexity = "O(n+log m), n the members in the area, m found",
     .since = "3.2.0",
     .group = "geo",
     .history = HISTORY({"6.2.0", "`ANY` behind `COUNT`."}, {"7.0.0", "Units in upper case."}),
     .proc = georadiusbymemberCommand,
     .arity = -5,
     .flags = CMD_WRITE | CMD_DENYOOM,
     .acl = ACL_GEO,
     KEYS({.flags = KEY_RO | KEY_ACCESS, KEY_AT(1)},
          {.flags = KEY_OW | KEY_UPDATE | KEY_VARIABLE_FLAGS,
           .begin = KEYS_BEGIN_KEYWORD,
           .keyword = "STORE",
           .pos = 5,
           KEYS_RANGE(0, 1)},
          {.flags = KEY_OW | KEY_UPDATE | KEY_VARIABLE_FLAGS,
           .begin = KEYS_BEGIN_KEYWORD,
           .keyword = "STOREDIST",
           .pos = 5,
           KEYS_RANGE(0, 1)}),
     .getkeys = georadiusbymemberGetKeys,
     .args = georadiusbymemberArgs},
    {.name = "georadiusbymember_ro",
     .summary = "Members within a distance of a member.",
     .complexity = "O(n+log m), n the members in the area, m found",
     .since = "3.2.10",
     .group = "geo",
     .history = HISTORY({"6.2.0", "`ANY` behind `COUNT`."}, {"7.0.0", "Units in upper case."}),
     .proc = georadiusbymemberRoCommand,
     .arity = -5,
     .flags = CMD_READONLY | CMD_PARALLEL_READ,
     .acl = ACL_GEO,
     KEYS({.flags = KEY_RO | KEY_ACCESS, KEY_AT(1)}),
     .args = georadiusbymemberRoArgs},
    {.name = "georadius_ro",
     .summary = "Members within a distance of a point.",
     .complexity = "O(n+log m), n the members in the area, m found",
     .since = "3.2.10",
     .group = "geo",
     .history = HISTORY({"6.2.0", "`ANY` behind `COUNT`."}, {"7.0.0", "Units in upper case."}),
     .proc = georadiusRoCommand,
     .arity = -6,
     .flags = CMD_READONLY | CMD_PARALLEL_READ,
     .acl = ACL_GEO,
     KEYS({.flags = KEY_RO | KEY_ACCESS, KEY_AT(1)}),
     .args = georadiusRoArgs},
    {.name = "geosearch",
     .summary = "Members within a circle, a box or a polygon.",
     .complexity = "O(n+log m), n the members in the area, m found",
     .since = "6.2.0",
     .group = "geo",
     .history = HISTORY({"7.0.0", "Units in upper case."}, {"9.0.0", "`BYPOLYGON`."}),
     .proc = geosearchCommand,
     .arity = -7,
     .flags = CMD_READONLY | CMD_PARALLEL_READ,
     .acl = ACL_GEO,
     KEYS({.flags = KEY_RO | KEY_ACCESS, KEY_AT(1)}),
     .args = geosearchArgs},
    {.name = "geosearchstore",
     .summary = "Store the members within a circle, a box or a polygon.",
     .complexity = "O(n+log m), n the members in the area, m found",
     .since = "6.2.0",
     .group = "geo",
     .history = HISTORY({"7.0.0", "Units in upper case."}, {"9.0.0", "`BYPOLYGON`."}),
     .proc = geosearchstoreCommand,
     .arity = -8,
     .flags = CMD_WRITE | CMD_DENYOOM,
     .acl = ACL_GEO,
     KEYS({.flags = KEY_OW | KEY_UPDATE, KEY_AT(1)}, {.flags = KEY_RO | KEY_ACCESS, KEY_AT(2)}),
     .args = geosearchstoreArgs},
    {0},
};
