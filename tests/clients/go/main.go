// go-redis, in both protocols. PORT and RESTART (a command) come from the environment; the first difference ends it.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	ctx      = context.Background()
	protocol int
	r        *redis.Client
)

func connect(change ...func(*redis.Options)) *redis.Client {
	o := &redis.Options{Addr: "127.0.0.1:" + os.Getenv("PORT"), Protocol: protocol, ReadTimeout: 70 * time.Second}
	for _, f := range change {
		f(o)
	}
	return redis.NewClient(o)
}

func eq(actual, expected any) {
	if !reflect.DeepEqual(actual, expected) {
		panic(fmt.Sprintf("expected %#v, got %#v", expected, actual))
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func fails(text string, err error) {
	if err == nil || !strings.Contains(err.Error(), text) {
		panic(fmt.Sprintf("expected an error with %q, got %v", text, err))
	}
}

func until(what func() bool) {
	end := time.Now().Add(time.Minute)
	for !what() {
		if time.Now().After(end) {
			panic("it did not happen within a minute")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func blockedClients() bool {
	return strings.Contains(r.Info(ctx, "clients").Val(), "blocked_clients:1")
}

func connection() {
	eq(must(r.Ping(ctx).Result()), "PONG")
	info := must(r.ClientInfo(ctx).Result())
	eq(info.Resp, protocol)
	other := connect(func(o *redis.Options) { o.DB, o.ClientName = 5, "other" })
	eq(must(other.Set(ctx, "in5", 1, 0).Result()), "OK")
	eq(must(other.ClientGetName(ctx).Result()), "other")
	eq(must(r.Exists(ctx, "in5").Result()), int64(0))
	other.Close()
}

func users() {
	must(r.ACLSetUser(ctx, "alice", "on", ">secret", "~a:*", "&*", "+@all", "-flushall").Result())
	alice := connect(func(o *redis.Options) { o.Username, o.Password = "alice", "secret" })
	eq(must(alice.Set(ctx, "a:1", 1, 0).Result()), "OK")
	fails("NOPERM", alice.Get(ctx, "b:1").Err())
	fails("NOPERM", alice.FlushAll(ctx).Err())
	alice.Close()
	wrong := connect(func(o *redis.Options) { o.Username, o.Password = "alice", "wrong" })
	fails("WRONGPASS", wrong.Ping(ctx).Err())
	wrong.Close()
	if len(must(r.ACLLog(ctx, 10).Result())) == 0 {
		panic("no entries in ACL LOG")
	}
	eq(must(r.ACLDelUser(ctx, "alice").Result()), int64(1))
}

func pipelines() {
	replies, err := r.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := 0; i < 1000; i++ {
			p.Set(ctx, fmt.Sprint("p:", i), i, 0)
		}
		p.LPush(ctx, "p:1", "x")
		for i := 0; i < 1000; i++ {
			p.Incr(ctx, fmt.Sprint("p:", i))
		}
		return nil
	})
	fails("WRONGTYPE", err)
	for i := 0; i < 1000; i++ {
		eq(replies[1001+i].(*redis.IntCmd).Val(), int64(i+1))
	}
}

func transactions() {
	r.Set(ctx, "t", 1, 0)
	err := r.Watch(ctx, func(tx *redis.Tx) error {
		r.Set(ctx, "t", "changed", 0)
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, "t", "mine", 0).Err() })
		return err
	}, "t")
	eq(errors.Is(err, redis.TxFailedErr), true)
	eq(must(r.Get(ctx, "t").Result()), "changed")
	r.Set(ctx, "n", 0, 0)
	var all sync.WaitGroup
	for t := 0; t < 4; t++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for done := 0; done < 20; {
				err := r.Watch(ctx, func(tx *redis.Tx) error {
					n := must(tx.Get(ctx, "n").Int())
					_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, "n", n+1, 0).Err() })
					return err
				}, "n")
				if err == nil {
					done++
				} else if !errors.Is(err, redis.TxFailedErr) {
					panic(err)
				}
			}
		}()
	}
	all.Wait()
	eq(must(r.Get(ctx, "n").Int()), 80)
}

