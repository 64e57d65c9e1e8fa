/**
 * The Dockerfile as a text, and its health check as a program. `.ci/containers.ts` builds the image
 * and runs every service in it.
 */
import assert from "node:assert/strict";
import { OPTION_TABLES } from "../house/option_tables.ts";
import { checkHealth, readText } from "./support.ts";

Deno.test("Dockerfile: every image is pinned by its digest, the last has a user other than root", () => {
  const text = readText("Dockerfile");
  const images = [...text.matchAll(/^FROM (\S+)/gm)].map(([, image = ""]) => image);
  for (const image of images) assert.match(image, /^[^:@]+(\/[^:@]+)*:[^:@]+@sha256:[\da-f]{64}$/);
  assert.deepEqual(text.slice(text.lastIndexOf("FROM")).match(/^USER .*$/gm), ["USER 65532:65532"]);
});

Deno.test(".dockerignore: includes exactly the files that the Dockerfile copies", () => {
  const copied = [...readText("Dockerfile").matchAll(/^COPY (?!--from)(.*) \S+$/gm)]
    .flatMap(([, sources = ""]) => sources.split(" "));
  const lines = readText(".dockerignore").split("\n");
  const allowed = lines.filter((line) => line.startsWith("!")).map((line) => line.slice(1));
  assert.deepEqual(allowed.toSorted(), copied.toSorted());
  assert(lines.includes("*"));
});

const answers: readonly (readonly [string, number, string, number])[] = [
  ["the proxy's OK", 200, "OK", 0],
  ["the solver's ok", 200, '{"status":"ok"}', 0],
  ["the oracle's healthy", 200, '{"status":"healthy"}', 0],
  ["a bridge that reaches its node", 200, '{"status":"healthy","rpc":true}', 0],
  ["a bridge without its node", 200, '{"status":"healthy","rpc":false}', 1],
  ["an oracle without some pair", 200, '{"status":"degraded"}', 1],
  ["another program's page", 200, "<html>OK</html>", 1],
  ["an error", 503, "OK", 1],
];

for (const [what, status, body, expected] of answers) {
  Deno.test(`Dockerfile, HEALTHCHECK: ${what} is ${expected === 0 ? "healthy" : "unhealthy"}`, async () => {
    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      () => new Response(body, { status }),
    );
    const { port } = server.addr;
    const { code } = await checkHealth(`http://127.0.0.1:${port}/health`);
    assert.equal(code, expected);
    await server.shutdown();
  });
}

Deno.test("Dockerfile, HEALTHCHECK: without HEALTH_URL it checks the one running service", async () => {
  const script = readText("docs/deployment/health_check.ts");
  const defaults = Object.entries(OPTION_TABLES).filter(([name]) => name !== "backfill")
    .map(([, { port }]) => Number(port?.default ?? port?.shownDefault));
  const [list = ""] = /(?<=const PORTS = )\[.*\]/.exec(script) ?? [];
  assert.deepEqual(new Set(JSON.parse(list)), new Set(defaults));

  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response("OK"),
  );
  const folder = await Deno.makeTempDir();
  const moved = `${folder}/health_check.ts`;
  await Deno.writeTextFile(moved, script.replace(list, `[1, ${server.addr.port}]`));
  const { code, text } = await checkHealth(undefined, moved);
  assert.equal(code, 0, text);
  await server.shutdown();
  await Deno.remove(folder, { recursive: true });
});
