package secret

import "bytes"

// option checks the value that a command line passes, as the next word, to an
// option that begins at i: an option with the name of a credential, or curl's
// option for user and password.
func (f *Finder) option(text []byte, i int) hit {
	if i > 0 && bytes.IndexByte([]byte(" \t\n\"'`,["), text[i-1]) < 0 {
		return hit{} // in the middle of a word
	}
	from := skip(text, i, "-", 2)
	to := from
	for to < len(text) && to-from < longestName && isNameByte(text[to]) {
		to++
	}
	name := text[from:to]
	value := skip(text, to, " \t\"',", 8) // of one line, or of a list of words
	switch {
	case value == len(text) || text[value] == '-':
		return hit{}
	case value > to && from-i == 2:
		if s, _ := f.names.of(name); s != harmless && !bytes.HasPrefix(name, []byte("no-")) {
			return optionValue(text, value, s)
		}
	}
	if user := userOf(name, from-i); user >= 0 && runsCurl(text[:i]) {
		if user > 0 {
			value = from + user // the value follows in the same word
		}
		return userAndPassword(text, value)
	}
	return hit{}
}

// optionValue checks the value at from of an option whose name has sense s.
func optionValue(text []byte, from int, s sense) hit {
	v := valueAt(text, from-quotesBefore(text, from), false)
	if !v.credential(s, false) {
		return hit{}
	}
	return hit{v.from, v.to, kindAssigned}
}

// quotesBefore returns 1 if the word at from is quoted, otherwise 0.
func quotesBefore(text []byte, from int) int {
	if quote := text[from-1]; quote == '"' || quote == '\'' {
		return 1
	}
	return 0
}

// userOf recognizes curl's options for user and password. It returns 0 if the
// value is the next word, the index in name at which it begins otherwise, and
// -1 for other options.
func userOf(name []byte, dashes int) int {
	switch {
	case dashes == 2 && (string(name) == "user" || string(name) == "proxy-user"):
		return 0
	case dashes == 1 && len(name) > 0 && (name[0] == 'u' || name[0] == 'U'):
		return min(1, len(name)-1)
	case dashes == 1 && len(name) > 1 && len(name) < 6 && (name[len(name)-1] == 'u' || name[len(name)-1] == 'U'):
		return 0 // the last letter of a cluster
	}
	return -1
}

// runsCurl reports whether the text before an option, on the same line, invokes
// curl.
func runsCurl(before []byte) bool {
	before = before[max(0, len(before)-512):]
	before = before[bytes.LastIndexByte(before, '\n')+1:]
	return bytes.Contains(before, []byte("curl"))
}

// userAndPassword returns the password after a user and a colon in the word
// that begins at from.
func userAndPassword(text []byte, from int) hit {
	to := wordEnds(text, from, true)
	if quotesBefore(text, from) > 0 {
		to = quoteEnds(text, from, text[from-1], false)
	}
	colon := bytes.IndexByte(text[from:to], ':')
	if colon < 0 {
		return hit{}
	}
	password := text[from+colon+1 : to]
	if len(password) == 0 || standsFor(password) || common(password) {
		return hit{}
	}
	return hit{from + colon + 1, to, kindAssigned}
}
