package admin

import (
	"maps"
	"slices"
	"strings"

	"kbench/kafka"
)

// IsListBrokerConfig reports whether items can be added to and taken from the value
// of a broker's configuration.
func IsListBrokerConfig(name string) bool {
	return dynamicBrokerConfigs.IsList(name) || slices.Contains(staticListConfigs, name)
}

// JudgeBrokerConfigs checks all that would be set for a broker or, where each is
// false, for all brokers, as a broker of Kafka 4.4 does before it asks the
// controller. Names that Kafka does not know are somebody else's, and taken. The
// errors are INVALID_REQUEST.
func JudgeBrokerConfigs(values map[string]string, each bool) error {
	names := slices.Sorted(maps.Keys(values))
	among := func(some []string) string {
		return strings.Join(slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(some, name) }), ", ")
	}
	if those := among(staticBrokerConfigs); those != "" {
		return Faultf(kafka.InvalidRequest, "Cannot update these configs dynamically: [%s]", those)
	}
	if those := among(listenerConfigs); those != "" {
		return Faultf(kafka.InvalidRequest, "These security configs can be dynamically updated only per-listener using the listener prefix: [%s]", those)
	}
	typed := maps.Clone(values)
	maps.DeleteFunc(typed, func(name, _ string) bool { _, known := dynamicBrokerConfigs.keys[name]; return !known })
	if err := dynamicBrokerConfigs.Validate(typed); err != nil {
		return Faultf(kafka.InvalidRequest, "%v", err)
	}
	if those := among(eachBrokerConfigs); !each && those != "" {
		return Faultf(kafka.InvalidRequest, "Cannot update these configs at default cluster level, broker id must be specified: [%s]", those)
	}
	return nil
}

