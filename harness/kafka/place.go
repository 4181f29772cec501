package kafka

import (
	"path"
	"slices"

	"kbench/harness/provider"
)

// The classes that java runs. The argument of each is named beside it.
const (
	mainClass   = "kafka.Kafka"             // server.properties
	formatClass = "kafka.tools.StorageTool" // format -t ID -c server.properties
)

// Place is where the files of a node are, on this machine or in a container.
// Paths are absolute.
type Place struct {
	Conf string // directory of server.properties and what tells Kafka how to log
	Libs string // directory of the jars
	Data string // log.dirs
}

// Files are the node's configuration, by path. Properties that name log.dirs keep
// them: a broker may have more than one.
func (l Place) Files(p Properties) map[string]string {
	p = Properties{{Key: "log.dirs", Value: l.Data}}.With(p)
	return map[string]string{
		l.properties(): p.File(), path.Join(l.Conf, "log4j2.xml"): log4j2, path.Join(l.Conf, "log4j.properties"): log4j1,
	}
}

// Args are the arguments of java that run the node. jvm are more flags of the
// JVM; they come last, so that they win over those of kbench.
func (l Place) Args(heap string, jvm []string) []string {
	return slices.Concat(Flags(heap), l.base(), jvm, []string{mainClass, l.properties()})
}

// FormatArgs are the arguments of java that format a node's storage, as
// kafka-storage.sh does. It is a short life: the compiler that pays off late is
// left out.
func (l Place) FormatArgs(k provider.Kafka) []string {
	args := slices.Concat([]string{"-XX:TieredStopAtLevel=1"}, l.base(), []string{
		formatClass, "format", "-t", k.ClusterID, "-c", l.properties(),
	})
	if k.MetadataVersion != "" {
		args = append(args, "--release-version", k.MetadataVersion)
	}
	return args
}

// base is what every program of Kafka needs of the JVM.
func (l Place) base() []string {
	return []string{
		"-Djava.awt.headless=true", "-Djava.net.preferIPv4Stack=true",
		"-Dlog4j2.configurationFile=" + path.Join(l.Conf, "log4j2.xml"),
		"-Dlog4j.configuration=file:" + path.Join(l.Conf, "log4j.properties"),
		"-cp", path.Join(l.Libs, "*"),
	}
}

func (l Place) properties() string { return path.Join(l.Conf, "server.properties") }

// Flags are the options that Kafka's start script gives the JVM, with heap for
// both bounds of the heap.
func Flags(heap string) []string {
	return []string{
		"-Xms" + heap, "-Xmx" + heap, "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
		"-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent",
	}
}
