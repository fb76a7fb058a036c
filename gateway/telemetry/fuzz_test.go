package telemetry

import (
	"net/http"
	"testing"

	traces "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// FuzzAnswer compares the parsing of arbitrary responses with the official
// types.
func FuzzAnswer(f *testing.F) {
	whole, err := proto.Marshal(&traces.ExportTraceServiceResponse{PartialSuccess: &traces.ExportTracePartialSuccess{RejectedSpans: 3, ErrorMessage: "they are too old"}})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range [][]byte{
		nil, whole, whole[:len(whole)-1], append(whole, whole...), append(whole, 0x0a, 0x02, 0x08, 0x00),
		{0x08, 0x01},
		{0x0b, 0x0c},
		{0x0a, 0x00},
		{0x0a, 0x0b, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		{0xff, 0xff},
	} {
		f.Add(seed)
	}
	protobuf := http.Header{"Content-Type": {contentType}}
	f.Fuzz(func(t *testing.T, answer []byte) {
		lost, said := partialSuccess(protobuf, answer)
		statusMessage(protobuf, answer)
		var want traces.ExportTraceServiceResponse
		if proto.Unmarshal(answer, &want) != nil {
			return
		}
		if p := want.GetPartialSuccess(); lost != uint64(p.GetRejectedSpans()) || said != p.GetErrorMessage() {
			t.Errorf("%x: %d lost, %q, want %v", answer, lost, said, p)
		}
	})
}
