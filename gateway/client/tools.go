package client

import "strings"

// The aliases by which a hooks file can name the tools of every client. A tool
// of an MCP server has the alias mcp__SERVER__TOOL.
const (
	shell     = "shell"
	readFile  = "read_file"
	writeFile = "write_file"
	editFile  = "edit_file"
	webFetch  = "web_fetch"
)

// mcpNames describes a client's names of MCP tools: the prefix, and the
// separator between server and tool.
type mcpNames struct{ prefix, between string }

// alias returns a tool's client-independent name, empty if there is none or if
// it equals the tool's own.
func (c *Client) alias(name, server, tool string) string {
	alias := c.tools[name]
	switch {
	case server != "" && tool != "":
		alias = mcpAlias(server, tool)
	case alias != "":
	case c.mcp.between != "":
		rest, ok := strings.CutPrefix(name, c.mcp.prefix)
		if server, tool, cut := strings.Cut(rest, c.mcp.between); ok && cut {
			alias = mcpAlias(server, tool)
		}
	}
	if alias == name {
		return ""
	}
	return alias
}

func mcpAlias(server, tool string) string { return "mcp__" + server + "__" + tool }
