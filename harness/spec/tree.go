package spec

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds of what is read at all: a spec is written by a person, and the YAML
// parser takes seconds for the worst of larger files.
const (
	maxBytes = 64 << 10
	maxLines = 2000
	maxDepth = 32
)

type nodeKind int

const (
	nodeNull nodeKind = iota
	nodeScalar
	nodeList
	nodeMapping
)

func (k nodeKind) String() string {
	return [...]string{"empty", "a single value", "a list", "a mapping"}[k]
}

// node is one YAML value with its place; of the YAML that specs may use, it
// loses only comments and quotes.
type node struct {
	kind   nodeKind
	at     Place
	text   string // scalars
	items  []*node
	fields []field
}

type field struct {
	key string
	at  Place
	val *node
}

// lookup returns the first field of that key.
func (n *node) lookup(key string) *node {
	for _, f := range n.fields {
		if f.key == key {
			return f.val
		}
	}
	return nil
}

// put replaces or adds a field.
func (n *node) put(key string, val *node) {
	kept := n.fields[:0:0]
	for _, f := range n.fields {
		if f.key != key {
			kept = append(kept, f)
		}
	}
	n.fields = append(kept, field{key: key, at: val.at, val: val})
}

// readTree parses one YAML document. place makes the Place of a position.
func readTree(src []byte, place func(line, col int) Place) (*node, Faults) {
	text, faults := untab(src, place)
	if len(faults) == 0 || text != "" {
		root, more := parseTree(text, place)
		return root, append(faults, more...)
	}
	return nil, faults
}

// untab judges what the parser would stop at: size, encoding, tabs. Indenting
// tabs are named one by one and replaced, so that the faults behind them are
// found too.
func untab(src []byte, place func(line, col int) Place) (string, Faults) {
	src = bytes.TrimPrefix(src, []byte("\ufeff")) // some editors begin a file with it
	switch {
	case len(src) > maxBytes:
		return "", Faults{{At: place(0, 0), What: fmt.Sprintf("the file has more than %d KiB", maxBytes>>10), Cure: "is it a spec?"}}
	case bytes.Count(src, []byte("\n")) > maxLines:
		return "", Faults{{At: place(0, 0), What: fmt.Sprintf("the file has more than %d lines", maxLines), Cure: "is it a spec? sweep and variants keep one short"}}
	case !utf8.Valid(src):
		return "", Faults{{At: place(0, 0), What: "the file is not UTF-8 text", Cure: "is it a spec?"}}
	case strings.TrimSpace(string(src)) == "":
		return "", Faults{{At: place(0, 0), What: "the file is empty", Cure: "write at least `workloads:` with one entry, or run without a spec"}}
	case strings.ContainsRune(string(src), 0):
		return "", Faults{{At: place(0, 0), What: "the file holds NUL bytes", Cure: "is it a spec?"}}
	}
	var faults Faults
	lines := strings.Split(string(src), "\n")
	for i, line := range lines {
		body := strings.TrimLeft(line, " \t")
		indent := line[:len(line)-len(body)]
		if tab := strings.IndexByte(indent, '\t'); tab >= 0 && strings.TrimSpace(body) != "" {
			faults = append(faults, Fault{At: place(i+1, tab+1), What: "a tab in the indentation", Cure: "indent with spaces"})
			lines[i] = strings.ReplaceAll(indent, "\t", "  ") + body
			continue
		}
		code, _, _ := strings.Cut(body, "#")
		if tab := strings.IndexByte(strings.TrimRight(code, "\t\r "), '\t'); tab >= 0 {
			faults = append(faults, Fault{At: place(i+1, len([]rune(line[:len(indent)+tab]))+1), What: "a tab", Cure: "write spaces"})
		}
	}
	return strings.Join(lines, "\n"), faults
}

