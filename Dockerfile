# One image for every subcommand: docker run rangemaker <command> [options].
# Digests are those of the indexes for all platforms: see docs/deploying.md.
FROM denoland/deno:2.9.6@sha256:2014dc167ece617ef7e7ba40631ac2234c59e75ce693e7cc2dc2602b3c87859d AS build
WORKDIR /build
# Dependencies change less often than sources: a layer of their own.
COPY deno.json deno.lock ./
RUN ["deno", "install", "--frozen"]
COPY main.ts ./
COPY lib lib
COPY services services
COPY docs/deployment/health_check.ts ./
COPY docs/deploying.md docs/operating.md docs/runbooks.md docs/
# Only what the program reaches goes into the image: 3 MB in place of 140 MB of packages.
RUN ["deno", "bundle", "--frozen", "--platform=deno", "--code-splitting", "--outdir=/app", "main.ts", "health_check.ts"]
# The console's page, which its service would bundle itself where it has the sources.
RUN ["deno", "bundle", "--frozen", "--platform=browser", "--minify", "--code-splitting", "--outdir=/app/console_page", "services/console/page/main.tsx"]
# Empty, and the service's own: a volume mounted there takes over its owner.
RUN ["mkdir", "/data"]

# What Deno needs of an operating system, and nothing else: no shell, no packages, a user who is not
# root.
FROM gcr.io/distroless/cc-debian12:nonroot@sha256:9dac0a79194e45a7da0158a9c6da57b217585af0786db3845d1f0ec1a0dd182f
COPY --from=build /usr/bin/deno /usr/bin/deno
WORKDIR /app
COPY --from=build /app ./
COPY --from=build --chown=65532:65532 /data data
# The user "nonroot" of distroless, by number so that a runtime can see that it is not root.
USER 65532:65532
# Inside a container 127.0.0.1 reaches nobody, and Deno looks at memory limits only if told to.
ENV RANGEMAKER_HOST=0.0.0.0 DENO_NO_UPDATE_CHECK=1 DENO_USE_CGROUPS=1
VOLUME ["/app/data"]
EXPOSE 3000 3001 8545 8546 8547 8550 8560 8600
# At the service's default port, or at HEALTH_URL.
HEALTHCHECK --interval=5s --timeout=3s --start-period=5s --retries=10 CMD ["deno", "run", "--no-config", "--no-prompt", "--no-remote", "--no-npm", "--allow-net", "--allow-env=HEALTH_URL", "/app/health_check.js"]
ENTRYPOINT ["deno", "run", "--no-config", "--no-prompt", "--no-remote", "--no-npm", "--unstable-no-legacy-abort", "--unstable-net", "--allow-net", "--allow-env", "--allow-read", "--allow-write=/app/data", "/app/main.js"]
CMD ["--help"]
