/**
 * The load of `node_bench.ts`, a process of its own: signs transactions, says so, waits for a line
 * on standard input, sends them, and prints how many milliseconds that took.
 */
import { toWire } from "../../lib/json.ts";
import { actors, deposit, hashOf, rfqSubmit } from "../node/support/actors.ts";

const CONCURRENCY = 16;

/** Long enough for all theses to be open while the load runs. */
const THESIS_MS = 120_000;

/** Transactions have a future time, within the limit of a node: signing takes a while. */
const AHEAD_MS = 50_000;

async function sendAll(url: string, bodies: string[]): Promise<void> {
  let next = 0;
  const sender = async () => {
    for (let body = bodies[next++]; body !== undefined; body = bodies[next++]) {
      const response = await fetch(url, { method: "POST", body });
      const text = await response.text();
      if (!text.includes('"committed"')) throw new Error(text);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, sender));
}

function depositBody(number: number): string {
  return bodyOf(deposit({
    timestamp: Date.now() + AHEAD_MS,
    user: actors.user.address,
    amount: 10_000_000n,
    externalTxHash: hashOf(number),
  }));
}

function rfqBody(number: number): string {
  const timestamp = Date.now() + AHEAD_MS;
  const terms = { betAmount: 100n, payout: 110n, upperPrice: 3_200_000_000n + BigInt(number) };
  return bodyOf(rfqSubmit({ timestamp, endTime: timestamp + THESIS_MS, ...terms }));
}

function bodyOf(tx: Parameters<typeof toWire>[0]): string {
  const params = [toWire(tx)];
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method: "core_sendTransaction", params });
}

const [url, type, transactions] = Deno.args as [string, string, string]; // as the benchmark gives them
const make = type === "Deposit" ? depositBody : rfqBody;
const bodies = Array.from({ length: Number(transactions) }, (_, number) => make(number));
console.log("signed");
await Deno.stdin.read(new Uint8Array(16));
const startMs = performance.now();
await sendAll(url, bodies);
console.log(performance.now() - startMs);
