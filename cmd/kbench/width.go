package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"kbench/results/columns"
)

// printText prints a report for people, laid out for who reads it: a terminal
// as wide as it is, a pipe 100 columns of prose and 120 of a table.
func printText(w io.Writer, text string) error {
	_, err := fmt.Fprint(w, columns.Fit(text, widthOf(w)))
	return err
}

// widthOf is how wide text on w may be. A terminal that does not know its size
// is taken for a pipe.
func widthOf(w io.Writer) columns.Width {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return columns.Pipe
	}
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil || n <= 0 {
		return columns.Pipe
	}
	return columns.Terminal(n)
}
