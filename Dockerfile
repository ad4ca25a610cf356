# The program dictmesh: docker build -t dictmesh . && docker run --rm -v "$PWD:/work" dictmesh demo
FROM rust:1.89-slim-bookworm AS build
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/src/target \
    cargo build --release --locked -p dictmesh-cli --features columnar \
    && cp target/release/dictmesh /usr/local/bin/dictmesh \
    && strip /usr/local/bin/dictmesh

FROM debian:bookworm-slim
LABEL org.opencontainers.image.source="https://github.com/dictmesh/dictmesh" \
      org.opencontainers.image.description="Dictionary learning over a mesh of agents" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0"
COPY --from=build /usr/local/bin/dictmesh /usr/local/bin/dictmesh
COPY LICENSE-MIT LICENSE-APACHE /usr/share/doc/dictmesh/
# Volumes begin with the owner of the directory they are mounted at.
RUN useradd --uid 1000 --create-home dictmesh && install -d -o dictmesh -g dictmesh /work
USER 1000
WORKDIR /work
ENTRYPOINT ["dictmesh"]
CMD ["--help"]
