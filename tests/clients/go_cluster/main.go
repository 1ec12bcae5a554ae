// go-redis as a client of a cluster. PORT and CONTROL (a program: failover, reshard, migrate) come from the environment; the
// first difference ends it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const keys = 500

var ctx = context.Background()

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func eq[T comparable](actual, expected T) {
	if actual != expected {
		panic(fmt.Sprintf("expected %#v, got %#v", expected, actual))
	}
}

func connect(readOnly bool) *redis.ClusterClient {
	return redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:" + os.Getenv("PORT")}, ReadOnly: readOnly})
}

func key(i int) string   { return fmt.Sprintf("key:%d", i) }
func value(i int) string { return fmt.Sprintf("value:%d", i) }

func verify(r *redis.ClusterClient) {
	for i := 0; i < keys; i++ {
		eq(must(r.Get(ctx, key(i)).Result()), value(i))
	}
}

func topology(r *redis.ClusterClient) {
	var primaries, all atomic.Int32
	count := func(n *atomic.Int32) func(context.Context, *redis.Client) error {
		return func(ctx context.Context, c *redis.Client) error { n.Add(1); return c.Ping(ctx).Err() }
	}
	must(0, r.ForEachMaster(ctx, count(&primaries)))
	must(0, r.ForEachShard(ctx, count(&all)))
	eq(primaries.Load(), 3)
	eq(all.Load(), 6)
}

func routing(r *redis.ClusterClient) {
	for i := 0; i < keys; i++ {
		eq(must(r.Set(ctx, key(i), value(i), 0).Result()), "OK")
	}
	verify(r)
	must(r.MSet(ctx, "{t}1", "x", "{t}2", "y").Result())
	eq(fmt.Sprint(must(r.MGet(ctx, "{t}1", "{t}2").Result())), "[x y]")
	eq(must(r.DBSize(ctx).Result()), keys+2)
}

func pipelines(r *redis.ClusterClient) {
	got := must(r.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := 0; i < 200; i++ {
			p.Set(ctx, fmt.Sprint("pipe:", i), i, 0)
		}
		return nil
	}))
	eq(len(got), 200)
	got = must(r.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, "{m}1", 1, 0)
		p.Incr(ctx, "{m}1")
		return nil
	}))
	eq(got[1].(*redis.IntCmd).Val(), 2)
}

func shardedPubsub(r *redis.ClusterClient) {
	s := r.SSubscribe(ctx, "news")
	must(s.Receive(ctx))
	must(r.SPublish(ctx, "news", "hello").Result())
	eq((<-s.Channel()).Payload, "hello")
	s.Close()
}

func replicas(r *redis.ClusterClient) {
	reader := connect(true)
	time.Sleep(time.Second)
	verify(reader)
	reader.Close()
}

// Reads and writes go on while the cluster changes. patient: they may fail for a while.
func underChange(r *redis.ClusterClient, change string, patient bool) {
	var ended atomic.Bool
	var count atomic.Int64
	wrong := make(chan any, 1)
	go func() {
		defer func() { wrong <- recover() }()
		for n := 0; !ended.Load(); n++ {
			i := n % keys
			err := r.Set(ctx, fmt.Sprint("other:", i), n, 0).Err()
			got, err2 := r.Get(ctx, key(i)).Result()
			if err == nil && err2 == nil {
				eq(got, value(i))
				count.Add(1)
			} else if !patient {
				panic(fmt.Sprint(err, " ", err2))
			} else if err2 == redis.Nil {
				panic("a key is lost")
			}
		}
	}()
	out := must(exec.Command(os.Getenv("CONTROL"), change).CombinedOutput())
	fmt.Print(string(out))
	before := count.Load()
	time.Sleep(2 * time.Second)
	ended.Store(true)
	if p := <-wrong; p != nil {
		panic(p)
	}
	if count.Load() == before {
		panic("nothing works any more")
	}
	verify(r)
}

func reshard(r *redis.ClusterClient) { underChange(r, "reshard", false) }

func migrate(r *redis.ClusterClient) { underChange(r, "migrate", false) }

func failover(r *redis.ClusterClient) {
	must(0, r.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error { return c.Wait(ctx, 1, 5*time.Second).Err() }))
	underChange(r, "failover", true)
}

func main() {
	r := connect(false)
	checks := []struct {
		name string
		run  func(*redis.ClusterClient)
	}{{"topology", topology}, {"routing", routing}, {"pipelines", pipelines}, {"sharded pub/sub", shardedPubsub},
		{"replicas", replicas}, {"reshard", reshard}, {"migrate", migrate}, {"failover", failover}}
	for _, c := range checks {
		c.run(r)
		fmt.Println("ok", c.name)
	}
}
