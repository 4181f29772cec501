// Package admin judges what admin requests ask for, where both kinds of
// controllers judge alike: the entities and keys of client quotas, changes of
// SCRAM credentials and of configurations, ACL filters, delegation tokens.
//
// It owns the rules and the error codes that tell of them. It must not know
// where the metadata is kept, in znodes or in the metadata log, nor who may ask
// (package guard does). The brokers of ZooKeeper mode and the machine of the
// log-style controller call it. Everything is pure.
//
//	entity, err := admin.QuotaEntity(entry.Entity)
//	if err != nil {
//		entry.ErrorCode = int16(admin.CodeOf(err))
//	}
package admin
