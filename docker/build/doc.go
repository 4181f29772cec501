// Command build makes the images that the docker provider runs, from this
// machine's own files, and prints their names. The provider does the same by
// itself when an image is missing; this is for doing it beforehand.
//
//	go run ./docker/build -node bin/kbench -kafka 3.9.2,4.4.0
package main
