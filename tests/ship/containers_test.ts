/** The Dockerfile as a text, its health check as a program, and containers where podman can run. */
import assert from "node:assert/strict";
import { OPTION_TABLES } from "../house/option_tables.ts";
import { withAnswer } from "../support/http_answers.ts";
import { withFile } from "../support/files.ts";
import { checkHealth, fileUrl, hasProgram, readText, run } from "./support.ts";

/** Whether podman is here, and this process may make the namespaces and mounts that it needs. */
function canRunContainers(): boolean {
  const programs = ["podman", "podman-compose", "crun", "prometheus"];
  if (!programs.every((program) => hasProgram(program, "--version"))) return false;
  const script = "ip link set lo up && mount -t tmpfs tmpfs /run && " +
    "{ umount -R /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup; }";
  const { success } = new Deno.Command("unshare", {
    args: ["--mount", "--pid", "--net", "--ipc", "--fork", "--mount-proc", "bash", "-c", script],
    stdout: "null",
    stderr: "null",
  }).outputSync();
  return success;
}

Deno.test({
  name: "compose.yaml as containers: a bet, restarts, down and up",
  ignore: !canRunContainers(),
  timeout: 420_000,
  async fn() {
    const { code, text } = await run(Deno.execPath(), ["task", "--quiet", "containers"], {
      cwd: fileUrl(".").pathname,
    });
    assert.equal(code, 0, text);
    assert.match(text, /bet (won|lost)[^]*targets of Prometheus up[^]*killed[^]*the same balances/);
  },
});

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
  Deno.test(`Dockerfile, HEALTHCHECK: ${what} is ${expected === 0 ? "healthy" : "unhealthy"}`, () =>
    withAnswer(() => new Response(body, { status }), async (url) => {
      assert.equal((await checkHealth(`${url}/health`)).code, expected);
    }));
}

Deno.test("Dockerfile, HEALTHCHECK: without HEALTH_URL it checks the one running service", async () => {
  const script = readText("docs/deployment/health_check.ts");
  const defaults = Object.entries(OPTION_TABLES).filter(([name]) => name !== "backfill")
    .map(([, { port }]) => Number(port?.default ?? port?.shownDefault));
  const [list = ""] = /(?<=const PORTS = )\[.*\]/.exec(script) ?? [];
  assert.deepEqual(new Set(JSON.parse(list)), new Set(defaults));

  await withAnswer(() => new Response("OK"), (url) => {
    const moved = script.replace(list, `[1, ${new URL(url).port}]`);
    return withFile(moved, async (path) => {
      const { code, text } = await checkHealth(undefined, path);
      assert.equal(code, 0, text);
    }, ".ts");
  });
});
