// Package memory returns the memory of a finished burst of work to the operating
// system.
//
// The Go runtime keeps the memory of the busiest moment. It collects when the
// heap grows, but an idle gateway's heap does not. Its forced collection every two
// minutes releases memory only slowly, down to what the previous collection found
// in use. Without this package a gateway that once ran 200 turns
// concurrently would keep their memory for a long time.
//
// Invariants:
//
//   - B1 A busy gateway is left alone: nothing happens unless it was idle from
//     one check to the next.
//   - B2 Nothing happens if there is too little to gain, counted from what was in
//     use at the last collection.
//   - B3 Collections have a minimum interval; no caller can trigger them more
//     often.
//   - B4 Decisions neither wait for this nor are counted for it: it reads
//     counters that the runtime maintains anyway.
package memory

import (
	"context"
	"log/slog"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// look is the interval between checks.
	look = 5 * time.Second
	// rest is the minimum interval between collections (B3).
	rest = 30 * time.Second
	// quiet is how much an idle gateway allocates between two checks, for its own
	// upkeep and metrics scrapes (B1).
	quiet = 4 << 20
	// worthwhile is the minimum amount to return (B2).
	worthwhile = 4 << 20
)

// Usage is the memory of a process, in bytes.
type Usage struct {
	// Allocated is the total allocated since the process began: a measure of work.
	Allocated uint64
	// Objects is the memory of all objects, including unreachable ones that have
	// not been collected yet.
	Objects uint64
	// Free is unused memory that was not returned to the operating system.
	Free uint64
}

// Options configure a [Returner].
type Options struct {
	// Read returns the memory usage of the process. Nil asks the runtime.
	Read func() Usage
	// Return runs a collection and returns free memory. Nil uses the runtime.
	Return func()
	// Logger receives a debug message for each collection. Nil discards it.
	Logger *slog.Logger
}

// Returner returns memory to the operating system. Make it with [New].
type Returner struct{ o Options }

// New returns a Returner. It does nothing until Run is called.
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

// Run checks periodically until ctx ends.
func (r *Returner) Run(ctx context.Context) {
	ticks := time.NewTicker(look)
	defer ticks.Stop()
	before := r.o.Read()
	needed := before.Objects // the least since the last collection; anything above may be garbage
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
		r.o.Logger.LogAttrs(ctx, slog.LevelDebug, "returned unused memory to the system",
			slog.Uint64("bytes_before", now.Objects+now.Free), slog.Uint64("bytes", before.Objects+before.Free))
	}
}

// reader returns a function that asks the runtime, without stopping the world.
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
