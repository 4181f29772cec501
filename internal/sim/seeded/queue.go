package seeded

import "time"

// Entry is something that happens at a time.
type Entry[T any] struct {
	At   time.Duration
	Seq  uint64 // order among entries of one time, which is that of Push, from 1
	What T
}

// Queue is a binary heap of entries by time and then by order. The zero value
// is empty.
type Queue[T any] struct {
	heap []Entry[T]
	made uint64
}

// Push makes what happen at a time.
func (q *Queue[T]) Push(at time.Duration, what T) {
	q.made++
	q.heap = append(q.heap, Entry[T]{at, q.made, what})
	for i := len(q.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !q.less(i, up) {
			break
		}
		q.heap[i], q.heap[up] = q.heap[up], q.heap[i]
		i = up
	}
}

// Next is the time of the first entry; ok is false if there is none.
func (q *Queue[T]) Next() (at time.Duration, ok bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0].At, true
}

// Pop takes the first entry out. The queue must not be empty.
func (q *Queue[T]) Pop() Entry[T] {
	e := q.heap[0]
	n := len(q.heap) - 1
	q.heap[0] = q.heap[n]
	q.heap[n] = Entry[T]{}
	q.heap = q.heap[:n]
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && q.less(c+1, c) {
			c++
		}
		if !q.less(c, i) {
			break
		}
		q.heap[i], q.heap[c] = q.heap[c], q.heap[i]
		i = c
	}
	return e
}

func (q *Queue[T]) less(i, j int) bool {
	a, b := &q.heap[i], &q.heap[j]
	if a.At != b.At {
		return a.At < b.At
	}
	return a.Seq < b.Seq
}
