package gateway

import (
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/hookgate/hookgate/chain"
	"github.com/hookgate/hookgate/gateway/access"
	"github.com/hookgate/hookgate/gateway/approval"
	"github.com/hookgate/hookgate/gateway/config"
	"github.com/hookgate/hookgate/gateway/guard"
	"github.com/hookgate/hookgate/metrics"
	"github.com/hookgate/hookgate/transport"
)

// builder turns a set of files into a plan. Nothing that it makes is used until
// everything could be made.
type builder struct {
	options *Options
	metrics *metrics.Metrics
	set     *config.Set
	// kept holds the entries of the previous plan, by identity.
	kept map[identity]*live
	// seats counts the turns in progress, by agent.
	seats map[string]*seats
	// before is the access of the previous plan, nil if there is none.
	before *access.Access
	// desk holds the calls that wait for a person.
	desk *approval.Desk
	// dry skips everything that would start a process by itself.
	dry bool

	// gone are the previous plan's entries that have no counterpart in this one
	// yet; nil until first needed.
	gone []identity

	made     map[identity]*live
	fresh    []*live // made for this plan, and closed if the plan is not built
	renewals []func()
	mistakes []error
}

// built is a plan that is ready to be put in force.
type built struct {
	plan     *plan
	lives    map[identity]*live
	seats    map[string]*seats
	activate func()
	// renewals replace the secrets of entries that were kept.
	renewals []func()
}

// build makes the plan, or returns every reason why it cannot.
func (b *builder) build() (*built, error) {
	b.made = map[identity]*live{}
	interceptors := b.interceptors()
	operators := b.members("", b.set.Operator)
	shared := slices.Concat(interceptors, operators)
	chains, all := []chainDraft{b.draft(config.OperatorChain, shared)}, shared
	for _, name := range slices.Sorted(maps.Keys(b.set.Chains)) {
		own := b.members(name, b.set.Chains[name])
		all = slices.Concat(all, own)
		chains = append(chains, b.draft(name, slices.Concat(shared, own)))
	}
	agents, who := b.agents(), b.access()
	b.askers(agents)
	p, activate, err := b.assemble(chains, all, agents, who)
	if err = errors.Join(append(b.mistakes, b.checkAudit(), err)...); err != nil {
		for _, l := range b.fresh {
			l.binding.Close()
		}
		return nil, err
	}
	return &built{plan: p, lives: b.made, seats: seatsOf(agents), activate: activate, renewals: b.renewals}, nil
}

// chainDraft is a chain whose observers do not exist yet.
type chainDraft struct {
	options chain.Options
	members []*member
}

func (b *builder) draft(name string, members []*member) chainDraft {
	c, _ := b.set.Chain(name) // the names are the set's own
	return chainDraft{
		options: chain.Options{Name: name, Budget: c.Budget, OnUncovered: c.OnUncovered},
		members: members,
	}
}

// assemble gives each participant an observer and makes the chains.
func (b *builder) assemble(drafts []chainDraft, all []*member, agents []*agent, who *access.Access) (*plan, func(), error) {
	if len(b.mistakes) > 0 {
		return nil, nil, nil // build reports them
	}
	series, err := b.metrics.Configure(b.measured(drafts, all, agents, who))
	if err != nil {
		return nil, nil, err
	}
	p := &plan{sum: hex.EncodeToString(b.set.Sum[:]), chains: map[string]*chain.Chain{}, hooks: all, agents: map[string]*agent{}, access: who}
	var errs []error
	for i, d := range drafts {
		for n, m := range d.members {
			seen := series.Chains[i].Participants[n]
			m.participant.Observer = observer{counts: &m.counts, metrics: seen}
			m.events.countedBy(m.participant.Name, seen)
			d.options.Participants = append(d.options.Participants, m.participant)
		}
		d.options.Observer = series.Chains[i].Chain
		c, err := chain.New(d.options)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		p.chains[d.options.Name] = c
	}
	p.audit, p.members = auditOf(b.set), make(map[*chain.Participant]*member, len(all))
	for _, m := range all {
		p.members[m.participant] = m
	}
	p.callers = map[*access.Caller]*metrics.CallerObserver{}
	for i, c := range callersOf(who) {
		p.callers[c] = series.Callers[i]
	}
	for i, a := range agents {
		a.metrics, a.chain = series.Agents[i], p.chain(a.profile.Chain)
		p.agents[a.profile.Name] = a
	}
	return p, series.Activate, errors.Join(errs...)
}

