package wire

import (
	"errors"
	"net"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
)

func TestEnvelopeRoundTrip(t *testing.T) {
	for _, version := range []int16{0, 4, 7} { // from plain to flexible
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Version, req.TimeoutMillis = version, 1234
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions = "a", 3
		req.Topics = append(req.Topics, topic)
		client := &Request{
			Key: 19, Version: version, CorrelationID: 7, ClientID: "c", Principal: "User:ann", Body: req,
			Remote: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 9},
		}
		env := WrapRequest(client, 99)
		got, err := UnwrapRequest(&Request{Listener: "CONTROLLER"}, env)
		if err != nil {
			t.Fatal(err)
		}
		body := got.Body.(*kmsg.CreateTopicsRequest)
		if got.Principal != "User:ann" || got.ClientID != "c" || got.CorrelationID != 99 || got.Listener != "CONTROLLER" ||
			got.Remote.(*net.TCPAddr).IP.String() != "10.1.2.3" || body.Topics[0].Topic != "a" || body.TimeoutMillis != 1234 {
			t.Fatalf("version %d: got %+v", version, got)
		}
		resp := kmsg.NewPtrCreateTopicsResponse()
		rt := kmsg.NewCreateTopicsResponseTopic()
		rt.Topic, rt.ErrorCode = "a", int16(kafka.TopicAlreadyExists)
		resp.Topics = append(resp.Topics, rt)
		back, err := UnwrapResponse(req, WrapResponse(got, resp))
		if err != nil {
			t.Fatal(err)
		}
		if r := back.(*kmsg.CreateTopicsResponse); len(r.Topics) != 1 || r.Topics[0].ErrorCode != int16(kafka.TopicAlreadyExists) {
			t.Fatalf("version %d: answer %+v", version, r)
		}
	}
}

func TestEnvelopeRefuses(t *testing.T) {
	good := WrapRequest(&Request{Principal: "User:a", Body: metadataRequest(12, "t")}, 1)
	for name, tc := range map[string]struct {
		change func(*kmsg.EnvelopeRequest)
		want   kafka.ErrorCode
	}{
		"no principal":      {func(e *kmsg.EnvelopeRequest) { e.RequestPrincipal = nil }, kafka.PrincipalDeserialization},
		"principal version": {func(e *kmsg.EnvelopeRequest) { e.RequestPrincipal = []byte{0, 1, 0} }, kafka.PrincipalDeserialization},
		"principal cut":     {func(e *kmsg.EnvelopeRequest) { e.RequestPrincipal = e.RequestPrincipal[:4] }, kafka.PrincipalDeserialization},
		"no request":        {func(e *kmsg.EnvelopeRequest) { e.RequestData = nil }, kafka.InvalidRequest},
		"request cut":       {func(e *kmsg.EnvelopeRequest) { e.RequestData = e.RequestData[:len(e.RequestData)-2] }, kafka.InvalidRequest},
		"unknown key":       {func(e *kmsg.EnvelopeRequest) { e.RequestData = []byte{3, 0, 0, 0, 0, 0, 0, 0, 0, 0} }, kafka.UnsupportedVersion},
	} {
		env := *good
		tc.change(&env)
		_, err := UnwrapRequest(&Request{}, &env)
		if !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
	env := kmsg.NewPtrEnvelopeResponse()
	env.ErrorCode = int16(kafka.NotController)
	if _, err := UnwrapResponse(metadataRequest(12, "t"), env); !errors.Is(err, kafka.NotController) {
		t.Errorf("error of the envelope: %v", err)
	}
	env.ErrorCode = 0
	if _, err := UnwrapResponse(metadataRequest(12, "t"), env); err == nil {
		t.Error("an empty answer was decoded")
	}
}
