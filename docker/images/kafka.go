package images

import (
	"path/filepath"
	"slices"
)

// Kafka is the image of a local Apache Kafka: every jar of its libs directory,
// and the Java runtime of the java program given.
func Kafka(version, java, libs string) (Build, error) {
	jars, err := filepath.Glob(filepath.Join(libs, "*.jar"))
	if err != nil {
		return Build{}, err
	}
	slices.Sort(jars)
	return jarImage("kafka", version, java, jars, kafkaDockerfile)
}
