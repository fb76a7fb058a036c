package gateway

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/hookgate/hookgate/gateway/config"
	"github.com/hookgate/hookgate/gateway/egress"
	"github.com/hookgate/hookgate/transport"
)

// EgressOptions say where hooks may connect.
type EgressOptions struct {
	// Deny and Allow hold for every hook, ChainsDeny and ChainsAllow for those of
	// tenants' chains on top of it, as [egress.Options] has them. Tenants' are
	// kept from metadata services and link-local addresses whatever is said.
	Deny, Allow, ChainsDeny, ChainsAllow []string
}

// egressPolicies are those of the operator's hooks and of tenants'.
type egressPolicies struct{ operator, tenants egress.Policies }

func (o EgressOptions) policies() (egressPolicies, error) {
	every, err := egress.New(egress.Options{Deny: o.Deny, Allow: o.Allow})
	tenants, errTenants := egress.New(egress.Options{Deny: o.ChainsDeny, Allow: o.ChainsAllow, NoMetadata: true})
	if err != nil {
		err = fmt.Errorf("where hooks may connect (HOOKGATE_EGRESS_DENY, HOOKGATE_EGRESS_ALLOW): %w", err)
	}
	if errTenants != nil {
		errTenants = fmt.Errorf("where hooks of tenants may connect (HOOKGATE_CHAINS_EGRESS_DENY, HOOKGATE_CHAINS_EGRESS_ALLOW): %w", errTenants)
	}
	all := egressPolicies{tenants: egress.Policies{every, tenants}}
	if len(o.Deny) > 0 {
		all.operator = egress.Policies{every}
	}
	return all, errors.Join(err, errTenants)
}

// whereabouts is where the hooks of one file may connect.
type whereabouts struct{ egress.Policies }

// egress is where the hooks of a chain may connect; the empty name is the
// operator's file.
func (b *builder) egress(chainName string) whereabouts {
	if chainName == "" {
		return whereabouts{b.options.egress.operator}
	}
	return whereabouts{b.options.egress.tenants}
}

// permit is asked about each address, nil where all are permitted.
func (w whereabouts) permit() transport.Permit {
	if len(w.Policies) == 0 {
		return nil
	}
	return w.Permit
}

// check refuses an entry that names a place where it may not connect.
func (w whereabouts) check(h *config.Hook) error {
	named := map[string]*url.URL{"url": h.Webhook.URL, "proxy": h.Webhook.Proxy.URL}
	if a := h.Webhook.Auth; a != nil && a.OAuth2 != nil {
		if u, err := url.Parse(a.OAuth2.TokenURL); err == nil { // else that is refused
			named["auth"] = u
		}
	}
	var errs []error
	for _, key := range []string{"url", "proxy", "auth"} {
		if u := named[key]; u != nil {
			if err := w.PermitHost(u.Hostname()); err != nil {
				errs = append(errs, h.Mistake(key, err.Error()+"; the operator of the gateway says where hooks may connect (gateway env lists HOOKGATE_CHAINS_EGRESS_ALLOW)"))
			}
		}
	}
	return errors.Join(errs...)
}
