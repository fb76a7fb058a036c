// Command say is a subprocess hook that reads an envelope and allows. With
// -lines it is a worker: one answer per line of input.
package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
)

func main() {
	if err := run(os.Stdin, os.Stdout, len(os.Args) > 1 && os.Args[1] == "-lines"); err != nil {
		_, _ = os.Stderr.WriteString("say: " + err.Error() + "\n")
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer, lines bool) error {
	if !lines {
		envelope, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		return answer(envelope, out)
	}
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		if err := answer(line, out); err != nil {
			return err
		}
	}
}

// answer parses the envelope, as a real hook would.
func answer(envelope []byte, out io.Writer) error {
	var call struct {
		Tool string `json:"tool_name"`
	}
	if err := json.Unmarshal(envelope, &call); err != nil {
		return err
	}
	_, err := io.WriteString(out, `{"decision":"allow"}`+"\n")
	return err
}
