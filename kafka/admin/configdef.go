package admin

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kbench/kafka"
)

// The types of a configuration's value, by Kafka's names.
const (
	typeShort   = "SHORT"
	typeInt     = "INT"
	typeLong    = "LONG"
	typeDouble  = "DOUBLE"
	typeBoolean = "BOOLEAN"
	typeString  = "STRING"
	typeList    = "LIST"
)

// configKey defines one configuration.
type configKey struct {
	typ   string
	value string // that holds where none is set
	// check says what is wrong with a value of the type, "" for nothing; nil
	// takes every value.
	check func(value string) string
	// synonyms are the broker configurations that set the default of a topic
	// configuration, the strongest first.
	synonyms []synonym
	internal bool // not shown
}

// ConfigDef are the configurations that a type of resource has in Kafka, and what
// their values may be.
type ConfigDef struct {
	unknown string          // what is said of an unknown name, before it
	code    kafka.ErrorCode // of an unknown name
	keys    map[string]configKey
	// whole checks values, each of which is valid, against each other and against
	// the bounds that Kafka's nodes have by default; nil checks nothing.
	whole func(values map[string]string) error
}

// Validate checks all that a resource would have. The texts are Kafka's, the codes
// INVALID_CONFIG and, for client metrics, INVALID_REQUEST.
func (d *ConfigDef) Validate(values map[string]string) error {
	names := slices.Sorted(maps.Keys(values))
	for _, name := range names {
		if _, ok := d.keys[name]; !ok {
			return Faultf(d.code, "%s: %.249s", d.unknown, name)
		}
	}
	for _, name := range names {
		if why := d.keys[name].wrong(name, strings.TrimSpace(values[name])); why != "" {
			return Faultf(kafka.InvalidConfig, "%s", why)
		}
	}
	if d.whole == nil {
		return nil
	}
	return d.whole(values)
}

// IsList reports whether items can be added to and taken from a value.
func (d *ConfigDef) IsList(name string) bool { return d.keys[name].typ == typeList }

// wrong says what is wrong with a value, as Kafka's ConfigException does.
func (k configKey) wrong(name, value string) string {
	why := k.misread(value)
	if why == "" && k.typ == typeList && k.check == nil {
		if value != "" && slices.Contains(listItems(value), "") {
			return fmt.Sprintf("Configuration '%s' values must not be empty.", name)
		}
		return ""
	}
	if why == "" && k.check != nil {
		why = k.check(value)
	}
	if why == "" {
		return ""
	}
	return fmt.Sprintf("Invalid value %.64s for configuration %s: %s", value, name, why)
}

// misread says why a value is not of the type.
func (k configKey) misread(value string) string {
	var err error
	switch k.typ {
	case typeShort:
		_, err = strconv.ParseInt(value, 10, 16)
	case typeInt:
		_, err = strconv.ParseInt(value, 10, 32)
	case typeLong:
		_, err = strconv.ParseInt(value, 10, 64)
	case typeDouble:
		_, err = strconv.ParseFloat(value, 64)
	case typeBoolean:
		if !strings.EqualFold(value, "true") && !strings.EqualFold(value, "false") {
			return "Expected value to be either true or false"
		}
	}
	if err != nil {
		return "Not a number of type " + k.typ
	}
	return ""
}

func listItems(value string) []string {
	items := strings.Split(value, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
}

// atLeast and between bound a whole number.
func atLeast(typ, value string, least int64) configKey {
	return configKey{typ: typ, value: value, check: func(s string) string {
		if n, _ := strconv.ParseInt(s, 10, 64); n < least {
			return fmt.Sprintf("Value must be at least %d", least)
		}
		return ""
	}}
}

func between(value string, least, most int64) configKey {
	k := atLeast(typeInt, value, least)
	low := k.check
	k.check = func(s string) string {
		if n, _ := strconv.ParseInt(s, 10, 64); n > most {
			return fmt.Sprintf("Value must be no more than %d", most)
		}
		return low(s)
	}
	return k
}

// oneOf takes some texts.
func oneOf(value string, values ...string) configKey {
	return configKey{typ: typeString, value: value, check: func(s string) string {
		if slices.Contains(values, s) {
			return ""
		}
		return "String must be one of: " + strings.Join(values, ", ")
	}}
}

func boolean(value string) configKey { return configKey{typ: typeBoolean, value: value} }