func parseTree(text string, place func(line, col int) Place) (*node, Faults) {
	if at, deep := tooDeep(text); deep {
		return nil, Faults{{At: place(at, 0), What: fmt.Sprintf("brackets or dashes nest deeper than %d", maxDepth), Cure: "is it a spec?"}}
	}
	file, err := parser.ParseBytes([]byte(text), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, Faults{syntaxFault(err, place)}
	}
	t := treeBuilder{place: place}
	var root *node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if _, directive := doc.Body.(*ast.DirectiveNode); directive {
			continue
		}
		if root != nil {
			t.fault(doc.Body, "a second document", "write one spec in a file, and sweep and variants for its variations")
			break
		}
		root = t.build(doc.Body, 0)
	}
	if root == nil && len(t.faults) == 0 {
		t.faults = Faults{{At: place(0, 0), What: "the file holds only comments", Cure: "write at least `workloads:` with one entry, or run without a spec"}}
	}
	return root, t.faults
}

// tooDeep bounds the recursion of the YAML parser before it runs. It counts
// brackets and dashes in quoted text too, which no sensible spec has that many
// of.
func tooDeep(text string) (line int, deep bool) {
	depth := 0
	for i, text := range strings.Split(text, "\n") {
		for _, r := range text {
			switch r {
			case '[', '{':
				depth++
			case ']', '}':
				depth = max(0, depth-1)
			}
			if depth > maxDepth {
				return i + 1, true
			}
		}
		if strings.Count(text, "- ") > maxDepth {
			return i + 1, true
		}
	}
	return 0, false
}

// syntaxFault takes message and position out of the parser's error.
func syntaxFault(err error, place func(line, col int) Place) Fault {
	var y interface {
		GetMessage() string
		GetToken() *token.Token
	}
	if !errors.As(err, &y) || y.GetToken() == nil {
		return Fault{At: place(0, 0), What: "not YAML: " + err.Error(), Cure: "see `kbench schema` for what a spec may hold"}
	}
	pos := y.GetToken().Position
	return Fault{At: place(pos.Line, pos.Column), What: "not YAML: " + y.GetMessage(), Cure: "check brackets, quotes, colons and indentation here and on the line above"}
}

type treeBuilder struct {
	place  func(line, col int) Place
	faults Faults
}

func (t *treeBuilder) at(n ast.Node) Place {
	tk := n.GetToken()
	if tk == nil || tk.Position == nil {
		return t.place(0, 0)
	}
	return t.place(tk.Position.Line, tk.Position.Column)
}

func (t *treeBuilder) fault(n ast.Node, what, cure string) {
	t.faults = append(t.faults, Fault{At: t.at(n), What: what, Cure: cure})
}

func (t *treeBuilder) build(n ast.Node, depth int) *node {
	out := &node{at: t.at(n)}
	if depth > maxDepth {
		t.fault(n, fmt.Sprintf("values nest deeper than %d", maxDepth), "is it a spec?")
		return out
	}
	switch x := n.(type) {
	case *ast.NullNode:
	case *ast.MappingNode:
		out.kind = nodeMapping
		for _, v := range x.Values {
			t.buildField(out, v, depth)
		}
		if len(out.fields) > 0 && !x.IsFlowStyle {
			out.at = out.fields[0].at
		}
	case *ast.MappingValueNode:
		out.kind = nodeMapping
		t.buildField(out, x, depth)
		if len(out.fields) > 0 {
			out.at = out.fields[0].at
		}
	case *ast.SequenceNode:
		out.kind = nodeList
		for _, v := range x.Values {
			out.items = append(out.items, t.build(v, depth+1))
		}
	case *ast.LiteralNode:
		out.kind, out.text = nodeScalar, x.Value.Value
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		t.fault(n, "YAML anchors, aliases, tags and merge keys are not part of a spec", "write the value out, or use sweep and variants")
	default:
		out.kind, out.text = nodeScalar, n.GetToken().Value
	}
	return out
}

func (t *treeBuilder) buildField(out *node, v *ast.MappingValueNode, depth int) {
	key, ok := v.Key.(ast.Node)
	if !ok {
		return
	}
	if _, merge := key.(*ast.MergeKeyNode); merge {
		t.fault(key, "YAML anchors, aliases, tags and merge keys are not part of a spec", "write the values out, or use sweep and variants")
		return
	}
	out.fields = append(out.fields, field{key: key.GetToken().Value, at: t.at(key), val: t.build(v.Value, depth+1)})
}
