// Package config turns the operator's hooks file and the tenants' chain files
// into validated data, and tells when those files changed.
//
// It builds no participants and reads no environment: variables are looked up
// through a function that its caller passes in. [Load] reads everything once,
// [Set.Next] reads the same files again, [Watch] says when that is worth doing.
//
// What holds here is named in the tests that hold it (TestF1_…):
//
//   - F1 What is not understood is an error: an unknown key, an unknown word, a
//     value of another type, a key that stands twice. Nothing falls back to a
//     default because it was mistyped.
//   - F2 Every mistake of every file is reported at once, with its file, line
//     and place, in the order of the lines. Only a text that cannot be parsed
//     at all ends with its first mistake.
//   - F3 A value that was to be filled in from a variable or a file, and could
//     not be, is an error, never an empty text. What was filled in is never
//     part of an error.
//   - F4 Numbers in options and conditions keep their text; nothing passes
//     through float64.
//   - F5 One Set comes from one moment: files of one mounted volume are never
//     read from two of its revisions.
//   - F6 Emptiness is not a configuration. An empty file, and an operator's
//     file or a directory of chains that vanished since the last load, are
//     errors.
//   - F7 A condition that cannot be evaluated holds: the hook is asked.
//   - F8 Two entries with one fingerprint are reached in exactly the same way,
//     with the same values filled in but for the secrets of a webhook, which
//     have a hash of their own.
//   - F9 JSON and YAML that say the same load as the same.
//   - F10 A change is reported once it has settled, and a slow poll reports
//     without fail what the watch of the file system missed.
//   - F11 What cannot be read to its end is given up, and keeps nobody: neither
//     a start nor a reload, a check or an end.
package config
