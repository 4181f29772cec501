package access

import "strconv"

// ResourceType is Kafka's number for a kind of resource.
type ResourceType int8

// The kinds of resources; AnyResource is for filters alone.
const (
	AnyResource     ResourceType = 1
	Topic           ResourceType = 2
	Group           ResourceType = 3
	Cluster         ResourceType = 4
	TransactionalID ResourceType = 5
	DelegationToken ResourceType = 6
	User            ResourceType = 7
)

// ClusterName is the name of the one resource of type Cluster.
const ClusterName = "kafka-cluster"

// PatternType is Kafka's number for how a resource name is meant.
type PatternType int8

// The pattern types; AnyPattern and Match are for filters alone. Match finds
// all bindings that act on a resource of the name.
const (
	AnyPattern PatternType = 1
	Match      PatternType = 2
	Literal    PatternType = 3
	Prefixed   PatternType = 4
)

// Operation is Kafka's number for what is done.
type Operation int8

// The operations; AnyOperation is for filters, All grants or denies each.
const (
	AnyOperation    Operation = 1
	All             Operation = 2
	Read            Operation = 3
	Write           Operation = 4
	Create          Operation = 5
	Delete          Operation = 6
	Alter           Operation = 7
	Describe        Operation = 8
	ClusterAction   Operation = 9
	DescribeConfigs Operation = 10
	AlterConfigs    Operation = 11
	IdempotentWrite Operation = 12
	CreateTokens    Operation = 13
	DescribeTokens  Operation = 14
)

// Permission is Kafka's number for what a binding does.
type Permission int8

// The permissions; AnyPermission is for filters alone.
const (
	AnyPermission Permission = 1
	Deny          Permission = 2
	Allow         Permission = 3
)

var (
	resourceNames   = [...]string{1: "Any", 2: "Topic", 3: "Group", 4: "Cluster", 5: "TransactionalId", 6: "DelegationToken", 7: "User"}
	patternNames    = [...]string{1: "Any", 2: "Match", 3: "Literal", 4: "Prefixed"}
	operationNames  = [...]string{1: "Any", 2: "All", 3: "Read", 4: "Write", 5: "Create", 6: "Delete", 7: "Alter", 8: "Describe", 9: "ClusterAction", 10: "DescribeConfigs", 11: "AlterConfigs", 12: "IdempotentWrite", 13: "CreateTokens", 14: "DescribeTokens"}
	permissionNames = [...]string{1: "Any", 2: "Deny", 3: "Allow"}
)

// String gives Kafka's name, as it stands in znodes: Topic, TransactionalId.
func (t ResourceType) String() string { return nameOf(resourceNames[:], int(t)) }

// String gives Kafka's name, as it stands in znodes: Literal, Prefixed.
func (t PatternType) String() string { return nameOf(patternNames[:], int(t)) }

// String gives Kafka's name, as it stands in znodes: Read, ClusterAction.
func (o Operation) String() string { return nameOf(operationNames[:], int(o)) }

// String gives Kafka's name, as it stands in znodes: Allow, Deny.
func (p Permission) String() string { return nameOf(permissionNames[:], int(p)) }

func nameOf(names []string, n int) string {
	if n > 0 && n < len(names) && names[n] != "" {
		return names[n]
	}
	return strconv.Itoa(n)
}

// ParseResourceType reads the name of a kind of resource; ok is false for a
// name that is none.
func ParseResourceType(s string) (t ResourceType, ok bool) {
	n, ok := numberOf(resourceNames[:], s)
	return ResourceType(n), ok
}

// ParsePatternType reads Literal and Prefixed, and the types of filters.
func ParsePatternType(s string) (t PatternType, ok bool) {
	n, ok := numberOf(patternNames[:], s)
	return PatternType(n), ok
}

// ParseOperation reads the name of an operation.
func ParseOperation(s string) (o Operation, ok bool) {
	n, ok := numberOf(operationNames[:], s)
	return Operation(n), ok
}

// ParsePermission reads Allow and Deny.
func ParsePermission(s string) (p Permission, ok bool) {
	n, ok := numberOf(permissionNames[:], s)
	return Permission(n), ok
}

func numberOf(names []string, s string) (int, bool) {
	for n, name := range names {
		if name != "" && name == s {
			return n, true
		}
	}
	return 0, false
}
