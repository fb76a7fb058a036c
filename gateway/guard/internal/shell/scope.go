package shell

// scope is the variables and the directory of a shell, or of a part of a text
// that a shell would run in a process of its own.
type scope struct {
	parent *scope
	vars   map[string]string
	dir    string
}

// child is a scope whose changes stay its own.
func (s *scope) child() *scope { return &scope{parent: s, dir: s.dir} }

// set gives a variable a value.
func (s *scope) set(name, value string) {
	if s.vars == nil {
		s.vars = map[string]string{}
	}
	s.vars[name] = value
}

// lookup returns the value of a variable, and false where nothing that is known
// of sets it.
func (s *scope) lookup(name string) (string, bool) {
	for at := s; at != nil; at = at.parent {
		if value, ok := at.vars[name]; ok {
			return value, true
		}
	}
	switch name {
	case "HOME":
		return "~", true
	case "PWD":
		if s.dir == "" {
			return ".", true
		}
		return s.dir, true
	case "IFS":
		return " ", true
	case "?", "$", "!", "#", "-", "0", "RANDOM", "SECONDS", "UID", "EUID", "USER", "LOGNAME", "HOSTNAME", "SHELL":
		return Opaque, true
	}
	return "", false
}
