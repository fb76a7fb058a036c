package client

import (
	"slices"

	"github.com/hookgate/hookgate/chain"
)

// Client is an agent and its dialect. Get it from [Find] or [All].
type Client struct {
	// name is its name in URLs, title the one for people.
	name, title string
	// eventAt is the path of the event's name in a body.
	eventAt path
	// eventOf determines the event if no member names it.
	eventOf func(object) string
	// expect are members that must have the given value if they are present; they
	// are not carried into the envelope.
	expect map[string]string
	events []event
	// exact are paths whose names must not also occur with different case. The
	// body comes not from the client itself but from the party that it guards
	// against, and is forwarded to a program that may ignore case.
	exact path
	// pathIsNoEvent is set if the path after the client's name is that of the
	// guarded request and not an event.
	pathIsNoEvent bool
	// refusal is the answer if the event is not known; every event obeys it.
	refusal template
	// tools maps the client's tool names to their aliases.
	tools map[string]string
	// mcp describes the names of MCP tools, unless they already are
	// mcp__server__tool.
	mcp mcpNames
	// command is the format of the answers to command hooks.
	command commandForm
	// deniedStatus is the HTTP status of a deny, if not 200.
	deniedStatus int
}

// Name returns the client's name in URLs and on the command line.
func (c *Client) Name() string { return c.name }

// Title returns the client's name for people.
func (c *Client) Title() string { return c.title }

// Events returns the events that are about a tool call, in the order of the
// client's table.
func (c *Client) Events() []string {
	var names []string
	for i := range c.events {
		if c.events[i].at != 0 {
			names = append(names, c.events[i].name)
		}
	}
	return names
}

// Degradations returns the possible values of [Answer.Degraded]: the decisions
// that the client cannot always be told.
func (c *Client) Degradations() []chain.Decision {
	var all []chain.Decision
	add := func(d chain.Decision, yes bool) {
		if yes && !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	for i := range c.events {
		e := &c.events[i]
		switch e.at {
		case chain.PreToolUse:
			add(chain.Modify, e.modify == "" || e.merges)
		case chain.PostToolUse:
			add(chain.Replace, e.replace == "" || e.shape != nil)
			add(chain.Deny, e.shows || e.stopShows)
		}
	}
	return all
}

// event is one event of a client.
type event struct {
	name string
	// at is the event of the envelope; zero if the event is not about a tool
	// call, and then allow is its answer.
	at chain.Event
	in *fields
	// tool is the tool, if the event is about only one.
	tool string
	// failed is set if the result is always an error.
	failed bool

	// The answer to each decision. An empty template means that the decision
	// cannot be expressed.
	allow, explicitAllow   template
	deny                   template
	modify, explicitModify template
	replace                template
	// stop is the deny to use if deny needs a result in the tool's own shape and
	// none is known.
	stop template
	// echo is the part of the body that an answer repeats, and edited the path of
	// the input in it.
	echo   path
	edited string
	// merges is set if the client merges a modified input into the old one, so
	// that no member can be removed.
	merges bool
	// shape converts a result to the tool's own shape, and returns false if it
	// cannot. Nil leaves the result unchanged.
	shape func(r result) ([]byte, bool)
	// shows is set if the client shows the result whatever the answer is: a deny
	// withholds nothing.
	shows bool
	// stopShows is the same for stop alone.
	stopShows bool
}

// passing returns events that are not about a tool call.
func passing(answer template, names ...string) []event {
	events := make([]event, len(names))
	for i, name := range names {
		events[i] = event{name: name, allow: answer}
	}
	return events
}

// fields maps the fields of the envelope to paths in a body.
type fields struct {
	workspace, agent, call, tool, input, output path
	// inputOf are members that together form the input, if no single one does.
	inputOf []string
	// noInput is set if a missing input stands for an empty one.
	noInput bool
	// parsed and parsedOutput are set if a string that contains a JSON object
	// stands for that object, in the input and in the result.
	parsed, parsedOutput bool
	// failed is the path of a member that marks the result as an error unless it
	// is absent, null or false; succeeded is the path of one that does so if it
	// is false.
	failed, succeeded path
	// mcpServer and mcpTool are the paths that name a tool of an MCP server.
	mcpServer, mcpTool path
	// mcpCaller is the tool that calls MCP tools, if the client has one, and
	// mcpInput the path of their input within its own. The members are ignored
	// for other tools, whose input the model chooses.
	mcpCaller string
	mcpInput  path
}

func (c *Client) event(name string) *event {
	i := slices.IndexFunc(c.events, func(e event) bool { return e.name == name })
	if i < 0 {
		return nil
	}
	return &c.events[i]
}

// table lists all clients, in the order of the documentation.
func table() []entry {
	return []entry{
		{"claude-code", claudeCode},
		{"copilot", copilot},
		{"qwen-code", qwenCode},
		{"codex", codex},
		{"gemini-cli", geminiCLI},
		{"cursor", cursor},
		{"opencode", opencode},
		{"goose", goose},
		{"cline", cline},
		{"droid", droid},
		{"windsurf", windsurf},
		{"kiro", kiro},
		{"openhands", openhands},
		{"agentcore", agentcore},
		{"litellm", litellm},
		{"envoy-ext-authz", envoyExtAuthz},
	}
}

// entry is a client's name and the function that builds its table.
type entry struct {
	name string
	make func() *Client
}

func (e entry) client() *Client {
	c := e.make()
	c.name = e.name
	return c
}

// All returns all clients, in the order of the documentation.
func All() []*Client {
	var all []*Client
	for _, e := range table() {
		all = append(all, e.client())
	}
	return all
}

// Find returns the client with the given name.
func Find(name string) (*Client, bool) {
	for _, e := range table() {
		if e.name == name {
			return e.client(), true
		}
	}
	return nil, false
}
