package kafka

import (
	"bytes"
	"os"
	"reflect"
	"testing"
	"time"

	"kbench/internal/trace"
)

// What Kafka's logs tell, from lines of 3.9.2 and 4.4.0.
func TestWriteTrace(t *testing.T) {
	at := func(text string) int64 {
		v, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		return v.UnixNano() - int64(time.Hour)
	}
	for _, c := range []struct {
		file string
		node string
		want []trace.Event
	}{
		{"testdata/zkbroker.log", "broker-2", []trace.Event{
			{T: at("2026-11-29T21:01:25.070Z"), Kind: trace.BrokerControllerEpoch, Broker: 2, Epoch: 3},
			{T: at("2026-11-29T21:01:29.200Z"), Kind: trace.BrokerControllerEpoch, Broker: 2, Epoch: 4},
			{T: at("2026-11-29T21:02:01.500Z"), Kind: trace.ShutdownGranted, Broker: 2},
		}},
		{"testdata/kraftbroker.log", "broker-1", []trace.Event{
			{T: 761843215038, Kind: trace.BrokerControllerEpoch, Broker: 1, Epoch: 2},
			{T: 799843215038, Kind: trace.ShutdownGranted, Broker: 1},
		}},
		{"testdata/zookeeper.log", "controller-1001", []trace.Event{
			{T: at("2026-11-29T21:01:24.675Z"), Kind: trace.ControllerElected, Epoch: 3},
			{T: at("2026-11-29T21:01:25.064Z"), Kind: trace.ControllerLoaded, Epoch: 3},
			{T: at("2026-11-29T21:01:25.158Z"), Kind: trace.ControllerActive, Epoch: 3},
			{T: at("2026-11-29T21:01:27.306Z"), Kind: trace.BrokerFenced, Broker: 1},
			{T: at("2026-11-29T21:01:27.306Z"), Kind: trace.BrokerFenced, Broker: 2},
		}},
		{"testdata/kraft.log", "controller-1001", []trace.Event{
			{T: 761834971335, Kind: trace.ControllerDetected, Epoch: 1},
			{T: 761877644055, Kind: trace.ControllerElected, Epoch: 2},
			{T: 761956696709, Kind: trace.ControllerLoaded, Epoch: 2},
			{T: 761963197285, Kind: trace.ControllerActive, Epoch: 2},
			{T: 772963197285, Kind: trace.BrokerFenced, Broker: 2},
		}},
	} {
		f, err := os.Open(c.file)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		err = WriteTrace(&b, c.node, f, -time.Hour)
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := trace.Read(&b)
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.want {
			c.want[i].Node = c.node
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c.file, got, c.want)
		}
	}
}

func TestWallToMonotonic(t *testing.T) {
	now := time.Now()
	mono := trace.Now()
	if d := time.Duration(now.UnixNano() + int64(WallToMonotonic()) - mono); d.Abs() > 50*time.Millisecond {
		t.Errorf("off by %v", d)
	}
}
