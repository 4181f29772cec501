package kafka

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"kbench/harness/jvm"
)

// HeapArgs are the arguments of jcmd that have the JVM of a pid collect its whole
// heap and count the objects that are left, class by class.
func HeapArgs(pid int) []string { return []string{strconv.Itoa(pid), "GC.class_histogram"} }

// LiveBytes reads from such a count how many bytes all objects have.
func LiveBytes(histogram []byte) (int64, error) {
	lines := bufio.NewScanner(bytes.NewReader(histogram))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) == 3 && f[0] == "Total" {
			return strconv.ParseInt(f[2], 10, 64)
		}
	}
	return 0, errors.Join(lines.Err(), fmt.Errorf("the JVM gave no count of its objects: %s", tail(histogram)))
}

// LiveHeap implements provider.Heaped.
func (s *Server) LiveHeap(ctx context.Context) (int64, error) {
	jcmd, err := jvm.Jcmd(s.cfg.Java)
	if err != nil {
		return 0, err
	}
	out, err := exec.CommandContext(ctx, jcmd, HeapArgs(s.Pid())...).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%s: %w: %s", jcmd, err, tail(out))
	}
	return LiveBytes(out)
}
