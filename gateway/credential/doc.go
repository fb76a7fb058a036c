// Package credential authenticates requests to remote hooks: with a fixed
// header, a token that is issued on request, or a signature.
//
// Every kind has this method:
//
//	Authorize(ctx context.Context, r *http.Request, body []byte) error
//
// Call it last, with all other headers set, right before r is sent with exactly
// body, and again before a request is repeated. If it returns an error, r must
// not be sent.
//
// A vendor's default chain is searched by the vendor's own library, which reads
// environment variables and files itself:
//
//   - [AWS]: AWS_*, the files in ~/.aws, the web identity of a service account
//     (IRSA), the container endpoint (ECS, EKS Pod Identity), the instance
//     metadata service.
//   - [NewAzure]: AZURE_*, as the workload identity webhook sets them,
//     otherwise the managed identity of the platform.
//   - [NewGoogleIDToken]: the metadata server (GCE_METADATA_HOST), unless a
//     credentials file is given.
//
// They are read at each renewal, so a rotated credential needs no restart.
// Credentials that contain a time need a correct clock: an endpoint refuses a
// SigV4 signature that is more than 5 minutes off by its own clock, with status
// 403.
//
// # Invariants
//
//   - A1 If Authorize returns no error, r carries the credential. If it returns
//     an error, r is unchanged.
//   - A2 A token is renewed before it expires, by one attempt at a time however
//     many calls need it, and is never used after its expiry.
//   - A3 If a renewal fails, the current token stays in use while it is valid.
//   - A4 A call waits at most until its context ends. The attempt that it
//     waited for continues for later calls, and has a deadline of its own.
//   - A5 No error and no printed form contains a secret or anything that an
//     endpoint sent.
//   - A6 A SigV4 signature covers what is sent: method, host, path, query,
//     body, and every header except those that are rewritten on the way.
//   - A7 Nothing happens before the first call: no file is read, no name
//     resolved, no goroutine started. Two credentials share nothing.
package credential
