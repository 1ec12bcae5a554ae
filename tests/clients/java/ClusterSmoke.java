// Jedis as a client of a cluster. PORT and CONTROL (a program: failover, reshard, migrate) come from the environment; the first
// difference ends it.
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import redis.clients.jedis.*;
import redis.clients.jedis.exceptions.*;

public class ClusterSmoke {
    static final int PORT = Integer.parseInt(System.getenv("PORT")), KEYS = 500;
    static JedisCluster r;

    static JedisCluster connect() {
        DefaultJedisClientConfig config = DefaultJedisClientConfig.builder().timeoutMillis(5000).build();
        return new JedisCluster(Set.of(new HostAndPort("127.0.0.1", PORT)), config, 30);
    }

    static void eq(Object actual, Object expected) {
        if (!Objects.equals(actual, expected)) throw new AssertionError("expected " + expected + ", got " + actual);
    }

    static void verify() {
        for (int i = 0; i < KEYS; i++) eq(r.get("key:" + i), "value:" + i);
    }

    static void topology() {
        eq(r.getClusterNodes().size(), 6);
    }

    static void routing() {
        for (int i = 0; i < KEYS; i++) eq(r.set("key:" + i, "value:" + i), "OK");
        verify();
        eq(r.mset("{t}1", "x", "{t}2", "y"), "OK");
        eq(r.mget("{t}1", "{t}2"), List.of("x", "y"));
        try {
            r.mget("a", "b");
            throw new AssertionError("keys of two slots");
        } catch (JedisClusterOperationException | JedisDataException expected) {
            if (!expected.getMessage().toLowerCase().contains("slot")) throw expected;
        }
    }

    static void pipelines() {
        List<Response<String>> got = new ArrayList<>();
        try (ClusterPipeline p = r.pipelined()) {
            for (int i = 0; i < KEYS; i++) got.add(p.get("key:" + i));
            p.sync();
        }
        for (int i = 0; i < KEYS; i++) eq(got.get(i).get(), "value:" + i);
    }

    static void shardedPubsub() throws Exception {
        BlockingQueue<String> heard = new LinkedBlockingQueue<>();
        JedisShardedPubSub listener = new JedisShardedPubSub() {
            @Override
            public void onSSubscribe(String channel, int count) {
                heard.add("subscribed " + channel);
            }

            @Override
            public void onSMessage(String channel, String message) {
                heard.add(channel + " " + message);
            }
        };
        Thread thread = new Thread(() -> r.ssubscribe(listener, "news"));
        thread.start();
        eq(heard.poll(10, TimeUnit.SECONDS), "subscribed news");
        eq(r.spublish("news", "hello"), 1L);
        eq(heard.poll(10, TimeUnit.SECONDS), "news hello");
        listener.sunsubscribe();
        thread.join();
    }

    static void scripts() {
        eq(r.eval("return redis.call('get', KEYS[1])", 1, "key:7"), "value:7");
    }

    // Reads and writes go on while the cluster changes. patient: they may fail for a while.
    static void underChange(String change, boolean patient) throws Exception {
        AtomicBoolean ended = new AtomicBoolean();
        AtomicInteger count = new AtomicInteger();
        ExecutorService executor = Executors.newSingleThreadExecutor();
        Future<?> work = executor.submit(() -> {
            for (int n = 0; !ended.get(); n++) {
                String got;
                try {
                    r.set("other:" + n % KEYS, "" + n);
                    got = r.get("key:" + n % KEYS);
                } catch (JedisException e) {
                    if (!patient) throw e;
                    continue;
                }
                eq(got, "value:" + n % KEYS);
                count.incrementAndGet();
            }
        });
        Process control = new ProcessBuilder(System.getenv("CONTROL"), change).inheritIO().start();
        eq(control.waitFor(), 0);
        int before = count.get();
        Thread.sleep(2000);
        ended.set(true);
        work.get();
        executor.shutdown();
        if (count.get() == before) throw new AssertionError("nothing works any more");
        verify();
    }

    static void failover() throws Exception {
        for (int i = 0; i < KEYS; i++) r.waitReplicas("key:" + i, 1, 5000);
        underChange("failover", true);
    }

    public static void main(String[] args) throws Exception {
        r = connect();
        topology();
        System.out.println("ok topology");
        routing();
        System.out.println("ok routing");
        pipelines();
        System.out.println("ok pipelines");
        shardedPubsub();
        System.out.println("ok shardedPubsub");
        scripts();
        System.out.println("ok scripts");
        underChange("reshard", false);
        System.out.println("ok reshard");
        underChange("migrate", false);
        System.out.println("ok migrate");
        failover();
        System.out.println("ok failover");
        System.exit(0);
    }
}