// dynamicBrokerConfigs are the configurations that a running broker of Kafka 4.4
// takes.
var dynamicBrokerConfigs = &ConfigDef{keys: map[string]configKey{
	"background.threads":                               atLeast(typeInt, "", 1),
	"compression.gzip.level":                           gzipLevel,
	"compression.lz4.level":                            between("", 1, 17),
	"compression.type":                                 {typ: typeString},
	"compression.zstd.level":                           between("", -131072, 22),
	"config.providers":                                 {typ: typeList},
	"cordoned.log.dirs":                                {typ: typeList},
	"errors.deadletterqueue.auto.create.topics.enable": boolean(""),
	"errors.deadletterqueue.topic.name.prefix":         {typ: typeString},
	"follower.fetch.last.tiered.offset.enable":         boolean(""),
	"group.consumer.assignment.interval.ms":            atLeast(typeInt, "", 0),
	"group.consumer.assignor.offload.enable":           boolean(""),
	"group.coordinator.cached.buffer.max.bytes":        atLeast(typeInt, "", 524288),
	"group.share.assignment.interval.ms":               atLeast(typeInt, "", 0),
	"group.share.assignor.offload.enable":              boolean(""),
	"group.streams.assignment.interval.ms":             atLeast(typeInt, "", 0),
	"group.streams.assignor.offload.enable":            boolean(""),
	"listener.security.protocol.map":                   {typ: typeString},
	"listeners":                                        {typ: typeList},
	"log.cleaner.backoff.ms":                           atLeast(typeLong, "", 0),
	"log.cleaner.dedupe.buffer.size":                   {typ: typeLong},
	"log.cleaner.delete.retention.ms":                  atLeast(typeLong, "", 0),
	"log.cleaner.io.buffer.load.factor":                {typ: typeDouble},
	"log.cleaner.io.buffer.size":                       atLeast(typeInt, "", 0),
	"log.cleaner.io.max.bytes.per.second":              {typ: typeDouble},
	"log.cleaner.max.compaction.lag.ms":                atLeast(typeLong, "", 1),
	"log.cleaner.min.cleanable.ratio":                  ratio,
	"log.cleaner.min.compaction.lag.ms":                atLeast(typeLong, "", 0),
	"log.cleaner.threads":                              atLeast(typeInt, "", 0),
	"log.cleanup.policy":                               cleanupPolicy,
	"log.flush.interval.messages":                      atLeast(typeLong, "", 1),
	"log.flush.interval.ms":                            {typ: typeLong},
	"log.index.interval.bytes":                         atLeast(typeInt, "", 0),
	"log.index.size.max.bytes":                         atLeast(typeInt, "", 4),
	"log.local.retention.bytes":                        atLeast(typeLong, "", -2),
	"log.local.retention.ms":                           atLeast(typeLong, "", -2),
	"log.message.timestamp.after.max.ms":               atLeast(typeLong, "", 0),
	"log.message.timestamp.before.max.ms":              atLeast(typeLong, "", 0),
	"log.message.timestamp.type":                       oneOf("", "CreateTime", "LogAppendTime"),
	"log.preallocate":                                  boolean(""),
	"log.remote.copy.lag.bytes":                        atLeast(typeLong, "", -1),
	"log.remote.copy.lag.ms":                           atLeast(typeLong, "", -1),
	"log.retention.bytes":                              {typ: typeLong},
	"log.retention.ms":                                 {typ: typeLong},
	"log.roll.jitter.ms":                               {typ: typeLong},
	"log.roll.ms":                                      {typ: typeLong},
	"log.segment.bytes":                                atLeast(typeInt, "", 1048576),
	"log.segment.delete.delay.ms":                      atLeast(typeLong, "", 0),
	"max.connection.creation.rate":                     atLeast(typeInt, "", 0),
	"max.connections":                                  atLeast(typeInt, "", 0),
	"max.connections.per.ip":                           atLeast(typeInt, "", 0),
	"max.connections.per.ip.overrides":                 {typ: typeString},
	"max.decompressed.message.bytes":                   between("", 1, 2147483639),
	"message.max.bytes":                                atLeast(typeInt, "", 0),
	"metric.reporters":                                 {typ: typeList},
	"min.insync.replicas":                              atLeast(typeInt, "", 1),
	"num.io.threads":                                   atLeast(typeInt, "", 1),
	"num.network.threads":                              atLeast(typeInt, "", 1),
	"num.recovery.threads.per.data.dir":                atLeast(typeInt, "", 1),
	"num.replica.fetchers":                             atLeast(typeInt, "", 1),
	"principal.builder.class":                          {typ: typeString},
	"producer.id.expiration.ms":                        atLeast(typeInt, "", 1),
	"remote.fetch.max.wait.ms":                         atLeast(typeInt, "", 1),
	"remote.list.offsets.request.timeout.ms":           atLeast(typeLong, "", 1),
	"remote.log.index.file.cache.total.size.bytes":     atLeast(typeLong, "", 1),
	"remote.log.manager.copier.thread.pool.size":       atLeast(typeInt, "", 1),
	"remote.log.manager.copy.max.bytes.per.second":     atLeast(typeLong, "", 1),
	"remote.log.manager.expiration.thread.pool.size":   atLeast(typeInt, "", 1),
	"remote.log.manager.fetch.max.bytes.per.second":    atLeast(typeLong, "", 1),
	"remote.log.manager.follower.thread.pool.size":     atLeast(typeInt, "", 1),
	"remote.log.reader.threads":                        atLeast(typeInt, "", 1),
	"sasl.enabled.mechanisms":                          {typ: typeList},
	"sasl.jaas.config":                                 {typ: typeString},
	"sasl.kerberos.kinit.cmd":                          {typ: typeString},
	"sasl.kerberos.min.time.before.relogin":            {typ: typeLong},
	"sasl.kerberos.principal.to.local.rules":           {typ: typeList},
	"sasl.kerberos.service.name":                       {typ: typeString},
	"sasl.kerberos.ticket.renew.jitter":                {typ: typeDouble},
	"sasl.kerberos.ticket.renew.window.factor":         {typ: typeDouble},
	"sasl.login.refresh.buffer.seconds":                {typ: typeShort},
	"sasl.login.refresh.min.period.seconds":            {typ: typeShort},
	"sasl.login.refresh.window.factor":                 {typ: typeDouble},
	"sasl.login.refresh.window.jitter":                 {typ: typeDouble},
	"sasl.mechanism.inter.broker.protocol":             {typ: typeString},
	"share.coordinator.cached.buffer.max.bytes":        atLeast(typeInt, "", 524288),
	"ssl.cipher.suites":                                {typ: typeList},
	"ssl.client.auth":                                  oneOf("", "required", "requested", "none"),
	"ssl.enabled.protocols":                            {typ: typeList},
	"ssl.endpoint.identification.algorithm":            {typ: typeString},
	"ssl.engine.factory.class":                         {typ: typeString},
	"ssl.key.password":                                 {typ: typeString},
	"ssl.keymanager.algorithm":                         {typ: typeString},
	"ssl.keystore.certificate.chain":                   {typ: typeString},
	"ssl.keystore.key":                                 {typ: typeString},
	"ssl.keystore.location":                            {typ: typeString},
	"ssl.keystore.password":                            {typ: typeString},
	"ssl.keystore.type":                                {typ: typeString},
	"ssl.protocol":                                     {typ: typeString},
	"ssl.provider":                                     {typ: typeString},
	"ssl.secure.random.implementation":                 {typ: typeString},
	"ssl.trustmanager.algorithm":                       {typ: typeString},
	"ssl.truststore.certificates":                      {typ: typeString},
	"ssl.truststore.location":                          {typ: typeString},
	"ssl.truststore.password":                          {typ: typeString},
	"ssl.truststore.type":                              {typ: typeString},
	"transaction.partition.verification.enable":        boolean(""),
	"unclean.leader.election.enable":                   boolean(""),
}}

