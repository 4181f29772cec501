// Package refusal answers a request of the Kafka protocol with one error for
// all that it asks for, in the shape of that request's own response, as Kafka's
// getErrorResponse does: one code at the top where the response has it, else
// one for each item that was asked for.
//
// It owns the shape of refusals, once for brokers and both controllers. It must
// not know why anything is refused. It is pure; callers keep the request.
//
//	return refusal.Of(req, kafka.NotController, "this is not the controller of the cluster"), nil
package refusal
