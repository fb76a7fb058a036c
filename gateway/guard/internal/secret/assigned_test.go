package secret

import (
	"strings"
	"testing"
)

// random is 20 random-looking characters.
const random = "q7Rz2LmX9vKt4WbN8sYc"

func TestR3_WhatIsAssignedToATellingNameIsFound(t *testing.T) {
	f := NewFinder(nil)
	const x = "[" + kindAssigned + "]"
	for text, want := range map[string]string{
		// variables of the environment
		"DB_PASSWORD=hunter22":                  "DB_PASSWORD=" + x,
		"export DB_PASS=s3cret!":                "export DB_PASS=" + x,
		"A=1\nPASSWORD=correcthorse\nB=2":       "A=1\nPASSWORD=" + x + "\nB=2",
		`PASSWORD="hunter 2"`:                   `PASSWORD="hunter 2"`,
		`PASSWORD="hunter22"`:                   `PASSWORD="` + x + `"`,
		"API_KEY=abc12345":                      "API_KEY=" + x,
		"SECRET=abc123;x,y&z":                   "SECRET=" + x,
		"AWS_SECRET_ACCESS_KEY=" + random:       "AWS_SECRET_ACCESS_KEY=" + x,
		`export TOKEN='` + random + `'`:         `export TOKEN='` + x + `'`,
		`-e MYSQL_ROOT_PASSWORD=hunter22 mysql`: `-e MYSQL_ROOT_PASSWORD=` + x + ` mysql`,
		// other files and languages
		"password: hunter22":                      "password: " + x,
		"password: 12ab34cd5":                     "password: " + x,
		"password = 'hunter22'":                   "password = '" + x + "'",
		`pwd := "hunter22"`:                       `pwd := "` + x + `"`,
		`'password' => 'hunter22',`:               `'password' => '` + x + `',`,
		`"password": "hunter22"`:                  `"password": "` + x + `"`,
		`\"password\":\"hunter22\"`:               `\"password\":\"` + x + `\"`,
		`\\\"password\\\":\\\"hunter22\\\"`:       `\\\"password\\\":\\\"` + x + `\\\"`,
		`config["api_key"] = "` + random + `"`:    `config["api_key"] = "` + x + `"`,
		"Server=x;Password=hunter22;Database=y":   "Server=x;Password=" + x + ";Database=y",
		"?user=a&access_token=" + random + "&b=c": "?user=a&access_token=" + x + "&b=c",
		"secretAccessKey: " + random:              "secretAccessKey: " + x,
		"client-secret: " + random:                "client-secret: " + x,
		"spring.datasource.password=hunter22":     "spring.datasource.password=" + x,
		"AccountKey=" + random + random + "==;E":  "AccountKey=" + x + ";E",
		"--password=hunter22 x":                   "--password=" + x + " x",
		"X-Api-Key: " + random:                    "X-Api-Key: " + x,
		"  apikey :\t`" + random + "`":            "  apikey :\t`" + x + "`",
		`password: "a\"b12345"`:                   `password: "` + x + `"`,
		`password="cut0ff12`:                      `password="` + x,
		"SECRET_KEY_BASE=" + random:               "SECRET_KEY_BASE=" + x,
		"secret_key_base: " + random:              "secret_key_base: " + x,
		// options of a command line
		"x --password hunter22 y":                 "x --password " + x + " y",
		"x --db-password 'hunter22'":              "x --db-password '" + x + "'",
		`["x","--password","hunter22"]`:           `["x","--password","` + x + `"]`,
		"x --api-key " + random + " --verbose":    "x --api-key " + x + " --verbose",
		"x \\\n  --token\t" + random:              "x \\\n  --token\t" + x,
		"curl -u a:b7x http://x":                  "curl -u a:" + x + " http://x",
		"curl -sSfu 'me:hunter 2' http://x":       "curl -sSfu 'me:" + x + "' http://x",
		"curl -X POST --user me:hunter22 http://": "curl -X POST --user me:" + x + " http://",
		"curl -ume:hunter22 http://x":             "curl -ume:" + x + " http://x",
		`curl --proxy-user "me:h:unter22" x`:      `curl --proxy-user "me:` + x + `" x`,
		// authentication schemes
		"Authorization: Bearer " + random:             "Authorization: Bearer " + x,
		"authorization: token " + random + "\r\n":     "authorization: token " + x + "\r\n",
		"> Authorization: Basic dXNlcjpwYXNzd29yZDEy": "> Authorization: Basic " + x,
		`"Authorization": "Bearer ` + random + `"`:    `"Authorization": "Bearer ` + x + `"`,
	} {
		if got := redacted(t, f, text); got != want {
			t.Errorf("%q\n got %q\nwant %q", text, got, want)
		}
	}
}

