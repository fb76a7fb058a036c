package signature

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrUnbound is wrapped by the errors of [CheckBoundAnswer] and
// [Verifier.CheckBoundAnswer]: the answer is not proven to belong to the
// request.
var ErrUnbound = errors.New("the answer is not bound to the request")

// The fields that bind an answer to a request.
const (
	// FieldID repeats the id of the request.
	FieldID = "webhook_id"
	// FieldSignature signs the id, the request body and the answer.
	FieldSignature = "answer_signature"
)

const blanks = " \t\r\n"

// BindAnswer adds the id of the request to an answer, which must be one JSON
// object. id is the value of the request's Webhook-Id header.
func BindAnswer(answer []byte, id string) ([]byte, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	found, err := readBinding(answer)
	switch {
	case err != nil:
		return nil, err
	case found.id != nil || found.signature != nil:
		return nil, errors.New("the answer is already bound")
	}
	return withField(answer, FieldID, id), nil
}

// BindAnswer adds the id of the request to an answer, which must be one JSON
// object, and a signature over the id, the request body and the answer.
func (s *Signer) BindAnswer(answer []byte, id string, question []byte) ([]byte, error) {
	bound, err := BindAnswer(answer, id)
	if err != nil {
		return nil, err
	}
	signatures, err := s.sign(func(head []byte) []byte {
		return appendAnswerHead(head, id, question)
	}, bound)
	if err != nil {
		return nil, err
	}
	return withField(bound, FieldSignature, signatures), nil
}

// CheckBoundAnswer returns an error unless the answer repeats the id of the
// request.
func CheckBoundAnswer(answer []byte, id string) error {
	_, err := checkBound(answer, id)
	return err
}

// CheckBoundAnswer returns an error unless the answer repeats the id of the
// request and one of the verifier's keys signed it as the answer to this
// request. question is the request body.
func (v *Verifier) CheckBoundAnswer(answer []byte, id string, question []byte) error {
	found, err := checkBound(answer, id)
	if err != nil {
		return err
	}
	if found.signature == nil {
		return refuse(ErrUnbound, FieldSignature, "the answer has no such field, so anyone on the network path may have written it")
	}
	signed, list, ok := cutSignature(answer)
	if !ok {
		return refuse(ErrUnbound, FieldSignature, "must be the last field of the answer, without a blank before or after it or its colon")
	}
	signatures, err := parseSignatures(list)
	if err != nil {
		return refuse(ErrUnbound, FieldSignature, "%v", err)
	}
	if !v.matches(appendAnswerHead(nil, id, question), signed, signatures) {
		return refuse(ErrUnbound, FieldSignature, "%s", v.mismatch(signatures))
	}
	return nil
}

// appendAnswerHead appends the part of the signed text that precedes the
// answer.
func appendAnswerHead(dst []byte, id string, question []byte) []byte {
	dst = append(dst, "answer."...)
	dst = append(dst, id...)
	dst = append(dst, '.')
	sum := sha256.Sum256(question)
	dst = hex.AppendEncode(dst, sum[:])
	return append(dst, '.')
}

// binding holds the binding fields of an answer. A nil field is absent.
type binding struct{ id, signature json.RawMessage }

func checkBound(answer []byte, id string) (binding, error) {
	if err := checkID(id); err != nil {
		return binding{}, refuse(ErrUnbound, FieldID, "the request has no valid id: %v", err)
	}
	found, err := readBinding(answer)
	switch {
	case err != nil:
		return binding{}, refuse(ErrUnbound, FieldID, "%v", err)
	case found.id == nil:
		return binding{}, refuse(ErrUnbound, FieldID, "the answer has no such field, so it may belong to another request")
	}
	var said string
	if json.Unmarshal(found.id, &said) != nil || said != id {
		return binding{}, refuse(ErrUnbound, FieldID, "the answer belongs to another request")
	}
	return found, nil
}

// readBinding reads the binding fields of an answer. It returns an error unless
// the answer is one JSON object that has each of them at most once.
func readBinding(answer []byte) (binding, error) {
	var b binding
	if !json.Valid(answer) || bytes.TrimLeft(answer, blanks)[0] != '{' {
		return b, errors.New("the answer is not one JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(answer))
	_, err := d.Token() // the opening brace
	for err == nil && d.More() {
		err = b.readField(d)
	}
	return b, err
}

func (b *binding) readField(d *json.Decoder) error {
	name, err := d.Token()
	if err != nil {
		return err
	}
	var value json.RawMessage
	if err := d.Decode(&value); err != nil {
		return err
	}
	var into *json.RawMessage
	switch name {
	case FieldID:
		into = &b.id
	case FieldSignature:
		into = &b.signature
	default:
		return nil
	}
	if *into != nil {
		return fmt.Errorf("the answer has the field %s twice", name)
	}
	*into = value
	return nil
}

// withField returns the JSON object with one more field. The value must not
// need escaping.
func withField(object []byte, name, value string) []byte {
	object = bytes.Trim(object, blanks)
	open := bytes.TrimRight(object[:len(object)-1], blanks)
	longer := make([]byte, 0, len(open)+len(name)+len(value)+len(`,"":""}`))
	longer = append(longer, open...)
	if open[len(open)-1] != '{' {
		longer = append(longer, ',')
	}
	return fmt.Appendf(longer, `"%s":"%s"}`, name, value)
}

// cutSignature removes the signature from an answer that is one JSON object. It
// returns the signed text and the signatures.
//
// The text that it searches for cannot be inside a string, where its quotes
// would be escaped. Only the closing brace may follow it, so it is the last
// field of the outermost object.
func cutSignature(answer []byte) (signed []byte, signatures string, ok bool) {
	answer = bytes.Trim(answer, blanks)
	const opening = `,"` + FieldSignature + `":"`
	at := bytes.LastIndex(answer, []byte(opening))
	if at < 0 {
		return nil, "", false
	}
	list, ok := bytes.CutSuffix(answer[at+len(opening):], []byte(`"}`))
	if !ok || bytes.ContainsAny(list, `"\`) {
		return nil, "", false
	}
	return append(bytes.Clone(answer[:at]), '}'), string(list), true
}
