// Package memory gives back to the system what a burst of work has left behind.
//
// The runtime keeps the memory of the busiest moment: it collects as the heap
// grows, which that of a gateway without work does not, and its own collection
// after two minutes gives back slowly, down to what the collection before has
// found in use. So a gateway that had 200 turns at once would hold the memory of
// them long after the last.
//
// What holds here:
//
//   - B1 A gateway at work is left alone: nothing happens before it was quiet
//     from one look to the next.
//   - B2 What is not worth a collection is left alone, and so is what was found
//     in use at the last one.
//   - B3 It happens once in a while at the most, whatever callers do: there is
//     nothing by which they could have it done more often.
//   - B4 No decision waits for it, or is counted for it: it reads what the runtime
//     counts anyway.
package memory

import (
	"context"
	"log/slog"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// look is how often it is looked.
	look = 5 * time.Second
	// rest is the least time from one collection to the next (B3).
	rest = 30 * time.Second
	// quiet is how much is allocated from one look to the next by a gateway that
	// only looks after itself and is scraped (B1).
	quiet = 4 << 20
	// worthwhile is how much there has to be to give back (B2).
	worthwhile = 4 << 20
)

// Usage is the memory of a process, in bytes.
type Usage struct {
	// Allocated is what was allocated since the process began: how much it did.
	Allocated uint64
	// Objects is what objects take, those included that nobody needs any more
	// and no collection has found yet.
	Objects uint64
	// Free is what nothing is in, and the system does not have back.
	Free uint64
}

// Options configure a [Returner].
type Options struct {
	// Read says what the process uses. Nil asks the runtime.
	Read func() Usage
	// Return collects and gives back what is free. Nil has the runtime do it.
	Return func()
	// Logger is told what was given back, for who debugs. Nil discards it.
	Logger *slog.Logger
}

// Returner gives memory back. Make it with [New].
type Returner struct{ o Options }

// New returns one that does nothing before it runs.
func New(o Options) *Returner {
	if o.Read == nil {
		o.Read = reader()
	}
	if o.Return == nil {
		o.Return = debug.FreeOSMemory
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Returner{o}
}

// Run looks until ctx ends.
func (r *Returner) Run(ctx context.Context) {
	ticks := time.NewTicker(look)
	defer ticks.Stop()
	before := r.o.Read()
	needed := before.Objects // the fewest since the last time: what is more may be garbage
	rested := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		now := r.o.Read()
		needed = min(needed, now.Objects)
		calm := now.Allocated-before.Allocated <= quiet
		before = now
		if !calm || now.Objects-needed+now.Free < max(worthwhile, needed/2) || time.Now().Before(rested) {
			continue
		}
		r.o.Return()
		before, rested = r.o.Read(), time.Now().Add(rest)
		needed = before.Objects
		r.o.Logger.LogAttrs(ctx, slog.LevelDebug, "gave back the memory of work that is done",
			slog.Uint64("bytes_before", now.Objects+now.Free), slog.Uint64("bytes", before.Objects+before.Free))
	}
}

// reader asks the runtime. It stops nothing for that.
func reader() func() Usage {
	samples := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	return func() Usage {
		metrics.Read(samples)
		return Usage{Allocated: samples[0].Value.Uint64(), Objects: samples[1].Value.Uint64(), Free: samples[2].Value.Uint64()}
	}
}
