package secret

// rule describes a kind of credential with a known prefix.
type rule struct {
	kind string
	// prefix is how it begins.
	prefix string
	// body is the character class of the rest.
	body class
	// least and most bound the length of the rest; most 0 means no limit.
	least, most int
}

// class is a set of characters.
type class uint16

const (
	lower class = 1 << iota
	upper
	digit
	hexLetter // a to f, of either case
	dash
	underscore
	dot
	slash
	plus
	equals

	letter = lower | upper
	alnum  = letter | digit
	word   = alnum | underscore
	hex    = digit | hexLetter
	url64  = alnum | dash | underscore
	base64 = alnum | plus | slash | equals
)

// classes returns the classes of each character.
func classes() *[256]class {
	var of [256]class
	for c := range byte(255) {
		switch {
		case c >= 'a' && c <= 'z':
			of[c] = lower
		case c >= 'A' && c <= 'Z':
			of[c] = upper
		case c >= '0' && c <= '9':
			of[c] = digit
		}
		if c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' {
			of[c] |= hexLetter
		}
	}
	of['-'], of['_'], of['.'], of['/'], of['+'], of['='] = dash, underscore, dot, slash, plus, equals
	return &of
}

// The kinds that no prefix alone identifies.
const (
	kindPrivateKey = "private-key"
	kindJWT        = "jwt"
	kindURL        = "url-password"
	kindAssigned   = "assigned-secret"
)