// eachBrokerConfigs can be set for one broker, and not for all.
var eachBrokerConfigs = strings.Fields(`
	cordoned.log.dirs listener.security.protocol.map listeners principal.builder.class sasl.enabled.mechanisms
	sasl.jaas.config sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin sasl.kerberos.principal.to.local.rules
	sasl.kerberos.service.name sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor
	sasl.login.refresh.buffer.seconds sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor
	sasl.login.refresh.window.jitter sasl.mechanism.inter.broker.protocol ssl.cipher.suites ssl.client.auth
	ssl.enabled.protocols ssl.endpoint.identification.algorithm ssl.engine.factory.class ssl.key.password
	ssl.keymanager.algorithm ssl.keystore.certificate.chain ssl.keystore.key ssl.keystore.location ssl.keystore.password
	ssl.keystore.type ssl.protocol ssl.provider ssl.secure.random.implementation ssl.trustmanager.algorithm
	ssl.truststore.certificates ssl.truststore.location ssl.truststore.password ssl.truststore.type
`)

// listenerConfigs are set for one listener, by its prefix.
var listenerConfigs = strings.Fields(`
	ssl.key.password ssl.keystore.certificate.chain ssl.keystore.key ssl.keystore.location ssl.keystore.password
	ssl.keystore.type ssl.truststore.certificates ssl.truststore.location ssl.truststore.password ssl.truststore.type
`)

// staticListConfigs are those of staticBrokerConfigs whose value is a list.
var staticListConfigs = strings.Fields(`
	advertised.listeners controller.listener.names controller.quorum.bootstrap.servers controller.quorum.voters
	early.start.listeners group.consumer.assignors group.coordinator.rebalance.protocols group.share.assignors
	group.streams.assignors group.streams.rack.aware.assignment.tags kafka.metrics.reporters log.dir log.dirs
	process.roles sasl.oauthbearer.expected.audience
`)

