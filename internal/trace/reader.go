package trace

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// Read decodes every event of r. A last line cut short by a kill is ignored;
// any other broken line is an error that names it.
func Read(r io.Reader) ([]Event, error) {
	var events []Event
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 64<<10), 1<<20)
	var broken error
	for n := 1; sc.Scan(); n++ {
		if broken != nil {
			return nil, broken
		}
		var e Event
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil {
			broken = fmt.Errorf("trace line %d: %w", n, err)
			continue
		}
		events = append(events, e)
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	return events, nil
}
