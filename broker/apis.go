package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kbench/kafka/wire"
)

// APIs is what the broker's listener serves: what both modes have, what the
// mode has, and the handlers of the candidate in the same process
// (Config.ControllerAPIs) in place of the broker's own for the same key.
func (b *Broker) APIs() []wire.API {
	table := []wire.API{
		{Key: int16(kmsg.Produce), MinVersion: 3, MaxVersion: 13, Handle: b.handleProduce},
		{Key: int16(kmsg.Fetch), MinVersion: 4, MaxVersion: 17, Handle: b.handleFetch},
		{Key: int16(kmsg.ListOffsets), MinVersion: 1, MaxVersion: 10, Handle: b.handleListOffsets},
		{Key: int16(kmsg.Metadata), MinVersion: 0, MaxVersion: 13, Handle: b.handleMetadata},
		{Key: int16(kmsg.FindCoordinator), MinVersion: 0, MaxVersion: 6, Handle: b.handleFindCoordinator},
		{Key: int16(kmsg.ListGroups), MinVersion: 0, MaxVersion: 5, Handle: b.handleListGroups},
		{Key: int16(kmsg.InitProducerID), MinVersion: 0, MaxVersion: 5, Handle: b.handleInitProducerID},
		{Key: int16(kmsg.OffsetForLeaderEpoch), MinVersion: 2, MaxVersion: 4, Handle: b.handleOffsetForLeaderEpoch},
		{Key: int16(kmsg.DescribeACLs), MinVersion: 0, MaxVersion: 3, Handle: b.handleDescribeACLs},
		{Key: int16(kmsg.DescribeConfigs), MinVersion: 0, MaxVersion: 4, Handle: b.handleDescribeConfigs},
		{Key: int16(kmsg.DescribeLogDirs), MinVersion: 1, MaxVersion: 4, Handle: b.handleDescribeLogDirs},
		{Key: int16(kmsg.DescribeDelegationToken), MinVersion: 1, MaxVersion: 3, Handle: b.handleDescribeDelegationToken},
		{Key: int16(kmsg.DescribeClientQuotas), MinVersion: 0, MaxVersion: 1, Handle: b.handleDescribeClientQuotas},
		{Key: int16(kmsg.DescribeUserSCRAMCredentials), MinVersion: 0, MaxVersion: 0, Handle: b.handleDescribeUserSCRAMCredentials},
		{Key: int16(kmsg.DescribeCluster), MinVersion: 0, MaxVersion: 2, Handle: b.handleDescribeCluster},
	}
	return mergeAPIs(mergeAPIs(table, b.plane.apis()), b.cfg.ControllerAPIs)
}

// mergeAPIs gives table with the entries of over in place of those with the
// same key.
func mergeAPIs(table, over []wire.API) []wire.API {
	for _, a := range over {
		found := false
		for i := range table {
			if table[i].Key == a.Key {
				table[i], found = a, true
			}
		}
		if !found {
			table = append(table, a)
		}
	}
	return table
}
