package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"kbench/results"
	"kbench/results/columns"
)

// grid is a table for every form: cells are foreign text.
type grid struct {
	head []string
	rows [][]string
	drop []string // heads that text leaves out where there is no room, the least first
}

func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

// write prints the grid as text, Markdown or CSV (RFC 4180, formulas
// neutralised).
func (g *grid) write(w io.Writer, format string) error {
	switch format {
	case "csv":
		cw := csv.NewWriter(w)
		cw.UseCRLF = true
		for _, row := range append([][]string{g.head}, g.rows...) {
			if err := cw.Write(each(row, results.GuardFormula)); err != nil {
				return err
			}
		}
		cw.Flush()
		return cw.Error()
	case "md":
		rule := strings.Repeat("|---", len(g.head)) + "|"
		lines := []string{"| " + strings.Join(g.head, " | ") + " |", rule}
		for _, row := range g.rows {
			lines = append(lines, "| "+strings.Join(each(row, results.MarkdownText), " | ")+" |")
		}
		_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
		return err
	default:
		t := columns.Table{Head: g.head}
		for _, name := range g.drop {
			t.Drop = append(t.Drop, slices.Index(g.head, name))
		}
		for _, row := range g.rows {
			t.Rows = append(t.Rows, each(row, results.OneLine))
		}
		_, err := io.WriteString(w, t.Text(widthOf(w).Table))
		return err
	}
}

func each(row []string, f func(string) string) []string {
	out := make([]string, len(row))
	for i, s := range row {
		out[i] = f(s)
	}
	return out
}

// writeJSON prints a value for programs.
func writeJSON(w io.Writer, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", b)
	return err
}