func types() {
	eq(must(r.HSet(ctx, "h", "a", 1, "b", 2).Result()), int64(2))
	eq(must(r.HGetAll(ctx, "h").Result()), map[string]string{"a": "1", "b": "2"})
	r.ZAdd(ctx, "z", redis.Z{Score: 1.5, Member: "a"}, redis.Z{Score: 2, Member: "b"})
	eq(must(r.ZRangeWithScores(ctx, "z", 0, -1).Result()), []redis.Z{{Score: 1.5, Member: "a"}, {Score: 2, Member: "b"}})
	if commands := must(r.Command(ctx).Result()); commands["zrank"].Arity < 0 {
		eq(must(r.ZRankWithScore(ctx, "z", "b").Result()), redis.RankScore{Rank: 1, Score: 2})
	}
	eq(r.Get(ctx, "none").Err(), redis.Nil)
	eq(must(r.MGet(ctx, "t", "none").Result()), []any{"changed", nil})
	r.GeoAdd(ctx, "g", &redis.GeoLocation{Name: "Palermo", Longitude: 13.361389, Latitude: 38.115556})
	eq(must(r.GeoSearch(ctx, "g", &redis.GeoSearchQuery{Longitude: 13, Latitude: 38, Radius: 200, RadiusUnit: "km"}).Result()), []string{"Palermo"})
	eq(must(r.ConfigGet(ctx, "maxmemory").Result()), map[string]string{"maxmemory": "0"})
	eq(must(r.Command(ctx).Result())["get"].Arity, int8(2))
	eq(must(r.CommandGetKeys(ctx, "mset", "a", "1", "b", "2").Result()), []string{"a", "b"})
	r.RPush(ctx, "l", "a", "b", "c")
	key, values, err := r.LMPop(ctx, "left", 2, "none", "l").Result()
	eq([]any{key, values, err}, []any{"l", []string{"a", "b"}, nil})
	eq(must(r.LCS(ctx, &redis.LCSQuery{Key1: "t", Key2: "t", Idx: true}).Result()).Len, int64(7))
	fails("WRONGTYPE", r.Get(ctx, "h").Err())
	r.ConfigSet(ctx, "slowlog-log-slower-than", "0")
	r.Get(ctx, "t")
	slow := must(r.SlowLogGet(ctx, 1).Result())
	eq(slow[0].Args, []string{"get", "t"})
	r.ConfigSet(ctx, "slowlog-log-slower-than", "10000")
}

func pubsub() {
	sub := connect()
	plain, pattern, sharded := sub.Subscribe(ctx, "c1", "c2"), sub.PSubscribe(ctx, "c*"), sub.SSubscribe(ctx, "s")
	until(func() bool {
		n := r.PubSubNumSub(ctx, "c1", "c2").Val()
		return n["c1"] == 1 && n["c2"] == 1 && r.PubSubNumPat(ctx).Val() == 1 && r.PubSubShardNumSub(ctx, "s").Val()["s"] == 1
	})
	eq(must(r.Publish(ctx, "c1", "one").Result()), int64(2))
	eq(must(r.SPublish(ctx, "s", "two").Result()), int64(1))
	m := must(plain.ReceiveMessage(ctx))
	eq([]string{m.Channel, m.Payload}, []string{"c1", "one"})
	m = must(pattern.ReceiveMessage(ctx))
	eq([]string{m.Channel, m.Pattern, m.Payload}, []string{"c1", "c*", "one"})
	m = must(sharded.ReceiveMessage(ctx))
	eq([]string{m.Channel, m.Payload}, []string{"s", "two"})
	eq(plain.Ping(ctx, "hello"), nil)
	eq(must(plain.Receive(ctx)).(*redis.Pong).Payload, "hello")
	sub.Close()
}

func scripts() {
	script := redis.NewScript("return {redis.call('INCRBY', KEYS[1], ARGV[1]), false, 'x'}")
	eq(must(script.Run(ctx, r, []string{"sn"}, 5).Result()), []any{int64(5), nil, "x"})
	r.ScriptFlush(ctx)
	fails("NOSCRIPT", script.EvalSha(ctx, r, []string{"sn"}, 5).Err())
	eq(must(script.Run(ctx, r, []string{"sn"}, 5).Slice())[0], int64(10))
	eq(must(script.Exists(ctx, r).Result()), []bool{true})
	code := "#!lua name=l\nredis.register_function('f', function(k, a) return redis.call('INCRBY', k[1], a[1]) end)"
	eq(must(r.FunctionLoad(ctx, code).Result()), "l")
	eq(must(r.FCall(ctx, "f", []string{"fn"}, 3).Int64()), int64(3))
	dump := must(r.FunctionDump(ctx).Result())
	r.FunctionFlush(ctx)
	must(r.FunctionRestore(ctx, dump).Result())
	listed := must(r.FunctionList(ctx, redis.FunctionListQuery{WithCode: true}).Result())
	eq([]string{listed[0].Name, listed[0].Functions[0].Name, listed[0].Code}, []string{"l", "f", code})
	eq(must(r.FunctionStats(ctx).Result()).Engines[0].LibrariesCount, int64(1))
}

