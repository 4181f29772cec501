package spec

// Map gives every setting by its path, in the form a spec writes.
func (c Config) Map() map[string]string {
	out := make(map[string]string, len(settings))
	for _, s := range settings {
		out[s.path] = s.get(&c)
	}
	return out
}

// SettingInfo describes one setting for people.
type SettingInfo struct {
	Path    string
	Doc     string
	Default string   // of the default timers
	Targets []Target // those it acts on, nil for all
}

// Settings lists every setting, in the order of documents.
func Settings() []SettingInfo {
	c := defaultConfig()
	out := make([]SettingInfo, 0, len(settings))
	for _, s := range settings {
		out = append(out, SettingInfo{Path: s.path, Doc: s.doc, Default: s.get(&c), Targets: s.targets})
	}
	return out
}
