// Package kubernetes tests the chart's renderings with a real Kubernetes API
// server, its controllers and scheduler, and simulated nodes that only pretend to
// run pods.
//
//   - A1 Every object of every values file, and of the kustomize base, is
//     accepted server-side with strict validation and without a warning, in a
//     namespace that enforces the restricted pod security standard. Applying it
//     again changes nothing.
//   - A2 A rollout becomes available, and at no moment of the next one are there
//     fewer replicas than requested.
//   - A3 Invalid values that the chart's schema cannot detect are refused by the
//     API server, with an explanation.
//   - A4 A gateway configured like its pod authenticates callers by the tokens
//     that this API server issued to them, and nobody else.
//   - A5 If the API server does not publish its keys to the gateway, nobody is
//     admitted.
//
// Program kube is a module of its own, so that it is built from exactly the
// versions that Kubernetes requires.
package kubernetes
