package nodeconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWriteThenLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.json")
	linger := Duration(0)
	c := &Config{
		Name: "c1", Role: RoleController, Mode: ModeKRaft, DataDir: "d", ClusterID: clusterID,
		Quorum: Quorum{NodeID: 3, Voters: []Voter{{ID: 3, Host: "127.0.0.1", Port: 1}}},
		Timers: Timers{FetchTimeout: Duration(2 * time.Second)}, Tuning: Tuning{AppendLinger: &linger},
	}
	if err := c.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.Timers.FetchTimeout.D() != 2*time.Second || got.Tuning.AppendLinger == nil {
		t.Fatalf("got %+v", got)
	}
}

func TestLoadNamesEveryFault(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.json")
	if err := os.WriteFile(path, []byte(`{"role":"broker","mode":"zk","brokers":[{"id":0,"logDirs":["a","",  "b/../a"]},{"id":0,"logDirs":["a"]}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Load(path)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"name is empty", "dataDir", "brokers[0].id", "brokers[0].port", "brokers[0].logDirs[1] is empty", "brokers[0].logDirs[2] b/../a is used twice", "brokers[1].logDirs[0] a is used twice", "zookeeper.servers", "sessionTimeout"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q: %v", want, err)
		}
	}
	if err := os.WriteFile(path, []byte(`{"nmae":"x"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "nmae") {
		t.Errorf("unknown key: %v", err)
	}
}
