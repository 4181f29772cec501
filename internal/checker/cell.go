package checker

import "kbench/kafka"

// CheckCell is Check of the history of a cell that ran, in which an invariant that
// looked at nothing proves that a part of the history is lost: every cell creates
// partitions, and asks each broker for its metadata before and after what it
// measures. traced says that its nodes trace who is elected, as all do that kbench
// starts.
func CheckCell(h History, traced bool) Verdict {
	v := Check(h)
	for i := range v {
		if r := &v[i]; r.OK() && r.Looked == 0 {
			if why := h.vacant(r.Name, traced); why != "" {
				r.fault("it looked at nothing: %s", why)
			}
		}
	}
	return v
}

// vacant says why an invariant must have looked at something, "" where it need
// not. An interrupt may come before anything, and its run is invalid as it is.
func (h History) vacant(invariant string, traced bool) string {
	if h.Interrupted {
		return ""
	}
	switch invariant {
	case "acknowledged", "linearizable":
		return "every cell creates partitions, and the history holds no operation"
	case "one-leader", "epochs-forward":
		return "brokers are asked for their leaders at every health gate, and the history holds too few answers"
	case "equal-images":
		if h.asked() > 1 {
			return "several brokers were asked at health gates, and the history holds the final metadata of fewer than two"
		}
	case "one-controller":
		if traced {
			return "the nodes trace who is elected, and the history holds no election"
		}
	}
	return ""
}

// asked counts the brokers that probes asked.
func (h History) asked() int {
	brokers := map[kafka.BrokerID]bool{}
	for _, o := range h.Observations {
		brokers[o.Broker] = true
	}
	return len(brokers)
}