// measured describes the plan to the metrics package.
func (b *builder) measured(drafts []chainDraft, all []*member, agents []*agent, who *access.Access) metrics.Config {
	known := make(map[*member]*metrics.Participant, len(all))
	for _, m := range all {
		known[m] = m.measured()
	}
	c := metrics.Config{Sum: b.set.Sum}
	for _, d := range drafts {
		mc := metrics.Chain{Name: d.options.Name, OnUncovered: d.options.OnUncovered}
		for _, m := range d.members {
			mc.Participants = append(mc.Participants, known[m])
		}
		c.Chains = append(c.Chains, mc)
	}
	for _, a := range agents {
		c.Agents = append(c.Agents, metrics.Agent{Name: a.profile.Name, Permission: a.profile.Permission, InFlight: a.seats.taken})
	}
	for _, caller := range callersOf(who) {
		c.Callers = append(c.Callers, metrics.Caller{Name: caller.Name(), InFlight: caller.InFlight})
	}
	return c
}

// measured describes the member to the metrics package.
func (m *member) measured() *metrics.Participant {
	p := m.participant
	var passing func() bool
	if m.canary != nil {
		passing = m.canary.passing
	}
	return &metrics.Participant{
		Name: p.Name, Binding: m.reached, Mode: p.Mode, Events: p.Events, Tools: p.Tools,
		OnFailure: p.OnFailure, Guard: p.Guard, Timeout: p.Timeout, WarmsUp: m.warmup != nil, CanaryPassing: passing, TLS: m.secured(), Certificates: m.certificates(), Causes: m.causes(), HasBreaker: m.reached == metrics.Webhook,
		State: func() metrics.State {
			status := m.binding.Status()
			s := metrics.State{InFlight: status.InFlight}
			if status.Breaker != nil {
				s.Breaker, s.NextTry = breakerState(status.Breaker.State), status.Breaker.RetryAt
			}
			return s
		},
	}
}

func breakerState(s transport.BreakerState) metrics.BreakerState {
	switch s {
	case transport.BreakerClosed:
		return metrics.BreakerClosed
	case transport.BreakerHalfOpen:
		return metrics.BreakerHalfOpen
	case transport.BreakerOpen:
		return metrics.BreakerOpen
	}
	return 0
}

// certificates returns the expiry of each certificate that the entry names.
func (m *member) certificates() map[metrics.Certificate]time.Time {
	if m.entry == nil || m.entry.Webhook == nil || m.entry.Webhook.TLS == nil {
		return nil
	}
	all := map[metrics.Certificate]time.Time{
		metrics.ClientCertificate: m.entry.Webhook.TLS.CertificateUntil, metrics.CACertificate: m.entry.Webhook.TLS.RootsUntil,
	}
	maps.DeleteFunc(all, func(_ metrics.Certificate, ends time.Time) bool { return ends.IsZero() })
	return all
}

// secured reports whether the member is reached over TLS.
func (m *member) secured() bool {
	return m.entry != nil && m.entry.Webhook != nil && m.entry.Webhook.URL.Scheme == "https"
}

