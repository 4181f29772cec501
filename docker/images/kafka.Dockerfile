# Kafka's jars on a local Java runtime. Settings are in /etc/kafka, data in /data.
ARG JRE
FROM ${JRE}
COPY lib/ /opt/kafka/libs/
EXPOSE 9092
CMD ["-cp", "/opt/kafka/libs/*", "kafka.Kafka", "/etc/kafka/server.properties"]
