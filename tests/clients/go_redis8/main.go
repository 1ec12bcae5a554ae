// What Redis 8 added, through go-redis, in both protocols. PORT comes from the environment; the first difference ends it.
// VERSION, 8.6 for example, leaves out what such a Redis does not have.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	ctx = context.Background()
	r   *redis.Client
)

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

func isNil(err error) bool {
	return errors.Is(err, redis.Nil)
}

func digests() {
	r.Set(ctx, "d", "value", 0)
	r.Set(ctx, "d2", "value", 0)
	r.Set(ctx, "d3", "", 0)
	eq(must(r.Digest(ctx, "d").Result()), must(r.Digest(ctx, "d2").Result()))
	eq(must(r.Digest(ctx, "d3").Result()), uint64(0x2d06800538d394c2)) // xxHash's XXH3 of nothing
	eq(isNil(r.Digest(ctx, "none").Err()), true)
}

func conditionalWrites() {
	r.Set(ctx, "c", "one", 0)
	one := must(r.Digest(ctx, "c").Result())
	eq(must(r.SetIFDEQ(ctx, "c", "two", one, 0).Result()), "OK")
	eq(isNil(r.SetIFDEQ(ctx, "c", "three", one, 0).Err()), true)
	eq(must(r.SetIFDNEGet(ctx, "c", "three", one, 0).Result()), "two")
	eq(must(r.SetIFEQ(ctx, "c", "four", "three", time.Hour).Result()), "OK")
	eq(isNil(r.SetIFNE(ctx, "c", "five", "four", 0).Err()), true)
	eq(must(r.DelExArgs(ctx, "c", redis.DelExArgs{Mode: "IFDEQ", MatchDigest: one}).Result()), int64(0))
	eq(must(r.DelExArgs(ctx, "c", redis.DelExArgs{Mode: "IFDNE", MatchDigest: one}).Result()), int64(1))
	r.RPush(ctx, "c", 1)
	eq(must(r.DelExArgs(ctx, "c", redis.DelExArgs{}).Result()), int64(1))
	options := redis.MSetEXArgs{Expiration: &redis.ExpirationOption{Mode: redis.EX, Value: 100}}
	eq(must(r.MSetEX(ctx, options, "c1", 1, "c2", 2).Result()), int64(1))
}

func bitOperations() {
	r.Set(ctx, "x", "\xff", 0)
	r.Set(ctx, "y", "\x0f", 0)
	r.Set(ctx, "z", "\x3c", 0)
	calls := []func(context.Context, string, ...string) *redis.IntCmd{r.BitOpDiff, r.BitOpDiff1, r.BitOpAndOr, r.BitOpOne}
	for i, expected := range []string{"\xc0", "\x00", "\x3f", "\xc0"} {
		eq(must(calls[i](ctx, "w", "x", "y", "z").Result()), int64(1))
		eq(must(r.Get(ctx, "w").Result()), expected)
	}
}

func hashFields() {
	r.HSet(ctx, "h", "a", 1, "b", 2, "c", 3)
	eq(must(r.HGetDel(ctx, "h", "a").Result()), []string{"1"})
	options := redis.HSetEXOptions{ExpirationType: redis.HSetEXExpirationEX, ExpirationVal: 100}
	eq(must(r.HSetEXWithArgs(ctx, "h", &options, "d", "4").Result()), int64(1))
	eq(must(r.HTTL(ctx, "h", "b", "d").Result())[0], int64(-1))
}

func idempotentEntries() {
	one := redis.XAddArgs{Stream: "i", Values: []string{"f", "1"}, ProducerID: "producer", IdempotentID: "one"}
	eq(must(r.XAdd(ctx, &one).Result()), must(r.XAdd(ctx, &one).Result()))
	automatic := redis.XAddArgs{Stream: "i", Values: []string{"f", "2"}, ProducerID: "other", IdempotentAuto: true}
	eq(must(r.XAdd(ctx, &automatic).Result()), must(r.XAdd(ctx, &automatic).Result()))
	eq(must(r.XCfgSet(ctx, &redis.XCfgSetArgs{Stream: "i", Duration: 10, MaxSize: 5}).Result()), "OK")
	info := must(r.XInfoStream(ctx, "i").Result())
	eq([]int64{info.Length, info.IDMPDuration, info.IDMPMaxSize, info.IIDsDuplicates}, []int64{2, 10, 5, 2})
}

