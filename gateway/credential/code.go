package credential

import (
	"errors"

	"github.com/aws/smithy-go"
	"golang.org/x/oauth2"
)

// knownCode returns the error code of a refusal if it is one that endpoints are
// known to use. Any other code is dropped, because an endpoint may echo in it
// what it was sent.
func knownCode(err error) string {
	var code string
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		code = e.ErrorCode
	}
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		code = e.ErrorCode()
	}
	switch code {
	case // RFC 6749
		"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
		"invalid_scope", "access_denied", "server_error", "temporarily_unavailable", "invalid_target",
		// STS
		"AccessDenied", "AccessDeniedException", "ExpiredToken", "ExpiredTokenException", "IDPCommunicationError",
		"IDPRejectedClaim", "InvalidClientTokenId", "InvalidIdentityToken", "RegionDisabledException",
		"SignatureDoesNotMatch", "Throttling", "ThrottlingException", "UnauthorizedException":
		return code
	}
	return ""
}
