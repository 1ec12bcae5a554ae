// What Redis 8 added, through Jedis, in both protocols. PORT comes from the environment; the first difference ends it.
// VERSION, 8.6 for example, leaves out what such a Redis does not have.
import java.util.*;
import redis.clients.jedis.*;
import redis.clients.jedis.args.*;
import redis.clients.jedis.params.*;
import redis.clients.jedis.resps.*;
import redis.clients.jedis.util.CompareCondition;

public class JedisRedis8 {
    static final String VERSION = System.getenv().getOrDefault("VERSION", "8.10");
    static final int MINOR = Integer.parseInt(VERSION.substring(VERSION.indexOf('.') + 1));
    static final ListDirection LEFT = ListDirection.LEFT, RIGHT = ListDirection.RIGHT;
    static RedisProtocol protocol;
    static RedisClient r;

    static void eq(Object actual, Object expected) {
        if (!Objects.equals(actual, expected)) throw new AssertionError("expected " + expected + ", got " + actual);
    }

    static void digests() {
        r.set("d", "value");
        r.set("d2", "value");
        r.set("d3", "");
        eq(r.digestKey("d"), r.digestKey("d2"));
        eq(r.digestKey("d3"), "2d06800538d394c2"); // xxHash's XXH3 of nothing
        eq(r.digestKey("none"), null);
    }

    static void conditionalWrites() {
        r.set("c", "one");
        String one = r.digestKey("c");
        eq(r.set("c", "two", SetParams.setParams().condition(CompareCondition.digestEq(one))), "OK");
        eq(r.set("c", "three", SetParams.setParams().condition(CompareCondition.digestEq(one))), null);
        eq(r.setGet("c", "three", SetParams.setParams().condition(CompareCondition.digestNe(one))), "two");
        eq(r.set("c", "four", SetParams.setParams().condition(CompareCondition.valueEq("three"))), "OK");
        eq(r.delex("c", CompareCondition.valueNe("four")), 0L);
        eq(r.delex("c", CompareCondition.digestEq(one)), 0L);
        eq(r.delex("c", CompareCondition.valueEq("four")), 1L);
        eq(r.msetex(new MSetExParams().ex(100), "c1", "1", "c2", "2"), true);
    }

    static void bitOperations() {
        r.set("x", "a");
        r.set("y", "c");
        eq(List.of(r.bitop(BitOP.DIFF, "w", "x", "y"), r.bitcount("w")), List.of(1L, 0L));
        eq(List.of(r.bitop(BitOP.DIFF1, "w", "x", "y"), r.bitcount("w")), List.of(1L, 1L));
        eq(List.of(r.bitop(BitOP.ANDOR, "w", "x", "y"), r.get("w")), List.of(1L, "a"));
        eq(List.of(r.bitop(BitOP.ONE, "w", "x", "y"), r.bitcount("w")), List.of(1L, 1L));
    }

    static void hashFields() {
        r.hset("h", Map.of("a", "1", "b", "2"));
        eq(r.hgetdel("h", "a"), List.of("1"));
        eq(r.hsetex("h", HSetExParams.hSetExParams().ex(100), "c", "3"), 1L);
        eq(r.httl("h", "b").get(0), -1L);
    }

    static void idempotentEntries() {
        XAddParams one = XAddParams.xAddParams().idmp("producer", "one"), automatic = XAddParams.xAddParams().idmpAuto("other");
        eq(r.xadd("i", one, Map.of("f", "1")), r.xadd("i", one, Map.of("f", "2")));
        eq(r.xadd("i", automatic, Map.of("f", "3")), r.xadd("i", automatic, Map.of("f", "3")));
        eq(r.xlen("i"), 2L);
        eq(r.xcfgset("i", XCfgSetParams.xCfgSetParams().idmpDuration(10).idmpMaxsize(5)), "OK");
    }

    static void referencesOfGroups() {
        List<StreamEntryID> ids = new ArrayList<>();
        for (int n = 0; n < 4; n++) ids.add(r.xadd("s", StreamEntryID.NEW_ENTRY, Map.of("f", "1")));
        r.xgroupCreate("s", "g", new StreamEntryID("0-0"), false);
        r.xreadGroup("g", "c", XReadGroupParams.xReadGroupParams().count(2), Map.of("s", StreamEntryID.XREADGROUP_UNDELIVERED_ENTRY));
        eq(r.xtrim("s", XTrimParams.xTrimParams().maxLen(2).exactTrimming().trimmingMode(StreamDeletionPolicy.ACKNOWLEDGED)), 0L);
        eq(r.xackdel("s", "g", StreamDeletionPolicy.ACKNOWLEDGED, ids.get(0)), List.of(StreamEntryDeletionResult.DELETED));
        eq(r.xdelex("s", StreamDeletionPolicy.DELETE_REFERENCES, ids.get(1)), List.of(StreamEntryDeletionResult.DELETED));
        eq(r.xpending("s", "g").getTotal(), 0L);
    }

    static List<String> pending() {
        List<String> found = new ArrayList<>();
        for (StreamPendingEntry e : r.xpending("p", "g", XPendingParams.xPendingParams("-", "+", 9)))
            found.add(e.getID() + " " + e.getConsumerName() + " " + e.getDeliveredTimes());
        return found;
    }

