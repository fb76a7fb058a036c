// Package credential gives the requests to remote hooks what their endpoints
// ask for: a fixed header, a token that somebody issues, or a signature.
//
// Each kind has one method:
//
//	Authorize(ctx context.Context, r *http.Request, body []byte) error
//
// It is called last, with every other header in place, right before r is sent
// with exactly body, and again for a request that is sent a second time. Where
// it returns an error, r must not be sent.
//
// What a vendor calls its default chain is searched by the vendor's own
// library, which reads environment variables and files of its own:
//
//   - [AWS]: AWS_*, the files of ~/.aws, the web identity of a service account
//     (IRSA), the container endpoint (ECS, EKS Pod Identity), the instance
//     metadata service.
//   - [NewAzure]: AZURE_*, as the workload identity webhook sets them, else the
//     managed identity of the platform.
//   - [NewGoogleIDToken]: the metadata server (GCE_METADATA_HOST), unless a
//     credentials file is given.
//
// They are read at each renewal, so a credential that rotates needs no restart.
// Tokens that are bound to a time need a clock that is right: an endpoint
// refuses a SigV4 signature whose time is more than 5 minutes off by its own
// clock, which shows as its status, 403.
//
// # What holds
//
//   - A1 Where Authorize returns no error, r carries the credential. Where it
//     returns one, r is as it was.
//   - A2 A token is renewed before it expires, by one attempt at a time however
//     many calls want it, and is never used after.
//   - A3 A renewal that fails leaves the token in use as long as it is valid.
//   - A4 A call waits no longer than its context lasts. The attempt that it
//     waited for goes on for a later one, and ends by itself.
//   - A5 No error and no way of printing has a secret in it, nor anything that
//     an endpoint sent.
//   - A6 A SigV4 signature covers what is sent: method, host, path, query,
//     body, and every header but those that are rewritten on the way.
//   - A7 Nothing happens before the first call: no file is read, no name looked
//     up, no goroutine started. Nothing is shared between two credentials.
package credential
