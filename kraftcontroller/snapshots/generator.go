package snapshots

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	"kbench/kafka/metadata"
	"kbench/kraftcontroller/metalog"
	"kbench/kraftcontroller/raftclient"
)

const (
	// DefaultBytes is Kafka's metadata.log.max.record.bytes.between.snapshots.
	DefaultBytes = 20 << 20
	// DefaultInterval is Kafka's metadata.log.max.snapshot.interval.ms.
	DefaultInterval = time.Hour
)

// Config says when a snapshot is due.
type Config struct {
	Bytes    int64         // of log between two snapshots; 0 means DefaultBytes
	Interval time.Duration // a snapshot at least so often while the log grows; 0 means DefaultInterval
	Logger   *slog.Logger  // nil discards
	Now      func() time.Time
}

// Generator writes the snapshots of one node.
type Generator struct {
	cfg    Config
	client *raftclient.Client
	origin time.Time
	due    chan job // without room: Run takes one when it has written the one before

	// Owned by the goroutine that replays.
	bytes int64 // of log since the last
	at    time.Duration

	size    atomic.Int64 // of the last one written
	written atomic.Int64 // when that was, as now
}

// job is a snapshot to be written, of the image that the log has at id.
type job struct {
	id        metalog.SnapshotID
	timestamp int64
	image     *metadata.Image
}

// New makes the generator of a client's node.
func New(client *raftclient.Client, cfg Config) *Generator {
	if cfg.Bytes == 0 {
		cfg.Bytes = DefaultBytes
	}
	if cfg.Interval == 0 {
		cfg.Interval = DefaultInterval
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Generator{cfg: cfg, client: client, origin: cfg.Now(), due: make(chan job)}
}

func (g *Generator) now() time.Duration { return g.cfg.Now().Sub(g.origin) }

// Committed counts a batch that was replayed, and has a snapshot written at its end
// if one is due. That takes the image of the batch's end, which the node does not
// have while a metadata transaction is open.
func (g *Generator) Committed(b *metalog.Batch, image *metadata.Image) {
	g.bytes += int64(b.SizeBytes)
	due := g.bytes >= g.cfg.Bytes || (g.bytes > 0 && g.now()-g.at >= g.cfg.Interval)
	if !due || b.Control || image.Offset() != b.EndOffset()-1 {
		return
	}
	select {
	case g.due <- job{metalog.SnapshotID{EndOffset: b.EndOffset(), Epoch: b.Epoch}, b.Timestamp, image}:
		g.Loaded()
	default: // one is being written, and a later batch will do
	}
}

// Loaded counts a snapshot that came from elsewhere.
func (g *Generator) Loaded() { g.bytes, g.at = 0, g.now() }

// LatestBytes is the size of the last snapshot written.
func (g *Generator) LatestBytes() int64 { return g.size.Load() }

// LatestAgeMs is how long ago that was; without one, how long ago the node was
// started.
func (g *Generator) LatestAgeMs() int64 {
	return (g.now() - time.Duration(g.written.Load())).Milliseconds()
}

// Run writes what is due until ctx ends; a snapshot that is not whole then is
// abandoned.
func (g *Generator) Run(ctx context.Context) {
	for {
		select {
		case j := <-g.due:
			g.take(ctx, j)
		case <-ctx.Done():
			return
		}
	}
}

func (g *Generator) take(ctx context.Context, j job) {
	start := g.now()
	size, err := g.write(ctx, j)
	switch {
	case err == nil:
		g.size.Store(size)
		g.written.Store(int64(g.now()))
		g.cfg.Logger.Info("wrote a snapshot", "endOffset", j.id.EndOffset, "bytes", size, "took", g.now()-start)
	case errors.Is(err, raftclient.ErrClosed) || ctx.Err() != nil:
	default: // the log is whole without it, and another is tried; if not, the client stops
		g.cfg.Logger.Error("cannot write a snapshot", "endOffset", j.id.EndOffset, "err", err)
	}
}

func (g *Generator) write(ctx context.Context, j job) (int64, error) {
	w, err := g.client.NewSnapshot(j.id, j.timestamp)
	if err != nil {
		return 0, err
	}
	version := metadata.MetadataVersion(j.image.FeatureLevel(metadata.MetadataVersionFeature))
	var chunk []byte // holds the values of many records; a full one is left to them
	n := 0
	for r := range j.image.Records() {
		if n++; n%64 == 0 {
			if ctx.Err() != nil {
				return 0, errors.Join(ctx.Err(), g.client.AbandonSnapshot(w))
			}
			runtime.Gosched() // changes go on meanwhile, and each passes many goroutines
		}
		if cap(chunk)-len(chunk) < 1024 {
			chunk = make([]byte, 0, 256<<10)
		}
		start := len(chunk)
		chunk, err = metadata.AppendRecord(chunk, r, version.RecordVersion(r))
		if err == nil {
			err = w.Append(chunk[start:len(chunk):len(chunk)])
		}
		if err != nil {
			return 0, errors.Join(fmt.Errorf("record %d, %T: %w", n, r, err), g.client.AbandonSnapshot(w))
		}
	}
	if err := g.client.FinishSnapshot(ctx, w); err != nil {
		return 0, err
	}
	return w.Size(), nil
}
