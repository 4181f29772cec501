package admin

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/access"
)

// ScramDeletion checks the deletion of a credential, whether or not there is
// one (KIP-554).
func ScramDeletion(d *kmsg.AlterUserSCRAMCredentialsRequestDeletion) error {
	return scramCredential(d.Name, d.Mechanism)
}

// ScramUpsertion checks a credential that is to be set (KIP-554).
func ScramUpsertion(u *kmsg.AlterUserSCRAMCredentialsRequestUpsertion) error {
	switch err := scramCredential(u.Name, u.Mechanism); {
	case err != nil:
		return err
	case u.Iterations < access.MinIterations:
		return Faultf(kafka.UnacceptableCredential, "Too few iterations: %d, at least %d are needed", u.Iterations, access.MinIterations)
	case u.Iterations > access.MaxIterations:
		return Faultf(kafka.UnacceptableCredential, "Too many iterations: %d, at most %d are allowed", u.Iterations, access.MaxIterations)
	}
	return nil
}

func scramCredential(user string, mechanism int8) error {
	switch {
	case user == "":
		return Faultf(kafka.UnacceptableCredential, "Username must not be empty")
	case !access.Mechanism(mechanism).Known():
		return Faultf(kafka.UnsupportedSaslMechanism, "Unknown SCRAM mechanism")
	}
	return nil
}

// The errors of credentials that are judged together.
var (
	ErrScramTwice   = Faultf(kafka.DuplicateResource, "A user credential cannot be altered twice in the same request")
	ErrScramMissing = Faultf(kafka.ResourceNotFound, "Attempt to delete a user credential that does not exist")
)
