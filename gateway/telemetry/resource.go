package telemetry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
)

// scopeName is the instrumentation scope of spans and records.
const scopeName = "github.com/hookgate/hookgate"

// farewell is how long the final export may take.
const farewell = 3 * time.Second

// describe returns the resource. The environment (OTEL_SERVICE_NAME,
// OTEL_RESOURCE_ATTRIBUTES) takes precedence over the defaults set here.
func describe(ctx context.Context, version string) (*resource.Resource, error) {
	r, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "hookgate"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) && !errors.Is(err, resource.ErrSchemaURLConflict) {
		return nil, fmt.Errorf("cannot determine the telemetry resource: %w", err)
	}
	return r, nil
}
