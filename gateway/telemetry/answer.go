package telemetry

import (
	"bytes"
	"mime"
	"net/http"

	"google.golang.org/protobuf/encoding/protowire"
)

const contentType = "application/x-protobuf"

// statusMessage returns the message of the google.rpc.Status with which a
// collector refuses; empty if the response is something else.
func statusMessage(h http.Header, answer []byte) string {
	const message = 2
	if !isProtobuf(h) {
		return ""
	}
	_, said := member(answer, message)
	return last(said)
}

// partialSuccess reads the partial success of an Export…ServiceResponse: how
// many items of an accepted batch the collector rejected, and why.
func partialSuccess(h http.Header, answer []byte) (lost uint64, said string) {
	const partialSuccess, count, message = 1, 1, 2
	if !isProtobuf(h) {
		return 0, ""
	}
	_, parts := member(answer, partialSuccess)
	partial := bytes.Join(parts, nil) // protobuf allows a message to be split
	lost, _ = member(partial, count)
	_, text := member(partial, message)
	return lost, last(text)
}

func last(texts [][]byte) string {
	if len(texts) == 0 {
		return ""
	}
	return string(texts[len(texts)-1])
}

func isProtobuf(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && kind == contentType
}

// member returns the values of a field: the last number, and all byte strings.
// An invalid message has none.
func member(message []byte, field protowire.Number) (number uint64, texts [][]byte) {
	for len(message) > 0 {
		n, kind, size := protowire.ConsumeField(message)
		if size < 0 {
			return 0, nil
		}
		_, _, tag := protowire.ConsumeTag(message)
		switch value := message[tag:size]; {
		case n != field:
		case kind == protowire.VarintType:
			number, _ = protowire.ConsumeVarint(value)
		case kind == protowire.BytesType:
			text, _ := protowire.ConsumeBytes(value)
			texts = append(texts, text)
		}
		message = message[size:]
	}
	return number, texts
}
