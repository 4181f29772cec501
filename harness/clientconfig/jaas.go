package clientconfig

import (
	"errors"
	"fmt"
	"strings"
)

// login is an entry of a JAAS configuration: MODULE FLAG key="value" …;
type login struct {
	module  string // the class, without its package
	options map[string]string
}

// parseJAAS reads sasl.jaas.config. Its errors hold no value of an option.
func parseJAAS(text string) (login, error) {
	words, err := tokens(text)
	switch {
	case err != nil:
		return login{}, err
	case len(words) == 0 || words[0] == ";":
		return login{}, errors.New("names no login module")
	case words[len(words)-1] != ";":
		return login{}, errors.New("does not end with a semicolon")
	case len(words) < 3:
		return login{}, errors.New("has no control flag after the login module")
	}
	l := login{module: words[0][strings.LastIndexByte(words[0], '.')+1:], options: map[string]string{}}
	for rest := words[2 : len(words)-1]; len(rest) > 0; rest = rest[3:] {
		if len(rest) < 3 || rest[1] != "=" || rest[2] == "=" || rest[2] == ";" {
			return login{}, fmt.Errorf("has no value for the option after %d others", len(l.options))
		}
		l.options[rest[0]] = rest[2]
	}
	return l, nil
}

// tokens parts words, quoted texts, = and ; from each other.
func tokens(text string) ([]string, error) {
	var out []string
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case strings.IndexByte(" \t\r\n\f", c) >= 0:
			i++
		case c == '=' || c == ';':
			out = append(out, string(c))
			i++
		case c == '"' || c == '\'':
			word, n, ok := quoted(text[i:])
			if !ok {
				return nil, errors.New("has a quotation mark without its other")
			}
			out = append(out, word)
			i += n
		default:
			n := strings.IndexAny(text[i:], " \t\r\n\f=;\"'")
			if n < 0 {
				n = len(text) - i
			}
			out = append(out, text[i:i+n])
			i += n
		}
	}
	return out, nil
}

// quoted reads a text in quotation marks, in which a backslash takes the next
// character as it is, and gives how long it is with them.
func quoted(text string) (word string, n int, ok bool) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == text[0]:
			return b.String(), i + 1, true
		case text[i] == '\\' && i+1 < len(text):
			i++
		}
		b.WriteByte(text[i])
	}
	return "", 0, false
}
