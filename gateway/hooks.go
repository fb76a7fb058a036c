package gateway

import "net/http"

// serveHooks serves GET /v1/hooks: every participant of the configuration in
// force, in the order in which they are asked.
func (g *Gateway) serveHooks(w http.ResponseWriter, _ *http.Request) {
	p := g.plans.enter()
	if p == nil {
		notReady().write(w)
		return
	}
	defer p.leave()
	answer := struct {
		Config string      `json:"config_sha256"`
		Hooks  []HookEntry `json:"hooks"`
	}{p.sum, make([]HookEntry, len(p.hooks))}
	for i, m := range p.hooks {
		answer.Hooks[i] = m.describe()
	}
	writeJSON(w, answer)
}