func referencesOfGroups() {
	var ids []string
	for n := 0; n < 4; n++ {
		ids = append(ids, must(r.XAdd(ctx, &redis.XAddArgs{Stream: "s", Values: []any{"f", n}}).Result()))
	}
	r.XGroupCreate(ctx, "s", "g", "0")
	r.XReadGroup(ctx, &redis.XReadGroupArgs{Group: "g", Consumer: "c", Streams: []string{"s", ">"}, Count: 2})
	r.XAdd(ctx, &redis.XAddArgs{Stream: "s", MaxLen: 5, Mode: "KEEPREF", Values: []any{"f", 4}})
	eq(must(r.XTrimMaxLenMode(ctx, "s", 2, "ACKED").Result()), int64(0))
	eq(must(r.XAckDel(ctx, "s", "g", "ACKED", ids[0]).Result()), []any{int64(1)})
	eq(must(r.XDelEx(ctx, "s", "DELREF", ids[1]).Result()), []any{int64(1)})
	eq(must(r.XPending(ctx, "s", "g").Result()).Count, int64(0))
}

func pending() (found []string) {
	for _, p := range must(r.XPendingExt(ctx, &redis.XPendingExtArgs{Stream: "p", Group: "g", Start: "-", End: "+", Count: 9}).Result()) {
		found = append(found, fmt.Sprint(p.ID, " ", p.Consumer, " ", p.RetryCount))
	}
	return found
}

func claims() {
	for _, id := range []string{"1-1", "2-1"} {
		r.XAdd(ctx, &redis.XAddArgs{Stream: "p", ID: id, Values: []string{"f", "1"}})
	}
	r.XGroupCreate(ctx, "p", "g", "0")
	r.XReadGroup(ctx, &redis.XReadGroupArgs{Group: "g", Consumer: "first", Streams: []string{"p", ">"}, Count: 1})
	time.Sleep(5 * time.Millisecond)
	claimed := redis.XReadGroupArgs{Group: "g", Consumer: "second", Streams: []string{"p", ">"}, Claim: time.Millisecond}
	found := must(r.XReadGroup(ctx, &claimed).Result())
	eq(len(found[0].Messages), 2)
	eq(pending(), []string{"1-1 second 2", "2-1 second 1"})
}

func refusedEntries() {
	times := uint64(7)
	eq(must(r.XNack(ctx, &redis.XNackArgs{Stream: "p", Group: "g", Mode: "FAIL", IDs: []string{"1-1", "9-9"}}).Result()), int64(1))
	eq(must(r.XNack(ctx, &redis.XNackArgs{Stream: "p", Group: "g", Mode: "SILENT", IDs: []string{"2-1"}, RetryCount: &times}).Result()), int64(1))
	eq(pending(), []string{"1-1  2", "2-1  7"})
}

func limitedReads() {
	for n := 1; n < 6; n++ {
		for _, name := range []string{"l1", "l2"} {
			r.XAdd(ctx, &redis.XAddArgs{Stream: name, ID: fmt.Sprint(n, "-1"), Values: []string{"f", "1"}})
		}
	}
	found := must(r.XRead(ctx, &redis.XReadArgs{Streams: []string{"l1", "l2", "0", "0"}, MaxCount: 7, Block: -1}).Result())
	eq([]int{len(found[0].Messages), len(found[1].Messages)}, []int{5, 2})
	found = must(r.XRead(ctx, &redis.XReadArgs{Streams: []string{"l1", "0"}, MaxSize: 1, Block: -1}).Result())
	eq(len(found[0].Messages) < 5, true)
}

