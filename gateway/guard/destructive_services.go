package guard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hookgate/hookgate/gateway/guard/internal/shell"
)

// powersOff objects to commands that stop the machine or every process on it.
func powersOff(c shellCall) string {
	ends := false
	switch c.Name {
	case "reboot", "halt", "poweroff":
		ends = !argumentsOf(c.Args).exactly("--help", "--version")
	case "shutdown":
		ends = !argumentsOf(c.Args).exactly("-c", "-k", "--help", "--version", "--show")
	case "init", "telinit":
		ends = argumentsOf(c.Args).names("0", "6")
	case "systemctl":
		ends = argumentsOf(c.Args).names("poweroff", "reboot", "halt", "kexec", "soft-reboot")
	case "kill":
		if len(c.Args) > 1 && c.Args[len(c.Args)-1].Text == "-1" {
			return "kill -1 ends every process of the user"
		}
	}
	if ends {
		return fmt.Sprintf("%s stops the machine", c.Name)
	}
	return ""
}

func fetchers() []string { return []string{"curl", "wget", "aria2c", "lwp-request"} }

func decoders() []string { return []string{"base64", "base32", "xxd", "openssl", "uudecode"} }

// runsUnread objects to a shell that runs what the same command line downloads
// or decodes: neither a person nor a guard has read it.
func runsUnread(c shellCall) string {
	from, to := c.Runs()
	if from >= to || c.unread[from] >= to {
		return ""
	}
	source := c.script.Commands[c.unread[from]].Name
	if slices.Contains(fetchers(), source) {
		return fmt.Sprintf("it runs what %s fetches, which nobody has read: save it to a file and read that first", source)
	}
	return fmt.Sprintf("it runs what %s decodes, which nobody has read: write the commands as they are", source)
}

// unreadSources returns, for each command of a script, the index of the next
// command from there whose output nobody has read. It is computed once, because
// every shell in a pipeline needs it for the commands before it.
func unreadSources(script shell.Script) []int {
	next := make([]int, len(script.Commands))
	at := len(next)
	for i, c := range slices.Backward(script.Commands) {
		if slices.Contains(fetchers(), c.Name) || slices.Contains(decoders(), c.Name) {
			at = i
		}
		next[i] = at
	}
	return next
}

// deletesCluster objects to a kubectl delete that deletes more than the objects
// that it names.
func deletesCluster(c shellCall) string {
	if c.Name != "kubectl" {
		return ""
	}
	args := argumentsOf(c.Args, "-n", "--namespace", "--context", "--kubeconfig", "-f", "--filename", "-l", "--selector",
		"-o", "--output", "--cluster", "--user", "--as", "-s", "--server", "--token", "--grace-period", "--timeout",
		"--field-selector", "-k", "--kustomize", "--request-timeout", "-v", "--as-group", "--as-uid", "--cache-dir",
		"--certificate-authority", "--client-certificate", "--client-key", "--password", "--username", "--profile",
		"--profile-output", "--tls-server-name", "--log-flush-frequency")
	if args.first() != "delete" {
		return ""
	}
	for _, f := range args.flags {
		if f.Text == "--dry-run" || strings.HasPrefix(f.Text, "--dry-run=") && f.Text != "--dry-run=none" {
			return ""
		}
	}
	if args.exactly("--all", "--all=true", "-A", "--all-namespaces", "--all-namespaces=true") {
		return "kubectl delete deletes everything of a kind"
	}
	if len(args.operands) < 2 {
		return ""
	}
	for kind := range strings.SplitSeq(args.operands[1].Text, ",") { // what follows are names
		kind, _, _ = strings.Cut(strings.ToLower(kind), "/")
		kind, _, _ = strings.Cut(kind, ".")
		switch kind {
		case "ns", "namespace", "namespaces":
			return "kubectl delete namespace deletes everything in it"
		case "no", "node", "nodes", "pv", "persistentvolume", "persistentvolumes", "crd", "crds",
			"customresourcedefinition", "customresourcedefinitions":
			return fmt.Sprintf("kubectl delete %s takes along what depends on it", kind)
		}
	}
	return ""
}

