package machine

import (
	"slices"

	"kbench/kafka"
)

// purgatory holds the answers that wait for their offset to be stable, in
// order of their offsets: each is parked at the head, which never goes back
// but by renouncing, when all answers fail.
type purgatory struct{ parked []parked }

type parked struct {
	offset   kafka.Offset
	request  Request // without a body for the machine's own operations
	decision decision
}

func (p *purgatory) park(offset kafka.Offset, r Request, d decision) {
	d.records = nil
	p.parked = append(p.parked, parked{offset, r, d})
}

// release takes out what waits for offsets up to last.
func (p *purgatory) release(last kafka.Offset) []parked {
	n := 0
	for n < len(p.parked) && p.parked[n].offset <= last {
		n++
	}
	due := slices.Clone(p.parked[:n])
	clear(p.parked[:n])
	p.parked = p.parked[n:]
	return due
}

// clear takes out all.
func (p *purgatory) clear() []parked {
	all := p.parked
	p.parked = nil
	return all
}

// len counts the requests, without the machine's own operations.
func (p *purgatory) len() int {
	n := 0
	for _, e := range p.parked {
		if e.request.Body != nil {
			n++
		}
	}
	return n
}
