package kafka

// The files that tell Kafka what to log: everything at WARN and above, and of
// what is below only what tells of elections, of brokers declared dead or let
// go, and of the controller epoch that a broker follows.
// Kafka's own default is INFO for all, which writes several lines for each
// partition. Lines begin with the time, then System.nanoTime, which is
// CLOCK_MONOTONIC on Linux, or a dash where the logger cannot tell it.

// log4j2 is for Kafka 4. The lines of ReplicationControlManager are picked by
// their format before they are made, so that those of partitions cost nothing.
const log4j2 = `<?xml version="1.0" encoding="UTF-8"?>
<Configuration status="WARN">
  <Appenders>
    <Console name="OUT">
      <PatternLayout pattern="%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} %N %p %c{1} %m%n"/>
    </Console>
  </Appenders>
  <Loggers>
    <Logger name="org.apache.kafka.raft.QuorumState" level="INFO"/>
    <Logger name="org.apache.kafka.controller.QuorumController" level="INFO"/>
    <Logger name="org.apache.kafka.controller.ReplicationControlManager" level="INFO">
      <Filters>
        <ThresholdFilter level="WARN" onMatch="ACCEPT" onMismatch="NEUTRAL"/>
        <RegexFilter regex=".*Fencing broker .*" useRawMsg="true" onMatch="ACCEPT" onMismatch="DENY"/>
      </Filters>
    </Logger>
    <Logger name="kafka.server.BrokerLifecycleManager" level="INFO"/>
    <Logger name="org.apache.kafka.server.BrokerLifecycleManager" level="INFO"/>
    <Root level="WARN"><AppenderRef ref="OUT"/></Root>
  </Loggers>
</Configuration>
`

// log4j1 is for Kafka up to 3.9. What a broker of ZooKeeper mode says of each
// UpdateMetadata is picked from among lines about every partition.
const log4j1 = `log4j.rootLogger=WARN, OUT
log4j.appender.OUT=org.apache.log4j.ConsoleAppender
log4j.appender.OUT.layout=org.apache.log4j.PatternLayout
log4j.appender.OUT.layout.ConversionPattern=%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} - %p %c{1} %m%n
log4j.appender.EPOCH=org.apache.log4j.ConsoleAppender
log4j.appender.EPOCH.layout=org.apache.log4j.PatternLayout
log4j.appender.EPOCH.layout.ConversionPattern=%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} - %p %c{1} %m%n
log4j.appender.EPOCH.filter.1=org.apache.log4j.varia.StringMatchFilter
log4j.appender.EPOCH.filter.1.StringToMatch=metadata cache in response to UpdateMetadata
log4j.appender.EPOCH.filter.1.AcceptOnMatch=true
log4j.appender.EPOCH.filter.2=org.apache.log4j.varia.LevelRangeFilter
log4j.appender.EPOCH.filter.2.LevelMin=WARN
log4j.appender.EPOCH.filter.2.AcceptOnMatch=true
log4j.appender.EPOCH.filter.3=org.apache.log4j.varia.DenyAllFilter
log4j.logger.state.change.logger=INFO, EPOCH
log4j.additivity.state.change.logger=false
log4j.logger.kafka.controller.KafkaController=INFO
log4j.logger.kafka.server.KafkaServer=INFO
log4j.logger.kafka.server.BrokerLifecycleManager=INFO
log4j.logger.org.apache.kafka.raft.QuorumState=INFO
log4j.logger.org.apache.kafka.controller.QuorumController=INFO
`
