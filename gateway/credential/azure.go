package credential

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// defaultScope is how every scope of an application's own identity ends.
const defaultScope = "/.default"

// AzureOptions configure tokens of Microsoft Entra.
type AzureOptions struct {
	// Scope is that of the application that guards the hook:
	// api://…/.default.
	Scope string
	// ClientID is that of a user-assigned managed identity, or of the
	// application of a workload identity. Empty means the system-assigned
	// identity, or what AZURE_CLIENT_ID says.
	ClientID string
	// Proxy names the proxy of a request for a token, but is not asked about
	// this machine and metadata services. Nil means none, whatever the
	// environment says.
	Proxy func(*http.Request) (*url.URL, error)
}

// NewAzure returns the credential of a workload identity, where the environment
// is set up for one, or of the platform's managed identity.
//
// It does not search the vendor's whole default chain, whose later links run
// programs of a developer's machine.
func NewAzure(o AzureOptions) (*Token, error) {
	switch {
	case o.Scope == "":
		return nil, errors.New("azure: scope: is missing")
	case !strings.HasSuffix(o.Scope, defaultScope) || !isScope(o.Scope):
		return nil, fmt.Errorf("azure: scope: %q must be one scope and end in %s", o.Scope, defaultScope)
	}
	return newToken("azure", o.Scope, o.Proxy, nil, func(ctx context.Context, w *wire) (string, time.Time, error) {
		source, err := o.source(w.client())
		if err != nil {
			return "", time.Time{}, err
		}
		token, err := source.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{o.Scope}})
		return token.Token, token.ExpiresOn, err
	}), nil
}

func (o AzureOptions) source(client *http.Client) (azcore.TokenCredential, error) {
	common := azcore.ClientOptions{
		Transport: client,
		// A failure is told soon; the next call tries again.
		Retry: policy.RetryOptions{MaxRetries: 1, RetryDelay: 200 * time.Millisecond, MaxRetryDelay: time.Second},
	}
	workload, err := azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
		ClientOptions: common, ClientID: o.ClientID,
	})
	if err == nil {
		return workload, nil
	}
	// The environment is not set up for a workload identity.
	managed := &azidentity.ManagedIdentityCredentialOptions{ClientOptions: common}
	if o.ClientID != "" {
		managed.ID = azidentity.ClientID(o.ClientID)
	}
	return azidentity.NewManagedIdentityCredential(managed)
}
