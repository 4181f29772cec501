package docker

import (
	"encoding/json"
	"errors"
	"io"
)

// buildError reads the engine's stream of messages to its end and gives the
// error in it, if there is one.
func buildError(r io.Reader) error {
	for d := json.NewDecoder(r); ; {
		var m struct {
			Error       string `json:"error"`
			ErrorDetail struct {
				Message string `json:"message"`
			} `json:"errorDetail"`
		}
		switch err := d.Decode(&m); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case m.ErrorDetail.Message != "":
			return errors.New(m.ErrorDetail.Message)
		case m.Error != "":
			return errors.New(m.Error)
		}
	}
}