    static void claims() {
        Map<String, StreamEntryID> newest = Map.of("p", StreamEntryID.XREADGROUP_UNDELIVERED_ENTRY);
        for (String id : List.of("1-1", "2-1")) r.xadd("p", new StreamEntryID(id), Map.of("f", "1"));
        r.xgroupCreate("p", "g", new StreamEntryID("0-0"), false);
        r.xreadGroup("g", "first", XReadGroupParams.xReadGroupParams().count(1), newest);
        eq(r.xreadGroup("g", "second", XReadGroupParams.xReadGroupParams().claim(0), newest).get(0).getValue().size(), 2);
        eq(pending(), List.of("1-1 second 2", "2-1 second 1"));
    }

    static void refusedEntries() {
        eq(r.xnack("p", "g", XNackMode.FAIL, new StreamEntryID("1-1"), new StreamEntryID("9-9")), 1L);
        eq(r.xnack("p", "g", XNackMode.SILENT, new StreamEntryID("2-1")), 1L);
        eq(pending(), List.of("1-1  2", "2-1  0"));
    }

    static void limitedReads() {
        for (int n = 1; n < 6; n++)
            for (String name : List.of("l1", "l2")) r.xadd(name, new StreamEntryID(n, 1), Map.of("f", "1"));
        Map<String, StreamEntryID> both = new LinkedHashMap<>(Map.of("l1", new StreamEntryID("0-0")));
        both.put("l2", new StreamEntryID("0-0"));
        int found = 0;
        for (List<StreamEntry> entries : r.xreadAsMap(XReadParams.xReadParams().maxCount(7), both).values()) found += entries.size();
        eq(found, 7);
    }

    static void movedElements() {
        r.rpush("m", "a", "b", "c", "d", "e", "f");
        eq(r.lmovem("m", "n", LEFT, RIGHT, LMoveMParams.lMoveMParams().count(2, ListMoveOrder.BULK)), List.of("a", "b"));
        eq(r.lmovem("m", "o", LEFT, LEFT, LMoveMParams.lMoveMParams().count(2, ListMoveOrder.OBO)), List.of("d", "c"));
        eq(r.lmovem("m", "n", LEFT, RIGHT, LMoveMParams.lMoveMParams().exactly(9, ListMoveOrder.BULK)), null);
        eq(r.blmovem("none", "n", LEFT, RIGHT, 0.05), null);
    }

    static void sizesOfSets() {
        r.sadd("s1", "1", "2", "3");
        r.sadd("s2", "3", "4");
        eq(List.of(r.sunioncard("s1", "s2"), r.sdiffcard("s1", "s2")), List.of(4L, 2L));
        eq(r.sunioncard("s1", "s2", SUnionCardParams.sUnionCardParams().limit(2)), 2L);
        r.zadd("z1", Map.of("a", 5.0, "b", 6.0));
        r.zadd("z2", 7, "b");
        eq(r.zunionstore("z3", new ZParams().aggregate(ZParams.Aggregate.COUNT), "z1", "z2"), 2L);
        eq(r.zscore("z3", "b"), 2.0);
    }

    static void boundedCounters() {
        eq(r.increx("counter", 5, IncrexParams.increxParams().ubound(7).ex(100)), List.of(5L, 5L));
        eq(r.increx("counter", 5, IncrexParams.increxParams().ubound(7)), List.of(5L, 0L));
        eq(r.increx("counter", 5, IncrexParams.increxParams().ubound(7).saturate().persist()), List.of(7L, 2L));
    }

    static void hotKeys() {
        r.hotkeysStart(HotkeysParams.hotkeysParams().metrics(HotkeysMetric.CPU, HotkeysMetric.NET).count(10));
        for (int n = 0; n < 100; n++) r.get("hot");
        HotkeysInfo found = r.hotkeysGet();
        eq(List.of(found.isTrackingActive(), found.getSampleRatio(), found.getByNetBytes().containsKey("hot")), List.of(true, 1L, true));
        eq(List.of(r.hotkeysStop(), r.hotkeysReset()), List.of("OK", "OK"));
    }

    static void check(int minor, String name, Runnable call) {
        if (minor > MINOR) return;
        call.run();
        System.out.println("ok " + protocol + " " + name);
    }

    public static void main(String[] args) {
        for (RedisProtocol each : List.of(RedisProtocol.RESP2, RedisProtocol.RESP3)) {
            protocol = each;
            r = RedisClient.builder().hostAndPort("127.0.0.1", Integer.parseInt(System.getenv("PORT")))
                    .clientConfig(DefaultJedisClientConfig.builder().protocol(protocol).build()).build();
            r.flushAll();
            check(4, "digests", JedisRedis8::digests);
            check(4, "conditionalWrites", JedisRedis8::conditionalWrites);
            check(2, "bitOperations", JedisRedis8::bitOperations);
            check(0, "hashFields", JedisRedis8::hashFields);
            check(6, "idempotentEntries", JedisRedis8::idempotentEntries);
            check(2, "referencesOfGroups", JedisRedis8::referencesOfGroups);
            check(4, "claims", JedisRedis8::claims);
            check(8, "refusedEntries", JedisRedis8::refusedEntries);
            check(10, "limitedReads", JedisRedis8::limitedReads);
            check(10, "movedElements", JedisRedis8::movedElements);
            check(10, "sizesOfSets", JedisRedis8::sizesOfSets);
            check(8, "boundedCounters", JedisRedis8::boundedCounters);
            check(6, "hotKeys", JedisRedis8::hotKeys);
            r.close();
        }
        System.exit(0);
    }
}
