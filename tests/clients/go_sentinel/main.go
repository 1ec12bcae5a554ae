// go-redis with Sentinels. PORT and CONTROL (a program: failover, switch) come from the environment; the first difference ends it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

var ctx = context.Background()
var port = must(strconv.Atoi(os.Getenv("PORT")))

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

func address(i int) string { return fmt.Sprint("127.0.0.1:", port+i) }

func options() *redis.FailoverOptions {
	return &redis.FailoverOptions{MasterName: "mymaster", SentinelAddrs: []string{address(3), address(4), address(5)},
		SentinelPassword: "watch", Password: "data"}
}

func sentinel() *redis.SentinelClient {
	return redis.NewSentinelClient(&redis.Options{Addr: address(3), Password: "watch"})
}

func discovery(r *redis.Client) {
	s := sentinel()
	defer s.Close()
	eq(strings.Join(must(s.GetMasterAddrByName(ctx, "mymaster").Result()), ":"), address(0))
	eq(must(s.Master(ctx, "mymaster").Result())["num-other-sentinels"], "2")
	eq(len(must(s.Masters(ctx).Result())), 1)
	eq(len(must(s.Replicas(ctx, "mymaster").Result())), 2)
	eq(len(must(s.Sentinels(ctx, "mymaster").Result())), 2)
	eq(must(s.CkQuorum(ctx, "mymaster").Result()), "OK 3 usable Sentinels. Quorum and failover authorization can be reached")
	eq(must(s.FlushConfig(ctx).Result()), "OK")
	eq(s.GetMasterAddrByName(ctx, "nobody").Err(), error(redis.Nil))
	eq(must(r.Set(ctx, "a", 1, 0).Result()), "OK")
}

func replicas(r *redis.Client) {
	eq(must(r.Do(ctx, "WAIT", 2, 5000).Int()), 2)
	o := options()
	o.ReplicaOnly = true
	reader := redis.NewFailoverClient(o)
	defer reader.Close()
	eq(must(reader.Get(ctx, "a").Result()), "1")
	eq(must(reader.Do(ctx, "ROLE").Slice())[0].(string), "slave")
}

// Writes go on; what all replicas have is there at the end.
func underChange(r *redis.Client, change string) {
	s := sentinel()
	defer s.Close()
	events := s.Subscribe(ctx, "+switch-master")
	must(events.Receive(ctx))
	var ended atomic.Bool
	var count atomic.Int64
	kept, done := []string{}, make(chan bool)
	go func() {
		for n := 1; !ended.Load(); n++ {
			c := r.Conn()
			err := c.RPush(ctx, change, n).Err()
			got, err2 := c.Do(ctx, "WAIT", 2, 500).Int()
			c.Close()
			if err == nil && err2 == nil && got == 2 {
				kept = append(kept, strconv.Itoa(n))
				count.Add(1)
			} else {
				time.Sleep(50 * time.Millisecond)
			}
		}
		done <- true
	}()
	out, err := exec.Command(os.Getenv("CONTROL"), change).CombinedOutput()
	fmt.Print(string(out))
	must(0, err)
	before := count.Load()
	time.Sleep(2 * time.Second)
	ended.Store(true)
	<-done
	if before == 0 || count.Load() == before {
		panic("nothing works any more")
	}
	there := map[string]bool{}
	for _, n := range must(r.LRange(ctx, change, 0, -1).Result()) {
		there[n] = true
	}
	for _, n := range kept {
		if !there[n] {
			panic("a write is lost: " + n)
		}
	}
	words := strings.Fields((<-events.Channel()).Payload)
	eq(words[3]+":"+words[4], strings.Join(must(s.GetMasterAddrByName(ctx, "mymaster").Result()), ":"))
}

func failover(r *redis.Client) { underChange(r, "failover") }

func switchOver(r *redis.Client) { underChange(r, "switch") }

func main() {
	r := redis.NewFailoverClient(options())
	checks := []struct {
		name string
		run  func(*redis.Client)
	}{{"discovery", discovery}, {"replicas", replicas}, {"failover", failover}, {"switch", switchOver}}
	for _, c := range checks {
		c.run(r)
		fmt.Println("ok", c.name)
	}
}