// rules returns the kinds with a prefix. Of two prefixes that match the same
// text, the longer one must come first.
func rules() []rule {
	return []rule{
		{"age-key", "AGE-SECRET-KEY-1", upper | digit, 58, 58},
		{"anthropic-key", "sk-ant-", url64, 20, 0},
		{"atlassian-token", "ATATT3", url64 | equals, 50, 0},
		{"atlassian-token", "ATCTT3", url64 | equals, 50, 0},
		{"aws-access-key", "ABIA", upper | digit, 16, 16},
		{"aws-access-key", "ACCA", upper | digit, 16, 16},
		{"aws-access-key", "AKIA", upper | digit, 16, 16},
		{"aws-access-key", "ASIA", upper | digit, 16, 16},
		{"buildkite-token", "bkua_", hex, 40, 0},
		{"circleci-token", "CCIPAT_", word, 40, 0},
		{"databricks-token", "dapi", hex, 32, 32},
		{"digitalocean-token", "dop_v1_", hex, 64, 64},
		{"digitalocean-token", "doo_v1_", hex, 64, 64},
		{"digitalocean-token", "dor_v1_", hex, 64, 64},
		{"discord-webhook", "https://discord.com/api/webhooks/", url64 | slash, 60, 0},
		{"docker-token", "dckr_pat_", url64, 20, 0},
		{"docker-token", "dckr_oat_", url64, 20, 0},
		{"doppler-token", "dp.pt.", alnum, 40, 0},
		{"doppler-token", "dp.st.", alnum | dot | dash | underscore, 40, 0},
		{"figma-token", "figd_", url64, 30, 0},
		{"flyio-token", "fm2_", base64, 80, 0},
		{"flyio-token", "fo1_", url64, 40, 0},
		{"github-token", "github_pat_", word, 40, 0},
		{"github-token", "ghp_", word, 30, 0},
		{"github-token", "gho_", word, 30, 0},
		{"github-token", "ghu_", word, 30, 0},
		{"github-token", "ghs_", word | dot | dash, 30, 0},
		{"github-token", "ghr_", word, 30, 0},
		{"gitlab-token", "glpat-", url64 | dot, 20, 0},
		{"gitlab-token", "gldt-", url64 | dot, 20, 0},
		{"gitlab-token", "glrt-", url64 | dot, 20, 0},
		{"gitlab-token", "glcbt-", url64 | dot, 20, 0},
		{"gitlab-token", "glptt-", url64 | dot, 20, 0},
		{"gitlab-token", "glft-", url64 | dot, 20, 0},
		{"gitlab-token", "glsoat-", url64 | dot, 20, 0},
		{"gitlab-token", "glagent-", url64 | dot, 20, 0},
		{"gitlab-token", "gloas-", url64 | dot, 20, 0},
		{"google-api-key", "AIza", url64, 35, 35},
		{"google-oauth", "GOCSPX-", url64, 24, 0},
		{"google-oauth", "ya29.", url64 | dot, 30, 0},
		{"grafana-token", "glsa_", word, 40, 0},
		{"grafana-token", "glc_", base64, 40, 0},
		{"groq-key", "gsk_", alnum, 40, 0},
		{"huggingface-token", "hf_", alnum, 30, 0},
		{"linear-key", "lin_api_", alnum, 40, 0},
		{"netlify-token", "nfp_", alnum, 36, 0},
		{"newrelic-key", "NRAK-", upper | digit, 27, 27},
		{"notion-token", "ntn_", alnum, 40, 0},
		{"npm-token", "npm_", alnum, 36, 0},
		{"onepassword-token", "ops_eyJ", base64 | dash | underscore, 100, 0},
		{"openai-key", "sk-proj-", url64, 20, 0},
		{"openai-key", "sk-svcacct-", url64, 20, 0},
		{"openai-key", "sk-admin-", url64, 20, 0},
		{"openai-key", "sk-or-v1-", hex, 64, 64},
		{"openai-key", "sk-", alnum, 32, 0},
		{"perplexity-key", "pplx-", alnum, 40, 0},
		{"planetscale-token", "pscale_tkn_", url64 | dot, 32, 0},
		{"planetscale-token", "pscale_pw_", url64 | dot, 32, 0},
		{"postman-key", "PMAK-", hex | dash, 50, 0},
		{"pulumi-token", "pul-", hex, 40, 40},
		{"pypi-token", "pypi-AgE", url64, 50, 0},
		{"replicate-token", "r8_", alnum, 37, 37},
		{"rubygems-key", "rubygems_", hex, 48, 48},
		{"sendgrid-key", "SG.", url64 | dot, 66, 66},
		{"sentry-token", "sntrys_", base64 | underscore, 40, 0},
		{"sentry-token", "sntryu_", hex, 64, 64},
		{"shopify-token", "shpat_", hex, 32, 32},
		{"shopify-token", "shpca_", hex, 32, 32},
		{"shopify-token", "shppa_", hex, 32, 32},
		{"shopify-token", "shpss_", hex, 32, 32},
		{"slack-token", "xoxa-", alnum | dash, 20, 0},
		{"slack-token", "xoxb-", alnum | dash, 20, 0},
		{"slack-token", "xoxe-", alnum | dash, 20, 0},
		{"slack-token", "xoxe.xoxp-", alnum | dash, 20, 0},
		{"slack-token", "xoxe.xoxb-", alnum | dash, 20, 0},
		{"slack-token", "xoxo-", alnum | dash, 20, 0},
		{"slack-token", "xoxp-", alnum | dash, 20, 0},
		{"slack-token", "xoxr-", alnum | dash, 20, 0},
		{"slack-token", "xoxs-", alnum | dash, 20, 0},
		{"slack-token", "xapp-", alnum | dash, 20, 0},
		{"slack-webhook", "https://hooks.slack.com/services/", alnum | slash, 30, 0},
		{"square-token", "sq0atp-", url64, 22, 0},
		{"square-token", "sq0csp-", url64, 43, 0},
		{"stripe-key", "sk_live_", alnum, 16, 0},
		{"stripe-key", "sk_test_", alnum, 16, 0},
		{"stripe-key", "rk_live_", alnum, 16, 0},
		{"stripe-key", "rk_test_", alnum, 16, 0},
		{"supabase-key", "sbp_", hex, 40, 40},
		{"supabase-key", "sb_secret_", url64, 20, 0},
		{"tailscale-key", "tskey-", alnum | dash, 20, 0},
		{"twilio-key", "SK", hex, 32, 32},
		{"vault-token", "hvb.", url64, 24, 0},
		{"vault-token", "hvr.", url64, 24, 0},
		{"vault-token", "hvs.", url64, 24, 0},
		{"webhook-secret", "whsec_", base64, 24, 0},
		{"xai-key", "xai-", alnum, 60, 0},
	}
}
