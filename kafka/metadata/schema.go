package metadata

// The schemas of the records, in the order of the record's fields; from
// common/metadata/*.json of Kafka 3.9.2 and 4.4.0.

func (*RegisterBrokerRecord) Key() int16           { return 0 }
func (*UnregisterBrokerRecord) Key() int16         { return 1 }
func (*TopicRecord) Key() int16                    { return 2 }
func (*PartitionRecord) Key() int16                { return 3 }
func (*ConfigRecord) Key() int16                   { return 4 }
func (*PartitionChangeRecord) Key() int16          { return 5 }
func (*FenceBrokerRecord) Key() int16              { return 7 }
func (*UnfenceBrokerRecord) Key() int16            { return 8 }
func (*RemoveTopicRecord) Key() int16              { return 9 }
func (*FeatureLevelRecord) Key() int16             { return 12 }
func (*ProducerIDsRecord) Key() int16              { return 15 }
func (*BrokerRegistrationChangeRecord) Key() int16 { return 17 }
func (*NoOpRecord) Key() int16                     { return 20 }
func (*ZkMigrationStateRecord) Key() int16         { return 21 }
func (*BeginTransactionRecord) Key() int16         { return 23 }
func (*EndTransactionRecord) Key() int16           { return 24 }
func (*AbortTransactionRecord) Key() int16         { return 25 }
func (*RegisterControllerRecord) Key() int16       { return 27 }
func (*ClearElrRecord) Key() int16                 { return 28 }
func (*UnregisterControllerRecord) Key() int16     { return 29 }

func (*RegisterBrokerRecord) maxVersion() int16           { return 4 }
func (*UnregisterBrokerRecord) maxVersion() int16         { return 0 }
func (*TopicRecord) maxVersion() int16                    { return 0 }
func (*PartitionRecord) maxVersion() int16                { return 2 }
func (*ConfigRecord) maxVersion() int16                   { return 0 }
func (*PartitionChangeRecord) maxVersion() int16          { return 2 }
func (*FenceBrokerRecord) maxVersion() int16              { return 0 }
func (*UnfenceBrokerRecord) maxVersion() int16            { return 0 }
func (*RemoveTopicRecord) maxVersion() int16              { return 0 }
func (*FeatureLevelRecord) maxVersion() int16             { return 0 }
func (*ProducerIDsRecord) maxVersion() int16              { return 0 }
func (*BrokerRegistrationChangeRecord) maxVersion() int16 { return 3 }
func (*NoOpRecord) maxVersion() int16                     { return 0 }
func (*ZkMigrationStateRecord) maxVersion() int16         { return 0 }
func (*BeginTransactionRecord) maxVersion() int16         { return 0 }
func (*EndTransactionRecord) maxVersion() int16           { return 0 }
func (*AbortTransactionRecord) maxVersion() int16         { return 0 }
func (*RegisterControllerRecord) maxVersion() int16       { return 0 }
func (*ClearElrRecord) maxVersion() int16                 { return 0 }
func (*UnregisterControllerRecord) maxVersion() int16     { return 0 }

func codeEndpoint(c *coder, e *RecordEndpoint) {
	c.string(&e.Listener)
	c.string(&e.Host)
	c.uint16(&e.Port)
	c.int16(&e.SecurityProtocol)
	c.tags(nil, 0, &e.Tags)
}

func codeFeature(c *coder, f *RecordFeature) {
	c.string(&f.Name)
	c.int16(&f.Min)
	c.int16(&f.Max)
	c.tags(nil, 0, &f.Tags)
}

// The smallest encodings of the two: empty strings, two numbers, no tags.
const (
	minEndpointBytes = 7
	minFeatureBytes  = 6
)

func (r *RegisterBrokerRecord) code(c *coder, v int16) {
	codeInt32(c, &r.BrokerID)
	if c.need(v, 2, !r.IsMigratingZkBroker, "IsMigratingZkBroker") {
		c.bool(&r.IsMigratingZkBroker)
	}
	c.uuid(&r.IncarnationID)
	codeInt64(c, &r.BrokerEpoch)
	codeArray(c, &r.EndPoints, minEndpointBytes, false, codeEndpoint)
	codeArray(c, &r.Features, minFeatureBytes, false, codeFeature)
	c.nullString(&r.Rack)
	c.bool(&r.Fenced)
	if c.need(v, 1, !r.InControlledShutdown, "InControlledShutdown") {
		c.bool(&r.InControlledShutdown)
	}
	c.tags(r, v, &r.Tags)
}

