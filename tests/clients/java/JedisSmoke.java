// Jedis, in both protocols, and with its cache. PORT and RESTART (a command) come from the environment; the first
// difference ends it.
import java.util.*;
import java.util.concurrent.*;
import redis.clients.jedis.*;
import redis.clients.jedis.csc.*;
import redis.clients.jedis.exceptions.*;
import redis.clients.jedis.params.*;
import redis.clients.jedis.resps.*;

public class JedisSmoke {
    interface Check {
        void run() throws Exception;
    }

    interface Condition {
        boolean holds() throws Exception;
    }

    static final int PORT = Integer.parseInt(System.getenv("PORT"));
    static RedisProtocol protocol;
    static UnifiedJedis r;

    static DefaultJedisClientConfig.Builder config() {
        return DefaultJedisClientConfig.builder().protocol(protocol).timeoutMillis(70000);
    }

    static Jedis connect() {
        return new Jedis(new HostAndPort("127.0.0.1", PORT), config().build());
    }

    static void eq(Object actual, Object expected) {
        if (!Objects.equals(actual, expected)) throw new AssertionError("expected " + expected + ", got " + actual);
    }

    static void fails(String text, Check call) throws Exception {
        try {
            call.run();
        } catch (JedisException e) {
            if (!String.valueOf(e.getMessage()).contains(text)) throw new AssertionError("expected " + text + " in " + e.getMessage());
            return;
        }
        throw new AssertionError("expected an error with " + text);
    }

    static void until(Condition condition) throws Exception {
        long end = System.nanoTime() + 60_000_000_000L;
        while (!condition.holds()) {
            if (System.nanoTime() > end) throw new AssertionError("it did not happen within 60 s");
            Thread.sleep(20);
        }
    }

    static boolean someoneBlocked() {
        return r.info("clients").contains("blocked_clients:1");
    }

    static void connection() throws Exception {
        try (Jedis j = connect()) {
            eq(j.ping(), "PONG");
            if (!j.clientInfo().contains("resp=" + protocol.version())) throw new AssertionError(j.clientInfo());
            eq(j.select(5), "OK");
            j.set("in5", "1");
            eq(r.exists("in5"), false);
            j.clientSetname("me");
            eq(j.clientGetname(), "me");
        }
    }

    static void users() throws Exception {
        try (Jedis j = connect()) {
            j.aclSetUser("alice", "on", ">secret", "~a:*", "&*", "+@all", "-flushall");
            try (Jedis alice = new Jedis(new HostAndPort("127.0.0.1", PORT), config().user("alice").password("secret").build())) {
                eq(alice.aclWhoAmI(), "alice");
                eq(alice.set("a:1", "1"), "OK");
                fails("NOPERM", () -> alice.get("b:1"));
                fails("NOPERM", () -> alice.flushAll());
            }
            fails("WRONGPASS", () -> new Jedis(new HostAndPort("127.0.0.1", PORT), config().user("alice").password("wrong").build()).ping());
            eq(j.aclLog().get(0).getUsername(), "alice");
            eq(j.aclGetUser("alice").getKeys(), "~a:*");
            eq(j.aclDelUser("alice"), 1L);
        }
    }

    static void pipelines() {
        try (Jedis j = connect()) {
            Pipeline p = j.pipelined();
            for (int i = 0; i < 1000; i++) p.set("p:" + i, "" + i);
            Response<Long> wrong = p.lpush("p:1", "x");
            List<Response<Long>> replies = new ArrayList<>();
            for (int i = 0; i < 1000; i++) replies.add(p.incr("p:" + i));
            p.sync();
            for (int i = 0; i < 1000; i++) eq(replies.get(i).get(), (long) i + 1);
            try {
                wrong.get();
                throw new AssertionError("no error");
            } catch (JedisDataException e) {
                eq(e.getMessage().startsWith("WRONGTYPE"), true);
            }
        }
    }

    static void transactions() {
        try (Jedis j = connect()) {
            Transaction t = j.multi();
            t.set("t", "1");
            Response<Long> sum = t.incrBy("t", 41);
            eq(t.exec().size(), 2);
            eq(sum.get(), 42L);
            j.watch("t");
            r.set("t", "changed");
            Transaction mine = j.multi();
            mine.set("t", "mine");
            eq(mine.exec(), null);
            eq(r.get("t"), "changed");
        }
    }

