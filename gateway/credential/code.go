package credential

import (
	"errors"

	"github.com/aws/smithy-go"
	"golang.org/x/oauth2"
)

// knownCode is the code of a refusal, where it is one of those that endpoints
// are known to give. Any other is not repeated: an endpoint may put into it
// whatever it was sent.
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
