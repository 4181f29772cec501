package spec

// Map gives every setting by its path, in the form a spec writes.
func (c Config) Map() map[string]string {
	out := make(map[string]string, len(settings))
	for _, s := range settings {
		out[s.path] = s.get(&c)
	}
	return out
}