// staticBrokerConfigs are set at the start of a broker of Kafka 4.4 alone.
var staticBrokerConfigs = strings.Fields(`
	add.partitions.to.txn.retry.backoff.max.ms add.partitions.to.txn.retry.backoff.ms advertised.listeners
	alter.config.policy.class.name alter.log.dirs.replication.quota.window.num
	alter.log.dirs.replication.quota.window.size.seconds authorizer.class.name auto.create.topics.enable
	auto.leader.rebalance.enable broker.heartbeat.interval.ms broker.id broker.rack broker.session.timeout.ms
	client.quota.callback.class connection.failed.authentication.delay.ms connections.max.idle.ms
	connections.max.reauth.ms controlled.shutdown.enable controller.listener.names
	controller.performance.always.log.threshold.ms controller.performance.sample.period.ms
	controller.quorum.append.linger.ms controller.quorum.auto.join.enable controller.quorum.bootstrap.servers
	controller.quorum.election.backoff.max.ms controller.quorum.election.timeout.ms controller.quorum.fetch.max.bytes
	controller.quorum.fetch.snapshot.max.bytes controller.quorum.fetch.timeout.ms controller.quorum.request.timeout.ms
	controller.quorum.retry.backoff.ms controller.quorum.voters controller.quota.window.num
	controller.quota.window.size.seconds controller.socket.timeout.ms create.topic.policy.class.name
	default.replication.factor delegation.token.expiry.check.interval.ms delegation.token.expiry.time.ms
	delegation.token.max.lifetime.ms delegation.token.secret.key delete.records.purgatory.purge.interval.requests
	delete.topic.enable early.start.listeners fetch.max.bytes fetch.purgatory.purge.interval.requests
	group.consumer.assignors group.consumer.heartbeat.interval.ms group.consumer.max.assignment.interval.ms
	group.consumer.max.heartbeat.interval.ms group.consumer.max.session.timeout.ms group.consumer.max.size
	group.consumer.migration.policy group.consumer.min.assignment.interval.ms group.consumer.min.heartbeat.interval.ms
	group.consumer.min.session.timeout.ms group.consumer.regex.refresh.interval.ms group.consumer.session.timeout.ms
	group.coordinator.append.linger.ms group.coordinator.background.threads group.coordinator.rebalance.protocols
	group.coordinator.threads group.initial.rebalance.delay.ms group.max.session.timeout.ms group.max.size
	group.min.session.timeout.ms group.share.assignors group.share.delivery.count.limit group.share.dlq.manager.class.name
	group.share.heartbeat.interval.ms group.share.initialize.retry.interval.ms group.share.max.assignment.interval.ms
	group.share.max.delivery.count.limit group.share.max.heartbeat.interval.ms group.share.max.partition.max.record.locks
	group.share.max.record.lock.duration.ms group.share.max.session.timeout.ms group.share.max.share.sessions
	group.share.max.size group.share.min.assignment.interval.ms group.share.min.delivery.count.limit
	group.share.min.heartbeat.interval.ms group.share.min.partition.max.record.locks
	group.share.min.record.lock.duration.ms group.share.min.session.timeout.ms group.share.partition.max.record.locks
	group.share.persister.class.name group.share.record.lock.duration.ms group.share.session.timeout.ms
	group.streams.acceptable.recovery.lag group.streams.assignors group.streams.heartbeat.interval.ms
	group.streams.initial.rebalance.delay.ms group.streams.max.assignment.interval.ms
	group.streams.max.heartbeat.interval.ms group.streams.max.session.timeout.ms group.streams.max.size
	group.streams.max.standby.replicas group.streams.max.warmup.replicas group.streams.min.assignment.interval.ms
	group.streams.min.heartbeat.interval.ms group.streams.min.session.timeout.ms group.streams.min.task.offset.interval.ms
	group.streams.num.standby.replicas group.streams.num.warmup.replicas group.streams.rack.aware.assignment.tags
	group.streams.session.timeout.ms group.streams.task.offset.interval.ms group.streams.topology.description.plugin.class
	initial.broker.registration.timeout.ms inter.broker.listener.name internal.metadata.delete.delay.millis
	internal.metadata.log.segment.bytes internal.metadata.max.batch.size.in.bytes kafka.metrics.polling.interval.secs
	kafka.metrics.reporters leader.imbalance.check.interval.seconds log.cleaner.enable log.dir log.dir.failure.timeout.ms
	log.dirs log.flush.offset.checkpoint.interval.ms log.flush.scheduler.interval.ms
	log.flush.start.offset.checkpoint.interval.ms log.initial.task.delay.ms log.retention.check.interval.ms
	log.retention.hours log.retention.minutes log.roll.hours log.roll.jitter.hours
	max.incremental.fetch.session.cache.slots max.request.partition.size.limit metadata.log.dir
	metadata.log.max.record.bytes.between.snapshots metadata.log.max.snapshot.interval.ms metadata.log.segment.bytes
	metadata.log.segment.ms metadata.max.idle.interval.ms metadata.max.retention.bytes metadata.max.retention.ms
	metrics.num.samples metrics.recording.level metrics.sample.window.ms node.id num.partitions
	num.replica.alter.log.dirs.threads offset.metadata.max.bytes offsets.commit.timeout.ms offsets.load.buffer.size
	offsets.retention.check.interval.ms offsets.retention.minutes offsets.topic.compression.codec
	offsets.topic.num.partitions offsets.topic.replication.factor offsets.topic.segment.bytes process.roles
	producer.id.expiration.check.interval.ms producer.purgatory.purge.interval.requests queued.max.request.bytes
	queued.max.requests quota.window.num quota.window.size.seconds remote.log.index.file.cache.ttl.ms
	remote.log.manager.copy.quota.window.num remote.log.manager.copy.quota.window.size.seconds
	remote.log.manager.fetch.quota.window.num remote.log.manager.fetch.quota.window.size.seconds
	remote.log.manager.task.interval.ms remote.log.manager.task.retry.backoff.max.ms
	remote.log.manager.task.retry.backoff.ms remote.log.manager.task.retry.jitter remote.log.manager.thread.pool.size
	remote.log.metadata.custom.metadata.max.bytes remote.log.metadata.manager.class.name
	remote.log.metadata.manager.class.path remote.log.metadata.manager.impl.prefix
	remote.log.metadata.manager.listener.name remote.log.reader.max.pending.tasks remote.log.storage.manager.class.name
	remote.log.storage.manager.class.path remote.log.storage.manager.impl.prefix remote.log.storage.system.enable
	replica.fetch.backoff.ms replica.fetch.max.bytes replica.fetch.min.bytes replica.fetch.response.max.bytes
	replica.fetch.wait.max.ms replica.high.watermark.checkpoint.interval.ms replica.lag.time.max.ms replica.selector.class
	replica.socket.receive.buffer.bytes replica.socket.timeout.ms replication.quota.window.num
	replication.quota.window.size.seconds request.timeout.ms sasl.client.callback.handler.class
	sasl.login.callback.handler.class sasl.login.class sasl.login.connect.timeout.ms sasl.login.read.timeout.ms
	sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms sasl.mechanism.controller.protocol
	sasl.oauthbearer.allow.unverified.audience sasl.oauthbearer.allow.unverified.issuer
	sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.claim.aud sasl.oauthbearer.assertion.claim.exp.seconds
	sasl.oauthbearer.assertion.claim.iss sasl.oauthbearer.assertion.claim.jti.include
	sasl.oauthbearer.assertion.claim.nbf.seconds sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.file
	sasl.oauthbearer.assertion.private.key.file sasl.oauthbearer.assertion.private.key.passphrase
	sasl.oauthbearer.assertion.template.file sasl.oauthbearer.client.credentials.client.id
	sasl.oauthbearer.client.credentials.client.secret sasl.oauthbearer.clock.skew.seconds
	sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer sasl.oauthbearer.jwks.endpoint.refresh.ms
	sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.ms
	sasl.oauthbearer.jwks.endpoint.url sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.jwt.validator.class
	sasl.oauthbearer.scope sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name
	sasl.oauthbearer.token.endpoint.url sasl.server.callback.handler.class sasl.server.max.receive.size
	security.inter.broker.protocol security.providers server.max.startup.time.ms share.coordinator.append.linger.ms
	share.coordinator.cold.partition.snapshot.interval.ms share.coordinator.load.buffer.size
	share.coordinator.snapshot.update.records.per.snapshot share.coordinator.state.topic.compression.codec
	share.coordinator.state.topic.min.isr share.coordinator.state.topic.num.partitions
	share.coordinator.state.topic.prune.interval.ms share.coordinator.state.topic.replication.factor
	share.coordinator.state.topic.segment.bytes share.coordinator.threads share.coordinator.write.timeout.ms
	share.fetch.purgatory.purge.interval.requests socket.connection.setup.timeout.max.ms
	socket.connection.setup.timeout.ms socket.listen.backlog.size socket.receive.buffer.bytes socket.request.max.bytes
	socket.send.buffer.bytes ssl.allow.dn.changes ssl.allow.san.changes ssl.principal.mapping.rules telemetry.max.bytes
	transaction.abort.timed.out.transaction.cleanup.interval.ms transaction.max.timeout.ms
	transaction.remove.expired.transaction.cleanup.interval.ms transaction.state.log.load.buffer.size
	transaction.state.log.min.isr transaction.state.log.num.partitions transaction.state.log.replication.factor
	transaction.state.log.segment.bytes transaction.two.phase.commit.enable transactional.id.expiration.ms
	unclean.leader.election.interval.ms unstable.api.versions.enable unstable.feature.versions.enable
`)
