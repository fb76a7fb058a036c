// Command audited is a gateway with a special audit output: one that syncs each
// record individually, the baseline for the gateway's group commit, or one whose
// syncs are slowed down.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/hookgate/hookgate/gateway"
	"github.com/hookgate/hookgate/gateway/audit"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "audited:", err)
		os.Exit(1)
	}
}

func run() error {
	var d disk
	flag.BoolVar(&d.each, "each", false, "write and sync each record by itself")
	flag.DurationVar(&d.takes, "takes", 0, "how much longer a sync takes than it does")
	path := flag.String("file", "", "the audit file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	file, err := audit.OpenFile(audit.FileOptions{Path: *path})
	if err != nil {
		return err
	}
	d.Sink = file
	g, err := gateway.New(gateway.Options{
		Addr: os.Getenv("HOOKGATE_ADDR"), AdminAddr: os.Getenv("HOOKGATE_ADMIN_ADDR"), ConfigFile: os.Getenv("HOOKGATE_CONFIG"),
		Audit: []audit.Output{{Name: "file", Sink: d, Durable: true}},
	})
	if err != nil {
		return errors.Join(err, file.Close())
	}
	return g.Run(ctx)
}

// disk is an audit file with altered sync behavior.
type disk struct {
	audit.Sink
	each  bool
	takes time.Duration
}

// Write implements [audit.Sink].
func (d disk) Write(ctx context.Context, records []audit.Record, durable bool) error {
	size := len(records)
	if d.each {
		size = 1
	}
	for len(records) > 0 {
		if err := d.Sink.Write(ctx, records[:size], durable); err != nil {
			return err
		}
		records = records[size:]
		if durable {
			<-time.After(d.takes)
		}
	}
	return nil
}
