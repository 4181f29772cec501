package spec

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// parseCount reads a whole number: 30000, 30_000, 30k or 3M (powers of ten).
func parseCount(text string) (int64, error) {
	digits, unit := text, int64(1)
	switch {
	case strings.HasSuffix(text, "k"):
		digits, unit = text[:len(text)-1], 1_000
	case strings.HasSuffix(text, "M"):
		digits, unit = text[:len(text)-1], 1_000_000
	}
	bare, ok := plainDigits(digits)
	if !ok {
		if v, err := strconv.ParseFloat(text, 64); err == nil && v == math.Trunc(v) && math.Abs(v) < 1e7 {
			return 0, fmt.Errorf("%q is not written as a whole number; write %d", text, int64(v))
		}
		return 0, fmt.Errorf("%q is not a whole number; write it as 30000, 30_000 or 30k", text)
	}
	n, err := strconv.ParseInt(bare, 10, 64)
	if err != nil || n > math.MaxInt64/unit || n < math.MinInt64/unit {
		return 0, fmt.Errorf("%q is too large a number; write at most 9e18", text)
	}
	return n * unit, nil
}

// plainDigits strips single underscores between digits. A leading minus is
// let through so that the bounds can name it; leading zeros are refused since
// YAML readers disagree on them.
func plainDigits(s string) (string, bool) {
	body := strings.TrimPrefix(s, "-")
	if body == "" || body[0] == '_' || body[len(body)-1] == '_' || strings.Contains(body, "__") {
		return "", false
	}
	if len(body) > 1 && body[0] == '0' {
		return "", false
	}
	for _, r := range body {
		if (r < '0' || r > '9') && r != '_' {
			return "", false
		}
	}
	return strings.ReplaceAll(s, "_", ""), true
}

// formatCount writes the shortest form that parseCount reads.
func formatCount(n int64) string {
	switch {
	case n != 0 && n%1_000_000 == 0:
		return strconv.FormatInt(n/1_000_000, 10) + "M"
	case n != 0 && n%1_000 == 0:
		return strconv.FormatInt(n/1_000, 10) + "k"
	default:
		return strconv.FormatInt(n, 10)
	}
}

// parseDuration reads 5ms, 2s, 1m30s. A number alone is refused, since ten of
// what cannot be known.
func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	_, numErr := strconv.ParseFloat(text, 64)
	switch {
	case numErr == nil:
		return 0, fmt.Errorf("%q has no unit; write %sms or %ss", text, text, text)
	case err != nil:
		return 0, fmt.Errorf("%q is not a duration; write it as 500ms, 2s or 1m30s", text)
	}
	return d, nil
}

// formatDuration writes 2m30s, and 1m0s as 1m.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// parseRate reads events per time: 200/s, 30/m, 0.5/s. The result is per
// second.
func parseRate(text string) (float64, error) {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return 0, fmt.Errorf("%q has no unit; write %s/s", text, text)
	}
	number, unit, ok := strings.Cut(text, "/")
	per := map[string]float64{"s": 1, "m": 60, "h": 3600}[unit]
	if !ok || per == 0 {
		return 0, errors.New(strconv.Quote(text) + " is not a rate; write it as 200/s or 30/m")
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(number, "_", ""), 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("%q is not a number per time; write it as 200/s", text)
	}
	return n / per, nil
}

// formatRate writes a rate per second as parseRate reads it.
func formatRate(perSecond float64) string {
	return strconv.FormatFloat(perSecond, 'f', -1, 64) + "/s"
}

// parseBool reads true and false only: yes, no, on and off mean different
// things to different YAML readers.
func parseBool(text string) (bool, error) {
	switch text {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false; write true or false", text)
}
