// Package clients drives real agents. A stub of the vendor's model requests one
// shell call, the agent asks a real gateway about it with the settings that
// gateway init wrote, and the tests check what ran and what the model was
// shown.
//
// The agents are installed by .ci/run outside the clone, so this is a module of
// its own that only .ci/run clients tests.
package clients