// causes are the failure causes that the member's binding can report.
func (m *member) causes() []chain.Cause {
	answer := []chain.Cause{chain.Timeout, chain.Saturated, chain.Malformed, chain.Panic}
	switch m.reached {
	case metrics.InProcess:
		return append(answer, chain.Error)
	case metrics.Subprocess:
		answer = append(answer, chain.Empty, chain.Oversize, chain.Spawn, chain.Exit, chain.Signal)
		if m.entry.Command.Processes > 0 {
			answer = append(answer, chain.Worker)
		}
		return answer
	case metrics.Webhook:
		answer = append(answer, chain.Empty, chain.Oversize, chain.Connect, chain.TLS, chain.Reset, chain.Status,
			chain.Redirect, chain.BreakerOpen)
		if m.entry.Webhook.Auth != nil || m.entry.Webhook.SigningKeys != nil {
			answer = append(answer, chain.Auth)
		}
		return answer
	}
	return nil
}

// interceptors returns the members that the embedding program registered.
func (b *builder) interceptors() []*member {
	var members []*member
	for i, in := range b.options.Interceptors {
		way, err := transport.NewInProcess(transport.InProcessOptions{Interceptor: in, InlineUpTo: b.options.InterceptorInlineUpTo})
		if err != nil {
			b.mistakes = append(b.mistakes, fmt.Errorf("interceptors[%d]: %w", i, err))
			continue
		}
		members = append(members, &member{
			live:    b.live(identity{name: in.Name(), nth: i}, nil, func(*events) (binding, error) { return inProcess{way}, nil }),
			reached: metrics.InProcess,
			participant: &chain.Participant{
				Name: in.Name(), Kind: chain.Interceptor, Events: chain.Events(), Timeout: b.options.InterceptorTimeout,
			},
		})
	}
	return b.bound(members)
}

// members returns the entries of one file.
func (b *builder) members(chainName string, file *config.File) []*member {
	var members []*member
	ids := identities(chainName, file)
	for i, h := range file.Hooks {
		id := ids[i]
		reached, dial := b.way(chainName, h)
		members = append(members, &member{
			live: b.live(id, h, dial), reached: reached, chain: chainName, entry: h,
			participant: &chain.Participant{
				Name: h.Name, Events: []chain.Event{h.Event}, Tools: h.Tools, When: h.When,
				Timeout: h.Timeout, OwnTime: h.IsApproval(), OnFailure: h.OnFailure, Guard: h.Guard, Mode: h.Mode,
				Shadows: chain.NewShadowBound(shadowCalls),
			},
		})
	}
	return b.bound(members)
}

// bound sets the participants' bindings. A member whose binding could not be
// made stays without one: the plan is refused in that case.
func (b *builder) bound(members []*member) []*member {
	for _, m := range members {
		if m.live != nil {
			m.participant.Binding = m.binding
			if b.options.Tracer != nil {
				m.participant.Binding = tracedBinding{m.binding, b.options.Tracer, m.participant.Name, m.reached.String()}
			}
			if most := m.longestCall(); most > 0 {
				m.participant.Binding = boundedBinding{m.participant.Binding, most}
			}
			if w, ok := m.binding.(*transport.Webhook); ok {
				m.participant.FirstTimeout, m.participant.Cold = m.entry.FirstTimeout, w.Cold
			}
		}
	}
	return members
}

// live returns the running state of an entry: the previous plan's, or a new
// one.
func (b *builder) live(id identity, h *config.Hook, dial func(*events) (binding, error)) *live {
	l := b.kept[id]
	if l == nil && h != nil {
		l = b.renamed(id)
	}
	if l == nil {
		l = &live{}
		var err error
		if l.binding, err = dial(&l.events); err != nil {
			b.mistakes = append(b.mistakes, err)
			return nil
		}
		b.keepUp(l, h)
		b.fresh = append(b.fresh, l)
	} else if h != nil {
		b.renew(l, id, h)
	}
	b.made[id] = l
	return l
}

// keepUp sets up the background tasks of an entry (canary, warm-up). They start
// once the plan is in force. An interceptor has no entry.
func (b *builder) keepUp(l *live, h *config.Hook) {
	if h == nil {
		return
	}
	if h.Canary != nil {
		l.canary = newCanary(l, b.options.Logger)
		l.upkeep.tasks = append(l.upkeep.tasks, l.canary.run)
	}
	if w, ok := l.binding.(*transport.Webhook); ok && h.Webhook.Warmup {
		l.warmup = newWarmup(l, w, b.options.Logger)
		l.upkeep.tasks = append(l.upkeep.tasks, l.warmup.run)
	}
}

