package load

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// loop is an event loop over all connections.
type loop struct {
	o        Options
	where    netip.AddrPort
	question []byte
	want     []byte

	poll   int // epoll
	alarm  int // timerfd: the next request at a rate, or the next check of the clock
	conns  map[int32]*conn
	idle   []*conn
	epoch  time.Time
	due    time.Duration   // of the next request at a rate
	late   []time.Duration // due times of requests that found no idle connection
	counts bool            // the warm-up is over
	left   int             // outstanding responses, with Once
	result Result
}

func newLoop(o Options, where netip.AddrPort, question []byte) (*loop, error) {
	l := &loop{
		o: o, where: where, question: question, want: []byte(o.Want),
		poll: -1, alarm: -1, conns: map[int32]*conn{}, epoch: time.Now(),
	}
	if err := l.open(); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *loop) open() (err error) {
	if l.poll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	if l.alarm, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK); err != nil {
		return fmt.Errorf("timer: %w", err)
	}
	if err := l.watch(l.alarm, unix.EPOLLIN); err != nil {
		return err
	}
	for range l.o.Conns {
		if err := l.connect(); err != nil {
			return err
		}
	}
	return nil
}

func (l *loop) close() {
	for _, c := range l.conns {
		c.close()
	}
	for _, fd := range []int{l.poll, l.alarm} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// key converts a file descriptor to the type that epoll uses.
func key(fd int) int32 {
	return int32(fd) //nolint:gosec // the kernel's own descriptors are of that size
}

func (l *loop) watch(fd int, events uint32) error {
	if err := unix.EpollCtl(l.poll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: key(fd)}); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	return nil
}

func (l *loop) connect() error {
	c, err := dial(l.where)
	if err != nil {
		return err
	}
	if err := l.watch(c.fd, unix.EPOLLIN|unix.EPOLLOUT|unix.EPOLLRDHUP|unix.EPOLLET); err != nil {
		c.close()
		return err
	}
	l.conns[key(c.fd)] = c
	l.idle = append(l.idle, c)
	return nil
}

func (l *loop) now() time.Duration { return time.Since(l.epoch) }

// run sends requests for the warm-up and the measurement.
func (l *loop) run(ctx context.Context) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := l.now()
	l.left = len(l.conns)
	counting, over := began+l.o.Warm, began+l.o.Warm+l.o.Measure
	l.due = began
	for {
		now := l.now()
		if !l.counts && now >= counting {
			l.count()
			counting = now
		}
		if now >= over || (l.o.Once && l.left == 0) || ctx.Err() != nil {
			break
		}
		if err := l.send(now); err != nil {
			return err
		}
		if err := l.wait(over); err != nil {
			return err
		}
	}
	l.result.Took = l.now() - counting
	if l.o.End != nil {
		l.o.End()
	}
	l.missing()
	return ctx.Err()
}

// count starts the measurement.
func (l *loop) count() {
	l.counts = true
	l.result = Result{}
	if l.o.Begin != nil {
		l.o.Begin()
	}
}

// missing counts what is missing at the end: unanswered requests with Once,
// unsent requests with a rate.
func (l *loop) missing() {
	missing, why := len(l.late), "a question found no idle connection"
	if l.o.Once {
		missing, why = l.left, "no answer in time"
	}
	l.result.Failed += missing
	if missing > 0 && l.result.Why == "" {
		l.result.Why = why
	}
}

// send sends the requests that are due.
func (l *loop) send(now time.Duration) error {
	if l.o.Rate <= 0 {
		for len(l.idle) > 0 {
			if err := l.ask(now); err != nil {
				return err
			}
		}
		return nil
	}
	for ; l.due <= now; l.due += time.Duration(float64(time.Second) / l.o.Rate) {
		l.late = append(l.late, l.due)
	}
	for len(l.late) > 0 && len(l.idle) > 0 {
		due := l.late[0]
		l.late = l.late[1:]
		// Latency counts from the due time and not from the time of sending, so
		// that a slow response does not hide the requests delayed behind it
		// (coordinated omission).
		if err := l.ask(due); err != nil {
			return err
		}
	}
	return nil
}

// ask sends the request on an idle connection.
func (l *loop) ask(since time.Duration) error {
	c := l.idle[len(l.idle)-1]
	l.idle = l.idle[:len(l.idle)-1]
	if err := c.ask(l.question, since); err != nil {
		return l.lost(c, err)
	}
	return nil
}

// wait waits for the next event and handles it.
func (l *loop) wait(over time.Duration) error {
	until := over
	if l.o.Rate > 0 {
		until = min(until, l.due)
	}
	// At most 50 ms, to check whether the context has ended.
	sleep := max(min(until-l.now(), 50*time.Millisecond), time.Microsecond)
	if err := unix.TimerfdSettime(l.alarm, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(sleep.Nanoseconds())}, nil); err != nil {
		return fmt.Errorf("timer: %w", err)
	}
	var events [256]unix.EpollEvent
	n, err := unix.EpollWait(l.poll, events[:], -1)
	if err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("epoll: %w", err)
	}
	for _, e := range events[:max(n, 0)] {
		// The timer is not a connection, and is rearmed by the next wait.
		if c := l.conns[e.Fd]; c != nil {
			if err := l.ready(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// ready handles a connection that is ready.
func (l *loop) ready(c *conn) error {
	if err := c.write(); err != nil {
		return l.lost(c, err)
	}
	whole, err := c.read()
	if err != nil {
		return l.lost(c, err)
	}
	if !whole {
		return nil
	}
	now := l.now()
	if err := c.judge(l.want); err != nil {
		l.failed(err)
	} else if l.counts {
		l.result.Answers = append(l.result.Answers, now-c.asked)
	}
	c.busy = false
	l.left--
	switch {
	case l.o.Once:
	case l.o.Rate > 0:
		l.idle = append(l.idle, c)
	default:
		if err := c.ask(l.question, now); err != nil {
			return l.lost(c, err)
		}
	}
	return nil
}

func (l *loop) failed(err error) {
	if l.result.Failed++; l.result.Why == "" {
		l.result.Why = err.Error()
	}
}

// lost replaces a broken connection. It is not a failure if the server closed
// an idle connection.
func (l *loop) lost(c *conn, err error) error {
	if c.busy {
		l.failed(err)
		l.left--
	}
	delete(l.conns, key(c.fd))
	for i, other := range l.idle {
		if other == c {
			l.idle = append(l.idle[:i], l.idle[i+1:]...)
			break
		}
	}
	c.close()
	if l.o.Once {
		return nil
	}
	return l.connect()
}
