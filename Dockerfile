# An image with nothing but fedsim, a static program that runs as an ordinary user:
#
#	docker build -t fedsim .
#	docker run --rm --read-only -v "$PWD:/work" -w /work -u "$(id -u):$(id -g)" fedsim run scenario.toml
#
# The build needs the .git folder: the version of fedsim is that of the commit, and the
# workers of a plan must have the version that wrote it.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=true -ldflags="-s -w" -o /out/fedsim ./cmd/fedsim

FROM scratch
LABEL org.opencontainers.image.title="fedsim" \
      org.opencontainers.image.description="Simulator of federated networks" \
      org.opencontainers.image.licenses="BSD-3-Clause"
COPY --from=build /out/fedsim /fedsim
USER 65532:65532
ENTRYPOINT ["/fedsim"]
