package signature

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrUnbound is what [CheckBoundAnswer] and [Verifier.CheckBoundAnswer] refuse
// with: the answer is not shown to be that of the question.
var ErrUnbound = errors.New("the answer is not bound to the question")

// The fields that bind an answer.
const (
	// FieldID repeats the id of the question.
	FieldID = "webhook_id"
	// FieldSignature signs id, question and answer.
	FieldSignature = "answer_signature"
)

const blanks = " \t\r\n"

// BindAnswer adds to an answer, one JSON object, the id of the question that
// it answers: what a request's header Webhook-Id says.
func BindAnswer(answer []byte, id string) ([]byte, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	found, err := readBinding(answer)
	switch {
	case err != nil:
		return nil, err
	case found.id != nil || found.signature != nil:
		return nil, errors.New("the answer is bound already")
	}
	return withField(answer, FieldID, id), nil
}

// BindAnswer adds to an answer, one JSON object, the id of the question that
// it answers, and signs both together with the question's body.
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

// CheckBoundAnswer reports, by an error, that an answer does not repeat the id
// of the question.
func CheckBoundAnswer(answer []byte, id string) error {
	_, err := checkBound(answer, id)
	return err
}

// CheckBoundAnswer reports, by an error, that an answer does not repeat the id
// of the question, or that none of the verifier's keys signed it as an answer
// to this question.
func (v *Verifier) CheckBoundAnswer(answer []byte, id string, question []byte) error {
	found, err := checkBound(answer, id)
	if err != nil {
		return err
	}
	if found.signature == nil {
		return refuse(ErrUnbound, FieldSignature, "the answer has no such field, so anybody on the way may have written it")
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

// appendAnswerHead appends what is signed of an answer before the answer
// itself.
func appendAnswerHead(dst []byte, id string, question []byte) []byte {
	dst = append(dst, "answer."...)
	dst = append(dst, id...)
	dst = append(dst, '.')
	sum := sha256.Sum256(question)
	dst = hex.AppendEncode(dst, sum[:])
	return append(dst, '.')
}

// binding is what an answer says of the question it answers; nil is nothing.
type binding struct{ id, signature json.RawMessage }

func checkBound(answer []byte, id string) (binding, error) {
	if err := checkID(id); err != nil {
		return binding{}, refuse(ErrUnbound, FieldID, "the question has no usable id: %v", err)
	}
	found, err := readBinding(answer)
	switch {
	case err != nil:
		return binding{}, refuse(ErrUnbound, FieldID, "%v", err)
	case found.id == nil:
		return binding{}, refuse(ErrUnbound, FieldID, "the answer has no such field, so it may be the answer to another question")
	}
	var said string
	if json.Unmarshal(found.id, &said) != nil || said != id {
		return binding{}, refuse(ErrUnbound, FieldID, "the answer is that of another question")
	}
	return found, nil
}

// readBinding reads the fields that bind an answer, and makes sure that it is
// one JSON object which has each of them once at most.
func readBinding(answer []byte) (binding, error) {
	var b binding
	if !json.Valid(answer) || bytes.TrimLeft(answer, blanks)[0] != '{' {
		return b, errors.New("the answer is not one JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(answer))
	_, err := d.Token() // the brace
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

// withField returns a JSON object with one field more. The value needs no
// escaping.
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

// cutSignature takes the signature out of an answer that is one JSON object,
// and returns what it was made over.
//
// The text that it looks for cannot be inside a string, where its quotes would
// be escaped, and with nothing but the closing brace after it, it is the last
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
