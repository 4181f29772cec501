// Package testtable holds the tables of a README that name the tests of a thing
// to the tests that there are: each row names one, and each that is named exists.
//
// It must not know what the tables are about.
package testtable
