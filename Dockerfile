# The gateway, the program by which agents ask it (for images of agents to copy)
# and the CA certificates they need, and nothing else: no shell, no package
# manager, no user but 65532, nothing to write to.
#
# It listens on loopback unless told otherwise, which inside a container means
# that only the container's own health check can reach it. To serve others:
#
#   HOOKGATE_ADDR=0.0.0.0:8080         the gateway refuses to start with it,
#   HOOKGATE_CALLERS=/etc/…            unless this file names who may call, or
#                                      HOOKGATE_ALLOW_ANONYMOUS=true says that
#                                      something in front of it knows them
#   HOOKGATE_ADMIN_ADDR=0.0.0.0:8081   for probes and scrapes from outside
#
# Hooks that are commands need their programs: copy static ones into an image
# made FROM this one.

FROM --platform=$BUILDPLATFORM golang:1.26.10-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=devel
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags="-s -w -X main.version=$VERSION" -o /out/ ./cmd/gateway ./cmd/gateway-ask

FROM scratch
ARG VERSION=devel
LABEL org.opencontainers.image.title="hookgate" \
      org.opencontainers.image.description="A fail-closed HTTP gateway for the tool-call hooks of AI agents" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/gateway /out/gateway-ask /
USER 65532:65532
EXPOSE 8080 8081
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --retries=3 CMD ["/gateway", "health"]
ENTRYPOINT ["/gateway"]
CMD ["serve"]
