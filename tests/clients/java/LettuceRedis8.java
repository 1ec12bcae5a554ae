// What Redis 8 added, through Lettuce, in both protocols. PORT comes from the environment; the first difference ends it.
// VERSION, 8.6 for example, leaves out what such a Redis does not have.
import io.lettuce.core.*;
import io.lettuce.core.XReadArgs.StreamOffset;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.models.stream.*;
import io.lettuce.core.protocol.ProtocolVersion;
import java.util.*;

public class LettuceRedis8 {
    static final String VERSION = System.getenv().getOrDefault("VERSION", "8.10");
    static final int MINOR = Integer.parseInt(VERSION.substring(VERSION.indexOf('.') + 1));
    static ProtocolVersion protocol;
    static RedisCommands<String, String> r;

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

    static SetArgs when(CompareCondition<String> condition) {
        return new SetArgs().compareCondition(condition);
    }

    static void conditionalWrites() {
        r.set("c", "one");
        String one = r.digestKey("c");
        eq(r.set("c", "two", when(CompareCondition.digestEq(one))), "OK");
        eq(r.set("c", "three", when(CompareCondition.digestEq(one))), null);
        eq(r.setGet("c", "three", when(CompareCondition.digestNe(one))), "two");
        eq(r.set("c", "four", when(CompareCondition.valueEq("three"))), "OK");
        eq(r.delex("c", CompareCondition.valueNe("four")), 0L);
        eq(r.delex("c", CompareCondition.digestEq(one)), 0L);
        eq(r.delex("c", CompareCondition.valueEq("four")), 1L);
        eq(r.msetex(Map.of("c1", "1", "c2", "2"), MSetExArgs.Builder.ex(java.time.Duration.ofSeconds(100))), true);
    }

    static void bitOperations() {
        r.set("x", "a");
        r.set("y", "c");
        eq(List.of(r.bitopDiff("w", "x", "y"), r.bitcount("w")), List.of(1L, 0L));
        eq(List.of(r.bitopDiff1("w", "x", "y"), r.bitcount("w")), List.of(1L, 1L));
        eq(List.of(r.bitopAndor("w", "x", "y"), r.get("w")), List.of(1L, "a"));
        eq(List.of(r.bitopOne("w", "x", "y"), r.bitcount("w")), List.of(1L, 1L));
    }

    static void hashFields() {
        r.hset("h", Map.of("a", "1", "b", "2"));
        eq(r.hgetdel("h", "a").get(0).getValue(), "1");
        eq(r.hsetex("h", HSetExArgs.Builder.ex(java.time.Duration.ofSeconds(100)), Map.of("c", "3")), 1L);
        eq(r.httl("h", "b").get(0), -1L);
    }

    static void idempotentEntries() {
        XAddArgs one = XAddArgs.Builder.idmp("producer", "one"), automatic = XAddArgs.Builder.idmpAuto("other");
        eq(r.xadd("i", one, Map.of("f", "1")), r.xadd("i", one, Map.of("f", "2")));
        eq(r.xadd("i", automatic, Map.of("f", "3")), r.xadd("i", automatic, Map.of("f", "3")));
        eq(r.xlen("i"), 2L);
        eq(r.xcfgset("i", XCfgSetArgs.Builder.idmpDuration(10).idmpMaxsize(5)), "OK");
    }

    static void referencesOfGroups() {
        List<String> ids = new ArrayList<>();
        for (int n = 0; n < 4; n++) ids.add(r.xadd("s", Map.of("f", "1")));
        r.xgroupCreate(StreamOffset.from("s", "0"), "g");
        r.xreadgroup(Consumer.from("g", "c"), XReadArgs.Builder.count(2), StreamOffset.lastConsumed("s"));
        eq(r.xtrim("s", XTrimArgs.Builder.maxlen(2).exactTrimming().trimmingMode(StreamDeletionPolicy.ACKNOWLEDGED)), 0L);
        eq(r.xackdel("s", "g", StreamDeletionPolicy.ACKNOWLEDGED, ids.get(0)), List.of(StreamEntryDeletionResult.DELETED));
        eq(r.xdelex("s", StreamDeletionPolicy.DELETE_REFERENCES, ids.get(1)), List.of(StreamEntryDeletionResult.DELETED));
        eq(r.xpending("s", "g").getCount(), 0L);
    }

    static List<String> pending() {
        List<String> found = new ArrayList<>();
        for (PendingMessage e : r.xpending("p", "g", Range.unbounded(), Limit.from(9))) found.add(e.getId() + " " + e.getConsumer() + " " + e.getRedeliveryCount());
        return found;
    }

