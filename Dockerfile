# A small image that contains only the server and its tools. It runs as an unprivileged user; data is in /data.
#
#   docker build --build-arg COMMIT="$(git rev-parse --short=8 HEAD)" -t valkey .
#   docker run -d --name cache -p 6379:6379 -v cache:/data -e VALKEY_MAXMEMORY=1gb valkey
#
# Directives are given as options after the image's name (valkey-server --maxmemory 1gb), or variables (packaging/docker/entrypoint).
ARG BASE=debian:stable-slim

FROM ${BASE} AS build
ARG COMMIT=
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev make pkg-config libjemalloc-dev liblua5.1-0-dev \
    lua-cjson-dev lua-bitop-dev liblzf-dev liblz4-dev libxxhash-dev libzstd-dev libedit-dev libssl-dev liburing-dev && \
    { apt-get install -y --no-install-recommends libllhttp-dev || apt-get install -y --no-install-recommends libhttp-parser-dev; }
COPY . /src
RUN cd /src && { [ -z "$COMMIT" ] || echo "$COMMIT" > .commit; } && make -j"$(nproc)" && \
    make install DESTDIR=/out PREFIX=/usr && strip --strip-debug /out/usr/bin/valkey-server /out/usr/bin/valkey-cli /out/usr/bin/valkey-benchmark && \
    rm -r /out/usr/share /out/usr/include /out/usr/lib /out/etc && \
    install -D -m 644 COPYING -t /out/usr/share/doc/valkey && \
    install -D -m 644 /usr/share/doc/libjemalloc-dev/copyright /out/usr/share/doc/valkey/jemalloc.copyright && \
    install -D -m 644 /usr/share/doc/libxxhash-dev/copyright /out/usr/share/doc/valkey/xxhash.copyright && \
    install -D packaging/docker/entrypoint packaging/docker/healthcheck -t /out/usr/local/bin && \
    { ldd /out/usr/bin/valkey-server /out/usr/bin/valkey-cli | sed -n 's/.*=> \([^ ]*\).*/\1/p'; ls /usr/lib/*/libssl.so.3; } | sort -u | \
        xargs -n 1 realpath | xargs -n 1 basename | while read -r f; do dpkg -S "*/$f" | cut -d: -f1; done | sort -u > /out/packages

FROM ${BASE}
COPY --from=build /out/packages /tmp/packages
RUN apt-get update && apt-get install -y --no-install-recommends $(cat /tmp/packages) ca-certificates && \
    rm -rf /tmp/packages /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log /var/cache/debconf && \
    groupadd -r -g 999 valkey && useradd -r -u 999 -g valkey -d /data -s /usr/sbin/nologin valkey && \
    install -d -o valkey -g valkey /data
COPY --from=build /out/usr /usr
USER valkey
WORKDIR /data
VOLUME /data
EXPOSE 6379
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["healthcheck"]
ENTRYPOINT ["entrypoint"]
CMD ["valkey-server"]
