// Package config loads the operator's hooks file, the tenants' chain files, the
// agents' profiles and the callers file into validated data, and detects when
// those files change.
//
// It builds no participants and does not read the environment: the caller
// passes in a function that looks up variables. [Load] reads everything once,
// [Set.Next] reads the same files again, and [Watch] reports when that may be
// worthwhile.
//
// Invariants, with the tests named after them (TestF1_…):
//
//   - F1 What is not understood is an error: an unknown key, an unknown word, a
//     value of another type, a duplicate key. A typo never falls back to a
//     default.
//   - F2 Every mistake in every file is reported at once, with its file, line
//     and path, in the order of the lines. Only a file that cannot be parsed at
//     all ends at its first mistake.
//   - F3 A reference to a variable or a file that cannot be resolved is an
//     error, never an empty string. A resolved value is never part of an error.
//   - F4 Numbers in options and conditions keep their text; nothing passes
//     through float64.
//   - F5 A Set is consistent: the files of one mounted volume are never read
//     from two of its revisions.
//   - F6 Emptiness is not a configuration. An empty file is an error, and so is
//     an operator's file or a directory of chains that has vanished since the
//     last load.
//   - F7 A condition that cannot be evaluated holds: the hook is asked.
//   - F8 Two entries with the same fingerprint have exactly the same binding,
//     with the same resolved values, except for the secrets of a webhook, which
//     have a hash of their own.
//   - F9 Equivalent JSON and YAML load as the same configuration.
//   - F10 A change is reported once it has settled, and a slow poll reliably
//     reports what the file-system watch missed.
//   - F11 A read that hangs is abandoned and blocks nothing: no start, reload,
//     check or shutdown.
package config
