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

// defaultScope is the suffix of every scope for an application's own identity.
const defaultScope = "/.default"

// AzureOptions configure tokens of Microsoft Entra ID.
type AzureOptions struct {
	// Scope is the scope of the application that protects the hook:
	// api://…/.default.
	Scope string
	// ClientID identifies a user-assigned managed identity, or the application
	// of a workload identity. Empty means the system-assigned identity, or
	// AZURE_CLIENT_ID if that is set.
	ClientID string
	// Proxy returns the proxy for a token request. It is not asked about this
	// machine and metadata services. Nil means no proxy, whatever the
	// environment says.
	Proxy func(*http.Request) (*url.URL, error)
}

// NewAzure returns the credential of a workload identity if the environment is
// set up for one, otherwise of the platform's managed identity.
//
// It does not use the vendor's whole default chain, whose later links run
// programs on a developer's machine.
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
		// A failure is reported soon; the next call tries again.
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
