# One image for every subcommand: docker run rangemaker <command> [options].
# Whoever builds with a network should pin the digests beside the tags: see docs/operating.md.
FROM denoland/deno:2.9.6 AS build
WORKDIR /build
# Dependencies change less often than sources: a layer of their own.
COPY deno.json deno.lock ./
RUN ["deno", "install", "--frozen"]
COPY main.ts ./
COPY lib lib
COPY services services
# Only what the program reaches goes into the image: 3 MB in place of 140 MB of packages.
RUN ["deno", "bundle", "--frozen", "--platform=deno", "--code-splitting", "--outdir=/app", "main.ts"]
# Empty, and the service's own: a volume mounted there takes over its owner.
RUN ["mkdir", "/data"]

FROM denoland/deno:distroless-2.9.6
WORKDIR /app
COPY --from=build /app ./
COPY --from=build --chown=65532:65532 /data data
# The user "nonroot" of distroless, by number so that a runtime can see that it is not root.
USER 65532:65532
# Inside a container 127.0.0.1 reaches nobody.
ENV HOST=0.0.0.0 DENO_NO_UPDATE_CHECK=1
VOLUME ["/app/data"]
EXPOSE 3000 3001 8545 8546 8547 8550 8560
# HEALTH_URL names the service's own /health. The answer has to be its own word for well: "OK" of the
# proxy, "ok" of the solver, "healthy" of the rest, and of the bridge that it reaches its node.
HEALTHCHECK --interval=5s --timeout=3s --start-period=5s --retries=10 CMD ["deno", "eval", "--no-config", "const answer = await fetch(Deno.env.get('HEALTH_URL')); const text = await answer.text(); const { status, rpc = true } = text === 'OK' ? { status: 'ok' } : JSON.parse(text); if (!answer.ok || !['ok', 'healthy'].includes(status) || !rpc) { console.error(answer.status, text); Deno.exit(1); }"]
ENTRYPOINT ["deno", "run", "--no-config", "--no-prompt", "--no-remote", "--no-npm", "--unstable-no-legacy-abort", "--allow-net", "--allow-env", "--allow-read", "--allow-write=/app/data", "/app/main.js"]
CMD ["--help"]
