package credentialtest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestTheVerifierIsRight checks the verifier itself against the examples that
// AWS publishes.
func TestTheVerifierIsRight(t *testing.T) {
	moment := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
	example := SigV4Verifier{
		AccessKey: "AKIDEXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
		Region: "us-east-1", Service: "service", Now: func() time.Time { return moment },
	}
	for _, c := range []struct{ name, service, url, contentType, headers, signature string }{
		{"get-vanilla of its test suite", "service", "https://example.amazonaws.com/", "", "host;x-amz-date", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		{
			"ListUsers of its documentation", "iam", "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08",
			"application/x-www-form-urlencoded; charset=utf-8", "content-type;host;x-amz-date", "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := example
			v.Service = c.service
			r := httptest.NewRequest(http.MethodGet, c.url, http.NoBody)
			r.Header.Set("X-Amz-Date", "20150830T123600Z")
			if c.contentType != "" {
				r.Header.Set("Content-Type", c.contentType)
			}
			authorization := "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/" + c.service + "/aws4_request, SignedHeaders=" + c.headers + ", Signature="
			r.Header.Set("Authorization", authorization+c.signature)
			if err := v.Verify(r, nil); err != nil {
				t.Error(err)
			}
			r.Header.Set("Authorization", authorization+strings.Replace(c.signature, "5", "6", 1))
			if err := v.Verify(r, nil); err == nil {
				t.Error("accepts another signature too")
			}
		})
	}
}
