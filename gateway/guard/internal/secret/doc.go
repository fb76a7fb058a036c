// Package secret finds credentials in text and redacts them in JSON.
//
// It scans the text once. It tries a rule only at the prefix of its kind of
// credential, or at a name or an assignment. It uses no regular expressions, so
// that the time depends only on the length of the text, and a rule costs
// nothing where its prefix does not occur.
//
// Invariants, with the tests named after them (TestR1_…):
//
//   - R1 A redaction stays inside its string. Every byte outside the replaced
//     text is unchanged, including escapes, whitespace and numbers.
//   - R2 The output is JSON, and no further credential is found in it.
//   - R3 A credential is found however JSON encodes it: with escapes, across
//     line breaks, as JSON in a string, under a name, as an element of an
//     array.
//   - R4 Names are not changed. A credential in a name is reported instead.
//   - R5 Time is linear, and the work ends soon after its context.
//   - R6 Text that only resembles or stands for a credential is left alone:
//     variables, placeholders, code, hashes, identifiers.
package secret