// way returns the binding of an entry and the function that makes it.
func (b *builder) way(chainName string, h *config.Hook) (metrics.Binding, func(*events) (binding, error)) {
	switch {
	case h.Command != nil:
		return metrics.Subprocess, func(*events) (binding, error) { return b.command(h) }
	case h.Webhook != nil:
		return metrics.Webhook, func(e *events) (binding, error) { return b.webhook(chainName, h, e) }
	case h.IsApproval():
		return metrics.InProcess, func(*events) (binding, error) { return b.approval(chainName, h) }
	}
	return metrics.InProcess, func(*events) (binding, error) { return b.guard(h) }
}

func (b *builder) command(h *config.Hook) (binding, error) {
	c := h.Command
	o := transport.CommandOptions{
		Argv: c.Argv, Dir: c.Dir, Env: environment(b.options.HookEnvironment, c.Env),
		Secrets:          unknown(b.options.HookEnvironment, c.Secrets),
		MaxResponseBytes: int64(c.Limits.MaxResponseBytes), MaxInFlight: c.Limits.MaxInFlight,
	}
	if c.Processes == 0 || b.dry {
		return settled(h, "command")(transport.NewCommand(o))
	}
	return settled(h, "worker")(transport.NewWorker(transport.WorkerOptions{
		Command: o, Processes: c.Processes, Patience: h.Timeout, BindAnswers: c.BindAnswers,
	}))
}

// environment returns the environment of a subprocess: the base that all share,
// overridden by the entry's own variables.
func environment(base []string, own map[string]string) []string {
	all := slices.Clone(base)
	for _, name := range slices.Sorted(maps.Keys(own)) {
		all = append(all, name+"="+own[name])
	}
	return all
}

// unknown removes from secrets the values that are in every subprocess's base
// environment, such as the path of the home directory: those are not secret.
func unknown(base, secrets []string) []string {
	return slices.DeleteFunc(slices.Clone(secrets), func(secret string) bool {
		return slices.ContainsFunc(base, func(entry string) bool { return strings.HasSuffix(entry, "="+secret) })
	})
}

func (b *builder) webhook(chainName string, h *config.Hook, e *events) (binding, error) {
	o, err := b.webhookOptions(chainName, h, e)
	if err != nil {
		return nil, err
	}
	return settled(h, "url")(transport.NewWebhook(o))
}

// renew prepares a kept entry for secrets that changed. They are replaced once
// the plan is in force.
func (b *builder) renew(l *live, id identity, h *config.Hook) {
	w, ok := l.binding.(*transport.Webhook)
	if !ok {
		return
	}
	before := l.declared.Load().Webhook
	if before.Secrets == h.Webhook.Secrets {
		return
	}
	o, err := b.webhookOptions(id.chain, h, &l.events)
	if err == nil {
		if reflect.DeepEqual(before.Auth, h.Webhook.Auth) {
			o.Authorizer = w.Authorizer() // keeps its current token
		}
		var apply func()
		if apply, err = w.Renewed(o); err == nil {
			b.renewals = append(b.renewals, apply)
			return
		}
		err = h.Mistake("url", err.Error())
	}
	b.mistakes = append(b.mistakes, err)
}