    static void claims() {
        for (String id : List.of("1-1", "2-1")) r.xadd("p", new XAddArgs().id(id), Map.of("f", "1"));
        r.xgroupCreate(StreamOffset.from("p", "0"), "g");
        r.xreadgroup(Consumer.from("g", "first"), XReadArgs.Builder.count(1), StreamOffset.lastConsumed("p"));
        eq(r.xreadgroup(Consumer.from("g", "second"), new XReadArgs().claim(0), StreamOffset.lastConsumed("p")).size(), 2);
        eq(pending(), List.of("1-1 second 2", "2-1 second 1"));
    }

    static void refusedEntries() {
        eq(r.xnack("p", "g", XNackMode.FAIL, "1-1", "9-9"), 1L);
        eq(r.xnack("p", "g", XNackMode.SILENT, "2-1"), 1L);
        eq(pending(), List.of("1-1  2", "2-1  0"));
    }

    static void limitedReads() {
        for (int n = 1; n < 6; n++)
            for (String name : List.of("l1", "l2")) r.xadd(name, new XAddArgs().id(n + "-1"), Map.of("f", "1"));
        eq(r.xread(new XReadArgs().maxCount(7), StreamOffset.from("l1", "0"), StreamOffset.from("l2", "0")).size(), 7);
    }

    static void movedElements() {
        r.rpush("m", "a", "b", "c", "d", "e", "f");
        eq(r.lmovem("m", "n", LMovemArgs.Builder.leftRight().count(2, LMovemArgs.Ordering.BULK)), List.of("a", "b"));
        eq(r.lmovem("m", "o", LMovemArgs.Builder.leftLeft().count(2, LMovemArgs.Ordering.OBO)), List.of("d", "c"));
        eq(r.llen("m"), 2L);
    }

    static void sizesOfSets() {
        r.sadd("s1", "1", "2", "3");
        r.sadd("s2", "3", "4");
        eq(List.of(r.sunioncard("s1", "s2"), r.sdiffcard("s1", "s2")), List.of(4L, 2L));
        eq(r.sunioncard("s1", "s2", SUnionCardArgs.Builder.limit(2)), 2L);
        r.zadd("z1", ScoredValue.just(5, "a"), ScoredValue.just(6, "b"));
        r.zadd("z2", 7, "b");
        eq(r.zunionstore("z3", ZStoreArgs.Builder.count(), "z1", "z2"), 2L);
        eq(r.zscore("z3", "b"), 2.0);
    }

    static void boundedCounters() {
        IncrexValue<Long> saturated = r.increx("counter", 9, IncrexArgs.Builder.ubound(7).saturate());
        eq(List.of(saturated.getValue(), saturated.getIncrement()), List.of(7L, 7L));
        eq(r.increx("counter", 5, IncrexArgs.Builder.ubound(7)).getIncrement(), 0L);
    }

    static void hotKeys() {
        r.hotkeysStart(HotkeysArgs.Builder.metrics(HotkeysArgs.Metric.CPU, HotkeysArgs.Metric.NET).count(10));
        for (int n = 0; n < 100; n++) r.get("hot");
        HotkeysReply found = r.hotkeysGet();
        eq(List.of(found.isTrackingActive(), found.getSampleRatio(), found.getByNetBytes().containsKey("hot")), List.of(true, 1, true));
        eq(List.of(r.hotkeysStop(), r.hotkeysReset()), List.of("OK", "OK"));
    }

    static void check(int minor, String name, Runnable call) {
        if (minor > MINOR) return;
        call.run();
        System.out.println("ok " + protocol + " " + name);
    }

    public static void main(String[] args) {
        for (ProtocolVersion each : List.of(ProtocolVersion.RESP2, ProtocolVersion.RESP3)) {
            protocol = each;
            RedisClient client = RedisClient.create("redis://127.0.0.1:" + System.getenv("PORT"));
            client.setOptions(ClientOptions.builder().protocolVersion(protocol).build());
            r = client.connect().sync();
            r.flushall();
            check(4, "digests", LettuceRedis8::digests);
            check(4, "conditionalWrites", LettuceRedis8::conditionalWrites);
            check(2, "bitOperations", LettuceRedis8::bitOperations);
            check(0, "hashFields", LettuceRedis8::hashFields);
            check(6, "idempotentEntries", LettuceRedis8::idempotentEntries);
            check(2, "referencesOfGroups", LettuceRedis8::referencesOfGroups);
            check(4, "claims", LettuceRedis8::claims);
            check(8, "refusedEntries", LettuceRedis8::refusedEntries);
            check(10, "limitedReads", LettuceRedis8::limitedReads);
            check(10, "movedElements", LettuceRedis8::movedElements);
            check(10, "sizesOfSets", LettuceRedis8::sizesOfSets);
            check(8, "boundedCounters", LettuceRedis8::boundedCounters);
            check(6, "hotKeys", LettuceRedis8::hotKeys);
            client.shutdown();
        }
        System.exit(0);
    }
}
