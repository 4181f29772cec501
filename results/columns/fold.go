package columns

import "slices"

// maxKeys is how many columns name a row at most.
const maxKeys = 2

// keys is how many of the first columns name a row and are repeated where a
// table is folded: those of text before the first number.
func (t Table) keys() int {
	for i := range t.Head {
		if t.right(i) {
			return max(min(i, maxKeys), 1)
		}
	}
	return 1
}

// folded gives the table as several that fit, as even as they can be.
func (t Table) folded(width int) []Table {
	keys := t.keys()
	if keys == len(t.Head) {
		return []Table{t}
	}
	var names []int
	for i := range keys {
		names = append(names, i)
	}
	room := width - t.total(t.widths()[:keys])
	units := t.units(keys)
	if slices.ContainsFunc(units, func(u []int) bool { return t.room(u) > room }) {
		units = t.single(keys)
	}
	best := t.pack(units, room)
	for limit := room - 1; limit > 0; limit-- {
		p := t.pack(units, limit)
		if len(p) > len(best) {
			break
		}
		best = p
	}
	var out []Table
	for _, places := range best {
		out = append(out, t.only(append(append([]int(nil), names...), places...)))
	}
	return out
}

// pack puts units side by side while they have room.
func (t Table) pack(units [][]int, room int) [][]int {
	var out [][]int
	used := 0
	for _, u := range units {
		need := t.room(u)
		if len(out) == 0 || used+need > room {
			out, used = append(out, nil), 0
		}
		last := &out[len(out)-1]
		*last, used = append(*last, u...), used+need
	}
	return out
}

// room is what columns take beside others.
func (t Table) room(places []int) (n int) {
	widths := t.widths()
	for _, i := range places {
		n += widths[i] + t.gap()
	}
	return n
}

// single are the columns each by its own.
func (t Table) single(keys int) [][]int {
	var out [][]int
	for i := keys; i < len(t.Head); i++ {
		out = append(out, []int{i})
	}
	return out
}

// units are the columns that stay together: those of one side where the heads
// of all sides are alike, else a column and those after it without a head.
func (t Table) units(keys int) [][]int {
	size := t.period(keys)
	var out [][]int
	for i := keys; i < len(t.Head); i++ {
		if size > 0 && (i-keys)%size != 0 || size == 0 && t.Head[i] == "" && len(out) > 0 {
			out[len(out)-1] = append(out[len(out)-1], i)
			continue
		}
		out = append(out, []int{i})
	}
	return out
}

// period is after how many columns the heads begin anew, but for the first of
// each side, which has its name. 0 where they do not.
func (t Table) period(keys int) int {
	rest := t.Head[keys:]
next:
	for size := 2; size <= len(rest)/2; size++ {
		if len(rest)%size != 0 {
			continue
		}
		for i, h := range rest {
			if i%size != 0 && (h == "" || h != rest[i%size]) {
				continue next
			}
		}
		return size
	}
	return 0
}
