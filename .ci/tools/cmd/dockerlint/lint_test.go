package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const good = `FROM golang:1.26.10-bookworm AS build
COPY . .
ARG VERSION
RUN CGO_ENABLED=0 go build -trimpath -o /out/app ./cmd/app

FROM scratch
COPY --from=build /out/app /app
USER 65532:65532
HEALTHCHECK --interval=10s CMD ["/app", "health"]
ENTRYPOINT ["/app"]
CMD ["serve"]
`

func found(text string) []string {
	var got []string
	for _, f := range lint(strings.NewReader(text), "1.26.10") {
		got = append(got, fmt.Sprintf("%d %s %s", f.line, f.rule, f.text))
	}
	return got
}

func TestAFileThatKeepsTheRulesHasNoFindings(t *testing.T) {
	for name, text := range map[string]string{
		"from scratch":    good,
		"from distroless": strings.Replace(good, "FROM scratch", "FROM gcr.io/distroless/static@sha256:"+strings.Repeat("a", 64), 1),
		"through a stage": strings.Replace(good, "\nFROM scratch", "FROM build AS test\nRUN go vet ./...\n\nFROM scratch", 1),
	} {
		if diff := cmp.Diff([]string(nil), found(text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestEachPlantedMistakeIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		old, planted string
		want         []string
	}{
		"D1 one stage copies from the context": {"COPY --from=build", "COPY", []string{"6 D1 the last stage copies nothing from an earlier one"}},
		"D1 a copy from another image":         {"COPY --from=build", "COPY --from=busybox:1.37.0", []string{"6 D1 the last stage copies nothing from an earlier one"}},
		"D2 latest":                            {"FROM scratch", "FROM gcr.io/distroless/static:latest", []string{`6 D2 base "gcr.io/distroless/static:latest" is named neither down to its patch version nor by digest`}},
		"D2 no tag":                            {"FROM scratch", "FROM gcr.io/distroless/static", []string{`6 D2 base "gcr.io/distroless/static" is named neither down to its patch version nor by digest`}},
		"D2 a digest that is none":             {"FROM scratch", "FROM gcr.io/distroless/static@sha256:aa", []string{`6 D2 base "gcr.io/distroless/static@sha256:aa" is named neither down to its patch version nor by digest`}},
		"D2 a tag that moves": {"golang:1.26.10-bookworm", "golang:1.26", []string{
			`1 D2 base "golang:1.26" is named neither down to its patch version nor by digest`,
			`1 D10 Go programs are built with 1.26.10, but base "golang:1.26" has another version`,
		}},
		"D2 a registry with a port": {"FROM scratch", "FROM localhost:5000/static", []string{
			`6 D2 base "localhost:5000/static" is named neither down to its patch version nor by digest`,
			`6 D3 the last stage starts from "localhost:5000/static", neither from scratch nor from a distroless static image`,
		}},
		"D3 a whole system": {"FROM scratch", "FROM debian:12.11.0-slim", []string{`6 D3 the last stage starts from "debian:12.11.0-slim", neither from scratch nor from a distroless static image`}},
		"D3 a command run":  {"USER 65532:65532", "RUN [\"/app\", \"version\"]\nUSER 65532:65532", []string{"8 D3 the last stage runs something"}},
		"D4 no user":        {"USER 65532:65532\n", "", []string{"6 D4 the last stage has no USER, and so runs as root"}},
		"D4 root":           {"USER 65532:65532", "USER 0", []string{"8 D4 USER 0 is not a number other than 0"}},
		"D4 root's group":   {"USER 65532:65532", "USER 65532:0", []string{"8 D4 USER 65532:0 is not a number other than 0"}},
		"D4 a name":         {"USER 65532:65532", "USER nonroot", []string{"8 D4 USER nonroot is not a number other than 0"}},
		"D4 root again":     {`CMD ["serve"]`, "USER root", []string{"11 D4 USER root is not a number other than 0"}},
		"D5 no health check": {"HEALTHCHECK --interval=10s CMD [\"/app\", \"health\"]\n", "", []string{
			"6 D5 the last stage has no HEALTHCHECK",
		}},
		"D5 switched off":      {`HEALTHCHECK --interval=10s CMD ["/app", "health"]`, "HEALTHCHECK NONE", []string{"9 D5 HEALTHCHECK is not a command in exec form"}},
		"D5 through a shell":   {`CMD ["/app", "health"]`, "CMD /app health", []string{"9 D5 HEALTHCHECK is not a command in exec form"}},
		"D5 another program":   {`CMD ["/app", "health"]`, `CMD ["/curl", "health"]`, []string{"9 D5 HEALTHCHECK runs /curl, not the image's own /app"}},
		"D6 no entry point":    {"ENTRYPOINT [\"/app\"]\n", "", []string{"6 D6 the last stage has no ENTRYPOINT", "9 D5 HEALTHCHECK runs /app, not the image's own "}},
		"D6 a shell":           {`ENTRYPOINT ["/app"]`, "ENTRYPOINT /app", []string{"10 D6 ENTRYPOINT is in shell form"}},
		"D6 a command's shell": {`CMD ["serve"]`, "CMD serve", []string{"11 D6 CMD is in shell form"}},
		"D7 cgo":               {"CGO_ENABLED=0 ", "", []string{"4 D7 a Go program is built without CGO_ENABLED=0"}},
		"D7 paths":             {"-trimpath ", "", []string{"4 D7 a Go program is built without -trimpath"}},
		"D8 a download":        {"COPY . .", "ADD https://example.test/x.tgz /", []string{"2 D8 ADD fetches and unpacks; COPY does not"}},
		"D9 an argument":       {"ARG VERSION", "ARG GITHUB_TOKEN", []string{"3 D9 GITHUB_TOKEN reads like a secret, and stays in the image; mount it instead"}},
		"D9 a variable":        {"ARG VERSION", "ENV API_KEY=x", []string{"3 D9 API_KEY reads like a secret, and stays in the image; mount it instead"}},
		"D9 before any stage":  {"FROM golang", "ARG PASSWORD\nFROM golang", []string{"1 D9 PASSWORD reads like a secret, and stays in the image; mount it instead"}},
		"D10 another Go":       {"golang:1.26.10", "golang:1.25.1", []string{`1 D10 Go programs are built with 1.26.10, but base "golang:1.25.1-bookworm" has another version`}},
		"D11 a warning":        {"FROM golang:1.26.10-bookworm AS build", "FROM golang:1.26.10-bookworm as build", []string{"1 D11 FromAsCasing: 'as' and 'FROM' keywords' casing do not match"}},
		"D11 an unknown word":  {"ARG VERSION", "ARGH VERSION", []string{"1 D11 dockerfile parse error on line 3: unknown instruction: ARGH (did you mean ARG?)"}},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(good, c.old, c.planted, 1)
			if text == good {
				t.Fatalf("%q is not in the good file", c.old)
			}
			if diff := cmp.Diff(c.want, found(text)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnEmptyFileIsAFinding(t *testing.T) {
	if got := found(""); len(got) == 0 {
		t.Error("no finding")
	}
}

func TestTheProjectsOwnFileKeepsTheRules(t *testing.T) {
	text, err := os.ReadFile("../../../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	if findings := lint(strings.NewReader(string(text)), ""); len(findings) > 0 {
		t.Errorf("findings: %v", findings)
	}
}
