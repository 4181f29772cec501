package docker

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/testcontainers/testcontainers-go/exec"

	"kbench/harness/jvm"
)

// recordingDir is where a JVM records itself, on the node's volume.
const recordingDir = "/data/recording"

// jvmNode is a container whose first process is a JVM.
type jvmNode struct {
	*Node
	record bool // it records itself
}

// DumpRecording implements provider.Recorder, by the jcmd of the image.
func (n *jvmNode) DumpRecording(ctx context.Context, file string) error {
	if !n.record || !n.Running() {
		return nil
	}
	const dump = recordingDir + ".jfr"
	if _, err := n.jcmd(ctx, jvm.DumpArgs(1, dump)); err != nil {
		return err
	}
	r, err := n.CopyFrom(ctx, dump)
	if err != nil {
		return err
	}
	return keep(file, r)
}

// jcmd runs the program that speaks to the container's JVM, and gives what it
// says.
func (n *jvmNode) jcmd(ctx context.Context, args []string) ([]byte, error) {
	code, said, err := n.tc.Exec(ctx, append([]string{"/opt/java/bin/jcmd"}, args...), exec.Multiplexed())
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(said)
	if code != 0 { // which is the news
		return nil, fmt.Errorf("jcmd of the image ends with code %d: %s; where the image has none, make it of a JDK", code, bytes.TrimSpace(text[:min(len(text), 600)]))
	}
	return text, err
}
