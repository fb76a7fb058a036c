package config

import "slices"

// purpose is what a file is for, judged by its content. All files are YAML or JSON,
// so one is easily named instead of another.
type purpose uint8

const (
	unknownPurpose purpose = iota
	forHooks
	forCallers
	forAgent
)

// isOther reports a file that is for something else, as one mistake instead of one
// for each key.
func (r *reading) isOther(root value, wanted purpose) bool {
	found := purposeOf(root)
	if found == unknownPurpose || found == wanted {
		return false
	}
	r.fail(root, "this is %s, not %s: %s", found.name(), wanted.name(), found.place())
	return true
}

func (p purpose) name() string {
	switch p {
	case forHooks:
		return "a hooks file"
	case forCallers:
		return "a callers file"
	case forAgent:
		return "the profile of an agent"
	case unknownPurpose:
	}
	return "unknown"
}

// place says where a file of that purpose belongs.
func (p purpose) place() string {
	switch p {
	case forHooks:
		return "HOOKGATE_CONFIG names the operator's, HOOKGATE_CHAINS_DIR the directory of the tenants'"
	case forCallers:
		return "HOOKGATE_CALLERS names it, and gateway check reads it when it has no argument"
	case forAgent:
		return "HOOKGATE_AGENTS_DIR names its directory, and gateway check reads it when it has no argument"
	case unknownPurpose:
	}
	return "nothing names it"
}

// purposeOf says what a file is for, by keys that only such files have.
func purposeOf(root value) purpose {
	if root.kind != mapping {
		return unknownPurpose
	}
	has := func(keys ...string) bool {
		return slices.ContainsFunc(root.members, func(m member) bool { return slices.Contains(keys, m.key) })
	}
	isProgram := func(m member) bool { return m.key == "command" && m.value.kind == text }
	switch {
	case has("hooks"):
		return forHooks
	case has("callers", "issuers", "client_ca_file"):
		return forCallers
	case has("schema", "name"): // a hooks file, or an entry of one, that lacks a key
	case slices.ContainsFunc(root.members, isProgram), has("env_allowlist", "permission", "permission_default", "timeout_secs"):
		return forAgent
	}
	return unknownPurpose
}
