# The policy of examples/policy for OPA's server: allow a known tool unless its
# command destroys what nobody can bring back.
package hooks

default decision := "deny"

decision := "allow" if {
	input.event == "pre_tool_use"
	input.tool_name in {"shell", "read_file", "write_file"}
	not destroys
}

destroys if regex.match(`rm\s+-rf\s+/`, input.input.command)

destroys if contains(input.input.command, "mkfs")
