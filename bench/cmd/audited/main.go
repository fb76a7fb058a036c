// Command audited is a gateway whose audit trail is kept on a disk of a given
// kind: one that is synced for each record by itself, which is what the groups of
// the gateway are measured against, or one whose syncs take longer.
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

// disk is a file that is written as the gateway writes it, but for what it says.
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
