package metrics

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hookgate/hookgate/chain"
)

func asking(tools ...string) *Participant { return &Participant{Tools: tools} }

func (t *tools) texts() []string {
	texts := make([]string, 0, len(t.labels))
	for _, l := range t.labels {
		texts = append(texts, l.text)
	}
	return texts
}

func TestM1_ToolsAreLabelledByWhatConfigurationNames(t *testing.T) {
	for name, c := range map[string]struct {
		participants []*Participant
		labels       []string
		found        map[string]string // label by tool
	}{
		"nobody names a tool": {
			participants: []*Participant{asking(), asking()},
			labels:       []string{"other"},
			found:        map[string]string{"shell": "other", "*": "other", "": "other"},
		},
		"an exact name stands for itself": {
			participants: []*Participant{asking("shell", "write"), asking("shell")},
			labels:       []string{"shell", "write", "other"},
			found:        map[string]string{"shell": "shell", "write": "write", "shel": "other", "Shell": "other"},
		},
		"a glob stands for what it alone matches": {
			participants: []*Participant{asking("mcp__*", "mcp__git")},
			labels:       []string{"mcp__git", "mcp__*", "other"},
			found:        map[string]string{"mcp__git": "mcp__git", "mcp__": "mcp__*", "mcp__git__push": "mcp__*", "mcp": "other"},
		},
		"the first of many globs": {
			participants: []*Participant{asking("a*"), asking("*z", "a*")},
			labels:       []string{"a*", "*z", "other"},
			found:        map[string]string{"az": "a*", "bz": "*z", "b": "other"},
		},
		"a glob behind one that matches all of its tools never labels": {
			participants: []*Participant{asking("a*", "ab*", "a*c*", "ab")},
			labels:       []string{"ab", "a*", "other"},
			found:        map[string]string{"abc": "a*", "ab": "ab", "a*": "a*"},
		},
		"a glob of stars leaves no other tool": {
			participants: []*Participant{asking("shell", "**", "a*")},
			labels:       []string{"shell", "**"},
			found:        map[string]string{"": "**", "shell": "shell", "abc": "**"},
		},
		"a glob of many stars": {
			participants: []*Participant{asking("a*b*c")},
			labels:       []string{"a*b*c", "other"},
			found:        map[string]string{"abc": "a*b*c", "aXbXc": "a*b*c", "ac": "other", "acb": "other"},
		},
		"a star does not match twice": {
			participants: []*Participant{asking("ab*ba")},
			labels:       []string{"ab*ba", "other"},
			found:        map[string]string{"aba": "other", "abba": "ab*ba"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tools := newTools(c.participants)
			if diff := cmp.Diff(c.labels, tools.texts()); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			for tool, want := range c.found {
				if got := tools.labels[tools.find(tool)].text; got != want {
					t.Errorf("tool %q is labelled %q instead of %q", tool, got, want)
				}
			}
		})
	}
}

func TestM2_HowManyToolsOfALabelAParticipantIsAskedAbout(t *testing.T) {
	tools := newTools([]*Participant{asking("shell", "a*", "*z", "mcp__*")})
	for name, c := range map[string]struct {
		patterns []string
		want     map[string]reach // patterns that are not listed are reachesNone
	}{
		"every tool": {
			want: map[string]reach{"shell": reachesAll, "a*": reachesAll, "*z": reachesAll, "mcp__*": reachesAll, "other": reachesAll},
		},
		"an exact name":            {patterns: []string{"shell"}, want: map[string]reach{"shell": reachesAll}},
		"the label's own glob":     {patterns: []string{"mcp__*"}, want: map[string]reach{"mcp__*": reachesAll, "*z": reachesSome}},
		"a wider glob":             {patterns: []string{"mcp*"}, want: map[string]reach{"mcp__*": reachesAll, "*z": reachesSome}},
		"a narrower glob":          {patterns: []string{"ab*"}, want: map[string]reach{"a*": reachesSome}},
		"a glob that crosses":      {patterns: []string{"*z"}, want: map[string]reach{"a*": reachesSome, "*z": reachesAll}},
		"a glob across exact ones": {patterns: []string{"sh*"}, want: map[string]reach{"shell": reachesAll, "*z": reachesSome}},
		"two patterns":             {patterns: []string{"ab*", "a*"}, want: map[string]reach{"a*": reachesAll}},
		"an unknown exact name":    {patterns: []string{"abc"}, want: map[string]reach{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]reach{}
			for _, l := range tools.labels {
				if r := l.reachedBy(c.patterns); r != reachesNone {
					got[l.text] = r
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("reach (-want +got):\n%s", diff)
			}
		})
	}
}

// A small alphabet makes it likely that patterns meet.
func patternsOf(tools string) *rapid.Generator[[]string] {
	return rapid.SliceOfN(rapid.StringMatching(tools), 0, 4)
}

func TestM2_ReachAgreesWithWhatThePatternsMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var participants []*Participant
		for range rapid.IntRange(1, 4).Draw(t, "participants") {
			participants = append(participants, asking(patternsOf(`[ab*]{1,4}`).Draw(t, "patterns")...))
		}
		tools := newTools(participants)
		name := rapid.StringMatching(`[abc]{0,6}`).Draw(t, "tool")
		label := tools.labels[tools.find(name)]
		for _, p := range participants {
			asked := len(p.Tools) == 0 || slices.ContainsFunc(p.Tools, func(text string) bool { return chain.MatchTool(text, name) })
			switch r := label.reachedBy(p.Tools); {
			case asked && r == reachesNone:
				t.Fatalf("%q is asked about %q, but about no tool labelled %q", p.Tools, name, label.text)
			case !asked && r == reachesAll:
				t.Fatalf("%q is not asked about %q, but about every tool labelled %q", p.Tools, name, label.text)
			}
		}
	})
}

func TestM1_AGlobMatchesWhatTheChainMatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ab]{0,3}\*[ab*]{0,4}`).Draw(t, "glob")
		name := rapid.StringMatching(`[ab*]{0,8}`).Draw(t, "tool")
		if got, want := newGlob(text).match(name), chain.MatchTool(text, name); got != want {
			t.Fatalf("glob %q matches %q: %v, in the chain %v", text, name, got, want)
		}
	})
}

func TestM2_TwoGlobsMeetWhereANameIsMatchedByBoth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := newGlob(rapid.StringMatching(`[ab]{0,2}\*[ab*]{0,3}`).Draw(t, "a"))
		b := newGlob(rapid.StringMatching(`[ab]{0,2}\*[ab*]{0,3}`).Draw(t, "b"))
		// A name that matches both begins and ends like both, and has the middle of
		// one after that of the other. If there is such a name, one of these is.
		found := false
		for _, prefix := range []string{a.prefix, b.prefix} {
			for _, suffix := range []string{a.suffix, b.suffix} {
				name := prefix + a.text + b.text + suffix
				found = found || chain.MatchTool(a.text, name) && chain.MatchTool(b.text, name)
			}
		}
		if got := meet(a, b); got != found {
			t.Fatalf("globs %q and %q meet: %v, but a name of both was found: %v", a.text, b.text, got, found)
		}
	})
}
