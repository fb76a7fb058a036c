package config

// node is a value of a file, whichever of the two languages it is written in.
type node struct {
	kind kind
	at   place
	// text is the value of a text, the digits of a number exactly as they
	// stand in the file, and true or false.
	text string
	// bare is whether a text stands without quotes in a YAML file, where it
	// may have been meant as something else.
	bare    bool
	items   []*node  // of a list
	members []member // of a mapping, in the order of the file
}

// member is one key of a mapping with its value.
type member struct {
	key   string
	at    place
	value *node
}

// place is a line and a column, both from 1.
type place struct{ line, column int }

// kind is what a value is.
type kind uint8

const (
	// broken is a value about which a mistake has been reported already: who
	// reads it says nothing more.
	broken kind = iota
	null
	boolean
	number
	text
	list
	mapping
)

// String is how errors call a value of that kind.
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

// member returns the first value of key, nil where there is none.
func (n *node) member(key string) *node {
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}
