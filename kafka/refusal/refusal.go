package refusal

import (
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
)

// Of gives the response to body that refuses all of it with code, and with text
// where the response has room for one; "" sends none. It is nil for a request
// whose response this package cannot shape: no node serves one.
func Of(body kmsg.Request, code kafka.ErrorCode, text string) kmsg.Response {
	r := refused{code: int16(code)}
	if text != "" {
		r.text = &text
	}
	resp := body.ResponseKind()
	itemized := r.clientItems(body, resp) || r.topicItems(body, resp) || r.entityItems(body, resp)
	if !r.top(resp) && !itemized {
		return nil
	}
	return resp
}

// refused is what every item of a response says.
type refused struct {
	code int16
	text *string
}

// top fills what a response has beside its items, and reports whether it has a
// code there.
func (r refused) top(kresp kmsg.Response) bool {
	switch resp := kresp.(type) {
	case *kmsg.CreateDelegationTokenResponse:
		resp.IssueTimestamp, resp.ExpiryTimestamp, resp.MaxTimestamp = -1, -1, -1
	case *kmsg.RenewDelegationTokenResponse:
		resp.ExpiryTimestamp = -1
	case *kmsg.ExpireDelegationTokenResponse:
		resp.ExpiryTimestamp = -1
	case *kmsg.BrokerHeartbeatResponse:
		resp.IsFenced = true
	case *kmsg.BrokerRegistrationResponse:
		resp.BrokerEpoch = int64(kafka.NoBrokerEpoch)
	case *kmsg.FindCoordinatorResponse:
		resp.NodeID, resp.Port = -1, -1
	}
	v := reflect.ValueOf(kresp).Elem()
	if message := v.FieldByName("ErrorMessage"); message.IsValid() && r.text != nil {
		message.Set(reflect.ValueOf(r.text))
	}
	code := v.FieldByName("ErrorCode")
	if code.IsValid() {
		code.SetInt(int64(r.code))
	}
	return code.IsValid()
}
