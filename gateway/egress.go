package gateway

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/hookgate/hookgate/gateway/config"
	"github.com/hookgate/hookgate/gateway/egress"
	"github.com/hookgate/hookgate/transport"
)

// EgressOptions say which addresses hooks may connect to.
type EgressOptions struct {
	// Deny and Allow apply to every hook, ChainsDeny and ChainsAllow in addition
	// to the hooks of tenants' chains; [egress.Options] defines the entries.
	// Tenants' hooks never reach metadata services and link-local addresses,
	// whatever these fields say.
	Deny, Allow, ChainsDeny, ChainsAllow []string
}

// egressPolicies are the policies of the operator's and of the tenants' hooks.
type egressPolicies struct{ operator, tenants egress.Policies }

func (o EgressOptions) policies() (egressPolicies, error) {
	every, err := egress.New(egress.Options{Deny: o.Deny, Allow: o.Allow})
	tenants, errTenants := egress.New(egress.Options{Deny: o.ChainsDeny, Allow: o.ChainsAllow, NoMetadata: true})
	if err != nil {
		err = fmt.Errorf("egress lists for all hooks (HOOKGATE_EGRESS_DENY, HOOKGATE_EGRESS_ALLOW): %w", err)
	}
	if errTenants != nil {
		errTenants = fmt.Errorf("egress lists for hooks of tenant chains (HOOKGATE_CHAINS_EGRESS_DENY, HOOKGATE_CHAINS_EGRESS_ALLOW): %w", errTenants)
	}
	all := egressPolicies{tenants: egress.Policies{every, tenants}}
	if len(o.Deny) > 0 {
		all.operator = egress.Policies{every}
	}
	return all, errors.Join(err, errTenants)
}

// whereabouts is the egress policy for the hooks of one file.
type whereabouts struct{ egress.Policies }

// egress returns the egress policy of a chain's hooks; the empty name is the
// operator's file.
func (b *builder) egress(chainName string) whereabouts {
	if chainName == "" {
		return whereabouts{b.options.egress.operator}
	}
	return whereabouts{b.options.egress.tenants}
}

// permit returns the check for each address, nil if all are permitted.
func (w whereabouts) permit() transport.Permit {
	if len(w.Policies) == 0 {
		return nil
	}
	return w.Permit
}

// check refuses an entry that names a URL it may not connect to.
func (w whereabouts) check(h *config.Hook) error {
	named := map[string]*url.URL{"url": h.Webhook.URL, "proxy": h.Webhook.Proxy.URL}
	if a := h.Webhook.Auth; a != nil && a.OAuth2 != nil {
		if u, err := url.Parse(a.OAuth2.TokenURL); err == nil { // an invalid URL is refused elsewhere
			named["auth"] = u
		}
	}
	var errs []error
	for _, key := range []string{"url", "proxy", "auth"} {
		if u := named[key]; u != nil {
			if err := w.PermitHost(u.Hostname()); err != nil {
				errs = append(errs, h.Mistake(key, err.Error()+"; ask the gateway's operator to allow it (HOOKGATE_EGRESS_ALLOW, HOOKGATE_CHAINS_EGRESS_ALLOW: see gateway env)"))
			}
		}
	}
	return errors.Join(errs...)
}
