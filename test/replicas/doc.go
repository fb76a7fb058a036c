// Package replicas tests gateways as processes: several sharing one database,
// one that is killed, and one with many concurrent turns.
package replicas
