package secret

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hookgate/hookgate/chain"
)

// The texts combine the pieces that rules look for in random order, which
// examples would not.
func TestR2_NothingMoreIsFoundInWhatComesOut(t *testing.T) {
	pieces := []string{
		"=", ":", " ", "\n", "\"", "'", "`", "\\", "\\n", "\\\"", "]", "[", "@", "/", "://", "-", ".", "_", ",", ";", "→", "é", "12",
		"password", "DB_PASSWORD", "token", "API_KEY", "Authorization", "Bearer ", "user", "name", "eyJ",
		"hunter22", random, bodyOf(alnum, 40), bodyOf(base64&^equals, 64), bodyOf(hex, 32), github(), "AKIA" + bodyOf(upper|digit, 16), "SK",
		keyBegins + "PRIVATE KEY-----", keyEnds + "PRIVATE KEY-----", "-----BEGIN ", "-----", "[redacted: github-token]", "redacted",
		"eyJ" + bodyOf(alnum, 20) + ".eyJ" + bodyOf(alnum, 30) + "." + bodyOf(alnum, 43), "https://hooks.slack.com/services/", "postgres://bob:hunter22@db",
	}
	finder := NewFinder(nil)
	rapid.Check(t, func(rt *rapid.T) {
		name := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 2).Draw(rt, "name"), "")
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(rt, "text"), "")
		value := chain.AppendString([]byte(`{"x":1.0,`), name)
		value = chain.AppendString(append(value, ':'), text)
		value = chain.AppendString(append(value, `,"list":[`...), text)
		holds(t, finder, append(value, "]}"...))
	})
}
