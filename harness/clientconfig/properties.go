package clientconfig

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// property is one setting with the line on which it begins.
type property struct {
	key, value string
	line       int
}

// parse reads Java's properties (java.util.Properties): comments begin with # or
// !, a key ends at =, : or white space, a backslash at the end continues a line,
// and bytes are Latin-1. Of a key that is written twice the last is meant.
func parse(file []byte) ([]property, error) {
	var out []property
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(latin1(file)), "\n")
	for i := 0; i < len(lines); i++ {
		begun := i + 1
		line := strings.TrimLeft(lines[i], blanks)
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for continued(line) && i+1 < len(lines) {
			i++
			line = line[:len(line)-1] + strings.TrimLeft(lines[i], blanks)
		}
		key, value := cut(line)
		p := property{line: begun}
		var err error
		if p.key, err = unescape(key); err == nil {
			p.value, err = unescape(value)
		}
		if err != nil {
			return nil, fmt.Errorf("%d: %w", begun, err)
		}
		out = append(out, p)
	}
	return out, nil
}

const blanks = " \t\f"

func latin1(b []byte) string {
	runes := make([]rune, len(b))
	for i, c := range b {
		runes[i] = rune(c)
	}
	return string(runes)
}

// continued reports whether a line ends with an odd number of backslashes.
func continued(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// cut parts the key from the value at the first separator that no backslash
// precedes.
func cut(line string) (key, value string) {
	end := len(line)
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			i++
			continue
		}
		if strings.IndexByte("=:"+blanks, line[i]) >= 0 {
			end = i
			break
		}
	}
	rest := strings.TrimLeft(line[end:], blanks)
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], blanks)
	}
	return line[:end], rest
}

func unescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			if s[i] != '\\' {
				b.WriteByte(s[i])
			}
			continue
		}
		i++
		switch s[i] {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			r, err := strconv.ParseUint(s[i+1:min(i+5, len(s))], 16, 16)
			if err != nil || i+5 > len(s) {
				return "", errors.New(`a \u without four hexadecimal digits; write a backslash twice where it stands for itself`)
			}
			b.WriteRune(rune(r))
			i += 4
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), nil
}
