// Package shell determines which programs a command line would start, from its
// text alone.
//
// It runs nothing and accesses nothing: no files, no variables of this process.
// It evaluates a word as far as the text determines it (quotes, escapes,
// braces, variables assigned earlier in the text, echo and here-documents that
// feed a shell), and marks the rest as unknown.
//
// Invariants, with the tests named after them (TestS1_…):
//
//   - S1 A text that cannot be parsed completely is an error; a partial result
//     is never returned.
//   - S2 Programs are found behind quotes, paths, lists, pipelines, subshells,
//     substitutions, loops and functions, behind programs that run others
//     (sudo, env, xargs, find -exec), and in the scripts that shells are given
//     (sh -c, eval, here-documents, pipes).
//   - S3 Unknown is not empty: a variable that nothing sets is distinguished
//     from one whose value is unknown.
//   - S4 Time, memory and stack are bounded for any text: time and memory by
//     the call's meter, whose allowance grows with the length of the call.
//   - S5 [Words.MayBeIn] never returns false if [Read] would find one of the
//     words.
package shell
