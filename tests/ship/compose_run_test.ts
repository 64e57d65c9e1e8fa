/**
 * The services of compose.yaml as processes in place of containers: its commands and variables, each
 * with the permissions of its task in deno.json and no others, and a whole bet played through them.
 */
import assert from "node:assert/strict";
import { z } from "zod";
import { systemClock } from "../../lib/clock.ts";
import { playBet } from "../../services/stack/bet.ts";
import type { StackUrls } from "../../services/stack/stack.ts";
import { eventually } from "../support/eventually.ts";
import { POSTGRES_URL, withSchema } from "../support/postgres.ts";
import type { Finished, Program } from "../support/process.ts";
import { checkHealth, readYaml, startTask } from "./support.ts";
import { freePort } from "../support/ports.ts";

const NAMES = ["exchanges", "oracle", "node", "proxy", "bridge", "solver"] as const;

/** Every port that compose.yaml gives to one of these services. */
const PORTS = ["8560", "8550", "8545", "8546", "8547", "3000", "3001"];

const { services } = z.object({
  services: z.record(
    z.string(),
    z.object({
      command: z.array(z.string()).default([]),
      environment: z.record(z.string(), z.string()).default({}),
    }),
  ),
}).parse(readYaml("compose.yaml"));

/** Databases in place of those of compose.yaml; without a PostgreSQL each service keeps its file. */
async function withDatabases(
  test: (databases: Record<string, string>) => Promise<void>,
): Promise<void> {
  if (POSTGRES_URL === undefined) return await test({});
  await withSchema((bridge) =>
    withSchema((solver) =>
      test({ RANGEMAKER_BRIDGE_DATABASE: bridge, RANGEMAKER_SOLVER_DATABASE: solver })
    )
  );
}

/** Where this run has what compose.yaml names. */
interface Place {
  ports: Map<string, string>;
  folder: string;
  databases: Record<string, string>;
}

/** A service as compose.yaml starts it, moved to a port that is free. */
function start(name: string, { ports, folder, databases }: Place): Program {
  const { command, environment } = services[name] ?? assert.fail(name);
  const moved = (text: string) =>
    text.replaceAll(/\$\{\w+:-([^}]*)\}/g, "$1")
      .replaceAll(new RegExp(`\\b(${NAMES.join("|")}):`, "g"), "127.0.0.1:")
      .replaceAll(/(?<=[:=])\d{4}\b/g, (port) => ports.get(port) ?? port);
  const { HEALTH_URL = "", ...variables } = environment;
  const env: Record<string, string> = {};
  for (const [variable, value] of Object.entries(variables)) {
    const own = variable.endsWith("_DATABASE") ? databases[variable] : moved(value);
    if (own !== undefined) env[variable] = own;
  }
  const { port } = new URL(HEALTH_URL);
  const args = [
    ...command.slice(1).map(moved),
    ...command.includes(`--port=${port}`) ? [] : [`--port=${ports.get(port)}`],
  ];
  return startTask(name, args, env, folder);
}

/** Starts all services, and ends them afterwards, each with exit code 0. */
async function withServices(place: Place, test: () => Promise<void>): Promise<void> {
  const programs: Program[] = [];
  const ends: Finished[] = [];
  try {
    for (const name of NAMES) {
      const program = start(name, place);
      await program.until(({ stderr }) => stderr.includes("Listening on"));
      programs.push(program);
    }
    await test();
  } finally {
    for (const program of programs.toReversed()) program.kill("SIGTERM");
    for (const program of programs) ends.push(await program.finished());
  }
  for (const { code, stderr } of ends) assert.equal(code, 0, stderr);
}

Deno.test("compose.yaml: its commands, with the permissions of their tasks, are healthy and serve a bet", async () => {
  const folder = await Deno.makeTempDir();
  const ports = new Map(PORTS.map((port) => [port, String(freePort())]));
  const url = (port: string) => `http://127.0.0.1:${ports.get(port)}`;
  await withDatabases((databases) =>
    withServices({ ports, folder, databases }, async () => {
      await eventually("fresh prices at the node", async () => {
        const { oracle } = await (await fetch(`${url("8545")}/health`)).json();
        return oracle === "fresh" || undefined;
      });
      await eventually("every provider at the oracle", async () => {
        const { providers } = await (await fetch(`${url("8550")}/providers`)).json();
        return providers.every(({ ready }: { ready: boolean }) => ready) || undefined;
      });
      for (const name of NAMES) {
        const { port } = new URL(services[name]?.environment.HEALTH_URL ?? "");
        const { code, text } = await checkHealth(`${url(port)}/health`);
        assert.equal(code, 0, `${name}: ${text}`);
      }
      const urls: StackUrls = {
        oracle: url("8550"),
        node: url("8545"),
        nodeRead: url("8547"),
        proxy: url("8546"),
        proxyWs: `${url("8546").replace("http", "ws")}/ws`,
        bridge: url("3001"),
        solver: url("3000"),
      };
      const bet = await playBet(urls, systemClock, () => {});
      assert.match(bet.thesis.status, /^(won|lost)$/);
    })
  );
  await Deno.remove(folder, { recursive: true });
});
