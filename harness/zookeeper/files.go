package zookeeper

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kbench/harness/jvm"
)

// configure writes zoo.cfg, myid and the logging files, and composes the
// command.
func (s *Server) configure(cfg Config, id int, quorum string) error {
	conf, data := filepath.Join(s.dir, "conf"), filepath.Join(s.dir, "data")
	for _, dir := range []string{conf, data} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	host, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		filepath.Join(conf, "zoo.cfg"):          Settings(cfg.TickTime, data, host, port, quorum),
		filepath.Join(data, "myid"):             fmt.Sprintln(id),
		filepath.Join(conf, "logback.xml"):      Logback,
		filepath.Join(conf, "log4j.properties"): log4j,
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	flags := Flags(cfg.HeapMB)
	if s.record {
		flags = append(flags, jvm.RecordFlags(s.file("recording"))...)
	}
	s.args = slices.Concat(flags, []string{
		"-XX:ErrorFile=" + filepath.Join(s.dir, "hs_err.log"),
		"-cp", conf + string(os.PathListSeparator) + strings.Join(cfg.ClassPath, string(os.PathListSeparator)),
		MainClass, filepath.Join(conf, "zoo.cfg"),
	})
	return nil
}

// MainClass is what java runs; its argument is the settings file.
const MainClass = "org.apache.zookeeper.server.quorum.QuorumPeerMain"

// Flags are the options of java: a bound for the heap, quiet logs, nothing that
// listens besides ZooKeeper. Everything else is the JVM's own choice.
func Flags(heapMB int) []string {
	return []string{
		fmt.Sprintf("-Xmx%dm", heapMB),
		"-Djava.net.preferIPv4Stack=true", "-Djava.awt.headless=true", "-Dzookeeper.jmx.log4j.disable=true",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true",
	}
}

// Settings is the text of zoo.cfg. It keeps ZooKeeper's defaults: fsync before
// each acknowledgement, limits for joining and following of 20 s and 10 s
// whatever the tick. quorum holds the lines server.N=..., or nothing.
func Settings(tick time.Duration, data, host, port, quorum string) string {
	ticks := func(d time.Duration) int { return int((d + tick - 1) / tick) }
	return fmt.Sprintf(`tickTime=%d
initLimit=%d
syncLimit=%d
dataDir=%s
clientPortAddress=%s
clientPort=%s
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=ruok,srvr,mntr,isro
%s`, tick.Milliseconds(), max(10, ticks(20*time.Second)), max(5, ticks(10*time.Second)), data, host, port, quorum)
}

// Logback is a logback.xml that shows warnings and worse on standard output.
const Logback = `<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d{ISO8601} %-5p [%t:%C{1}] %m%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="OUT"/></root>
</configuration>
`

const log4j = `log4j.rootLogger=WARN, OUT
log4j.appender.OUT=org.apache.log4j.ConsoleAppender
log4j.appender.OUT.layout=org.apache.log4j.PatternLayout
log4j.appender.OUT.layout.ConversionPattern=%d{ISO8601} %-5p [%t:%C{1}] %m%n
`
