package gateway

import (
	"fmt"
	"net/url"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// page is the content of the page. All texts are escaped when they become
// nodes; none is inserted raw.
type page struct {
	now         string
	said        string
	bad         bool // said reports an error
	unreachable bool
	token       string
	cards       []card
	lately      []settledLine
}

// card is a pending approval. Its texts are escaped by [approval.Shown].
type card struct {
	id, digest                             string
	tool, agent, workspace, askedBy, chain string
	expires, left                          string
	input, output                          string
	result, isError                        bool
	edit, message                          string
	edited                                 bool
	rows                                   int
}

type settledLine struct{ state, tool, by, at, message string }

// html renders the whole page.
func (p *page) html() g.Node {
	title, nothing, class := "Approvals · hookgate", "Nothing waits for a person.", ""
	if len(p.cards) > 0 {
		title = fmt.Sprintf("(%d) %s", len(p.cards), title)
	}
	if p.unreachable {
		nothing = "The pending calls cannot be shown."
	}
	if p.bad {
		class = "bad"
	}
	return h.Doctype(h.HTML(
		h.Lang("en"), h.Data("now", p.now),
		h.Head(
			h.Meta(h.Charset("utf-8")),
			h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.Meta(h.Name("color-scheme"), h.Content("light dark")),
			h.TitleEl(g.Text(title)),
			h.Link(h.Rel("icon"), h.Href("data:,")),
			h.Link(h.Rel("stylesheet"), h.Href(routePageStyle)),
			h.Script(h.Src(routePageScript), h.Defer()),
		),
		h.Body(
			h.Header(
				h.H1(h.ID("top"), h.TabIndex("-1"), g.Text("Approvals")),
				h.P(h.ID("live"), h.A(h.Href(routePage), g.Text("Refresh"))),
			),
			h.Main(
				h.Div(h.ID("said"), h.Role("status"), h.Aria("live", "polite"), h.Class(class), g.Text(p.said)),
				h.P(h.ID("none"), hiddenIf(len(p.cards) > 0), g.Text(nothing)),
				h.Ol(h.ID("waiting"), h.Aria("label", "Calls that wait"), g.Map(p.cards, func(c card) g.Node { return c.html(p.token) })),
				h.Section(
					h.ID("lately"), h.Aria("labelledby", "lately-h"), hiddenIf(len(p.lately) == 0),
					h.H2(h.ID("lately-h"), g.Text("Recently settled")),
					h.Ul(g.Map(p.lately, settledLine.html)),
				),
			),
		),
	))
}

func hiddenIf(hidden bool) g.Node { return g.If(hidden, g.Attr("hidden")) }

// html renders the card as a list item with the form that answers it.
func (c card) html(token string) g.Node {
	return h.Li(h.Data("approval", c.id), h.Article(
		h.Aria("labelledby", "h-"+c.id),
		h.H2(h.ID("h-"+c.id), h.TabIndex("-1"), h.Code(g.Text(c.tool))),
		h.P(h.Class("left"), h.Time(h.DateTime(c.expires), h.Data("expires", c.expires), g.Text(c.left)), g.Text(" left")),
		h.Dl(
			term("Agent", c.agent), term("Workspace", c.workspace), term("Asked by", c.askedBy+" of chain "+c.chain),
			g.If(c.result, term("Moment", "The tool has run. Deny keeps its result from the model.")),
		),
		shownText("i-"+c.id, "Input", c.input),
		g.Iff(c.result, func() g.Node {
			heading := "Result"
			if c.isError {
				heading = "Error"
			}
			return shownText("o-"+c.id, heading, c.output)
		}),
		h.Form(
			h.Method("post"), h.Action("/ui/approvals/"+url.PathEscape(c.id)),
			h.Input(h.Type("hidden"), h.Name("token"), h.Value(token)),
			h.Input(h.Type("hidden"), h.Name("digest"), h.Value(c.digest)),
			g.If(!c.result, c.edits()),
			h.Label(h.For("m-"+c.id), g.Text("Message "), h.Small(g.Text("(told to the model if you deny)"))),
			h.Input(h.ID("m-"+c.id), h.Type("text"), h.Name("message"), h.MaxLength("1000"), h.AutoComplete("off"), h.Value(c.message)),
			h.Div(
				h.Class("buttons"),
				h.Button(h.Name("behavior"), h.Value("deny"), h.Class("deny"), g.Text("Deny")),
				h.Button(h.Name("behavior"), h.Value("allow"), h.Class("allow"), g.Text("Allow")),
			),
		),
	))
}

// edits renders the field in which a person changes the input. A browser drops
// the first line break in a textarea, so one is added in front of the input.
func (c card) edits() g.Node {
	return h.Details(
		g.If(c.edited, g.Attr("open")),
		h.Summary(g.Text("Change the input")),
		h.Label(h.For("e-"+c.id), g.Text("Runs instead, if you allow it: one JSON object")),
		h.Textarea(
			h.ID("e-"+c.id), h.Name("input"), h.Rows(strconv.Itoa(c.rows)), g.Attr("spellcheck", "false"), h.AutoComplete("off"),
			g.Text("\n"+c.edit),
		),
	)
}

func term(name, is string) g.Node { return g.Group{h.Dt(g.Text(name)), h.Dd(g.Text(is))} }

// shownText renders a text under its heading, scrollable by keyboard.
func shownText(id, heading, text string) g.Node {
	return g.Group{
		h.H3(h.ID(id), g.Text(heading)),
		h.Pre(h.TabIndex("0"), h.Role("region"), h.Aria("labelledby", id), g.Text(text)),
	}
}

func (l settledLine) html() g.Node {
	return h.Li(
		h.Span(h.Class("state "+l.state), g.Text(l.state)), g.Text(" "), h.Code(g.Text(l.tool)), g.Text(" "),
		g.If(l.by != "", g.Text("by "+l.by+" ")),
		h.Time(h.DateTime(l.at), g.Text(l.at)),
		g.If(l.message != "", g.Text(": "+l.message)),
	)
}
