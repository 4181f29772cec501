package live

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"
)

// The pace of a stream of events.
const (
	streamInterval = 500 * time.Millisecond // at most so often
	streamItems    = 512                    // at once
)

// state is the event "state": where the run is. Times are in seconds.
type state struct {
	Name       string   `json:"name"`
	Place      string   `json:"place"` // the cell
	Doing      string   `json:"doing"`
	Elapsed    float64  `json:"elapsed"`
	Left       *float64 `json:"left"` // null where there is no guess
	Metric     string   `json:"metric"`
	Headline   string   `json:"headline"` // in words, empty without a value
	Controller string   `json:"controller"`
	Faults     string   `json:"faults"` // empty for none
	Valid      int      `json:"valid"`
	Invalid    int      `json:"invalid"`
}

// event is one item for the page. Numbers that are none are null.
type event struct {
	At     float64  `json:"at"` // s since the run began
	Kind   ItemKind `json:"kind"`
	Text   string   `json:"text,omitempty"`
	Target string   `json:"target,omitempty"`
	Cell   string   `json:"cell,omitempty"`
	Metric string   `json:"metric,omitempty"`
	Unit   string   `json:"unit,omitempty"`
	N      int64    `json:"n,omitempty"`
	Value  *float64 `json:"value"`
	P99    *float64 `json:"p99"`
	Valid  bool     `json:"valid"`
	Node   int32    `json:"node,omitempty"`
	Epoch  int32    `json:"epoch"`
}

// over is the event "over": the run has ended.
type over struct {
	Verdict string `json:"verdict"`
	Report  string `json:"report"`
}

// stream sends server-sent events: all that is remembered, or what came after
// Last-Event-ID, then what is new, each time followed by the state.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		http.Error(w, fmt.Sprintf("%d pages are open already; close one", maxStreams), http.StatusServiceUnavailable)
		return
	}
	seq, _ := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64)
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	out := &eventWriter{w: w, control: http.NewResponseController(w), seq: max(seq, 0)}
	if r.Method == http.MethodHead {
		return
	}
	tick := time.NewTicker(streamInterval)
	defer tick.Stop()
	for {
		if !out.catchUp(s.board) {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		case <-s.ended:
			out.catchUp(s.board)
			return
		}
	}
}

// eventWriter writes events to one client.
type eventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	seq     int64 // of the last item sent
	over    bool
}

// catchUp sends what is new, and reports whether the stream goes on.
func (o *eventWriter) catchUp(b *Board) bool {
	// A client that takes nothing for so long is given up.
	if o.control.SetWriteDeadline(time.Now().Add(writeTimeout)) != nil {
		return false
	}
	for range maxItems/streamItems + 1 {
		items, _ := b.Items(o.seq, streamItems)
		for _, i := range items {
			if !o.send("item", eventOf(i), i.Seq) {
				return false
			}
			o.seq = i.Seq
		}
		if len(items) < streamItems {
			break
		}
	}
	s := b.Snapshot()
	if !o.send("state", stateOf(s), o.seq) {
		return false
	}
	if s.Result != nil && !o.over {
		o.over = true
		o.send("over", over{s.Result.Verdict, s.Result.Report}, o.seq)
	}
	return o.control.Flush() == nil && !o.over
}

func (o *eventWriter) send(name string, data any, seq int64) bool {
	b, err := json.Marshal(data)
	if err != nil {
		return false
	}
	_, err = fmt.Fprintf(o.w, "event: %s\nid: %d\ndata: %s\n\n", name, seq, b)
	return err == nil
}

func stateOf(s Snapshot) state {
	p := s.Progress
	out := state{Name: s.Name, Doing: "starting", Elapsed: s.Elapsed.Seconds(), Controller: controllerText(p.Controller)}
	if !s.Started {
		return out
	}
	out.Place, out.Doing = place(p), doing(p)
	out.Metric, out.Headline = p.Headline.Metric, headlineText(p.Headline)
	out.Faults, out.Valid, out.Invalid = faultsText(p.Faults), p.Valid, p.Invalid
	if s.LeftKnown {
		left := s.Left.Seconds()
		out.Left = &left
	}
	return out
}

func eventOf(i Item) event {
	e := event{
		At: i.At.Seconds(), Kind: i.Kind, Text: i.Text, Target: i.Target, Cell: i.Cell, Metric: i.Metric,
		Unit: string(i.Unit), N: i.N, Valid: i.Valid, Node: i.Node, Epoch: i.Epoch,
	}
	if i.Kind == ItemTrial || i.Kind == ItemSample {
		e.Value, e.P99 = number(i.Value), number(i.P99)
	}
	return e
}

// number is v, nil where JSON has no number for it.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
