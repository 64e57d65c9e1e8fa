/**
 * CPU of bridge and solver for a deposit, a quote and an execution, in this version and in another
 * one, as processes of their own with databases on the disk, in turns, on one node with both. CPU time
 * is steadier than rates, which also depend on the node, the disk and the callers.
 *
 *     deno run -A tests/bench/versions_bench.ts OTHER/main.ts [REQUESTS [ROUNDS]]
 */
import assert from "node:assert/strict";
import { waitForPrices } from "../../services/stack/bet.ts";
import { FREE_PORTS, startStack } from "../../services/stack/stack.ts";
import { systemClock } from "../../lib/clock.ts";
import { RangemakerClient } from "../../lib/client/mod.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { hashDepositRequest, hashQuote } from "../../lib/protocol/hashes.ts";
import { quoteSchema } from "../../lib/protocol/quote.ts";
import { LocalSigner } from "../../lib/protocol/signature.ts";
import { toWire } from "../../lib/protocol/scalars.ts";
import { CHAIN_ID } from "./driver.ts";
import { freePort } from "../support/ports.ts";
import { cpuMicros, median, type Rival, start } from "./proxy_rivals.ts";

const CONCURRENCY = 32;
const BET = 100_000n;

const [other, requests = 1_000, rounds = 10] = [Deno.args[0], ...Deno.args.slice(1).map(Number)];
assert(other !== undefined, "The path of another version's main.ts is missing");

const user = new LocalSigner(`0x${"11".repeat(32)}`);
let nonce = BigInt(Date.now());

function depositBody(signer: LocalSigner, amount: bigint): string {
  const deadline = Date.now() + 600_000;
  const request = { user: signer.address, amount, nonce: nonce++, deadline };
  const signature = signer.sign(hashDepositRequest(request, CHAIN_ID));
  return JSON.stringify(toWire({ ...request, signature }));
}

/** Posts bodies, some at a time. @returns The answers, in the order of the bodies. */
async function post(url: string, bodies: readonly string[]): Promise<Record<string, unknown>[]> {
  const answers: Record<string, unknown>[] = [];
  let next = 0;
  const headers = { "content-type": "application/json" };
  await Promise.all(Array.from({ length: CONCURRENCY }, async () => {
    while (next < bodies.length) {
      const index = next++;
      const response = await fetch(url, { method: "POST", headers, body: bodies[index]! });
      const text = await response.text();
      assert(response.ok, text);
      answers[index] = JSON.parse(text);
    }
  }));
  return answers;
}

/** The services of one version, and what they used for each request. */
class Version {
  readonly figures: Record<string, number[]> = {};

  constructor(readonly name: string, readonly bridge: Rival, readonly solver: Rival) {}

  async measure(what: string, service: Rival, path: string, bodies: readonly string[]) {
    const before = cpuMicros(service.pid);
    const answers = await post(`http://127.0.0.1:${service.port}${path}`, bodies);
    (this.figures[what] ??= []).push((cpuMicros(service.pid) - before) / bodies.length);
    return answers;
  }
}

const dir = await Deno.makeTempDir();
const stack = await startStack({ ports: FREE_PORTS, seed: 1, dataDir: `${dir}/stack` });
await using services = new AsyncDisposableStack();
services.defer(() => Deno.remove(dir, { recursive: true }));
services.defer(() => stack.stop());
const client = new RangemakerClient({ urls: stack.urls, chainId: CHAIN_ID });
await waitForPrices(stack.urls, client, systemClock);

/** Starts bridge and solver of a version. */
async function startVersion(name: string, main: string, key: string): Promise<Version> {
  const serve = async (service: string, flags: string[]) => {
    const port = freePort();
    const own = ["--port", String(port), "--rate-limit", "0", "--rate-limit-total", "0"];
    const data = ["--rpc-url", stack.urls.node, "--database", `${dir}/${name}-${service}.sqlite`];
    const args = ["run", "-A", main, service, ...own, ...data, ...flags, "--log-level", "error"];
    return services.use(await start(Deno.execPath(), args, port));
  };
  await post(`${stack.urls.bridge}/deposit`, [
    depositBody(new LocalSigner(`0x${key.repeat(32)}`), 9_000_000_000n),
  ]);
  const ws = stack.urls.node.replace("http", "ws");
  return new Version(
    name,
    await serve("bridge", ["--private-key", DEV_ACCOUNTS.relayer.privateKey]),
    await serve("solver", [
      ...["--private-key", `0x${key.repeat(32)}`, "--ws-url", ws, "--hedge-delay-ms", "0"],
    ]),
  );
}

await post(`${stack.urls.bridge}/deposit`, [depositBody(user, 9_000_000_000n)]);
const versions = [
  await startVersion("other", other, "21"),
  await startVersion("this", new URL("../../main.ts", import.meta.url).pathname, "22"),
];
const [market] = Object.values(await client.prices());
assert(market !== undefined);

for (let round = 0; round <= rounds; round++) {
  for (const version of round % 2 === 0 ? versions : versions.toReversed()) {
    const { bridge, solver } = version;
    const deposits = Array.from({ length: requests }, () => depositBody(user, 10n * BET));
    await version.measure("deposit", bridge, "/deposit", deposits);
    const nowMs = Date.now();
    const asked = Array.from({ length: requests }, (_, index) =>
      JSON.stringify(toWire({
        ...{ user: user.address, thesisType: "box", base: market.base, quote: market.quote },
        lowerPrice: market.price / 2n + BigInt(index),
        upperPrice: market.price * 2n,
        betAmount: BET,
        startTime: nowMs + 60_000,
        endTime: nowMs + 70_000,
        deadline: nowMs + 240_000,
      })));
    const quotes = await version.measure("quote", solver, "/quote", asked);
    const signed = quotes.map((answer) => {
      const userSignature = user.sign(hashQuote(quoteSchema.parse(answer.quote), CHAIN_ID));
      return JSON.stringify({ quote: answer.quote, userSignature });
    });
    await version.measure("execution", solver, "/execute", signed);
  }
  // The first round warms up.
  if (round === 0) {
    for (const { figures } of versions) for (const key in figures) delete figures[key];
  }
}
const [before, now] = versions.map(({ figures }) => figures);
for (const what of ["deposit", "quote", "execution"]) {
  const [old, own] = [median(before?.[what] ?? []), median(now?.[what] ?? [])];
  console.log(
    `${what.padEnd(10)} other ${old.toFixed(0).padStart(5)} µs of CPU, this ${
      own.toFixed(0).padStart(5)
    }; other / this ${(old / own).toFixed(2)}`,
  );
}
