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

// What is sent is written here field by field, in the numbers that opentelemetry-proto
// gives them and does not change (ADR 7). Tests hold it to the official types.

// appendVarint, appendFixed64, appendText and appendBytes leave out what is
// empty, which for protobuf is the same.
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

// appendCount is for what was dropped.
func appendCount(to []byte, field protowire.Number, n int) []byte {
	return appendVarint(to, field, uint64(min(max(n, 0), math.MaxUint32)))
}

func appendTime(to []byte, field protowire.Number, t time.Time) []byte {
	if t.IsZero() {
		return to
	}
	return appendFixed64(to, field, uint64(max(0, t.UnixNano())))
}

// putText and putMessage write what is empty too: in a list, or as a value that
// there is.
func putText(to []byte, field protowire.Number, s string) []byte {
	// A text that is not UTF-8 would have the collector refuse the whole batch.
	return protowire.AppendString(protowire.AppendTag(to, field, protowire.BytesType), strings.ToValidUTF8(s, "\uFFFD"))
}

func putMessage(to []byte, field protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), message)
}

// request is an Export…ServiceRequest of one resource and one scope: items are
// its spans, or its log records.
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

// appendAttributes writes each as a KeyValue.
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

// anyValue is the AnyValue of an attribute: of its fields the one that is
// written is the one that it is, also where it is empty.
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
	return putText(nil, anyString, v.String()) // a type that is newer than this
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
