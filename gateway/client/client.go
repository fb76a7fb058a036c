package client

import (
	"slices"

	"github.com/hookgate/hookgate/chain"
)

// Client is one agent and its dialect. Get it from [Find] or [All].
type Client struct {
	// name is its place in URLs, title what people call it.
	name, title string
	// eventAt is where a body names the event.
	eventAt path
	// eventOf finds the event where it is no field.
	eventOf func(object) string
	// expect are members that must have that value, where they are there; they
	// are not carried.
	expect map[string]string
	events []event
	// exact are ways whose names must not stand there in another case too: the
	// body is not the client's own but of whoever it guards against, and goes on
	// to a program that may not tell the two apart.
	exact path
	// pathIsNoEvent says that what follows the client's name in a path is the
	// path of the request that is guarded.
	pathIsNoEvent bool
	// refusal answers where the event is not known: every event obeys it.
	refusal template
	// tools are its names of tools with the alias of each.
	tools map[string]string
	// mcp is how it names the tools of MCP servers, where that is not
	// mcp__server__tool already.
	mcp mcpNames
	// command is how its command hooks are answered.
	command commandForm
	// deniedStatus is the status of a deny, where that is not 200.
	deniedStatus int
}

// Name is how the client is called in URLs and on the command line.
func (c *Client) Name() string { return c.name }

// Title is how people call it.
func (c *Client) Title() string { return c.title }

// Events returns its events that are about a tool call, in the order of its
// table.
func (c *Client) Events() []string {
	var names []string
	for i := range c.events {
		if c.events[i].at != 0 {
			names = append(names, c.events[i].name)
		}
	}
	return names
}

// Degradations are the decisions that the client cannot always be told: what
// [Answer.Degraded] can be.
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
	// at is the moment of the tool call that it is about; zero where it is about
	// none, and then allow is its answer.
	at chain.Event
	in *fields
	// tool is the tool where the event is about one only.
	tool string
	// failed says that the result is always an error.
	failed bool

	// What each decision becomes. An empty one cannot be expressed.
	allow, explicitAllow   template
	deny                   template
	modify, explicitModify template
	replace                template
	// stop is the deny where deny needs a result of the tool's own shape and
	// none is known.
	stop template
	// echo is what of the body an answer repeats, and edited where in it the
	// input stands.
	echo   path
	edited string
	// merges says that modify merges the input into the old one, so that no
	// name can be taken away.
	merges bool
	// shape makes a result of the tool's own shape, false where it cannot. Nil
	// leaves the result as it is.
	shape func(r result) ([]byte, bool)
	// shows says that the client shows the result whatever is answered: a deny
	// withholds nothing.
	shows bool
	// stopShows says the same of stop alone.
	stopShows bool
}

// passing are events that are about no tool call.
func passing(answer template, names ...string) []event {
	events := make([]event, len(names))
	for i, name := range names {
		events[i] = event{name: name, allow: answer}
	}
	return events
}

// fields says where a body has the fields of the envelope.
type fields struct {
	workspace, agent, call, tool, input, output path
	// inputOf are members that together are the input, where no single one is.
	inputOf []string
	// noInput says that an input that is not there is an empty one.
	noInput bool
	// parsed and parsedOutput say that a text that holds a JSON object stands for
	// that object, as an input and as a result.
	parsed, parsedOutput bool
	// failed is a member that makes the result an error where it is neither
	// absent, null nor false; succeeded is one that makes it one where it is
	// false.
	failed, succeeded path
	// mcpServer and mcpTool name a tool of an MCP server.
	mcpServer, mcpTool path
	// mcpCaller is the tool that calls those of MCP servers, where the client
	// has one, and mcpInput their input in its own. Of another tool the members
	// mean nothing: the model chooses them.
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

// table lists every client, in the order of the documentation.
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

// entry is the name of a client and what makes its table.
type entry struct {
	name string
	make func() *Client
}

func (e entry) client() *Client {
	c := e.make()
	c.name = e.name
	return c
}

// All returns every client, in the order of the documentation.
func All() []*Client {
	var all []*Client
	for _, e := range table() {
		all = append(all, e.client())
	}
	return all
}

// Find returns the client of that name.
func Find(name string) (*Client, bool) {
	for _, e := range table() {
		if e.name == name {
			return e.client(), true
		}
	}
	return nil, false
}