func TestR6_WhatStandsForACredentialIsLeftAlone(t *testing.T) {
	f := NewFinder(nil)
	for _, text := range []string{
		// variables and placeholders
		"PASSWORD=$PASSWORD", "PASSWORD=${DB_PASSWORD}", "password: {{ .Values.password }}", "PASSWORD=<your password>", "PASSWORD=changeme",
		"API_KEY=your-api-key-12345", "TOKEN=xxxxxxxxxxxxxxxx1234", "TOKEN=************1234", "password: example1234", "API_KEY=...", "PASSWORD=",
		"PASSWORD=x", "PASSWORD=secret", "password=password", "PASSWORD=aaaaaaaaaaaa", "secret: " + strings.Repeat("ab12", 10), "PASSWORD=%(pw)s12",
		"token: process.env.TOKEN12", "TOKEN=os.environ['X12345678']", `password = getenv("PASSWORD12")`,
		// code
		"password = getPassword2()", "token = tokens[index12]", "secret = self.secret_value_12", "func(token string, key2 int)", "token: str = None",
		"if password == 'hunter22'", "password != 'hunter22'", "token::Type123456789abcd", "PASSWORD=get_password(12)", "password = other_password1",
		"token=next_token_12345678", "const secretKey = deriveKeyFromSeed12",
		// options
		"x --password", "x --password ", "x --password --user y", "x --password $PASSWORD", "x --password <password>", "x --password secret", "x --token abc", "x --no-password hunter22x/",
		"docker run -u 1000:1000 x", "chown -u me:hunter22", "curl -u me http://x", "curl -u me: http://x", "curl -u $USER:$PASSWORD x", "curl -U", "curl -u", "curl --user", "curl\n-u a:hunter22",
		"curl -u me:password x", "curl --user-agent a:hunter22 x", "a-u b:hunter22",
		// names with the same suffix
		"max_tokens: 4096123456789012", "nextPageToken: " + random, "next_token=" + random, "continuationToken: " + random, "bypass=hunter2222", "compass: hunter2222",
		"token_type: q7Rz2LmX9vKt4WbN8sYc", "public_key: " + random, "key: " + random, "id=" + random, "sha256: " + random,
		"tokenizer: q7Rz2LmX9vKt4WbN8sYc",
		// prose, URLs, paths
		`password: "Please enter your password 2"`, "password: Passwort", "token: /var/run/secrets/token12345678", "token: ./token12345678abcd",
		"secret: https://vault.example/v1/secret12", "The secret: it is 42.", "PASSWORD=/run/secrets/db12", "Authorization: Bearer", "Authorization: Bearer $TOKEN",
		"authorization: short", "secret: my-tls-secret", "token=12345678901234567890", "token=abcdefghijklmnopqrst", "Secret: " + strings.Repeat("!1a", 8),
		"API_KEY=development", "=", ":", "password", "password=", "password:", "x=password=", "]=1", `"]=hunter22`, `password="`,
		"a:b", "token=" + strings.Repeat(random, 500), `token="` + strings.Repeat(random, 500) + `"`,
	} {
		if got := redacted(t, f, text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
