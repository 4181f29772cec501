package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// specParts is what a stored spec says of its cells beyond their settings.
type specParts struct {
	workloads map[string]string   // parameters by path: workloads.propagation.rate
	variants  map[string][]string // the paths that each variant sets
}

// sampling are parameters that decide how much is measured, not what: the
// statistics take account of them.
var sampling = []string{"trials"}

// specDoc is the part of a spec that is read here.
type specDoc struct {
	Workloads []map[string]any `yaml:"workloads"`
	Variants  []struct {
		Name string         `yaml:"name"`
		Set  map[string]any `yaml:"set"`
	} `yaml:"variants"`
}

// maxSpec bounds what is decoded: the decoder takes seconds for the worst of
// larger texts.
const maxSpec = 256 << 10

// decodeSpec decodes text, which may be foreign: on some that is no YAML the
// decoder panics.
func decodeSpec(text string) (doc specDoc, err error) {
	if len(text) > maxSpec {
		return specDoc{}, fmt.Errorf("the stored spec is larger than %d KB", maxSpec>>10)
	}
	defer func() {
		if p := recover(); p != nil {
			doc, err = specDoc{}, fmt.Errorf("decode the stored spec: %v", p)
		}
	}()
	err = yaml.Unmarshal([]byte(text), &doc)
	return doc, err
}

// orderPath is the path of the order in which workloads run.
const orderPath = "workloads"

// readSpec reads the normalised spec of a manifest. Text that is no spec is
// compared as it stands.
func readSpec(text string) *specParts {
	out := &specParts{workloads: map[string]string{}, variants: map[string][]string{}}
	doc, err := decodeSpec(text)
	if err != nil {
		out.workloads["spec"] = text
		return out
	}
	var order []string
	for _, w := range doc.Workloads {
		kind := fmt.Sprint(w["kind"])
		name := kind
		for n := 2; slices.Contains(order, name); n++ {
			name = fmt.Sprintf("%s#%d", kind, n)
		}
		order = append(order, name)
		delete(w, "kind")
		for _, s := range sampling {
			delete(w, s)
		}
		path := "workloads." + name
		out.workloads[path] = "present"
		flatten(out.workloads, path, w)
	}
	out.workloads[orderPath] = strings.Join(order, " ")
	for _, v := range doc.Variants {
		out.variants[v.Name] = slices.Sorted(maps.Keys(v.Set))
	}
	return out
}
