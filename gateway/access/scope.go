package access

// Scope is one thing that a caller may do. The zero Scope is nothing, which
// nobody may do.
type Scope uint8

// The scopes.
const (
	// Decide puts calls to chains.
	Decide Scope = 1 << iota
	// Turns runs agents.
	Turns
	// Approve sees and answers what waits for a person.
	Approve
	// Read sees participants and decisions.
	Read
)

// ScopeNames are the names of all scopes.
func ScopeNames() []string { return []string{"decide", "turns", "approve", "read"} }

// ParseScope returns the scope of a name, 0 where there is none.
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
