// Command aws-lambda-go is the hook as a Lambda function, behind a function URL
// or the Invoke API.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/hookgate/hookgate/examples/functions/hook"
)

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	h, err := hook.New(hook.Options{Secrets: os.Getenv("HOOK_SECRETS"), Log: log})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	lambda.Start(function{h}.handle)
}

type function struct{ hook *hook.Hook }

// handle accepts the event of a function URL, or of an HTTP API with payload
// format 2.0, or the call itself, which is what Invoke passes. It answers all
// in the same form, so a hooks entry for Invoke needs unwrap: lambda_invoke.
func (f function) handle(_ context.Context, event json.RawMessage) (events.LambdaFunctionURLResponse, error) {
	var request events.LambdaFunctionURLRequest
	if err := json.Unmarshal(event, &request); err != nil {
		return events.LambdaFunctionURLResponse{}, fmt.Errorf("the event is not understood: %w", err)
	}
	header, body := http.Header{}, []byte(event)
	if request.RequestContext.HTTP.Method != "" {
		for name, value := range request.Headers {
			header.Set(name, value)
		}
		body = []byte(request.Body)
		if request.IsBase64Encoded {
			decoded, err := base64.StdEncoding.DecodeString(request.Body)
			if err != nil {
				return events.LambdaFunctionURLResponse{}, fmt.Errorf("the body is not base64: %w", err)
			}
			body = decoded
		}
	}
	status, answer := f.hook.Answer(header, body)
	return events.LambdaFunctionURLResponse{
		StatusCode: status,
		Headers:    map[string]string{"content-type": "application/json"},
		Body:       string(answer),
	}, nil
}
