// Command post is the baseline for gateway ask: the smallest program that posts
// its stdin to a URL with net/http and prints the response.
package main

import (
	"io"
	"net/http"
	"os"
)

func main() {
	if err := run(); err != nil {
		_, _ = os.Stderr.WriteString("post: " + err.Error() + "\n")
		os.Exit(1)
	}
}

func run() error {
	client := &http.Client{Transport: &http.Transport{}}
	resp, err := client.Post(os.Args[1], "application/json", os.Stdin) //nolint:noctx,gosec // it lives for one call, to the address it is given
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	_, err = io.Copy(os.Stdout, resp.Body)
	return err
}
