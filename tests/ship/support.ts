import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { z } from "zod";
import { RangemakerClient } from "../../lib/client/mod.ts";
import config from "../../deno.json" with { type: "json" };
import { FREE_PORTS } from "../../services/stack/ports.ts";
import {
  type RunningStack,
  STACK_PRICING,
  type StackUrls,
  startStack,
} from "../../services/stack/stack.ts";
import type { SolverOptions } from "../../services/solver/mod.ts";
import { consolePage } from "../support/console_page.ts";
import { eventually } from "../support/eventually.ts";
import { Program } from "../support/process.ts";

export { hasProgram } from "../support/process.ts";

const root = new URL("../../", import.meta.url);

export function fileUrl(path: string): URL {
  return new URL(path, root);
}

/** The path of a file or folder of this repository; that of a folder ends with a slash. */
export function filePath(path: string): string {
  return fileURLToPath(fileUrl(path));
}

export function readText(path: string): string {
  return Deno.readTextFileSync(fileUrl(path));
}

/** A YAML file of the project, as the tools read it: with anchors merged. */
export function readYaml(path: string): unknown {
  return parse(readText(path), { merge: true });
}

/** Runs a program to its end. @returns What it printed on both its outputs, and on the first. */
export async function run(
  name: string,
  args: string[],
  options: Deno.CommandOptions = {},
): Promise<{ code: number; text: string; stdout: string }> {
  const output = await new Deno.Command(name, {
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    ...options,
    args,
  }).output();
  const decoder = new TextDecoder();
  const stdout = decoder.decode(output.stdout);
  return { code: output.code, text: stdout + decoder.decode(output.stderr), stdout };
}

/** Runs a task of deno.json to its end. */
export function runTask(args: string[], env: Record<string, string> = {}) {
  return run(Deno.execPath(), ["task", "--quiet", ...args], { cwd: filePath("."), env });
}

const tasks: Record<string, string> = config.tasks;

/**
 * Starts a service as its task in deno.json does, with the permissions of that task, in a folder of
 * its own.
 */
export function startTask(
  name: string,
  args: readonly string[],
  env: Record<string, string>,
  cwd: string,
): Program {
  const [, flags] = /^deno run (.*) main\.ts \w+$/.exec(tasks[name] ?? "") ?? [];
  if (flags === undefined) throw new Error(`No task of deno.json starts ${name}`);
  return new Program([name, ...args], env, {
    command: Deno.execPath(),
    args: [
      ...["run", "--config", filePath("deno.json")],
      ...flags.split(" "),
      filePath("main.ts"),
    ],
    cwd,
  });
}

/** Runs the health check of the Dockerfile, from its source, with a HEALTH_URL or without. */
export async function checkHealth(
  url: string | undefined,
  script = filePath("docs/deployment/health_check.ts"),
): Promise<{ code: number; text: string }> {
  const [, command = ""] = /^HEALTHCHECK .*? CMD (\[.*\])$/m.exec(readText("Dockerfile")) ?? [];
  const [, ...args] = z.array(z.string()).parse(JSON.parse(command));
  const env: Record<string, string> = url === undefined ? {} : { HEALTH_URL: url };
  return await run(Deno.execPath(), [...args.slice(0, -1), script], { env });
}

/** Runs a test on a stack of its own, which prices bets as `deno task stack` does. */
export async function withStack(
  test: (stack: RunningStack) => Promise<void>,
  pricing: Partial<SolverOptions> = STACK_PRICING,
): Promise<void> {
  await using stack = await startStack({
    pricing,
    ports: { ...FREE_PORTS, console: 0 },
    page: await consolePage(),
    seed: 1,
    corsOrigins: ["*"], // pages of the examples have origins of their own
  });
  await test(stack);
}

/** Resolves when the solver can price bets, some seconds after a stack has started. */
export async function hasVolatility(urls: StackUrls): Promise<void> {
  const client = new RangemakerClient({ urls, chainId: 1337 });
  await eventually("a price of a bet", async () => {
    const { price = 1n } = (await client.prices())["ETH/USDT"] ?? {};
    const startTime = Date.now();
    const range = { lowerPrice: price - price / 3_000n, upperPrice: price + price / 3_000n };
    const bet = { symbol: "ETH/USDT", ...range, betAmount: 10_000_000n, startTime };
    const priced = client.estimate({ ...bet, endTime: startTime + 15_000 });
    return await priced.then(() => true, () => undefined);
  });
}

export function atUrls(program: string, urls: StackUrls): string {
  return program
    .replace("http://127.0.0.1:3000", urls.solver)
    .replace("http://127.0.0.1:3001", urls.bridge)
    .replace("ws://127.0.0.1:8546/ws", urls.proxyWs)
    .replace("http://127.0.0.1:8546", urls.proxy);
}