func (b *builder) webhookOptions(chainName string, h *config.Hook, e *events) (transport.WebhookOptions, error) {
	w := h.Webhook
	where := b.egress(chainName)
	if err := where.check(h); err != nil {
		return transport.WebhookOptions{}, err
	}
	o := transport.WebhookOptions{
		Permit: where.permit(),
		URL:    w.URL.String(), Headers: w.Headers, UserAgent: "hookgate/" + b.options.Version,
		Breaker:     breakerOptions(w.Breaker),
		MaxInFlight: w.Limits.MaxInFlight, MaxResponseBytes: int64(w.Limits.MaxResponseBytes), Observer: e, ColdAfter: w.ColdAfter, MaxConnAge: w.MaxConnAge,
	}
	if w.TLS != nil {
		o.TLS = &tls.Config{RootCAs: w.TLS.Roots, ServerName: w.TLS.ServerName, MinVersion: tls.VersionTLS12}
		if w.TLS.Certificate != nil {
			o.TLS.Certificates = []tls.Certificate{*w.TLS.Certificate}
		}
	}
	switch {
	case w.Proxy.FromEnvironment:
		o.Proxy = b.options.EnvironmentProxy
	case w.Proxy.URL != nil:
		o.Proxy = http.ProxyURL(w.Proxy.URL)
	}
	if w.Auth != nil {
		var err error
		if o.Authorizer, err = authorizer(w.Auth, o.Proxy, o.Permit); err != nil {
			return o, h.Mistake("auth", err.Error())
		}
	}
	if w.SigningKeys != nil {
		s, err := signer(w.SigningKeys)
		if err != nil {
			return o, h.Mistake("signing.secret", err.Error())
		}
		o.Signer = s
	}
	if w.Unwrap == config.LambdaInvoke {
		o.Wrapping = transport.LambdaInvoke
	}
	if w.CloudEvents {
		o.EventSource = eventSource(chainName)
	}
	if w.BindAnswers != config.Unbound {
		var err error
		if o.Answers, err = answerChecker(w); err != nil {
			return o, h.Mistake("bind_answers", err.Error())
		}
	}
	return o, nil
}

func breakerOptions(b config.Breaker) transport.BreakerOptions {
	o := transport.BreakerOptions{
		ConsecutiveFailures: b.ConsecutiveFailures,
		FailureRatio:        b.FailureRatio, MinCalls: b.MinCalls, Window: b.Window,
		Open: b.Open, HalfOpenProbes: b.HalfOpenProbes, MaxRetryAfter: b.MaxRetryAfter,
	}
	if o.MaxRetryAfter == 0 {
		o.MaxRetryAfter = -1 // disables it; zero would mean the default
	}
	return o
}

func (b *builder) guard(h *config.Hook) (binding, error) {
	// At an event that it does not cover, a guard would allow everything and
	// still look as if it guarded.
	if d, ok := guard.Describe(h.Use.Guard); ok && !slices.Contains(d.Events, h.Event) {
		return nil, h.Mistake("event", fmt.Sprintf("guard %q cannot be used at %s, only at %v", h.Use.Guard, h.Event, d.Events))
	}
	g, err := guard.New(guard.Options{Use: h.Use.Guard, Name: h.Name, With: h.Use.With})
	if err != nil {
		return nil, h.Mistake("with", err.Error())
	}
	// The length of the call bounds the work of a guard, so a short call needs
	// no goroutine to enforce the deadline.
	way, err := transport.NewInProcess(transport.InProcessOptions{Interceptor: g, InlineUpTo: 8 << 10})
	return settled(h, "use")(inProcess{way}, err)
}

// inProcess is an in-process binding, which has no resources to release.
type inProcess struct{ *transport.InProcess }

// Close implements binding.
func (inProcess) Close() {}

// settled attributes the error of a constructor to a key of the entry.
func settled(h *config.Hook, key string) func(binding, error) (binding, error) {
	return func(way binding, err error) (binding, error) {
		if err != nil {
			return nil, h.Mistake(key, err.Error())
		}
		return way, nil
	}
}

// shadowCalls is the maximum number of concurrent calls to one shadow.
const shadowCalls = 64

// longestTimeout, longestBudget and longestTurn are the largest values that
// files may set; the histograms reach up to them.
const (
	longestTimeout = 10 * time.Minute
	longestBudget  = time.Hour
	longestTurn    = 24*time.Hour + 10*time.Minute // the longest turn plus its grace period
)
