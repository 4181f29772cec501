#!/usr/bin/env bash
# fetch.sh VERSION ROOT: puts the jars of Apache Kafka VERSION into
# ROOT/VERSION/libs, as kbench looks for them; where VERSION is "shell", those of
# kafka-metadata-shell. Maven checks their checksums; what is there already is
# not fetched again.
set -euo pipefail
version=$1 root=$2
libs=$root/$version/libs
jar=kafka_2.13-$version.jar
case $version in
  shell) pom=shell.xml jar=kafka-shell-4.3.1.jar ;;
  2.* | 3.*) pom=kafka3.xml ;; # with ZooKeeper mode, logs by log4j 1
  *) pom=kafka4.xml ;;         # KRaft alone, logs by log4j 2
esac
if [ -e "$libs/$jar" ]; then
  echo "Apache Kafka $version is in $libs"
  exit 0
fi
command -v mvn >/dev/null || { echo "Maven is missing: apt-get install maven, or set KAFKA_HOME to an unpacked release" >&2; exit 1; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$root/$version"
root=$(cd "$root" && pwd)
tmp=$(mktemp -d "$root/.fetch.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
mvn -q -B -C -Dstyle.color=never -f "$here/$pom" -Dkafka.version="$version" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$tmp/libs"
rm -rf "${root:?}/$version/libs"
mv "$tmp/libs" "$root/$version/libs"
echo "Apache Kafka $version: $(find "$root/$version/libs" -name '*.jar' | wc -l) jars in $libs"
