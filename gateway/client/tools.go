package client

import "strings"

// The aliases by which tools of every client can be named in a hooks file. A
// tool of an MCP server has the alias mcp__SERVER__TOOL.
const (
	shell     = "shell"
	readFile  = "read_file"
	writeFile = "write_file"
	editFile  = "edit_file"
	webFetch  = "web_fetch"
)

// mcpNames is how a client names the tools of MCP servers: what comes first,
// and what stands between server and tool.
type mcpNames struct{ prefix, between string }

// alias is the name of a tool that all clients share, empty where there is none
// or where the tool is called so already.
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
