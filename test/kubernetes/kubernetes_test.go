package kubernetes

import "testing"

// TestARealAPIServer starts a cluster once and runs all tests on it.
func TestARealAPIServer(t *testing.T) {
	c := start(t)
	version, err := c.typed.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the API server is Kubernetes %s", version.GitVersion)
	c.define(t)
	for name, try := range map[string]func(*testing.T, *cluster){
		"A1 every rendering is taken strictly and rolled out":      everyRenderingIsTaken,
		"A2 a rollout never takes a replica away before the next":  aRolloutKeepsEveryReplica,
		"A3 values that the schema lets pass are refused at once":  wrongValuesAreRefused,
		"A3 pods that may do more than they must are refused":      wrongPodsAreRefused,
		"A4 callers are known by tokens of their service accounts": callersAreKnownByTheirTokens,
		"A5 a gateway that may not ask for keys lets nobody in":    nobodyIsLetInWithoutKeys,
	} {
		t.Run(name, func(t *testing.T) { try(t, c) })
	}
}
