// Package replicas tests gateways as processes: several on one database, one
// that is killed, and one with many turns at once.
package replicas
