# A kbench node: the static binary and nothing else.
FROM scratch
COPY kbench /kbench
ENTRYPOINT ["/kbench"]