func streams() {
	var ids []string
	for i := 0; i < 6; i++ {
		ids = append(ids, must(r.XAdd(ctx, &redis.XAddArgs{Stream: "x", Values: map[string]any{"i": i}}).Result()))
	}
	must(r.XGroupCreate(ctx, "x", "g", "0").Result())
	fails("BUSYGROUP", r.XGroupCreate(ctx, "x", "g", "0").Err())
	read := must(r.XReadGroup(ctx, &redis.XReadGroupArgs{Group: "g", Consumer: "one", Streams: []string{"x", ">"}, Count: 4, Block: -1}).Result())
	eq(len(read[0].Messages), 4)
	eq(read[0].Messages[3].ID, ids[3])
	eq(must(r.XAck(ctx, "x", "g", ids[0]).Result()), int64(1))
	eq(*must(r.XPending(ctx, "x", "g").Result()), redis.XPending{Count: 3, Lower: ids[1], Higher: ids[3], Consumers: map[string]int64{"one": 3}})
	claimed, _, err := r.XAutoClaim(ctx, &redis.XAutoClaimArgs{Stream: "x", Group: "g", Consumer: "two", Start: "0", Count: 2}).Result()
	eq([]any{len(claimed), claimed[0].ID, err}, []any{2, ids[1], nil})
	eq(must(r.XInfoStream(ctx, "x").Result()).Length, int64(6))
	eq(must(r.XInfoGroups(ctx, "x").Result())[0].Lag, int64(2))
	eq(len(must(r.XInfoConsumers(ctx, "x", "g").Result())), 2)
	full := must(r.XInfoStreamFull(ctx, "x", 10).Result())
	eq([]any{full.Length, full.Groups[0].Name, full.Groups[0].PelCount}, []any{int64(6), "g", int64(3)})
	got := make(chan string)
	go func() {
		streams := must(r.XRead(ctx, &redis.XReadArgs{Streams: []string{"x", "$"}, Block: time.Minute}).Result())
		got <- streams[0].Messages[0].ID
	}()
	until(blockedClients)
	id := must(r.XAdd(ctx, &redis.XAddArgs{Stream: "x", Values: []string{"i", "last"}}).Result())
	eq(<-got, id)
	eq(r.XRead(ctx, &redis.XReadArgs{Streams: []string{"x", "$"}, Block: 30 * time.Millisecond}).Err(), redis.Nil)
}

func blocking() {
	eq(r.BLPop(ctx, time.Second, "none").Err(), redis.Nil)
	got := make(chan []string)
	go func() { got <- must(r.BRPop(ctx, time.Minute, "q1", "q2").Result()) }()
	until(blockedClients)
	r.LPush(ctx, "q2", "v")
	eq(<-got, []string{"q2", "v"})
	go func() {
		z := must(r.BZPopMin(ctx, time.Minute, "bz").Result())
		got <- []string{z.Key, z.Member.(string), fmt.Sprint(z.Score)}
	}()
	until(blockedClients)
	r.ZAdd(ctx, "bz", redis.Z{Score: 3, Member: "m"})
	eq(<-got, []string{"bz", "m", "3"})
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	impatient := connect(func(o *redis.Options) { o.ContextTimeoutEnabled = true })
	fails("timeout", impatient.BLPop(short, time.Minute, "none").Err())
	until(func() bool { return strings.Contains(r.Info(ctx, "clients").Val(), "blocked_clients:0") })
	impatient.Close()
}

func iterators() {
	r.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := 0; i < 1000; i++ {
			p.Set(ctx, fmt.Sprint("scan:", i), 1, 0)
			p.SAdd(ctx, "ss", i)
		}
		return nil
	})
	for _, it := range []*redis.ScanIterator{r.Scan(ctx, 0, "scan:*", 100).Iterator(), r.SScan(ctx, "ss", 0, "", 10).Iterator()} {
		seen := map[string]bool{}
		for it.Next(ctx) {
			seen[it.Val()] = true
		}
		eq(it.Err(), nil)
		eq(len(seen), 1000)
	}
}

func bigValues() {
	value := bytes.Repeat([]byte("0123456\x00\r\n"), 3<<20)
	must(r.Set(ctx, "big", value, 0).Result())
	eq(bytes.Equal(must(r.Get(ctx, "big").Bytes()), value), true)
	r.Del(ctx, "big")
}

func restart() {
	sub := r.Subscribe(ctx, "after")
	messages := sub.Channel()
	r.RPush(ctx, "kept", 1, 2, 3)
	must(0, exec.Command("sh", "-c", os.Getenv("RESTART")).Run())
	until(func() bool { return r.Ping(ctx).Err() == nil })
	eq(must(r.LRange(ctx, "kept", 0, -1).Result()), []string{"1", "2", "3"})
	eq(must(r.FCall(ctx, "f", []string{"fn"}, 3).Int64()), int64(6))
	until(func() bool {
		r.Publish(ctx, "after", "hello")
		select {
		case m := <-messages:
			return m.Payload == "hello"
		case <-time.After(200 * time.Millisecond):
			return false
		}
	})
	sub.Close()
}

func main() {
	checks := []struct {
		name string
		call func()
	}{{"connection", connection}, {"users", users}, {"pipelines", pipelines}, {"transactions", transactions}, {"types", types},
		{"pubsub", pubsub}, {"scripts", scripts}, {"streams", streams}, {"blocking", blocking}, {"iterators", iterators},
		{"bigValues", bigValues}, {"restart", restart}}
	for protocol = 2; protocol <= 3; protocol++ {
		r = connect()
		r.FlushAll(ctx)
		r.FunctionFlush(ctx)
		for _, check := range checks {
			check.call()
			fmt.Printf("ok RESP%d %s\n", protocol, check.name)
		}
		r.Close()
	}
}