    static void types() throws Exception {
        eq(r.hset("h", Map.of("a", "1", "b", "2")), 2L);
        eq(r.hgetAll("h"), Map.of("a", "1", "b", "2"));
        r.zadd("z", Map.of("a", 1.5, "b", Double.POSITIVE_INFINITY));
        eq(r.zrangeWithScores("z", 0, -1), List.of(new Tuple("a", 1.5), new Tuple("b", Double.POSITIVE_INFINITY)));
        eq(r.mget("t", "none"), Arrays.asList("changed", null));
        r.geoadd("g", 13.361389, 38.115556, "Palermo");
        eq(r.geosearch("g", new GeoCoordinate(13, 38), 200, redis.clients.jedis.args.GeoUnit.KM).get(0).getMemberByString(), "Palermo");
        eq(r.sadd("s", "a", "b"), 2L);
        eq(r.smismember("s", "a", "x"), List.of(true, false));
        eq(r.setGet("t", "new", new SetParams().ex(100)), "changed");
        fails("WRONGTYPE", () -> r.get("h"));
        try (Jedis j = connect()) {
            eq(j.configGet("maxmemory"), Map.of("maxmemory", "0"));
            eq(j.command().size() > 200, true);
            eq(j.memoryUsage("h") > 0, true);
            j.configSet("slowlog-log-slower-than", "0");
            j.get("t");
            eq(j.slowlogGet(1).get(0).getArgs(), List.of("GET", "t"));
            j.configSet("slowlog-log-slower-than", "10000");
        }
    }

    static void pubsub() throws Exception {
        BlockingQueue<String> seen = new LinkedBlockingQueue<>();
        JedisPubSub listener = new JedisPubSub() {
            @Override public void onMessage(String channel, String m) { seen.add("message " + channel + " " + m); }
            @Override public void onPMessage(String pattern, String channel, String m) { seen.add("pmessage " + pattern + " " + channel + " " + m); }
            @Override public void onPong(String text) { seen.add("pong " + text); }
        };
        Thread a = new Thread(() -> { try (Jedis j = connect()) { j.subscribe(listener, "c1", "c2"); } });
        a.start();
        try (Jedis j = connect()) {
            until(() -> j.pubsubNumSub("c2").get("c2") == 1);
            listener.psubscribe("c*");
            until(() -> j.pubsubNumPat() == 1);
        }
        eq(r.publish("c1", "one"), 2L);
        Set<String> got = new TreeSet<>();
        for (int i = 0; i < 2; i++) got.add(seen.poll(60, TimeUnit.SECONDS));
        eq(got, new TreeSet<>(List.of("message c1 one", "pmessage c* c1 one")));
        if (protocol == RedisProtocol.RESP2) { // Jedis 8.0.2 takes the reply in RESP3 for an unexpected message
            listener.ping("hello");
            eq(seen.poll(60, TimeUnit.SECONDS), "pong hello");
        }
        listener.unsubscribe();
        listener.punsubscribe();
        a.join(60000);
        eq(a.isAlive(), false);
    }

    static void scripts() throws Exception {
        String script = "return {redis.call('INCRBY', KEYS[1], ARGV[1]), false, 'x'}";
        eq(r.eval(script, List.of("n"), List.of("5")), Arrays.asList(5L, null, "x"));
        try (Jedis j = connect()) {
            String sha = j.scriptLoad(script);
            eq(((List<?>) j.evalsha(sha, List.of("n"), List.of("5"))).get(0), 10L);
            j.scriptFlush();
            eq(j.scriptExists(sha), false);
            fails("NOSCRIPT", () -> j.evalsha(sha, List.of("n"), List.of("5")));
        }
        eq(r.functionLoad("#!lua name=l\nredis.register_function('f', function(k, a) return redis.call('INCRBY', k[1], a[1]) end)"), "l");
        eq(r.fcall("f", List.of("fn"), List.of("3")), 3L);
        byte[] dump = r.functionDump();
        r.functionFlush();
        r.functionRestore(dump);
        eq(r.functionList().get(0).getLibraryName(), "l");
    }

    static void streams() throws Exception {
        List<StreamEntryID> ids = new ArrayList<>();
        for (int i = 0; i < 6; i++) ids.add(r.xadd("x", StreamEntryID.NEW_ENTRY, Map.of("i", "" + i)));
        eq(r.xgroupCreate("x", "g", new StreamEntryID(), false), "OK");
        fails("BUSYGROUP", () -> r.xgroupCreate("x", "g", new StreamEntryID(), false));
        var read = r.xreadGroup("g", "one", XReadGroupParams.xReadGroupParams().count(4), Map.of("x", StreamEntryID.XREADGROUP_UNDELIVERED_ENTRY));
        eq(read.get(0).getValue().get(3).getID(), ids.get(3));
        eq(r.xack("x", "g", ids.get(0)), 1L);
        eq(r.xpending("x", "g").getTotal(), 3L);
        eq(r.xautoclaim("x", "g", "two", 0, new StreamEntryID(), new XAutoClaimParams().count(2)).getValue().size(), 2);
        eq(r.xinfoStream("x").getLength(), 6L);
        eq(r.xinfoGroups("x").get(0).getPending(), 3L);
        eq(r.xinfoStreamFull("x").getGroups().get(0).getPelCount(), 3L);
        var got = CompletableFuture.supplyAsync(() -> {
            try (Jedis j = connect()) {
                return j.xread(XReadParams.xReadParams().block(60000), Map.of("x", StreamEntryID.XREAD_NEW_ENTRY));
            }
        });
        until(JedisSmoke::someoneBlocked);
        StreamEntryID last = r.xadd("x", StreamEntryID.NEW_ENTRY, Map.of("i", "last"));
        eq(got.get().get(0).getValue().get(0).getID(), last);
        eq(r.xread(XReadParams.xReadParams().block(30), Map.of("x", StreamEntryID.XREAD_NEW_ENTRY)), null);
    }

