// Package shell tells which programs a command line would start, as far as its
// text alone can tell.
//
// It runs nothing and looks nothing up: no file, no variable of this process.
// What a word would become is computed where the text says so (quotes, escapes,
// braces, variables assigned earlier in the same text, echo and here-documents
// that feed a shell) and marked as unknown where it does not.
//
// What holds here is named in the tests that hold it (TestS1_…):
//
//   - S1 A text that cannot be read whole is an error, never the part of it
//     that could be.
//   - S2 A program is found behind quotes, paths, lists, pipelines, subshells,
//     substitutions, loops and functions, behind programs that run others
//     (sudo, env, xargs, find -exec), and in the scripts that shells are given
//     (sh -c, eval, here-documents, pipes).
//   - S3 Unknown is not empty: a variable that nothing sets is told apart from
//     one whose value is not known.
//   - S4 Time, memory and stack are bounded, whatever the text: time and memory
//     by what the meter of the call allows, which grows with its length.
//   - S5 Words never say no where Read would find one of them.
package shell
