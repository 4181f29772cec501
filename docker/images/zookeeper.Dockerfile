# ZooKeeper's jars on a local Java runtime. Settings are in /conf/zoo.cfg, data in /data.
ARG JRE
FROM ${JRE}
COPY lib/ /opt/zookeeper/lib/
EXPOSE 2181 2888 3888
CMD ["-cp", "/conf:/opt/zookeeper/lib/*", "org.apache.zookeeper.server.quorum.QuorumPeerMain", "/conf/zoo.cfg"]