    static void blocking() throws Exception {
        eq(r.blpop(1, "none"), null);
        var got = CompletableFuture.supplyAsync(() -> { try (Jedis j = connect()) { return j.brpop(60, "q1", "q2"); } });
        until(JedisSmoke::someoneBlocked);
        r.lpush("q2", "v");
        eq(got.get(), List.of("q2", "v"));
        var min = CompletableFuture.supplyAsync(() -> { try (Jedis j = connect()) { return j.bzpopmin(60, "bz"); } });
        until(JedisSmoke::someoneBlocked);
        r.zadd("bz", 3, "m");
        eq(min.get().getValue().getScore(), 3.0);
    }

    static void iterators() {
        try (Jedis j = connect()) {
            Pipeline p = j.pipelined();
            for (int i = 0; i < 1000; i++) p.set("scan:" + i, "1");
            p.sync();
            Set<String> keys = new HashSet<>();
            String cursor = ScanParams.SCAN_POINTER_START;
            do {
                ScanResult<String> some = j.scan(cursor, new ScanParams().match("scan:*").count(100));
                keys.addAll(some.getResult());
                cursor = some.getCursor();
            } while (!cursor.equals("0"));
            eq(keys.size(), 1000);
        }
    }

    static void bigValues() {
        byte[] value = new byte[32 << 20];
        new Random(1).nextBytes(value);
        byte[] key = "big".getBytes();
        r.set(key, value);
        eq(Arrays.equals(r.get(key), value), true);
        r.del(key);
    }

    static void cache() throws Exception {
        CacheConfig.Builder settings = CacheConfig.builder().maxSize(100);
        try (UnifiedJedis cached = RedisClient.builder().hostAndPort("127.0.0.1", PORT).clientConfig(config().build()).cacheConfig(settings.build()).build()) {
            r.set("cached", "old");
            for (int i = 0; i < 10; i++) eq(cached.get("cached"), "old");
            r.set("cached", "new");
            until(() -> "new".equals(cached.get("cached")));
            r.flushDB();
            until(() -> cached.get("cached") == null);
        } catch (JedisException e) {
            // Jedis asks for a server named redis, of 7.4 or newer. That is its word, and no difference.
            if (!String.valueOf(e.getMessage()).contains("7.4")) throw e;
            System.out.println("   no cache with this server: " + e.getMessage());
        }
    }

    static void restart() throws Exception {
        r.rpush("kept", "1", "2", "3");
        eq(new ProcessBuilder("sh", "-c", System.getenv("RESTART")).inheritIO().start().waitFor(), 0);
        until(() -> { try { return r.ping().equals("PONG"); } catch (JedisConnectionException e) { return false; } });
        eq(r.lrange("kept", 0, -1), List.of("1", "2", "3"));
        eq(r.functionList().get(0).getLibraryName(), "l");
    }

    public static void main(String[] args) throws Exception {
        Map<String, Check> checks = new LinkedHashMap<>();
        checks.put("connection", JedisSmoke::connection);
        checks.put("users", JedisSmoke::users);
        checks.put("pipelines", JedisSmoke::pipelines);
        checks.put("transactions", JedisSmoke::transactions);
        checks.put("types", JedisSmoke::types);
        checks.put("pubsub", JedisSmoke::pubsub);
        checks.put("scripts", JedisSmoke::scripts);
        checks.put("streams", JedisSmoke::streams);
        checks.put("blocking", JedisSmoke::blocking);
        checks.put("iterators", JedisSmoke::iterators);
        checks.put("bigValues", JedisSmoke::bigValues);
        for (RedisProtocol each : List.of(RedisProtocol.RESP2, RedisProtocol.RESP3)) {
            protocol = each;
            try (RedisClient client = RedisClient.builder().hostAndPort("127.0.0.1", PORT).clientConfig(config().build()).build()) {
                r = client;
                r.flushAll();
                r.functionFlush();
                if (each == RedisProtocol.RESP3) checks.put("cache", JedisSmoke::cache);
                checks.remove("restart");
                checks.put("restart", JedisSmoke::restart);
                for (Map.Entry<String, Check> check : checks.entrySet()) {
                    check.getValue().run();
                    System.out.println("ok " + each + " " + check.getKey());
                }
            }
        }
        System.exit(0);
    }
}
