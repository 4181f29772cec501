package refusal

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
)

// unserved are the requests of which no node of kbench serves every version, and
// that this package cannot refuse in every one: those of groups, transactions
// and data.
var unserved = map[int16]bool{
	8: true, 9: true, 15: true, 21: true, 24: true, 27: true, 28: true, 34: true, 35: true, 42: true, 61: true, 65: true,
	69: true, 75: true, 77: true, 83: true, 84: true, 85: true, 86: true, 87: true, 89: true, 90: true,
}

// Every other request that there is can be refused in each of its versions, so
// that a client that reads the response finds the code, at the top or in an item
// for each that it asked for.
func TestEveryShape(t *testing.T) {
	for key := range int16(kmsg.MaxKey + 1) {
		if req := kmsg.RequestForKey(key); req != nil {
			if fault := refuseAll(req); (fault != "") != unserved[key] {
				t.Errorf("%d %s is listed as unserved: %v; %s", key, kmsg.NameForKey(key), unserved[key], fault)
			}
		}
	}
}

// refuseAll gives the first version of a request that cannot be refused.
func refuseAll(req kmsg.Request) string {
	for v := range req.MaxVersion() + 1 {
		req := kmsg.RequestForKey(req.Key())
		fill(reflect.ValueOf(req).Elem())
		req.SetVersion(v)
		resp := Of(req, kafka.NotController, "why")
		if resp == nil {
			return "no refusal"
		}
		read := req.ResponseKind()
		if err := read.ReadFrom(resp.AppendTo(nil)); err != nil {
			return fmt.Sprintf("version %d: %v", v, err)
		}
		if found := codes(reflect.ValueOf(read).Elem()); found[int16(kafka.NotController)] == 0 {
			return fmt.Sprintf("version %d: a client finds %v", v, found)
		}
	}
	return ""
}

// An item is refused each for itself, by the name that it was asked for.
func TestItems(t *testing.T) {
	req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	req.Deletions = []kmsg.AlterUserSCRAMCredentialsRequestDeletion{{Name: "a"}, {Name: "b"}}
	req.Upsertions = []kmsg.AlterUserSCRAMCredentialsRequestUpsertion{{Name: "b"}, {Name: "c"}}
	var users string
	for _, r := range Of(req, kafka.NotController, "").(*kmsg.AlterUserSCRAMCredentialsResponse).Results {
		users += r.User
		if r.ErrorCode != int16(kafka.NotController) || r.ErrorMessage != nil {
			t.Errorf("%+v", r)
		}
	}
	if users != "abc" {
		t.Errorf("users %q", users)
	}
	del := kmsg.NewPtrDeleteTopicsRequest()
	del.TopicNames = []string{"x", "y"}
	for i, topic := range Of(del, kafka.RequestTimedOut, "late").(*kmsg.DeleteTopicsResponse).Topics {
		if *topic.Topic != del.TopicNames[i] || *topic.ErrorMessage != "late" {
			t.Errorf("%+v", topic)
		}
	}
}

// fill gives a request one item in each list, so that each level is asked for.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "UnknownTags" && v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		if v.Type().Elem().Kind() != reflect.Uint8 {
			fill(v.Index(0))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.String:
		v.SetString("x")
	}
}

// codes counts the values of all fields that hold a code.
func codes(v reflect.Value) map[int16]int {
	out := map[int16]int{}
	var walk func(reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				if v.Type().Field(i).Name == "ErrorCode" {
					out[int16(v.Field(i).Int())]++
				} else {
					walk(v.Field(i))
				}
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		}
	}
	walk(v)
	return out
}
