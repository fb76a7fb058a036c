package shell

// scope holds the variables and the directory of a shell, or of a part of a
// text that a shell would run in a separate process.
type scope struct {
	parent *scope
	vars   map[string]value
	dir    string
}

// value is the value of a variable.
type value struct {
	text string
	list []string // the elements, for an array
	from span     // the commands whose output is part of it
}

// child returns a scope whose changes do not affect its parent.
func (s *scope) child() *scope { return &scope{parent: s, dir: s.dir} }

// set assigns a value to a variable.
func (s *scope) set(name string, v value) {
	if s.vars == nil {
		s.vars = map[string]value{}
	}
	s.vars[name] = v
}

// lookup returns the value of a variable, and false if nothing known sets it.
func (s *scope) lookup(name string) (value, bool) {
	for at := s; at != nil; at = at.parent {
		if v, ok := at.vars[name]; ok {
			return v, true
		}
	}
	text, ok := s.given(name)
	return value{text: text}, ok
}

// given returns the value of a variable that every shell sets.
func (s *scope) given(name string) (string, bool) {
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
