// Package clientconfig reads the properties file by which Kafka's own tools are
// told how to connect, what they take as --command-config, and makes of it the
// identity of a connection: TLS, SASL or both.
//
// It owns the form of the file (Java's properties), the settings of it that
// secure a connection (security.protocol, sasl.*, ssl.*) and what is wrong with
// them. Of a password it never says more than that it is there. It must not know
// who connects, nor to whom; a file is read once, by the goroutine that calls.
//
//	c, err := clientconfig.Load("client.properties")
//	conn, err := wire.Dial(ctx, "broker:9093", wire.DialOptions{}.With(c.Identity))
package clientconfig
