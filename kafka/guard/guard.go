package guard

import (
	"context"
	"net"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka"
	"kbench/kafka/access"
	"kbench/kafka/refusal"
	"kbench/kafka/wire"
)

// Guard checks requests. Its functions are called on connections' goroutines.
type Guard struct {
	// Authorizer gives the authorizer of the moment; nil allows everything but
	// requests about ACLs, which nobody would obey.
	Authorizer func() *access.Authorizer
	// TopicName finds the name of a topic id; nil where ids are not known.
	TopicName func(id [16]byte) (string, bool)
	// Controller guards a KRaft controller, whose Fetch and DescribeCluster need
	// more than a broker's; false guards a broker, and on a controller would
	// show everybody the metadata log.
	Controller bool
}

// rule checks one request and calls next with what is allowed of it.
type rule func(c client, r *wire.Request, next func() (kmsg.Response, error)) (kmsg.Response, error)

// Wrap gives the APIs with the guard before their handlers. APIs without a rule
// need no permission in Kafka.
func (g Guard) Wrap(apis []wire.API) []wire.API {
	out := make([]wire.API, len(apis))
	for i, a := range apis {
		a.Handle = g.Handler(a.Handle)
		out[i] = a
	}
	return out
}

// Handler gives handle with the guard before it, for any key.
func (g Guard) Handler(handle wire.Handler) wire.Handler {
	return func(ctx context.Context, r *wire.Request) (kmsg.Response, error) {
		if r.ByToken && aboutTokens(r.Key) {
			return refusal.Of(r.Body, kafka.DelegationTokenRequestNotAllowed, ""), nil
		}
		check := g.ruleOf(r)
		c := client{g, g.Authorizer(), r.Principal, hostOf(r.Remote)}
		next := func() (kmsg.Response, error) { return handle(ctx, r) }
		switch {
		case c.auth == nil && aboutACLs(r.Key):
			return refusal.Of(r.Body, kafka.SecurityDisabled, "no authorizer is configured here that would obey ACLs"), nil
		case c.auth != nil && check != nil:
			handled := next
			next = func() (kmsg.Response, error) { return check(c, r, handled) }
		}
		resp, err := next()
		if err == nil {
			c.tellOperations(r.Body, resp)
		}
		return resp, err
	}
}

// aboutACLs: DescribeAcls, CreateAcls, DeleteAcls.
func aboutACLs(key int16) bool { return key >= 29 && key <= 31 }

// client is who asks, and whom to ask about them.
type client struct {
	Guard
	auth            *access.Authorizer // nil allows everything
	principal, host string
}

func (c client) may(op access.Operation, kind access.ResourceType, name string) bool {
	return c.auth.Allows(access.Action{
		Principal: c.principal, Host: c.host, Operation: op, ResourceType: kind, ResourceName: name,
	})
}

func (c client) mayCluster(op access.Operation) bool {
	return c.may(op, access.Cluster, access.ClusterName)
}

// mayTopic judges a topic that is named, or by its id where name is empty. An
// unknown id is let through: the handler says that it is unknown.
func (c client) mayTopic(op access.Operation, name string, id [16]byte) bool {
	if name == "" && id != [16]byte{} && c.TopicName != nil {
		known := false
		if name, known = c.TopicName(id); !known {
			return true
		}
	}
	return c.may(op, access.Topic, name)
}

// hostOf gives the address without its port.
func hostOf(a net.Addr) string {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.IP.String()
	}
	return ""
}

// split keeps the items that are allowed, and gives the others.
func split[T any](items []T, allowed func(*T) bool) (kept, denied []T) {
	for i := range items {
		if allowed(&items[i]) {
			kept = append(kept, items[i])
		} else {
			denied = append(denied, items[i])
		}
	}
	return kept, denied
}

// partly asks the handler for the items that are allowed, and has refuse answer
// for each of the others in the handler's response.
func partly[T any, R kmsg.Response](req kmsg.Request, items *[]T, allowed func(*T) bool, next call, refuse func(R, T)) (kmsg.Response, error) {
	kept, denied := split(*items, allowed)
	if len(denied) == 0 {
		return next()
	}
	*items = kept
	kresp, err := rest(req, len(kept), next)
	if resp, ok := kresp.(R); ok && err == nil {
		for _, item := range denied {
			refuse(resp, item)
		}
	}
	return kresp, err
}

// refused are the codes of refusals.
const (
	refusedTopic   = int16(kafka.TopicAuthorizationFailed)
	refusedCluster = int16(kafka.ClusterAuthorizationFailed)
)
