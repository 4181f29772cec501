package admin

import (
	"errors"
	"fmt"

	"kbench/kafka"
)

// fault is an error that carries its code beside the text, so that the text
// can be sent as it is.
type fault struct {
	code kafka.ErrorCode
	text string
}

// Faultf gives an error of a code; CodeOf and errors.As find the code in it.
func Faultf(code kafka.ErrorCode, format string, args ...any) error {
	return &fault{code, fmt.Sprintf(format, args...)}
}

func (f *fault) Error() string { return f.text }

func (f *fault) Unwrap() error { return f.code }

// CodeOf gives the code of an error: None for nil, UnknownServerError for one
// that carries none.
func CodeOf(err error) kafka.ErrorCode {
	if err == nil {
		return kafka.None
	}
	code := kafka.UnknownServerError
	errors.As(err, &code)
	return code
}
