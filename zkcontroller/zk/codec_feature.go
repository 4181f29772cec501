package zk

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Feature is the data of /feature (KIP-584).
type Feature struct {
	Version  int // of the JSON: 2 from inter-broker protocol 3.3 on, else 1; 0 means 2
	Enabled  bool
	Features map[string]int16 // finalized level by name
}

// Equal reports whether both are the same, version included.
func (f *Feature) Equal(o *Feature) bool {
	return f.Version == o.Version && f.Enabled == o.Enabled && maps.Equal(f.Features, o.Features)
}

// EncodeFeature gives the bytes Kafka 3.9 writes. Version 1 has a lower level
// too, which is the same as the upper one.
func EncodeFeature(f Feature) []byte {
	if f.Version == 0 {
		f.Version = 2
	}
	b := []byte(`{"features":{`)
	for i, name := range slices.Sorted(maps.Keys(f.Features)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, name), ':')
		b = fmt.Appendf(b, `{"max_version_level":%d`, f.Features[name])
		if f.Version == 1 {
			b = fmt.Appendf(b, `,"min_version_level":%d`, f.Features[name])
		}
		b = append(b, '}')
	}
	status := 0
	if f.Enabled {
		status = 1
	}
	return fmt.Appendf(b, `},"version":%d,"status":%d}`, f.Version, status)
}

// DecodeFeature reads /feature of version 1 or 2.
func DecodeFeature(data []byte) (Feature, error) {
	var j struct {
		Version  int  `json:"version"`
		Status   *int `json:"status"`
		Features map[string]struct {
			Max int16 `json:"max_version_level"`
		} `json:"features"`
	}
	if err := json.Unmarshal(data, &j); err != nil {
		return Feature{}, fmt.Errorf("%s %.80q: %w", FeaturePath, data, err)
	}
	if j.Version < 1 || j.Version > 2 || j.Status == nil {
		return Feature{}, fmt.Errorf("%s %.80q has version %d, known are 1 and 2, or no status", FeaturePath, data, j.Version)
	}
	f := Feature{Version: j.Version, Enabled: *j.Status == 1}
	for name, v := range j.Features {
		if f.Features == nil {
			f.Features = map[string]int16{}
		}
		f.Features[name] = v.Max
	}
	return f, nil
}
