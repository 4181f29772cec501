// Package access decides who may do what: the bindings of Kafka's authorizer
// (KIP-11, KIP-290), how they combine into an answer, and the keys of SCRAM
// credentials (RFC 5802).
//
// It owns the numbers and names of the protocol's ACL requests, the matching of
// filters and the rule that a denial wins. It must not know where bindings are
// kept (znodes or the metadata log), nor which request asks; both controllers
// and the brokers call it. Everything is pure; an Authorizer is immutable and may be
// shared by any number of goroutines.
//
//	auth := access.NewAuthorizer(access.Config{SuperUsers: []string{"User:admin"}}, bindings)
//	if !auth.Allows(access.Action{Principal: "User:ann", Host: "10.0.0.7", Operation: access.Write,
//		ResourceType: access.Topic, ResourceName: "orders"}) {
//		return kafka.TopicAuthorizationFailed
//	}
package access