func (r *RegisterBrokerRecord) present() uint32 {
	return bit(0, len(r.LogDirs) > 0) | bit(1, r.CordonedLogDirs != nil)
}

func (*RegisterBrokerRecord) allowed(v int16) uint32 { return bit(0, v >= 3) | bit(1, v >= 4) }

func (r *RegisterBrokerRecord) tag(c *coder, id uint32) {
	if id == 0 {
		c.uuids(&r.LogDirs)
	} else {
		c.nullUUIDs(&r.CordonedLogDirs)
	}
}

func (r *UnregisterBrokerRecord) code(c *coder, _ int16) {
	codeInt32(c, &r.BrokerID)
	codeInt64(c, &r.BrokerEpoch)
	c.tags(nil, 0, &r.Tags)
}

func (r *TopicRecord) code(c *coder, _ int16) {
	c.string(&r.Name)
	c.uuid(&r.TopicID)
	c.tags(nil, 0, &r.Tags)
}

func (r *PartitionRecord) code(c *coder, v int16) {
	codeInt32(c, &r.PartitionID)
	c.uuid(&r.TopicID)
	c.ids(&r.Replicas)
	c.ids(&r.ISR)
	c.ids(&r.RemovingReplicas)
	c.ids(&r.AddingReplicas)
	codeInt32(c, &r.Leader)
	codeInt32(c, &r.LeaderEpoch)
	codeInt32(c, &r.PartitionEpoch)
	if c.need(v, 1, len(r.Directories) == 0, "Directories") {
		c.uuids(&r.Directories)
	}
	c.tags(r, v, &r.Tags)
}

func (r *PartitionRecord) present() uint32 {
	return bit(0, r.LeaderRecoveryState != 0) | bit(1, r.EligibleLeaderReplicas != nil) | bit(2, r.LastKnownELR != nil)
}

func (*PartitionRecord) allowed(v int16) uint32 {
	return bit(0, true) | bit(1, v >= 2) | bit(2, v >= 2)
}

func (r *PartitionRecord) tag(c *coder, id uint32) {
	switch id {
	case 0:
		codeInt8(c, &r.LeaderRecoveryState)
	case 1:
		c.nullIDs(&r.EligibleLeaderReplicas)
	case 2:
		c.nullIDs(&r.LastKnownELR)
	}
}

func (r *ConfigRecord) code(c *coder, _ int16) {
	codeInt8(c, &r.ResourceType)
	c.string(&r.ResourceName)
	c.string(&r.Name)
	c.nullString(&r.Value)
	c.tags(nil, 0, &r.Tags)
}

func (r *PartitionChangeRecord) code(c *coder, v int16) {
	codeInt32(c, &r.PartitionID)
	c.uuid(&r.TopicID)
	c.tags(r, v, &r.Tags)
}

func (r *PartitionChangeRecord) present() uint32 {
	return bit(0, r.ISR != nil) | bit(1, r.Leader != LeaderUnchanged) | bit(2, r.Replicas != nil) |
		bit(3, r.RemovingReplicas != nil) | bit(4, r.AddingReplicas != nil) |
		bit(5, r.LeaderRecoveryState != RecoveryStateUnchanged) |
		bit(6, r.EligibleLeaderReplicas != nil) | bit(7, r.LastKnownELR != nil) | bit(8, r.Directories != nil)
}

func (*PartitionChangeRecord) allowed(v int16) uint32 {
	return 0b11_1111 | bit(6, v >= 2) | bit(7, v >= 2) | bit(8, v >= 1)
}

func (r *PartitionChangeRecord) tag(c *coder, id uint32) {
	switch id {
	case 0:
		c.nullIDs(&r.ISR)
	case 1:
		codeInt32(c, &r.Leader)
	case 2:
		c.nullIDs(&r.Replicas)
	case 3:
		c.nullIDs(&r.RemovingReplicas)
	case 4:
		c.nullIDs(&r.AddingReplicas)
	case 5:
		codeInt8(c, &r.LeaderRecoveryState)
	case 6:
		c.nullIDs(&r.EligibleLeaderReplicas)
	case 7:
		c.nullIDs(&r.LastKnownELR)
	case 8:
		c.nullUUIDs(&r.Directories)
	}
}

