package interop

import (
	"os"
	"path/filepath"
	"testing"
)

// The files that tell Kafka how to log, for log4j 1 (up to 3.9) and 2. Real
// nodes log everything from INFO on, with the time first; tools show warnings of
// their clients among what they print.
const (
	realLog1 = `log4j.rootLogger=INFO, OUT
log4j.appender.OUT=org.apache.log4j.ConsoleAppender
log4j.appender.OUT.layout=org.apache.log4j.PatternLayout
log4j.appender.OUT.layout.ConversionPattern=%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} %p %c{1} %m%n
`
	realLog2 = `status=WARN
rootLogger.level=INFO
rootLogger.appenderRef.out.ref=OUT
appender.out.type=Console
appender.out.name=OUT
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} %p %c{1} %m%n
`
	toolsLog1 = `log4j.rootLogger=WARN, OUT
log4j.appender.OUT=org.apache.log4j.ConsoleAppender
log4j.appender.OUT.follow=true
log4j.appender.OUT.layout=org.apache.log4j.PatternLayout
log4j.appender.OUT.layout.ConversionPattern=%p %c{1} %m%n
`
	toolsLog2 = `status=WARN
rootLogger.level=WARN
rootLogger.appenderRef.out.ref=OUT
appender.out.type=Console
appender.out.name=OUT
appender.out.follow=true
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%p %c{1} %m%n
`
)

// logging writes both files into a directory and gives the flags of the JVM that
// name them.
func logging(t *testing.T, dir, name, one, two string) []string {
	t.Helper()
	file1, file2 := filepath.Join(dir, name+".log4j.properties"), filepath.Join(dir, name+".log4j2.properties")
	for file, text := range map[string]string{file1: one, file2: two} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"-Dlog4j.configuration=file:" + file1, "-Dlog4j2.configurationFile=" + file2}
}

// realLogging is how a real node logs.
func realLogging(t *testing.T, dir string) []string {
	t.Helper()
	return logging(t, dir, "interop", realLog1, realLog2)
}
