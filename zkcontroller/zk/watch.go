package zk

import "slices"

// Watch registers interest in the data and existence of a path: from now on
// Get and Exists of it arm a watch, and its events are delivered. Registering
// does not read.
func (s *Session) Watch(path string) { s.register(s.nodes, path) }

// WatchChildren registers interest in the children of a path: from now on
// Children of it arms a watch.
func (s *Session) WatchChildren(path string) { s.register(s.children, path) }

// Unwatch drops both registrations. A watch that is armed at the server may
// still fire; its event is dropped.
func (s *Session) Unwatch(path string) {
	s.watchMu.Lock()
	defer s.watchMu.Unlock()
	delete(s.nodes, path)
	delete(s.children, path)
}

func (s *Session) register(m map[string]struct{}, path string) {
	s.watchMu.Lock()
	defer s.watchMu.Unlock()
	m[path] = struct{}{}
}

func (s *Session) watched(path string, children bool) bool {
	s.watchMu.RLock()
	defer s.watchMu.RUnlock()
	m := s.nodes
	if children {
		m = s.children
	}
	_, ok := m[path]
	return ok
}

func (s *Session) anyWatch() bool {
	s.watchMu.RLock()
	defer s.watchMu.RUnlock()
	return len(s.nodes)+len(s.children) > 0
}

// UnwatchAll drops every registration but those of the paths to keep.
func (s *Session) UnwatchAll(keep ...string) {
	s.watchMu.Lock()
	defer s.watchMu.Unlock()
	for path := range s.nodes {
		if !slices.Contains(keep, path) {
			delete(s.nodes, path)
		}
	}
	for path := range s.children {
		if !slices.Contains(keep, path) {
			delete(s.children, path)
		}
	}
}
