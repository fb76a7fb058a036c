package access

// Scope is a set of permissions. The zero Scope is no permission, and no caller
// has it.
type Scope uint8

// The scopes.
const (
	// Decide is to have calls decided by chains.
	Decide Scope = 1 << iota
	// Turns is to run agents.
	Turns
	// Approve is to see and answer approvals.
	Approve
	// Read is to see participants and decisions.
	Read
)

// ScopeNames returns the names of all scopes.
func ScopeNames() []string { return []string{"decide", "turns", "approve", "read"} }

// ParseScope returns the named scope, 0 if there is none.
func ParseScope(name string) Scope {
	switch name {
	case "decide":
		return Decide
	case "turns":
		return Turns
	case "approve":
		return Approve
	case "read":
		return Read
	}
	return 0
}

// String returns the name of a single scope.
func (s Scope) String() string {
	for i, name := range ScopeNames() {
		if s == 1<<i {
			return name
		}
	}
	return "none"
}
