package machine_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kraftcontroller/machine"
)

func Example() {
	m, err := machine.New(machine.Config{ClusterID: "demo", Rand: rand.New(rand.NewPCG(1, 2))})
	if err != nil {
		panic(err)
	}
	// Offset 0 holds the leader change of epoch 1.
	effects, _ := m.Step(0, machine.Claim{Epoch: 1, NextOffset: 1})
	var appended [][]byte
	for _, a := range effects.Appends {
		appended = append(appended, a.Values...)
	}
	req := kmsg.NewPtrBrokerRegistrationRequest()
	req.ClusterID = "demo"
	effects, _ = m.Step(0, machine.Request{ID: 1, Body: req})
	fmt.Println("a broker without directories:", effects.Responses[0].Body.(*kmsg.BrokerRegistrationResponse).ErrorCode)

	req.LogDirs = [][16]byte{{15: 200}}
	req.Features = []kmsg.BrokerRegistrationRequestFeature{{Name: "metadata.version", MinSupportedVersion: 7, MaxSupportedVersion: 25}}
	effects, _ = m.Step(0, machine.Request{ID: 2, Body: req})
	appended = append(appended, effects.Appends[0].Values...)
	fmt.Println("appended at", effects.Appends[0].BaseOffset, "and answered by", len(effects.Responses), "responses")

	effects, _ = m.Step(0, machine.Committed{Epoch: 1, BaseOffset: 0, Control: true, Values: make([][]byte, 1)})
	fmt.Println("leader change stable:", len(effects.Responses), "responses")
	effects, _ = m.Step(0, machine.Committed{Epoch: 1, BaseOffset: 1, Values: appended})
	fmt.Println("all stable: broker epoch", effects.Responses[0].Body.(*kmsg.BrokerRegistrationResponse).BrokerEpoch)
	// Output:
	// a broker without directories: 119
	// appended at 4 and answered by 0 responses
	// leader change stable: 0 responses
	// all stable: broker epoch 4
}
