/**
 * A month of bets on a chain with `--data-dir`, by a fake clock: 4.7 bets a second, a deposit per ten
 * bets, settled theses kept for 7 of 30 days. Prints the size on the disk as it goes, then how long a
 * start takes and how much memory it needs. Run with
 * `deno run --allow-all tests/bench/node_month_bench.ts [bets]`; 12,200,000 bets are the whole month,
 * fewer are the same month with fewer bets a second.
 *
 * Results are in `docs/operating.md`, Disk.
 */
import process from "node:process";
import { setImmediate } from "node:timers";
import { Chain, type ChainEvents } from "../../services/node/chain/chain.ts";
import { SPEC_MARKETS } from "../../lib/protocol/markets.ts";
import { OraclePrices } from "../../services/node/oracle/oracle_prices.ts";
import { withDefaults } from "../../lib/cli/options.ts";
import { options } from "../../services/node/options.ts";
import { resolveSettings } from "../../services/node/settings.ts";
import { openStorage } from "../../services/node/store/storage.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { actors, CHAIN_ID, ETH, hashOf } from "../node/support/actors.ts";
import { pricesBody } from "../node/support/fake_oracle.ts";
import { DAY_MS } from "../../lib/time.ts";

const MONTH_MS = 30 * DAY_MS;
const RETAIN_MS = 7 * DAY_MS;
const REPORTS = 10;
/** Bets that are opened, and settled, at one checkpoint. */
const BETS_PER_CHECKPOINT = 100;
const SIGNATURE = `0x${"ab".repeat(65)}` as const;
const { user, solver, relayer } = actors;

const silent: ChainEvents = {
  onHead: () => {},
  onTransaction: () => {},
  onThesis: () => {},
  onMissingPrice: () => {},
};

function openChain(path: string, clock: FakeClock) {
  const balances = new Map([[solver.address, 10n ** 15n]]);
  const settings = resolveSettings(
    withDefaults(options, {
      ...{ chainId: CHAIN_ID, balances, relayers: [relayer.address] },
      ...{ retain: RETAIN_MS, minBet: 0n },
    }),
    SPEC_MARKETS,
  );
  const storage = openStorage(settings, path, clock);
  const { records, resumeFrom } = storage;
  const chain = new Chain({
    ...settings,
    clock,
    oraclePrices: new OraclePrices(3_000, SPEC_MARKETS),
    events: silent,
    ...{ records, resumeFrom },
  });
  return { storage, chain };
}

class Month {
  readonly #clock = new FakeClock();
  readonly #bets: number;
  readonly #parts: ReturnType<typeof openChain>;
  #made = 0;
  #longestMs = 0;

  constructor(path: string, bets: number) {
    this.#bets = bets;
    this.#parts = openChain(path, this.#clock);
  }

  async run(): Promise<void> {
    const { storage, chain } = this.#parts;
    const checkpoints = Math.ceil(this.#bets / BETS_PER_CHECKPOINT);
    const stepMs = Math.floor(MONTH_MS / checkpoints / 100) * 100;
    for (let checkpoint = 1; checkpoint <= checkpoints; checkpoint++) {
      this.#step(stepMs);
      await new Promise((resolve) => setImmediate(resolve));
      if (checkpoint % Math.ceil(checkpoints / REPORTS) === 0) this.#report(checkpoint * stepMs);
    }
    console.log(`longest checkpoint with its commit: ${this.#longestMs.toFixed(1)} ms`);
    await storage.close(chain.head);
  }

  #step(stepMs: number): void {
    const { storage, chain } = this.#parts;
    this.#clock.jump(stepMs);
    const nowMs = this.#clock.now();
    chain.oraclePrices.update(pricesBody(nowMs), nowMs);
    const startMs = performance.now();
    storage.afterCheckpoint(chain.checkpoint(nowMs));
    // Fewer checkpoints than a month has: each deletes as many rows as those in between would.
    for (let more = 0; more < 4; more++) storage.records.dropBefore(nowMs - RETAIN_MS);
    storage.records.saveHead(chain.head);
    storage.records.commits.commit();
    this.#longestMs = Math.max(this.#longestMs, performance.now() - startMs);
    storage.records.commits.change(() => {
      for (let bet = 0; bet < BETS_PER_CHECKPOINT; bet++) {
        if (bet % 10 === 0) this.#deposit(nowMs);
        this.#open(nowMs);
      }
    });
  }

  #deposit(atMs: number): void {
    const { chain } = this.#parts;
    const number = this.#made;
    chain.state.applyTransaction({
      atMs,
      tx: {
        ...{ type: "Deposit" as const, timestamp: atMs, from: relayer.address },
        ...{ user: user.address, amount: 10_000_000n },
        ...{ externalTxHash: hashOf(number + 1), signature: SIGNATURE },
      },
      receipt: {
        ...{ txHash: hashOf(2 ** 50 + number), status: "committed" as const },
        blockNumber: chain.head.number + 1,
      },
    });
  }

  /** Opens a thesis of one slot, which the next checkpoint settles. */
  #open(atMs: number): void {
    const { chain } = this.#parts;
    this.#made += 1;
    chain.state.applyTransaction({
      ...{ atMs, quoteHash: hashOf(2 ** 51 + this.#made) },
      tx: {
        ...{ type: "RfqSubmit" as const, timestamp: atMs, from: solver.address },
        ...{ user: user.address, thesisType: "box" as const, base: ETH.base, quote: ETH.quote },
        ...{ startTime: atMs, endTime: atMs + 100, lowerPrice: 1n, upperPrice: 10n ** 12n },
        ...{ betAmount: 1_000_000n, payout: 1_100_000n, deadline: atMs + 30_000 },
        ...{ signature: SIGNATURE, solverSignature: SIGNATURE, userSignature: SIGNATURE },
      },
      receipt: {
        ...{ txHash: hashOf(2 ** 52 + this.#made), status: "committed" as const },
        ...{ blockNumber: chain.head.number + 1, thesisId: this.#made },
      },
    });
  }

  #report(elapsedMs: number): void {
    const { storage } = this.#parts;
    console.log(
      `day ${(elapsedMs / DAY_MS).toFixed(0)}: ${this.#made} bets, ${
        mb(storage.bytes)
      } on the disk, ` +
        `memory ${mb(Deno.memoryUsage().rss)}`,
    );
  }
}

function mb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

const [first = "600000", second] = Deno.args;
if (first === "open" && second !== undefined) {
  const startMs = performance.now();
  const cpuMs = () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  };
  const startCpuMs = cpuMs();
  const { storage, chain } = openChain(second, new FakeClock(Date.now()));
  console.log(
    `start: ${Math.round(performance.now() - startMs)} ms, ${
      Math.round(cpuMs() - startCpuMs)
    } ms of CPU, ` +
      `memory ${
        mb(Deno.memoryUsage().rss)
      }, ${storage.records.state.totals.theses.rows} theses stored`,
  );
  await storage.close(chain.head);
} else {
  const path = await Deno.makeTempDir();
  await new Month(path, Number(first)).run();
  const script = new URL(import.meta.url).pathname;
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", script, "open", path],
    stderr: "inherit",
  }).output();
  console.log(new TextDecoder().decode(stdout).trim());
  await Deno.remove(path, { recursive: true });
}