func infrastructureWords() []string { return []string{"terraform", "tofu", "terragrunt", "pulumi"} }

// destroysInfrastructure objects to commands that delete everything that a
// configuration has created.
func destroysInfrastructure(c shellCall) string {
	if !slices.Contains(infrastructureWords(), c.Name) {
		return ""
	}
	args := argumentsOf(c.Args, "-C", "--cwd", "-s", "--stack", "--color", "--profiling", "--tracing")
	destroys := false
	switch c.Name {
	case "terraform", "tofu":
		destroys = args.first() == "destroy" || args.first() == "apply" && args.exactly("-destroy", "--destroy")
	case "terragrunt":
		destroys = args.names("destroy", "destroy-all") || args.names("apply", "apply-all") && args.exactly("-destroy", "--destroy")
	case "pulumi":
		destroys = (args.first() == "destroy" || args.first() == "down") && !args.exactly("--preview-only")
	}
	if destroys && !args.exactly("-help", "--help", "-h") {
		return fmt.Sprintf("%s destroys all that the configuration has made", c.Name)
	}
	return ""
}

func databaseWords() []string {
	return []string{"psql", "mysql", "mariadb", "dropdb", "mongo", "redis-cli", "sqlcmd", "cockroach", "clickhouse"}
}

// dropsDatabase objects to a database client that drops a database.
func dropsDatabase(c shellCall) string {
	drops := false
	switch c.Name {
	case "dropdb":
		drops = !argumentsOf(c.Args).exactly("--help", "--version")
	case "mysqladmin", "mariadb-admin":
		drops = argumentsOf(c.Args).names("drop")
	case "psql", "mysql", "mariadb", "sqlcmd", "cockroach", "clickhouse", "clickhouse-client":
		drops = c.meter.Spend(len(c.Stdin)) && saysDrop(c.Stdin)
		for _, w := range c.Args {
			drops = drops || saysDrop(w.Text)
		}
	case "mongo", "mongosh":
		drops = strings.Contains(c.Stdin, "dropDatabase")
		for _, w := range c.Args {
			drops = drops || strings.Contains(w.Text, "dropDatabase")
		}
	case "redis-cli":
		drops = argumentsOf(c.Args).names("flushall", "flushdb")
	}
	if drops {
		return fmt.Sprintf("%s drops a whole database", c.Name)
	}
	return ""
}

// saysDrop reports whether SQL drops a database or a schema, also with comments
// between the keywords.
func saysDrop(sql string) bool {
	sql, dropped := withoutTexts(sql), false
	for sql != "" {
		code, rest, _ := strings.Cut(sql, "/*")
		for word := range strings.FieldsFuncSeq(code, notInWord) {
			word = strings.ToUpper(word)
			if dropped && (word == "DATABASE" || word == "SCHEMA") {
				return true
			}
			dropped = word == "DROP"
		}
		_, sql, _ = strings.Cut(rest, "*/")
	}
	return false
}

// withoutTexts removes single-quoted strings from SQL, because they are data. It
// keeps them if they might be executed nevertheless, or if their end depends on
// the SQL dialect.
func withoutTexts(sql string) string {
	if strings.Count(sql, "'")%2 != 0 || strings.ContainsAny(sql, "\\$\"`#") || strings.Contains(sql, "--") || strings.Contains(sql, "/*") {
		return sql
	}
	for word := range strings.FieldsFuncSeq(sql, notInWord) {
		switch strings.ToUpper(word) {
		case "EXECUTE", "EXEC", "PREPARE", "DO":
			return sql
		}
	}
	var code strings.Builder
	for i, part := range strings.Split(sql, "'") {
		if i%2 == 0 {
			code.WriteString(part + " ")
		}
	}
	return code.String()
}

func notInWord(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}
