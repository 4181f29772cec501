// Package metadata holds what a Kafka cluster knows of itself: the records of
// the metadata log, the Image that replaying them makes, and the rules that
// both controllers share to place replicas and to choose leaders.
//
// It owns the record codec (Kafka's framing and schemas, byte for byte), Image
// (an immutable, copy-on-write view of topics, partitions, brokers,
// configurations and features), Delta (changes to an Image), placement, leader
// election and the rules for topic names. It must not know of networks,
// disks, clocks, goroutines or locks, nor which controller asks.
//
// Controllers, brokers and the checker call it. An Image may be read by any
// number of goroutines; a Delta belongs to one. Randomness is passed in.
//
//	delta := metadata.NewDelta(image)
//	for offset, frame := range frames {
//		record, _, err := metadata.ReadRecord(frame)
//		if err != nil {
//			return fmt.Errorf("record at offset %d: %w", offset, err)
//		}
//		if err := delta.Replay(record); err != nil {
//			return fmt.Errorf("record at offset %d: %w", offset, err)
//		}
//	}
//	image = delta.Apply(lastOffset, epoch) // publish it; base is unchanged
package metadata
