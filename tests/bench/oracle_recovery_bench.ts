/**
 * How soon the oracle uses an exchange again that was away, with default settings.
 *
 *     deno run -A tests/bench/oracle_recovery_bench.ts [rounds]
 *
 * All four stand-ins go away for 8 to 25 s, by a fault or by a restart of their process's server. The
 * time counts from the end of the outage until a provider is ready and has a price of every pair.
 */
import { withDefaults } from "../../lib/cli/options.ts";
import { PROVIDER_NAMES, type ProviderName } from "../../lib/protocol/providers.ts";
import { options as exchangesOptions, startExchanges } from "../../services/exchanges/mod.ts";
import { options as oracleOptions, startOracle } from "../../services/oracle/mod.ts";

const ROUNDS = Number(Deno.args[0] ?? 3);
const POLL_MS = 20;
const OUTAGES = ["shutdown", "close", "stall", "restart"] as const;

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const settings = (port: number) => withDefaults(exchangesOptions, { port, rate: 20 });
let exchanges = await startExchanges(settings(0));
const port = Number(new URL(exchanges.url).port);
const { providerUrls } = exchanges;
const oracle = await startOracle(withDefaults(oracleOptions, { port: 0, providerUrls }));

async function readyNow(): Promise<Set<ProviderName>> {
  const { providers } = await (await fetch(`${oracle.url}/providers`)).json();
  return new Set(
    providers.filter(({ ready, prices }: { ready: boolean; prices: number }) =>
      ready && prices === 3
    ).map(({ name }: { name: ProviderName }) => name),
  );
}

/** Milliseconds until each provider is ready. */
async function untilReady(): Promise<number[]> {
  const fromMs = performance.now();
  const took = new Map<ProviderName, number>();
  while (took.size < PROVIDER_NAMES.length) {
    for (const name of await readyNow()) {
      if (!took.has(name)) took.set(name, performance.now() - fromMs);
    }
    await sleep(POLL_MS);
  }
  return PROVIDER_NAMES.map((name) => took.get(name) ?? NaN);
}

async function beAway(outage: typeof OUTAGES[number], ms: number): Promise<void> {
  if (outage === "restart") {
    await exchanges.stop();
    await sleep(ms);
    exchanges = await startExchanges(settings(port));
    return;
  }
  for (const name of PROVIDER_NAMES) exchanges.inject(name, outage);
  await sleep(ms);
  for (const name of PROVIDER_NAMES) exchanges.clear(name, outage);
}

await untilReady();
for (const outage of OUTAGES) {
  const all: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await beAway(outage, 8_000 + 17_000 * Math.random());
    const took = await untilReady();
    all.push(...took);
    console.log(`  ${outage}  ${took.map((ms) => `${ms.toFixed(0)} ms`).join("  ")}`);
    await sleep(3_000);
  }
  const sorted = all.toSorted((a, b) => a - b);
  console.log(
    `${outage}: median ${sorted[sorted.length >> 1]?.toFixed(0)} ms, ` +
      `longest ${sorted.at(-1)?.toFixed(0)} ms of ${sorted.length}`,
  );
}
await oracle.stop();
await exchanges.stop();