func movedElements() {
	r.RPush(ctx, "m", "a", "b", "c", "d", "e", "f")
	bulk := redis.LMoveMArgs{Count: 2, Order: redis.LMoveMBulk}
	eq(must(r.LMoveM(ctx, "m", "n", "LEFT", "RIGHT", bulk).Result()), []string{"a", "b"})
	single := redis.LMoveMArgs{Count: 2, Order: redis.LMoveMOBO}
	eq(must(r.LMoveM(ctx, "m", "o", "LEFT", "LEFT", single).Result()), []string{"d", "c"})
	exact := redis.LMoveMArgs{Mode: redis.LMoveMExactly, Count: 9, Order: redis.LMoveMBulk}
	eq(isNil(r.LMoveM(ctx, "m", "n", "LEFT", "RIGHT", exact).Err()), true)
	eq(isNil(r.BLMoveM(ctx, "none", "n", "LEFT", "RIGHT", time.Second, bulk).Err()), true)
}

func sizesOfSets() {
	r.SAdd(ctx, "s1", 1, 2, 3)
	r.SAdd(ctx, "s2", 3, 4)
	eq(must(r.SUnionCard(ctx, nil, "s1", "s2").Result()), int64(4))
	eq(must(r.SUnionCard(ctx, &redis.SUnionCardOptions{Limit: 2}, "s1", "s2").Result()), int64(2))
	eq(must(r.SDiffCard(ctx, nil, "s1", "s2").Result()), int64(2))
	r.ZAdd(ctx, "z1", redis.Z{Score: 5, Member: "a"}, redis.Z{Score: 6, Member: "b"})
	r.ZAdd(ctx, "z2", redis.Z{Score: 7, Member: "b"})
	eq(must(r.ZUnionStore(ctx, "z3", &redis.ZStore{Keys: []string{"z1", "z2"}, Aggregate: "COUNT"}).Result()), int64(2))
	eq(must(r.ZScore(ctx, "z3", "b").Result()), 2.0)
}

func boundedCounters() {
	bounded := redis.IncrEXIntArgs{By: 5, HasBy: true, UBound: 7, HasUBound: true}
	eq(must(r.IncrEXInt(ctx, "counter", bounded).Result()), redis.IncrEXIntResult{Value: 5, AppliedIncrement: 5})
	eq(must(r.IncrEXInt(ctx, "counter", bounded).Result()), redis.IncrEXIntResult{Value: 5, AppliedIncrement: 0})
	bounded.Saturate = true
	eq(must(r.IncrEXInt(ctx, "counter", bounded).Result()), redis.IncrEXIntResult{Value: 7, AppliedIncrement: 2})
}

func hotKeys() {
	metrics := []redis.HotKeysMetric{redis.HotKeysMetricCPU, redis.HotKeysMetricNET}
	must(r.HotKeysStart(ctx, &redis.HotKeysStartArgs{Metrics: metrics, Count: 5}).Result())
	for n := 0; n < 100; n++ {
		r.Get(ctx, "hot")
	}
	found := must(r.HotKeysGet(ctx).Result())
	eq([]any{found.TrackingActive, found.SampleRatio, found.ByNetBytes[0].Key}, []any{true, uint8(1), "hot"})
	must(r.HotKeysStop(ctx).Result())
	must(r.HotKeysReset(ctx).Result())
}

func main() {
	checks := []struct {
		minor int
		name  string
		call  func()
	}{{4, "digests", digests}, {4, "conditionalWrites", conditionalWrites}, {2, "bitOperations", bitOperations}, {0, "hashFields", hashFields},
		{2, "referencesOfGroups", referencesOfGroups}, {4, "claims", claims}, {6, "idempotentEntries", idempotentEntries}, {6, "hotKeys", hotKeys},
		{8, "boundedCounters", boundedCounters}, {8, "refusedEntries", refusedEntries}, {10, "limitedReads", limitedReads},
		{10, "movedElements", movedElements}, {10, "sizesOfSets", sizesOfSets}}
	minor := 10
	fmt.Sscanf(os.Getenv("VERSION"), "8.%d", &minor)
	for protocol := 2; protocol <= 3; protocol++ {
		r = redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Getenv("PORT"), Protocol: protocol})
		r.FlushAll(ctx)
		for _, check := range checks {
			if check.minor <= minor {
				check.call()
				fmt.Printf("ok RESP%d %s\n", protocol, check.name)
			}
		}
		r.Close()
	}
}
