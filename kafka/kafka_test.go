package kafka

import "testing"

func TestUUIDRoundTrip(t *testing.T) {
	if got := MetadataTopicID.String(); got != "AAAAAAAAAAAAAAAAAAAAAQ" {
		t.Fatalf("metadata topic id = %s", got)
	}
	u, err := ParseUUID("AAAAAAAAAAAAAAAAAAAAAQ==")
	if err != nil || u != MetadataTopicID {
		t.Fatalf("padded form: %v, %v", u, err)
	}
	for _, bad := range []string{"", "AAAA", "not base64url!!!!!!!!!"} {
		if _, err := ParseUUID(bad); err == nil {
			t.Errorf("ParseUUID(%q) gave no error", bad)
		}
	}
}

func TestEndpointAddr(t *testing.T) {
	for want, e := range map[string]Endpoint{
		"127.0.0.1:9092": {Host: "127.0.0.1", Port: 9092},
		"[::1]:9092":     {Host: "::1", Port: 9092},
	} {
		if got := e.Addr(); got != want {
			t.Errorf("Addr() = %s, want %s", got, want)
		}
	}
}

func TestErrorCode(t *testing.T) {
	if None.Err() != nil {
		t.Error("None is an error")
	}
	if got := NotController.Err().Error(); got != "NOT_CONTROLLER" {
		t.Errorf("got %s", got)
	}
	if got := ErrorCode(999).String(); got != "ERROR_999" {
		t.Errorf("got %s", got)
	}
}

func TestTopicPartitionCompare(t *testing.T) {
	a, b, c := TopicPartition{"a", 2}, TopicPartition{"a", 10}, TopicPartition{"b", 0}
	if a.Compare(b) >= 0 || b.Compare(c) >= 0 || c.Compare(a) <= 0 || a.Compare(a) != 0 {
		t.Error("order is not topic, then partition number")
	}
}
