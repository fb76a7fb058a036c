package agentproc

import (
	"fmt"
	"regexp"
	"strings"
)

// The placeholders of a profile.
const (
	placeholderSessionID   = "SESSION_ID"
	placeholderSessionName = "SESSION_NAME"
	placeholderProfileDir  = "PROFILE_DIR"
)

// template is a text of a profile, split at its placeholders. It is filled in
// one pass, so a placeholder in a value is not replaced.
type template []segment

// segment is literal text, or a placeholder or variable to replace.
type segment struct {
	kind segmentKind
	text string // the literal text, or the name
}

type segmentKind uint8

const (
	literal segmentKind = iota + 1
	placeholder
	variable
)

// values are the values for the placeholders and variables of a template.
type values struct {
	placeholders map[string]string
	variables    map[string]string
}

// caller reports whether the segment is replaced with caller-supplied text.
func (s segment) caller() bool {
	return s.kind == placeholder && s.text != placeholderProfileDir
}

// parseTemplate splits text at {{NAME}} and, if variables is set, at ${NAME}.
func parseTemplate(text string, variables bool) (template, error) {
	pattern := regexp.MustCompile(`\{\{([A-Z_]+)\}\}`)
	if variables {
		pattern = regexp.MustCompile(`\{\{([A-Z_]+)\}\}|\$\{([^}]*)(\}?)`)
	}
	var t template
	from := 0
	for _, at := range pattern.FindAllStringSubmatchIndex(text, -1) {
		if at[0] > from {
			t = append(t, segment{literal, text[from:at[0]]})
		}
		from = at[1]
		if at[2] < 0 {
			name := text[at[4]:at[5]]
			if at[6] == at[7] || !validVariable(name) {
				return nil, fmt.Errorf("%.40q is not a reference of the form ${NAME}", text[at[0]:at[1]])
			}
			t = append(t, segment{variable, name})
			continue
		}
		name := text[at[2]:at[3]]
		switch name {
		case placeholderSessionID, placeholderSessionName, placeholderProfileDir:
			t = append(t, segment{placeholder, name})
		case "MESSAGE":
			return nil, fmt.Errorf("{{MESSAGE}} is not a placeholder: the message reaches the agent on its standard input only")
		default:
			return nil, fmt.Errorf("{{%s}} is not one of {{SESSION_ID}}, {{SESSION_NAME}}, {{PROFILE_DIR}}", name)
		}
	}
	if from < len(text) {
		t = append(t, segment{literal, text[from:]})
	}
	return t, nil
}

// validVariable reports whether name is valid for an environment variable.
func validVariable(name string) bool {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(name)
}

// fill replaces the placeholders and variables.
func (t template) fill(v values) string {
	var b strings.Builder
	for _, s := range t {
		switch s.kind {
		case literal:
			b.WriteString(s.text)
		case placeholder:
			b.WriteString(v.placeholders[s.text])
		case variable:
			b.WriteString(v.variables[s.text])
		}
	}
	return b.String()
}

// names returns the variables to which the template refers.
func (t template) names() []string {
	var names []string
	for _, s := range t {
		if s.kind == variable {
			names = append(names, s.text)
		}
	}
	return names
}

// hasCaller reports whether caller-supplied text is part of the result.
func (t template) hasCaller() bool {
	for _, s := range t {
		if s.caller() {
			return true
		}
	}
	return false
}

// fillArgument fills an argument. A caller's value must not turn it into an
// option (A9).
func fillArgument(text string, v values) (string, error) {
	t, err := parseTemplate(text, false)
	if err != nil {
		return "", err
	}
	filled := t.fill(v)
	if len(t) > 0 && t[0].caller() && strings.HasPrefix(filled, "-") {
		return "", fmt.Errorf("%w: it would become the option %.64q", ErrTurn, filled)
	}
	return filled, nil
}

// fillPath fills a path. A caller's value may be part of the name of a file or
// directory, but must not lead anywhere else (A9).
func fillPath(text string, v values) (string, error) {
	parts := strings.Split(text, "/")
	for i, part := range parts {
		t, err := parseTemplate(part, false)
		if err != nil {
			return "", err
		}
		parts[i] = t.fill(v)
		if !t.hasCaller() {
			continue
		}
		switch filled := parts[i]; {
		case filled == "":
			parts[i] = "." // the same directory; an empty first part would make the path absolute
		case filled == "." || filled == ".." || filled == "~" || strings.ContainsAny(filled, `/\`):
			return "", fmt.Errorf("%w: %.64q is not the name of one file or directory", ErrTurn, filled)
		}
	}
	return strings.Join(parts, "/"), nil
}
