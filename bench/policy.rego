# What an in-process guard decides, for OPA's server: allow a known tool unless
# its command destroys what nobody can bring back.
package hooks

default decision := "deny"

decision := "allow" if {
	input.event == "pre_tool_use"
	input.tool_name in {"shell", "read_file", "write_file"}
	not destroys
}

destroys if regex.match(`\brm\s+(-[a-zA-Z]*[rf][a-zA-Z]*\s+)+/`, input.input.command)

destroys if regex.match(`\bgit\s+push\s+.*(--force|-f)\b`, input.input.command)

destroys if contains(input.input.command, "mkfs")
