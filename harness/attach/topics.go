package attach

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/harness/child"
	"kbench/kafka"
)

// mark begins the name of every topic that kbench makes in a cluster of others.
const mark = "kbench-attach."

// Prefix begins the names of the topics of one cell of this process: who made
// them can be told later, dead or alive.
func Prefix(cell int) string {
	return fmt.Sprintf("%s%s.%s.%d.", mark, hostMark(), strings.ReplaceAll(child.Identity(os.Getpid()), " ", "."), cell)
}

// hostMark tells hosts apart without naming them.
func hostMark() string {
	name, err := os.Hostname()
	if err != nil {
		name = "unknown"
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return fmt.Sprintf("%08x", h.Sum32())
}

// Dead reports whether a topic was made by a kbench of this host that has
// ended. Topics of other hosts are taken for those of the living.
func Dead(topic string) bool {
	owner := ownerOf(topic)
	return owner != "" && !child.Lives(owner)
}

// DeadOf is Dead for the topics of one owner, a child.Identity.
func DeadOf(owner string) func(topic string) bool {
	return func(topic string) bool { return ownerOf(topic) == owner && Dead(topic) }
}

// ownerOf gives the kbench of this host that made a topic, "" for another's.
func ownerOf(topic string) string {
	rest, ok := strings.CutPrefix(topic, mark)
	words := strings.Split(rest, ".")
	if !ok || len(words) < 4 || words[0] != hostMark() {
		return ""
	}
	return words[1] + " " + words[2]
}

const (
	deleteBatch   = 200
	deleteVersion = 4 // the last that names topics by name alone
	// deleteWithin bounds the wait until no broker that is asked serves what was
	// deleted; deletions go on in the cluster after it.
	deleteWithin = 2 * time.Minute
	deletePause  = 200 * time.Millisecond
)

// Delete removes the topics that match and waits until they are served no more.
// It gives how many it asked to be removed.
func (a Access) Delete(ctx context.Context, match func(topic string) bool) (n int, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, deleteWithin, fmt.Errorf("not within %v", deleteWithin))
	defer cancel()
	var left []string // as they were listed last
	listed := false
	var last error
	for {
		names, err := a.list(ctx, match)
		if err == nil {
			if left = names; !listed {
				n, listed = len(left), true
			}
			if len(left) == 0 {
				return n, nil
			}
			err = a.deleteAll(ctx, left)
		}
		if err != nil {
			last = err
		}
		if Refused(err) {
			return n, err
		}
		select {
		case <-ctx.Done():
			what := "no broker lists the topics that are to be removed"
			if listed {
				what = fmt.Sprintf("%d topics are not removed, such as %s", len(left), left[0])
			}
			return n, fmt.Errorf("%s: %w; `kbench clean %s` removes them once kbench has ended", what, errors.Join(context.Cause(ctx), last), a.flags())
		case <-time.After(deletePause):
		}
	}
}

// flags are those by which a command reaches the same cluster.
func (a Access) flags() string {
	text := "--bootstrap " + strings.Join(a.Bootstrap, ",")
	if a.CommandConfig != "" {
		text += " --command-config " + a.CommandConfig
	}
	return text
}

// list gives the topics that match, sorted.
func (a Access) list(ctx context.Context, match func(string) bool) ([]string, error) {
	m, err := anyOf(ctx, a.Bootstrap, func(ctx context.Context, addr string) (*kmsg.MetadataResponse, error) {
		conn, err := a.dial(ctx, addr)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		return metadata(ctx, conn, nil)
	})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, t := range m.Topics {
		if t.Topic != nil && match(*t.Topic) {
			out = append(out, *t.Topic)
		}
	}
	slices.Sort(out)
	return out, nil
}

// anyOf puts a question to the brokers in turn until one answers.
func anyOf[T any](ctx context.Context, bootstrap []string, question func(ctx context.Context, addr string) (T, error)) (answer T, err error) {
	var errs []error
	for _, addr := range bootstrap {
		one, cancel := context.WithTimeout(ctx, askTimeout)
		answer, err = question(one, addr)
		cancel()
		if err == nil {
			return answer, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", addr, err))
	}
	return answer, errors.Join(errs...)
}

// deleteAll asks the controller, or in KRaft any broker that stands for it, to
// remove topics. A topic that is gone already is no error.
func (a Access) deleteAll(ctx context.Context, topics []string) error {
	addr, err := anyOf(ctx, a.Bootstrap, a.controllerAddr)
	if err != nil {
		return fmt.Errorf("find the controller: %w", err)
	}
	for batch := range slices.Chunk(topics, deleteBatch) {
		if err := a.deleteBatchAt(ctx, addr, batch); err != nil {
			return fmt.Errorf("delete topics at %s: %w", addr, err)
		}
	}
	return nil
}

func (a Access) controllerAddr(ctx context.Context, addr string) (string, error) {
	conn, err := a.dial(ctx, addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	m, err := metadata(ctx, conn, []string{})
	if err != nil {
		return "", err
	}
	for _, b := range m.Brokers {
		if b.NodeID == m.ControllerID {
			return kafka.Endpoint{Host: b.Host, Port: uint16(b.Port)}.Addr(), nil
		}
	}
	return "", fmt.Errorf("it names %d, which is no live broker", m.ControllerID)
}

func (a Access) deleteBatchAt(ctx context.Context, addr string, topics []string) error {
	const within = 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	conn, err := a.dial(ctx, addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.SetVersion(deleteVersion)
	req.TopicNames, req.TimeoutMillis = topics, int32(within.Milliseconds())
	resp, err := conn.Request(ctx, req)
	if err != nil {
		return err
	}
	var errs []error
	for _, t := range resp.(*kmsg.DeleteTopicsResponse).Topics {
		code := kafka.ErrorCode(t.ErrorCode)
		if code == 0 || code == kafka.UnknownTopicOrPartition {
			continue
		}
		name := "a topic"
		if t.Topic != nil {
			name = *t.Topic
		}
		errs = append(errs, fmt.Errorf("%s: %w", name, code.Err()))
	}
	return errors.Join(errs[:min(len(errs), 3)]...)
}