func (r *FenceBrokerRecord) code(c *coder, _ int16) {
	codeInt32(c, &r.ID)
	codeInt64(c, &r.Epoch)
	c.tags(nil, 0, &r.Tags)
}

func (r *UnfenceBrokerRecord) code(c *coder, _ int16) {
	codeInt32(c, &r.ID)
	codeInt64(c, &r.Epoch)
	c.tags(nil, 0, &r.Tags)
}

func (r *RemoveTopicRecord) code(c *coder, _ int16) {
	c.uuid(&r.TopicID)
	c.tags(nil, 0, &r.Tags)
}

func (r *FeatureLevelRecord) code(c *coder, _ int16) {
	c.string(&r.Name)
	c.int16(&r.FeatureLevel)
	c.tags(nil, 0, &r.Tags)
}

func (r *ProducerIDsRecord) code(c *coder, _ int16) {
	codeInt32(c, &r.BrokerID)
	codeInt64(c, &r.BrokerEpoch)
	codeInt64(c, &r.NextProducerID)
	c.tags(nil, 0, &r.Tags)
}

func (r *BrokerRegistrationChangeRecord) code(c *coder, v int16) {
	codeInt32(c, &r.BrokerID)
	codeInt64(c, &r.BrokerEpoch)
	c.tags(r, v, &r.Tags)
}

func (r *BrokerRegistrationChangeRecord) present() uint32 {
	return bit(0, r.Fenced != 0) | bit(1, r.InControlledShutdown != 0) |
		bit(2, len(r.LogDirs) > 0) | bit(3, r.CordonedLogDirs != nil)
}

func (*BrokerRegistrationChangeRecord) allowed(v int16) uint32 {
	return bit(0, true) | bit(1, v >= 1) | bit(2, v >= 2) | bit(3, v >= 3)
}

func (r *BrokerRegistrationChangeRecord) tag(c *coder, id uint32) {
	switch id {
	case 0:
		codeInt8(c, &r.Fenced)
	case 1:
		codeInt8(c, &r.InControlledShutdown)
	case 2:
		c.uuids(&r.LogDirs)
	case 3:
		c.nullUUIDs(&r.CordonedLogDirs)
	}
}

func (r *NoOpRecord) code(c *coder, _ int16) { c.tags(nil, 0, &r.Tags) }

func (r *ZkMigrationStateRecord) code(c *coder, _ int16) {
	codeInt8(c, &r.State)
	c.tags(nil, 0, &r.Tags)
}

func (r *BeginTransactionRecord) code(c *coder, v int16) { c.tags(r, v, &r.Tags) }

func (r *BeginTransactionRecord) present() uint32        { return bit(0, r.Name != nil) }
func (*BeginTransactionRecord) allowed(int16) uint32     { return 1 }
func (r *BeginTransactionRecord) tag(c *coder, _ uint32) { c.nullString(&r.Name) }
func (r *EndTransactionRecord) code(c *coder, _ int16)   { c.tags(nil, 0, &r.Tags) }
func (r *AbortTransactionRecord) code(c *coder, v int16) { c.tags(r, v, &r.Tags) }
func (r *AbortTransactionRecord) present() uint32        { return bit(0, r.Reason != nil) }
func (*AbortTransactionRecord) allowed(int16) uint32     { return 1 }
func (r *AbortTransactionRecord) tag(c *coder, _ uint32) { c.nullString(&r.Reason) }

func (r *RegisterControllerRecord) code(c *coder, _ int16) {
	codeInt32(c, &r.ControllerID)
	c.uuid(&r.IncarnationID)
	c.bool(&r.ZkMigrationReady)
	codeArray(c, &r.EndPoints, minEndpointBytes, false, codeEndpoint)
	codeArray(c, &r.Features, minFeatureBytes, false, codeFeature)
	c.tags(nil, 0, &r.Tags)
}

func (r *ClearElrRecord) code(c *coder, _ int16) {
	c.string(&r.TopicName)
	c.tags(nil, 0, &r.Tags)
}

func (r *UnregisterControllerRecord) code(c *coder, _ int16) {
	codeInt32(c, &r.ControllerID)
	c.tags(nil, 0, &r.Tags)
}

func bit(n int, set bool) uint32 {
	if set {
		return 1 << n
	}
	return 0
}
