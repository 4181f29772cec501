package workloads

// The clients that can produce beside a load.
const (
	producerPlain = "plain"
	producerFranz = "franz-go"
)
