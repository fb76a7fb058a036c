package secret

import "bytes"

const (
	dashes    = "-----"
	keyBegins = "-----BEGIN "
	keyEnds   = "-----END "
	// longestKey is longer than any key in use, in bytes.
	longestKey = 64 << 10
	// keyLine is the length of a base64 run that occurs in a key but not in
	// code or prose.
	keyLine = 32
	// keyRest is the shortest line that counts as part of a key whose end is
	// missing.
	keyRest = 16
)

// privateKey checks for an armored private key that begins at i. A truncated
// key is found as far as it goes; open reports that it extends to the end of
// the text.
func (f *Finder) privateKey(text []byte, i int) (h hit, open bool) {
	if !bytes.HasPrefix(text[i:], []byte(keyBegins)) || !f.finds(kindPrivateKey) {
		return hit{}, false
	}
	label := i + len(keyBegins)
	n := bytes.Index(text[label:min(len(text), label+64)], []byte(dashes))
	if n < 0 || !bytes.Contains(text[label:label+n], []byte("PRIVATE KEY")) || !isLabel(text[label:label+n]) {
		return hit{}, false
	}
	body := label + n + len(dashes)
	window := text[body:min(len(text), body+longestKey)]
	if end := bytes.Index(window, []byte(dashes)); end >= 0 && bytes.HasPrefix(window[end:], []byte(keyEnds)) {
		if !f.hasLine(window[:end]) {
			return hit{}, false
		}
		to := body + end + len(keyEnds)
		if n := bytes.Index(text[to:min(len(text), to+64)], []byte(dashes)); n >= 0 {
			to += n + len(dashes)
		}
		return hit{i, to, kindPrivateKey}, false
	}
	to := f.keyLines(text, body)
	open = len(bytes.TrimLeft(text[to:], " \t\r\n\"'")) == 0
	if to == body {
		return hit{}, open
	}
	return hit{i, to, kindPrivateKey}, open
}

// isLabel reports whether a text has the form of an armor label.
func isLabel(text []byte) bool {
	for _, c := range text {
		if c != ' ' && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// hasLine reports whether a text contains a line of a key.
func (f *Finder) hasLine(text []byte) bool {
	for i := 0; i < len(text); i++ {
		to := f.run(text, i, base64)
		if to-i >= keyLine {
			return true
		}
		i = to
	}
	return false
}

// keyLines returns the end of the lines of a key that begin at i.
func (f *Finder) keyLines(text []byte, i int) int {
	end := i
	for end-i < longestKey {
		from := f.lineBegins(text, end)
		to := f.run(text, from, base64)
		if to-from < keyRest && (to == from || to < len(text)) {
			return end
		}
		end = to
	}
	return end
}

// lineBegins skips what can be between two lines of a key: whitespace, literal
// escape sequences, quotes in source code, and line numbers that tools add.
func (f *Finder) lineBegins(text []byte, i int) int {
	for i < len(text) {
		switch c := text[i]; {
		case c == '\\':
			i += escape(text[i:])
		case bytes.IndexByte([]byte(" \t\r\n\"'`,;|>"), c) >= 0:
			i++
		case bytes.HasPrefix(text[i:], []byte("→")):
			i += len("→")
		case f.of[c]&digit != 0:
			to := f.run(text, i, digit)
			if to-i > 6 || to == len(text) || text[to] != '\t' && text[to] != '|' && text[to] != ':' && !bytes.HasPrefix(text[to:], []byte("→")) {
				return i
			}
			i = to + 1 // an arrow is multi-byte; its other bytes are not part of a line either
			for i < len(text) && text[i] >= 0x80 {
				i++
			}
		default:
			return i
		}
	}
	return i
}
