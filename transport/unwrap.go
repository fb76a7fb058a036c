package transport

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/hookgate/hookgate/chain"
)

// Wrapping is the format in which an endpoint wraps its answer. It is
// configured and never guessed: an answer in another format is a failure.
type Wrapping int

const (
	// Bare is the answer itself.
	Bare Wrapping = iota
	// LambdaInvoke is the response of the Invoke API of AWS Lambda for a function
	// with an HTTP result: an object with the fields statusCode and body.
	LambdaInvoke
)

// headerFunctionError reports, with status 200, that the function failed.
const headerFunctionError = "X-Amz-Function-Error"

// unwrapped returns the answer in a reply with status 200, or the failure if
// the wrapping is invalid or reports one.
func (w Wrapping) unwrapped(r reply) ([]byte, *chain.Answer) {
	if w == Bare {
		return r.body, nil
	}
	failed := func(cause chain.Cause, text, detail string) ([]byte, *chain.Answer) {
		a := chain.Fail(cause, text, detail)
		return nil, &a
	}
	if r.functionError != "" {
		return failed(chain.Status, "answered with a function error",
			fmt.Sprintf("%s: %.64q: %s", headerFunctionError, r.functionError, excerpt(r.body)))
	}
	if len(strings.TrimLeft(string(r.body), " \t\r\n")) == 0 {
		return failed(chain.Empty, "answered nothing", "")
	}
	status, body, err := unwrapInvocation(r.body)
	switch {
	case err != nil:
		return failed(chain.Malformed, "did not answer with a function result (statusCode and body)",
			fmt.Sprintf("%v in %s", err, excerpt(r.body)))
	case status != http.StatusOK:
		return failed(chain.Status, fmt.Sprintf("answered with status %d from its function", status), excerpt(body))
	}
	return body, nil
}

// unwrapInvocation parses a function's result, one level deep.
func unwrapInvocation(said []byte) (status int, body []byte, err error) {
	var result struct{ statusCode, body, isBase64Encoded json.RawMessage }
	err = chain.ReadObject(said, func(name []byte, value json.RawMessage, _ int) error {
		switch string(name) {
		case "statusCode":
			result.statusCode = value
		case "body":
			result.body = value
		case "isBase64Encoded":
			result.isBase64Encoded = value
		}
		return nil
	})
	if err != nil {
		return 0, nil, err
	}
	if status, err = statusIn(result.statusCode); err != nil {
		return 0, nil, err
	}
	text, isText := chain.ReadString(result.body)
	encoded, isBool := chain.ReadBool(result.isBase64Encoded)
	switch {
	case !isText && result.body != nil && string(result.body) != "null":
		return 0, nil, errors.New(`field "body" is not a string`)
	case !isBool && result.isBase64Encoded != nil && string(result.isBase64Encoded) != "null":
		return 0, nil, errors.New(`field "isBase64Encoded" is not a boolean`)
	case !encoded:
		return status, []byte(text), nil
	}
	if body, err = base64.StdEncoding.Strict().DecodeString(text); err != nil || strings.ContainsAny(text, "\r\n") {
		return 0, nil, errors.New(`field "body" is not base64`)
	}
	return status, body, nil
}

// statusIn parses the status of a function's result: a number of three digits.
func statusIn(value json.RawMessage) (int, error) {
	if value == nil {
		return 0, errors.New(`no field "statusCode"`)
	}
	status, err := strconv.ParseUint(string(value), 10, 16)
	if err != nil || len(value) != 3 || status < 100 {
		return 0, errors.New(`field "statusCode" is not an HTTP status`)
	}
	return int(status), nil
}
