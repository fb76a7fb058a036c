// Package deploy renders the Helm chart as helm does and holds what comes out to
// the types of the Kubernetes API, to committed renderings, and to what neither
// the types nor an API server look at. What renders is there for other tests too.
//
//   - K1 Every option renders as it did: a change shows in a rendering that is
//     committed.
//   - K2 Every object decodes strictly as its type.
//   - K3 What an object names is there: ports of probes, ConfigMaps, Secrets,
//     volumes, service accounts, or it is named in the values as being outside.
//   - K4 What is read again when it changes is mounted as a whole directory.
//   - K5 No container runs as root, writes to its root, keeps a capability, or is
//     given a token of the cluster that it did not ask for.
//   - K6 Variables are ones that the gateway knows.
//   - K7 Values that make no sense are refused, by what is wrong with them.
//   - K8 The kustomize base is a rendering of the chart.
//   - K9 What the chart carries of the rest of the repository is the same there.
package deploy
