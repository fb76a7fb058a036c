// Package secret finds credentials in text and takes them out of JSON.
//
// It goes through the text once and tries a rule only where the letters stand
// that a credential of its kind begins with, or where something is named or
// assigned. There is no regular expression in it: time grows with the length of
// the text alone, and a rule costs nothing where its letters do not stand.
//
// What holds here is named in the tests that hold it (TestR1_…):
//
//   - R1 What is taken out is replaced inside the string that it stands in.
//     Every byte outside of replaced text is as it was, escapes, blanks and
//     numbers included.
//   - R2 What comes out is JSON, and nothing more is found in it.
//   - R3 A credential is found whichever way the JSON spells it: with escapes,
//     over line breaks, as JSON in a string, under a name, as one element of
//     a list.
//   - R4 A name is not changed. A credential in a name is reported instead.
//   - R5 Time is linear, and the work ends soon after its context.
//   - R6 Text that only looks like a credential, or stands for one, is left
//     alone: variables, placeholders, code, hashes, identifiers.
package secret
