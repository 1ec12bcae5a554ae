// Jedis with Sentinels. PORT and CONTROL (a program: failover, switch) come from the environment; the first difference ends it.
import java.util.*;
import java.util.concurrent.atomic.*;
import redis.clients.jedis.*;

public class JedisSentinelSmoke {
    static final int PORT = Integer.parseInt(System.getenv("PORT"));
    static final String NAME = "mymaster";
    static JedisSentinelPool pool;

    static HostAndPort address(int i) {
        return new HostAndPort("127.0.0.1", PORT + i);
    }

    static void eq(Object actual, Object expected) {
        if (!Objects.equals(actual, expected)) throw new AssertionError("expected " + expected + ", got " + actual);
    }

    static Jedis sentinel() {
        return new Jedis(address(3), DefaultJedisClientConfig.builder().password("watch").build());
    }

    static void discovery() {
        eq(pool.getCurrentHostMaster(), address(0));
        try (Jedis s = sentinel()) {
            eq(s.sentinelGetMasterAddrByName(NAME), List.of("127.0.0.1", "" + PORT));
            eq(s.sentinelMaster(NAME).get("num-slaves"), "2");
            eq(s.sentinelMasters().size(), 1);
            eq(s.sentinelReplicas(NAME).size(), 2);
            eq(s.sentinelSentinels(NAME).size(), 2);
            eq(s.sentinelMyId().length(), 40);
            eq(s.sentinelGetMasterAddrByName("nobody"), null);
        }
        try (Jedis r = pool.getResource()) {
            eq(r.set("a", "1"), "OK");
            eq(r.waitReplicas(2, 5000), 2L);
        }
    }

    // Writes go on; what all replicas have is there at the end.
    static void underChange(String change) throws Exception {
        AtomicBoolean ended = new AtomicBoolean();
        List<String> kept = Collections.synchronizedList(new ArrayList<>());
        Thread work = new Thread(() -> {
            for (int n = 1; !ended.get(); n++) {
                try (Jedis r = pool.getResource()) {
                    r.rpush(change, "" + n);
                    if (r.waitReplicas(2, 500) == 2) kept.add("" + n);
                } catch (RuntimeException e) {
                    try {
                        Thread.sleep(50);
                    } catch (InterruptedException stop) {
                        return;
                    }
                }
            }
        });
        work.start();
        eq(new ProcessBuilder(System.getenv("CONTROL"), change).inheritIO().start().waitFor(), 0);
        int before = kept.size();
        Thread.sleep(2000);
        ended.set(true);
        work.join();
        if (before == 0 || kept.size() == before) throw new AssertionError("nothing works any more");
        try (Jedis r = pool.getResource(); Jedis s = sentinel()) {
            List<String> lost = new ArrayList<>(kept);
            lost.removeAll(new HashSet<>(r.lrange(change, 0, -1)));
            eq(lost, List.of());
            eq(pool.getCurrentHostMaster().toString(), String.join(":", s.sentinelGetMasterAddrByName(NAME)));
        }
    }

    public static void main(String[] args) throws Exception {
        Set<HostAndPort> sentinels = Set.of(address(3), address(4), address(5));
        JedisClientConfig data = DefaultJedisClientConfig.builder().password("data").build();
        pool = new JedisSentinelPool(NAME, sentinels, data, DefaultJedisClientConfig.builder().password("watch").build());
        discovery();
        System.out.println("ok discovery");
        for (String change : List.of("failover", "switch")) {
            underChange(change);
            System.out.println("ok " + change);
        }
        System.exit(0);
    }
}
