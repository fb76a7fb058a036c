package config

// node is a value in a file, YAML or JSON.
type node struct {
	kind kind
	at   place
	// text is the value of a string, the text of a number exactly as in the
	// file, or true or false.
	text string
	// bare is set for an unquoted string in YAML, which may have been intended
	// as another type.
	bare    bool
	items   []*node  // of a list
	members []member // of a mapping, in the order of the file
}

// member is a key of a mapping with its value.
type member struct {
	key   string
	at    place
	value *node
}

// place is a line and a column, both counted from 1.
type place struct{ line, column int }

// kind is the type of a value.
type kind uint8

const (
	// broken is a value whose mistake was already reported; nothing more is
	// reported about it.
	broken kind = iota
	null
	boolean
	number
	text
	list
	mapping
)

// String returns the name of the kind in errors.
func (k kind) String() string {
	switch k {
	case null:
		return "null"
	case boolean:
		return "true or false"
	case number:
		return "a number"
	case text:
		return "a string"
	case list:
		return "a list"
	case mapping:
		return "a mapping"
	case broken:
		return "a broken value"
	}
	return "a broken value"
}

// member returns the first value of key, nil if there is none.
func (n *node) member(key string) *node {
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}
