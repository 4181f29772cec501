package metadata

// The schemas of the records about access and quotas, in the order of the
// record's fields; from common/metadata/*.json of Kafka 3.9.2 and 4.4.0.

func (*DelegationTokenRecord) Key() int16           { return 10 }
func (*UserScramCredentialRecord) Key() int16       { return 11 }
func (*ClientQuotaRecord) Key() int16               { return 14 }
func (*AccessControlEntryRecord) Key() int16        { return 18 }
func (*RemoveAccessControlEntryRecord) Key() int16  { return 19 }
func (*RemoveUserScramCredentialRecord) Key() int16 { return 22 }
func (*RemoveDelegationTokenRecord) Key() int16     { return 26 }

func (*DelegationTokenRecord) maxVersion() int16           { return 0 }
func (*UserScramCredentialRecord) maxVersion() int16       { return 0 }
func (*ClientQuotaRecord) maxVersion() int16               { return 0 }
func (*AccessControlEntryRecord) maxVersion() int16        { return 0 }
func (*RemoveAccessControlEntryRecord) maxVersion() int16  { return 0 }
func (*RemoveUserScramCredentialRecord) maxVersion() int16 { return 0 }
func (*RemoveDelegationTokenRecord) maxVersion() int16     { return 0 }

func (r *DelegationTokenRecord) code(c *coder, _ int16) {
	c.string(&r.Owner)
	c.string(&r.Requester)
	codeArray(c, &r.Renewers, 1, false, (*coder).string)
	codeInt64(c, &r.IssueTimestamp)
	codeInt64(c, &r.MaxTimestamp)
	codeInt64(c, &r.ExpirationTimestamp)
	c.string(&r.TokenID)
	c.tags(nil, 0, &r.Tags)
}

func (r *UserScramCredentialRecord) code(c *coder, _ int16) {
	c.string(&r.Name)
	codeInt8(c, &r.Mechanism)
	c.bytes(&r.Salt)
	c.bytes(&r.StoredKey)
	c.bytes(&r.ServerKey)
	codeInt32(c, &r.Iterations)
	c.tags(nil, 0, &r.Tags)
}

// minQuotaEntityBytes is the smallest encoding of a part of an entity: an
// empty type, a null name, no tags.
const minQuotaEntityBytes = 3

func (r *ClientQuotaRecord) code(c *coder, _ int16) {
	codeArray(c, &r.Entity, minQuotaEntityBytes, false, func(c *coder, e *RecordQuotaEntity) {
		c.string(&e.Type)
		c.nullString(&e.Name)
		c.tags(nil, 0, &e.Tags)
	})
	c.string(&r.Name)
	c.float64(&r.Value)
	c.bool(&r.Remove)
	c.tags(nil, 0, &r.Tags)
}

func (r *AccessControlEntryRecord) code(c *coder, _ int16) {
	c.uuid(&r.ID)
	codeInt8(c, &r.ResourceType)
	c.string(&r.ResourceName)
	codeInt8(c, &r.PatternType)
	c.string(&r.Principal)
	c.string(&r.Host)
	codeInt8(c, &r.Operation)
	codeInt8(c, &r.PermissionType)
	c.tags(nil, 0, &r.Tags)
}

func (r *RemoveAccessControlEntryRecord) code(c *coder, _ int16) {
	c.uuid(&r.ID)
	c.tags(nil, 0, &r.Tags)
}

func (r *RemoveUserScramCredentialRecord) code(c *coder, _ int16) {
	c.string(&r.Name)
	codeInt8(c, &r.Mechanism)
	c.tags(nil, 0, &r.Tags)
}

func (r *RemoveDelegationTokenRecord) code(c *coder, _ int16) {
	c.string(&r.TokenID)
	c.tags(nil, 0, &r.Tags)
}
