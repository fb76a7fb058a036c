package gateway

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/hookgate/hookgate/gateway/config"
	"github.com/hookgate/hookgate/gateway/credential"
	"github.com/hookgate/hookgate/transport"
	"github.com/hookgate/hookgate/transport/signature"
)

// authorizer makes an entry's credential. Tokens of identity providers are
// fetched through the entry's own proxy and under its egress policy.
func authorizer(a *config.Auth, proxy func(*http.Request) (*url.URL, error), permit transport.Permit) (transport.Authorizer, error) {
	switch {
	case a.Basic != nil:
		return made(credential.NewBasic(a.Basic.User, a.Basic.Password))
	case a.Header != nil:
		return made(credential.NewHeader(a.Header.Name, a.Header.Value))
	case a.AWS != nil:
		return made(credential.NewAWS(credential.AWSOptions{Region: a.AWS.Region, Service: a.AWS.Service, Proxy: proxy}))
	case a.GoogleIDToken != nil:
		return made(credential.NewGoogleIDToken(credential.GoogleIDTokenOptions{
			Audience: a.GoogleIDToken.Audience, CredentialsFile: a.GoogleIDToken.CredentialsFile, Proxy: proxy, Permit: permit,
		}))
	case a.Azure != nil:
		return made(credential.NewAzure(credential.AzureOptions{Scope: a.Azure.Scope, ClientID: a.Azure.ClientID, Proxy: proxy}))
	case a.OAuth2 != nil:
		return made(credential.NewOAuth2(credential.OAuth2Options{
			TokenURL: a.OAuth2.TokenURL, ClientID: a.OAuth2.ClientID, ClientSecret: a.OAuth2.ClientSecret,
			Scopes: a.OAuth2.Scopes, Proxy: proxy, Permit: permit,
		}))
	}
	return made(credential.NewBearer(a.Bearer))
}

// made prevents a typed nil from being taken for a credential.
func made[A transport.Authorizer](a A, err error) (transport.Authorizer, error) {
	if err != nil {
		return nil, err
	}
	return a, nil
}

// signer makes the signer of an entry's calls. The error reads on after the key
// of the list.
func signer(texts []string) (*signature.Signer, error) {
	keys, err := signingKeys(texts)
	if err != nil {
		return nil, err
	}
	return signature.NewSigner(keys...)
}

func signingKeys(texts []string) ([]signature.Key, error) {
	keys := make([]signature.Key, len(texts))
	for i, text := range texts {
		var err error
		if keys[i], err = signature.ParseKey(text); err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return keys, nil
}

// answerChecker makes the check that an answer belongs to its call
// (bind_answers).
func answerChecker(w *config.Webhook) (transport.AnswerChecker, error) {
	if w.BindAnswers == config.ByID {
		return repeatedID{}, nil
	}
	shared := slices.DeleteFunc(slices.Clone(w.SigningKeys), func(key string) bool { return !config.IsSharedSecret(key) })
	keys, err := signingKeys(shared)
	if err != nil {
		return nil, err
	}
	return signature.NewVerifier(signature.VerifierOptions{Keys: keys})
}

// repeatedID accepts an answer that repeats the id of its call.
type repeatedID struct{}

// CheckBoundAnswer implements [transport.AnswerChecker].
func (repeatedID) CheckBoundAnswer(answer []byte, id string, _ []byte) error {
	return signature.CheckBoundAnswer(answer, id)
}

// eventSource is the CloudEvents source of an entry's calls: the gateway, or a
// tenant's chain in it. The empty name is the operator's.
func eventSource(chainName string) string {
	if chainName == "" {
		return "/hookgate"
	}
	return "/hookgate/chains/" + url.PathEscape(chainName)
}
