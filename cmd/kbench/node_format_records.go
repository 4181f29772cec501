package main

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kbench/kafka/access"
	"kbench/kafka/metadata"
)

// records are what the cluster begins with: the levels of the features,
// metadata.version first and the others by name, and the credentials.
func (f *formatFlags) records() (metadata.MetadataVersion, [][]byte, error) {
	version := metadata.DefaultMetadataVersion
	if f.release != "" {
		var err error
		if version, err = metadata.ParseMetadataVersion(f.release); err != nil {
			return 0, nil, fmt.Errorf("--release-version: %w", err)
		}
	}
	levels, err := f.levels(version)
	if err != nil {
		return version, nil, err
	}
	records := version.LevelRecords(levels)
	if len(f.scram) > 0 && version < metadata.V3_5_IV2 {
		return version, nil, fmt.Errorf("--add-scram: metadata.version %s has no such records; give --release-version %s or newer", version, metadata.V3_5_IV2)
	}
	for _, text := range f.scram {
		r, err := parseScram(text)
		if err != nil {
			return version, nil, fmt.Errorf("--add-scram: %w; write SCRAM-SHA-256=[name=USER,password=SECRET]", err)
		}
		records = append(records, r)
	}
	values := make([][]byte, len(records))
	for i, r := range records {
		if values[i], err = metadata.AppendRecord(nil, r, version.RecordVersion(r)); err != nil {
			return version, nil, err
		}
	}
	return version, values, nil
}

// levels are those of the release, but for what --feature says.
func (f *formatFlags) levels(version metadata.MetadataVersion) (map[string]int16, error) {
	levels := version.ReleaseLevels()
	known := map[string]bool{metadata.KRaftVersionFeature: true}
	for _, name := range metadata.FeatureNames() {
		known[name] = true
	}
	delete(known, metadata.MetadataVersionFeature) // --release-version gives it
	for _, text := range f.features {
		name, levelText, ok := strings.Cut(text, "=")
		level, err := strconv.ParseInt(levelText, 10, 16)
		switch {
		case !ok || err != nil || level < 0:
			return nil, fmt.Errorf("--feature %q is not NAME=LEVEL", text)
		case name == metadata.MetadataVersionFeature:
			return nil, errors.New("--feature metadata.version: use --release-version instead")
		case !known[name]:
			return nil, fmt.Errorf("--feature %q: known are %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		case name == metadata.KRaftVersionFeature:
			if dynamic := f.standalone != "" || f.initial != "" || f.noInitial; (level == 1) != dynamic || level > 1 {
				return nil, fmt.Errorf("--feature kraft.version=%d: it is 1 with --standalone, --initial-controllers or --no-initial-controllers, and 0 without", level)
			}
		case level > int64(metadata.SupportedFeatures()[name].Max):
			return nil, fmt.Errorf("--feature %s=%d: levels 0 to %d are known", name, level, metadata.SupportedFeatures()[name].Max)
		default:
			levels[name] = int16(level)
		}
	}
	levelOf := func(name string) int16 {
		if name == metadata.MetadataVersionFeature {
			return int16(version)
		}
		return levels[name]
	}
	for _, name := range slices.Sorted(maps.Keys(levels)) {
		if err := metadata.JudgeFeatureLevel(name, levels[name], levelOf); err != nil {
			return nil, fmt.Errorf("--feature %s=%d: %w", name, levels[name], err)
		}
	}
	return levels, nil
}

// scramIterations is Kafka's number where none is given.
const scramIterations = 4096

// parseScram reads MECHANISM=[name=USER,password=SECRET], with iterations and a
// salt in base64 where the caller wants to choose them.
func parseScram(text string) (*metadata.UserScramCredentialRecord, error) {
	name, rest, ok := strings.Cut(text, "=[")
	mechanism, known := access.ParseMechanism(name)
	rest, closed := strings.CutSuffix(rest, "]")
	if !ok || !known || !closed {
		return nil, fmt.Errorf("%q is no mechanism with settings in brackets", name)
	}
	settings := map[string]string{}
	for part := range strings.SplitSeq(rest, ",") {
		k, v, ok := strings.Cut(part, "=")
		if !ok || !slices.Contains([]string{"name", "password", "iterations", "salt"}, k) {
			return nil, fmt.Errorf("setting %q is not name, password, iterations or salt", k)
		}
		settings[k] = strings.Trim(v, `"`)
	}
	if settings["name"] == "" || settings["password"] == "" {
		return nil, errors.New("name or password is missing")
	}
	iterations := scramIterations
	if v := settings["iterations"]; v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < scramIterations || n > 16384 {
			return nil, fmt.Errorf("iterations %q are not from 4096 to 16384", v)
		}
		iterations = n
	}
	salt := []byte(rand.Text())
	if v := settings["salt"]; v != "" {
		var err error
		if salt, err = base64.StdEncoding.DecodeString(v); err != nil {
			return nil, fmt.Errorf("salt: %w", err)
		}
	}
	salted, err := mechanism.SaltPassword(settings["password"], salt, int32(iterations))
	if err != nil {
		return nil, err
	}
	keys := mechanism.KeysOf(salted, salt, int32(iterations))
	return &metadata.UserScramCredentialRecord{
		Name: settings["name"], Mechanism: mechanism, Salt: keys.Salt, StoredKey: keys.StoredKey, ServerKey: keys.ServerKey, Iterations: keys.Iterations,
	}, nil
}
