// Package clients drives real agents: a stub of their vendor's model asks for
// one shell call, the agent puts it to a real gateway by the settings that
// gateway init wrote, and the tests look at what ran and at what the model was
// shown.
//
// It needs the agents, which .ci/run installs outside the clone, so it is a
// module of its own that only .ci/run clients tests.
package clients
