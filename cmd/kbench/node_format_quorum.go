package main

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"kbench/kafka"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raft"
	"kbench/kraftcontroller/raftclient"
)

// quorum is the first voter set, and this node's directory id where that names
// it.
func (f *formatFlags) quorum() (metalog.Quorum, kafka.UUID, error) {
	given := 0
	for _, b := range []bool{f.standalone != "", f.initial != "", f.noInitial} {
		if b {
			given++
		}
	}
	switch {
	case given > 1:
		return metalog.Quorum{}, kafka.UUID{}, errors.New("--standalone, --initial-controllers and --no-initial-controllers exclude each other")
	case given == 0:
		return metalog.Quorum{}, kafka.UUID{}, nil
	}
	q := metalog.Quorum{Level: raft.SupportedKRaft.Max}
	switch {
	case f.standalone != "":
		own := metalog.RandomUUID()
		v, err := firstVoter(f.nodeID, f.standalone, own)
		if err != nil {
			return q, own, fmt.Errorf("--standalone: %w", err)
		}
		q.Voters = []metalog.Voter{v}
		return q, own, nil
	case f.initial != "":
		return f.initialVoters(q)
	}
	return q, kafka.UUID{}, nil
}

func (f *formatFlags) initialVoters(q metalog.Quorum) (metalog.Quorum, kafka.UUID, error) {
	var own kafka.UUID
	for text := range strings.SplitSeq(f.initial, ",") {
		v, err := parseInitial(strings.TrimSpace(text))
		if err != nil {
			return q, own, fmt.Errorf("--initial-controllers: %q: %w; write ID@HOST:PORT:DIRECTORY-ID", text, err)
		}
		if slices.ContainsFunc(q.Voters, func(o metalog.Voter) bool { return o.ID == v.ID || o.Directory == v.Directory }) {
			return q, own, fmt.Errorf("--initial-controllers: %q: another has the same id or directory id", text)
		}
		if v.ID == kafka.BrokerID(f.nodeID) {
			own = v.Directory
		}
		q.Voters = append(q.Voters, v)
	}
	if own.IsZero() {
		return q, own, fmt.Errorf("--initial-controllers does not name node %d; a node that joins later takes --no-initial-controllers", f.nodeID)
	}
	slices.SortFunc(q.Voters, func(a, b metalog.Voter) int { return int(a.ID - b.ID) })
	return q, own, nil
}

// parseInitial reads ID@HOST:PORT:DIRECTORY-ID; a host of IPv6 is in brackets.
func parseInitial(text string) (metalog.Voter, error) {
	idText, rest, ok := strings.Cut(text, "@")
	id, err := strconv.ParseInt(idText, 10, 32)
	at := strings.LastIndexByte(rest, ':')
	if !ok || err != nil || id < 0 || at < 0 {
		return metalog.Voter{}, errors.New("no id, address and directory id")
	}
	dir, err := kafka.ParseUUID(rest[at+1:])
	if err != nil {
		return metalog.Voter{}, fmt.Errorf("directory id: %w", err)
	}
	if reserved(dir) {
		return metalog.Voter{}, fmt.Errorf("directory id %s is one of the first hundred, which are reserved", dir)
	}
	return firstVoter(int32(id), rest[:at], dir)
}

// reserved reports whether Kafka keeps the id for itself: the first hundred.
func reserved(u kafka.UUID) bool {
	for _, b := range u[:15] {
		if b != 0 {
			return false
		}
	}
	return u[15] < 100
}

func firstVoter(id int32, addr string, dir kafka.UUID) (metalog.Voter, error) {
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return metalog.Voter{}, fmt.Errorf("address %q: %w", addr, err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil || port == 0 || host == "" {
		return metalog.Voter{}, fmt.Errorf("address %q is not HOST:PORT", addr)
	}
	return metalog.Voter{
		VoterKey:  metalog.VoterKey{ID: kafka.BrokerID(id), Directory: dir},
		Endpoints: []kafka.Endpoint{{Listener: raftclient.ControllerListener, Host: host, Port: uint16(port)}},
		MinLevel:  raft.SupportedKRaft.Min, MaxLevel: raft.SupportedKRaft.Max,
	}, nil
}
