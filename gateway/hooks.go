package gateway

import "net/http"

// serveHooks serves GET /v1/hooks: every participant of the configuration in
// force, in the order in which they are asked; tenants' hooks only of the
// chains that the caller may reach.
func (g *Gateway) serveHooks(w http.ResponseWriter, r *http.Request) {
	p := g.plans.enter()
	if p == nil {
		notReady().write(w)
		return
	}
	defer p.leave()
	answer := struct {
		Config string      `json:"config_sha256"`
		Hooks  []HookEntry `json:"hooks"`
	}{p.sum, []HookEntry{}}
	for _, m := range p.hooks {
		// The operator's hooks are part of every chain.
		if m.chain == "" || g.sees(r, m.chain) {
			answer.Hooks = append(answer.Hooks, m.describe())
		}
	}
	writeJSON(w, answer)
}
