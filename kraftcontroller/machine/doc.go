// Package machine is the brain of the log-style controller: Kafka's
// QuorumController as a pure state machine. A request is decided against the
// current image, the decision is a list of records, and replaying records is
// the only thing that changes state, on the active controller and on standbys
// alike.
//
// It owns the working image with those at uncommitted offsets, the sessions
// of brokers, the periodic tasks, and the responses that wait for their offset
// to be stable (Kafka's purgatory). It must not know of networks, disks,
// clocks, goroutines or locks, nor how records are replicated: offsets come in
// and records go out. The shell, package kraftcontroller, calls it on its one
// goroutine; nothing else does.
//
// # Roles
//
//	standby -> active    Claim: this node leads the quorum in a new epoch and
//	                     has replayed all that is committed
//	active  -> standby   Renounce: it leads no more; what was not committed is
//	                     undone and its requests fail with NOT_CONTROLLER
//	active  -> active    Claim of a later epoch: as Renounce, then Claim
//	standby -> standby   Committed and Snapshot replay what others decided
//
// # Use
//
// The shell steps the machine with one input at a time and carries out the
// effects in order. Appends come with the offset that their first record must
// get: if the log gives another, or refuses, the shell renounces and resigns. A
// shell may take them one by one as they are decided, see Config.Append.
//
//	m, err := machine.New(machine.Config{ClusterID: id, Rand: rng})
//	effects, err := m.Step(now, machine.Claim{Epoch: 7, NextOffset: 120})
//	effects, err = m.Step(now, machine.Request{ID: 1, Body: req})
//	for _, a := range effects.Appends {
//		last, err := client.Append(epoch, a.Values) // then last == a.LastOffset()
//	}
//	// once HandleCommit brings the offset:
//	effects, err = m.Step(now, machine.Committed{BaseOffset: 120, Epoch: 7, Values: values})
//	for _, r := range effects.Responses {
//		answer(r.ID, r.Body)
//	}
//	// and when effects.Deadline has come, whatever else came before:
//	effects, err = m.Step(now, machine.Tick{})
//
// Requests that wait are stepped before a Tick, lest a broker is fenced whose
// heartbeat has arrived (KAFKA-15019).
//
// Where it differs from Kafka on purpose: ElectLeaders and what follows from a
// broker's going have no limit of records, since they are what keeps a cluster
// of any size alive, and are cut into batches; replicas that are removed are not
// kept as eligible; a cancelled reassignment whose old replicas are not in sync
// is marked as recovering; kraft.version is not decided here; who is above a
// controller_mutation_rate is told how long to wait (KIP-599), but may send
// before: connections are not muted.
//
// An error of Step is final: a record did not replay, or the log broke a
// promise. The machine must not be used again and the node stops.
//
// # What is tested where
//
// Each request, record, transition and error code of the controller with a test
// that fails without it (internal/unplug); stories/x is the story
// testdata/stories/x.
//
//	request  CreateTopics (19)                        stories/create_topics
//	request  DeleteTopics (20)                        stories/create_topics
//	request  CreateAcls (30)                          stories/acls
//	request  DeleteAcls (31)                          stories/acls
//	request  AlterConfigs (33)                        stories/replace_configs
//	request  CreatePartitions (37)                    stories/create_partitions
//	request  CreateDelegationToken (38)               stories/tokens
//	request  RenewDelegationToken (39)                stories/tokens
//	request  ExpireDelegationToken (40)               stories/tokens
//	request  ElectLeaders (43)                        stories/elect_leaders
//	request  IncrementalAlterConfigs (44)             stories/configs
//	request  AlterPartitionReassignments (45)         stories/reassignment
//	request  ListPartitionReassignments (46)          stories/reassignment
//	request  AlterClientQuotas (49)                   stories/quotas
//	request  AlterUserScramCredentials (51)           stories/scram
//	request  AlterPartition (56)                      stories/alter_partition
//	request  UpdateFeatures (57)                      stories/features
//	request  BrokerRegistration (62)                  stories/registration
//	request  BrokerHeartbeat (63)                     stories/fencing
//	request  UnregisterBroker (64)                    stories/registration
//	request  AllocateProducerIds (67)                 stories/configs
//	request  ControllerRegistration (70)              stories/features
//	request  AssignReplicasToDirs (73)                stories/directories
//	request  UnregisterController (94)                stories/features
//	record   RegisterBroker                           stories/registration
//	record   UnregisterBroker                         stories/registration
//	record   Topic                                    stories/create_topics
//	record   Partition                                stories/create_partitions
//	record   Config                                   stories/configs
//	record   PartitionChange                          stories/alter_partition
//	record   FenceBroker                              TestOldRecords
//	record   UnfenceBroker                            TestOldRecords
//	record   RemoveTopic                              stories/create_topics
//	record   DelegationToken                          stories/tokens
//	record   UserScramCredential                      stories/scram
//	record   FeatureLevel                             stories/features
//	record   ClientQuota                              stories/quotas
//	record   ProducerIDs                              stories/configs
//	record   BrokerRegistrationChange                 stories/fencing
//	record   AccessControlEntry                       stories/acls
//	record   RemoveAccessControlEntry                 stories/acls
//	record   NoOp                                     stories/periodic
//	record   ZkMigrationState                         TestOldRecords
//	record   RemoveUserScramCredential                stories/scram
//	record   BeginTransaction                         stories/activation
//	record   EndTransaction                           stories/activation
//	record   AbortTransaction                         TestOpenTransaction
//	record   RemoveDelegationToken                    stories/tokens
//	record   RegisterController                       stories/features
//	record   ClearElr                                 stories/elr
//	record   UnregisterController                     stories/features
//	record   any, as a standby                        TestFailover
//	state    standby -> active                        stories/activation
//	state    active -> standby                        stories/renounce
//	state    active -> active, another epoch          TestFailover
//	state    empty log -> bootstrap transaction       stories/activation
//	state    empty log -> bootstrap batch             stories/activation
//	state    answer waits -> its records are stable   stories/heartbeat_behind_appends
//	state    registration -> the same incarnation     stories/registration
//	state    registration -> another incarnation      stories/bounce
//	state    fenced -> fenced, behind                 stories/registration
//	state    fenced -> unfenced                       stories/fencing
//	state    fenced -> may shut down                  stories/controlled_shutdown
//	state    unfenced -> fenced                       stories/controlled_shutdown
//	state    unfenced -> controlled shutdown          stories/controlled_shutdown
//	state    unfenced -> may shut down                stories/controlled_shutdown
//	state    unfenced -> may shut down, fence wanted  stories/controlled_shutdown
//	state    controlled shutdown -> itself            stories/shutdown_failover
//	state    controlled shutdown -> may shut down     stories/shutdown_failover
//	state    broker silent -> fenced                  stories/fencing
//	state    heartbeat waits -> not silent            stories/heartbeat_behind_appends
//	state    reassignment begins, ends                stories/reassignment
//	state    reassignment overridden, cancelled       stories/reassignment
//	state    leader: preferred, kept, in sync, none   TestChangesAsKafka
//	state    leader: unclean                          stories/unclean
//	state    leader: eligible, last known             stories/elr
//	state    leader: balanced                         stories/balance
//	state    directory offline, lost, cordoned        stories/directories
//	state    transaction open -> aborted              TestOpenTransaction
//	state    operation above the limit                stories/limits
//	error    UNKNOWN_TOPIC_OR_PARTITION               stories/create_partitions
//	error    NOT_LEADER_OR_FOLLOWER                   stories/directories
//	error    INVALID_TOPIC_EXCEPTION                  stories/create_topics
//	error    UNSUPPORTED_SASL_MECHANISM               stories/scram
//	error    UNSUPPORTED_VERSION                      stories/features
//	error    TOPIC_ALREADY_EXISTS                     stories/create_topics
//	error    INVALID_PARTITIONS                       stories/create_partitions
//	error    INVALID_REPLICATION_FACTOR               stories/create_topics
//	error    INVALID_REPLICA_ASSIGNMENT               stories/reassignment
//	error    INVALID_CONFIG                           stories/configs
//	error    NOT_CONTROLLER                           stories/renounce
//	error    INVALID_REQUEST                          stories/alter_partition
//	error    POLICY_VIOLATION                         stories/limits
//	error    OPERATION_NOT_ATTEMPTED                  stories/alter_partition
//	error    DELEGATION_TOKEN_AUTH_DISABLED           stories/tokens
//	error    DELEGATION_TOKEN_NOT_FOUND               stories/tokens
//	error    DELEGATION_TOKEN_OWNER_MISMATCH          stories/tokens
//	error    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED     stories/tokens
//	error    DELEGATION_TOKEN_EXPIRED                 stories/tokens
//	error    INVALID_PRINCIPAL_TYPE                   stories/tokens
//	error    FENCED_LEADER_EPOCH                      stories/alter_partition
//	error    STALE_BROKER_EPOCH                       stories/alter_partition
//	error    PREFERRED_LEADER_NOT_AVAILABLE           stories/fencing
//	error    ELIGIBLE_LEADERS_NOT_AVAILABLE           stories/elect_leaders
//	error    ELECTION_NOT_NEEDED                      stories/elect_leaders
//	error    NO_REASSIGNMENT_IN_PROGRESS              stories/reassignment
//	error    THROTTLING_QUOTA_EXCEEDED                stories/mutation_quota
//	error    RESOURCE_NOT_FOUND                       stories/scram
//	error    DUPLICATE_RESOURCE                       stories/scram
//	error    UNACCEPTABLE_CREDENTIAL                  stories/scram
//	error    INVALID_UPDATE_VERSION                   stories/alter_partition
//	error    UNKNOWN_TOPIC_ID                         stories/alter_partition
//	error    DUPLICATE_BROKER_REGISTRATION            stories/registration
//	error    BROKER_ID_NOT_REGISTERED                 stories/configs
//	error    INCONSISTENT_CLUSTER_ID                  stories/registration
//	error    INELIGIBLE_REPLICA                       stories/alter_partition
//	error    NEW_LEADER_ELECTED                       stories/reassignment
//	error    INVALID_REGISTRATION                     stories/registration
//	error    CONTROLLER_ID_NOT_REGISTERED             stories/features
package machine
