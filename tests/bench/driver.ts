/** What the benchmarks of bridge, solver and node have in common: callers, a store, ways in turns. */
import type { Hono } from "hono";
import { systemClock } from "../../lib/clock.ts";
import { listen } from "../../lib/http/listener.ts";
import { SqliteDriver } from "../../lib/intents/sqlite_driver.ts";
import { IntentStore } from "../../lib/intents/store.ts";
import { Submitter, type SubmitterOptions } from "../../lib/intents/submitter.ts";
import { type FlatType, signingDomain } from "../../lib/protocol/typed_data.ts";
import { onlyChain } from "../support/intents.ts";
import type { Job } from "./http_clients.ts";
import { median } from "./proxy_rivals.ts";

export const CHAIN_ID = 1337;

const ROUNDS = 3;

export interface Figures {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

/** Posts bodies to a service from a worker, so that callers leave the service its core. */
export async function postAll(job: Job): Promise<Figures> {
  const worker = new Worker(new URL("http_clients.ts", import.meta.url), { type: "module" });
  try {
    return await new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = (event) => reject(new Error(event.message));
      worker.postMessage(job);
    });
  } finally {
    worker.terminate();
  }
}

export async function post(app: Hono, job: Omit<Job, "url"> & { path: string }): Promise<Figures> {
  await using listener = listen("127.0.0.1", 0, (request) => app.fetch(request));
  return await postAll({ ...job, url: listener.url + job.path });
}

/** Runs with a store on the disk and a submitter to a node. */
export async function withStore(
  options: Pick<SubmitterOptions, "node" | "handler" | "transactions">,
  run: (store: IntentStore, submitter: Submitter) => Promise<Figures>,
): Promise<Figures> {
  const directory = await Deno.makeTempDir();
  const store = new IntentStore(SqliteDriver.open(`${directory}/bench.sqlite`), "bench");
  const submitter = new Submitter({
    store,
    clock: systemClock,
    guard: onlyChain(systemClock),
    ...options,
  });
  try {
    return await run(store, submitter);
  } finally {
    await submitter.stop();
    await store.close();
    await Deno.remove(directory, { recursive: true });
  }
}

/** Measures several ways in turn, after a warm-up run of each. @returns Median rates. */
export async function compare<Name extends string>(
  what: string,
  measures: Record<Name, () => Promise<Figures>>,
): Promise<Record<Name, number>> {
  // The keys of a literal are the names that its type lists.
  const ways = (Object.keys(measures) as Name[]).map((name) => ({
    name,
    measure: measures[name],
    figures: [] as Figures[],
  }));
  for (const { measure } of ways) await measure();
  for (let round = 0; round < ROUNDS; round++) {
    for (const { measure, figures } of ways) figures.push(await measure());
  }
  const rates = ways.map(({ name, figures }) => {
    const of = (key: keyof Figures) => median(figures.map((one) => one[key]));
    const rate = of("perSecond");
    const times = `p50 ${of("p50Ms").toFixed(1)} ms  p99 ${of("p99Ms").toFixed(1)} ms`;
    console.log(`${name.padEnd(10)} ${rate.toFixed(0).padStart(6)} ${what}/s  ${times}`);
    return [name, rate] as const;
  });
  // One entry for each of the names.
  return Object.fromEntries(rates) as Record<Name, number>;
}

export function definitionOf(type: FlatType, message: Record<string, unknown>) {
  return {
    domain: signingDomain(CHAIN_ID),
    types: { [type.primaryType]: type.fields },
    primaryType: type.primaryType,
    message,
  };
}
