# A Java runtime and exactly the shared libraries it loads. No shell.
FROM scratch
COPY rootfs/ /
ENV JAVA_HOME=/opt/java PATH=/opt/java/bin LANG=C.UTF-8
ENTRYPOINT ["/opt/java/bin/java"]
