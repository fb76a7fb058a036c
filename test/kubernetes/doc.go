// Package kubernetes has a real API server of Kubernetes judge what the chart
// renders to, with the controllers, the scheduler and nodes that only pretend to
// run pods.
//
//   - A1 Every object of every file of values, and of the kustomize base, is
//     taken server-side with strict validation and without a warning, in a
//     namespace that enforces the restricted standard of pod security; applied
//     once more it changes nothing.
//   - A2 A rollout becomes available, and at no moment of the next one there are
//     fewer replicas than were asked for.
//   - A3 Values that the chart's schema cannot tell from good ones are refused by
//     the API server, by what is wrong with them.
//   - A4 A gateway that is set up as its pod is knows callers by the tokens that
//     this API server issued to them, and nobody else.
//   - A5 Where the API server does not tell the gateway its keys, nobody is let in.
//
// Program kube is a module of its own, so that it is built from exactly the
// versions that Kubernetes names.
package kubernetes
