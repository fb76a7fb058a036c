// Package deploy renders the Helm chart as helm does and checks the result
// against the types of the Kubernetes API, against committed renderings, and for
// mistakes that neither the types nor an API server detect. Other tests use it
// for rendering, too.
//
//   - K1 Every option renders as before: a change shows up in a committed
//     rendering.
//   - K2 Every object decodes strictly as its type.
//   - K3 Everything that an object refers to exists: ports of probes, ConfigMaps,
//     Secrets, volumes, service accounts; or the values declare it as existing
//     outside.
//   - K4 What is reread when it changes is mounted as a whole directory.
//   - K5 No container runs as root, writes to its root file system, keeps a
//     capability, or gets a cluster token that it does not need.
//   - K6 All variables are known to the gateway.
//   - K7 Invalid values are refused with an explanation.
//   - K8 The kustomize base is a rendering of the chart.
//   - K9 The files that the chart copies from the rest of the repository are
//     identical.
package deploy
