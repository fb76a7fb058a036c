package telemetry

import (
	"math"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	"google.golang.org/protobuf/encoding/protowire"
)

// Messages are encoded field by field, with the field numbers of
// opentelemetry-proto, which never change (ADR 7). Tests compare them with the
// official types.

// appendVarint, appendFixed64, appendText and appendBytes omit empty values,
// which is equivalent in protobuf.
func appendVarint(to []byte, field protowire.Number, v uint64) []byte {
	if v == 0 {
		return to
	}
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), v)
}

func appendFixed64(to []byte, field protowire.Number, v uint64) []byte {
	if v == 0 {
		return to
	}
	return protowire.AppendFixed64(protowire.AppendTag(to, field, protowire.Fixed64Type), v)
}

func appendText(to []byte, field protowire.Number, s string) []byte {
	if s == "" {
		return to
	}
	return putText(to, field, s)
}

func appendBytes(to []byte, field protowire.Number, b []byte) []byte {
	if len(b) == 0 {
		return to
	}
	return putMessage(to, field, b)
}

// appendCount appends the number of dropped items.
func appendCount(to []byte, field protowire.Number, n int) []byte {
	return appendVarint(to, field, uint64(min(max(n, 0), math.MaxUint32)))
}

func appendTime(to []byte, field protowire.Number, t time.Time) []byte {
	if t.IsZero() {
		return to
	}
	return appendFixed64(to, field, uint64(max(0, t.UnixNano())))
}

// putText and putMessage also write empty values, for list elements and for
// values whose presence matters.
func putText(to []byte, field protowire.Number, s string) []byte {
	// Invalid UTF-8 would make the collector refuse the whole batch.
	return protowire.AppendString(protowire.AppendTag(to, field, protowire.BytesType), strings.ToValidUTF8(s, "\uFFFD"))
}

func putMessage(to []byte, field protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), message)
}

// request encodes an Export…ServiceRequest with one resource and one scope; items
// are its spans or its log records.
func request(of *resource.Resource, by instrumentation.Scope, items [][]byte) []byte {
	scope := appendText(nil, 1, by.Name)
	scope = appendText(scope, 2, by.Version)
	scope = appendAttributes(scope, 3, by.Attributes.ToSlice())
	scoped := putMessage(nil, 1, scope)
	for _, item := range items {
		scoped = putMessage(scoped, 2, item)
	}
	scoped = appendText(scoped, 3, by.SchemaURL)

	all := putMessage(nil, 1, appendAttributes(nil, 1, of.Attributes()))
	all = putMessage(all, 2, scoped)
	all = appendText(all, 3, of.SchemaURL())
	return putMessage(nil, 1, all)
}

// appendAttributes appends each attribute as a KeyValue.
func appendAttributes(to []byte, field protowire.Number, all []attribute.KeyValue) []byte {
	for _, a := range all {
		pair := appendText(nil, 1, string(a.Key))
		to = putMessage(to, field, putMessage(pair, 2, anyValue(a.Value)))
	}
	return to
}

// The fields of an AnyValue.
const (
	anyString protowire.Number = iota + 1
	anyBool
	anyInt
	anyDouble
	anyArray
	anyList
	anyBytes
)

// anyValue encodes an AnyValue. The field that is present determines the type, so
// it is written even if it is empty.
func anyValue(v attribute.Value) []byte {
	switch v.Type() {
	case attribute.EMPTY:
		return nil
	case attribute.BOOL:
		return anyVarint(anyBool, protowire.EncodeBool(v.AsBool()))
	case attribute.INT64:
		return anyVarint(anyInt, uint64(v.AsInt64())) //nolint:gosec // int64 is written in two's complement
	case attribute.FLOAT64:
		return protowire.AppendFixed64(protowire.AppendTag(nil, anyDouble, protowire.Fixed64Type), math.Float64bits(v.AsFloat64()))
	case attribute.STRING:
		return putText(nil, anyString, v.AsString())
	case attribute.BYTESLICE:
		return putMessage(nil, anyBytes, v.AsByteSlice())
	case attribute.BOOLSLICE:
		return array(v.AsBoolSlice(), attribute.BoolValue)
	case attribute.INT64SLICE:
		return array(v.AsInt64Slice(), attribute.Int64Value)
	case attribute.FLOAT64SLICE:
		return array(v.AsFloat64Slice(), attribute.Float64Value)
	case attribute.STRINGSLICE:
		return array(v.AsStringSlice(), attribute.StringValue)
	case attribute.SLICE:
		return array(v.AsSlice(), func(v attribute.Value) attribute.Value { return v })
	case attribute.MAP:
		return putMessage(nil, anyList, appendAttributes(nil, 1, v.AsMap()))
	}
	return putText(nil, anyString, v.String()) // a type that this code does not know
}

func anyVarint(field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), v)
}

func array[T any](all []T, value func(T) attribute.Value) []byte {
	var values []byte
	for _, v := range all {
		values = putMessage(values, 1, anyValue(value(v)))
	}
	return putMessage(nil, anyArray, values)
}
