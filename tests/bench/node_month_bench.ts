/**
 * A month of bets on a chain with `--data-dir`, by a fake clock: 4.7 bets a second, a deposit per ten
 * bets, settled theses kept for 7 of 30 days. Prints the size on the disk as it goes, then how long a
 * start takes and how much memory it needs. Run with
 * `deno run --allow-all tests/bench/node_month_bench.ts [bets] [never]`; 12,200,000 bets are the whole
 * month, fewer are the same month with fewer bets a second; with `never`, nothing is rewritten.
 *
 * Results are in `docs/operating.md`, Disk.
 */
import { setImmediate } from "node:timers";
import { Chain, type ChainEvents } from "../../services/node/chain/chain.ts";
import { OraclePrices } from "../../services/node/oracle/oracle_prices.ts";
import { KEEP_MS, REWRITE_BYTES_MIN } from "../../services/node/storage/compaction.ts";
import { DataDir } from "../../services/node/storage/data_dir.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { actors, CHAIN_ID, ETH, hashOf } from "../node/support/actors.ts";
import { pricesBody } from "../node/support/fake_oracle.ts";

const DAY_MS = 86_400_000;
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
  onJournalFailure: (thrown) => {
    throw thrown;
  },
};

function openChain(path: string, clock: FakeClock) {
  const genesis = {
    balances: new Map([[solver.address, 10n ** 15n]]),
    relayers: [relayer.address],
    admins: [],
  };
  const dataDir = DataDir.open(path, { chainId: CHAIN_ID, genesis, ringSlots: 65_536, clock });
  const { state, journal, createdAtMs, resumeFrom, numbers, archive } = dataDir;
  const chain = new Chain({
    ...{ chainId: CHAIN_ID, clock, oraclePrices: new OraclePrices(3_000), events: silent },
    ...{ state, journal, createdAtMs, resumeFrom, numbers, archive },
  });
  return { dataDir, chain };
}

class Month {
  readonly #clock = new FakeClock();
  readonly #path: string;
  readonly #bets: number;
  readonly #isRewriting: boolean;
  readonly #parts: ReturnType<typeof openChain>;
  #made = 0;
  #rewrittenBytes = 0;
  #longestMs = 0;

  constructor(path: string, bets: number, isRewriting: boolean) {
    this.#path = path;
    this.#bets = bets;
    this.#isRewriting = isRewriting;
    this.#parts = openChain(path, this.#clock);
  }

  async run(): Promise<void> {
    const checkpoints = Math.ceil(this.#bets / BETS_PER_CHECKPOINT);
    const stepMs = Math.floor(MONTH_MS / checkpoints / 100) * 100;
    for (let checkpoint = 1; checkpoint <= checkpoints; checkpoint++) {
      this.#step(stepMs);
      if (this.#isRewriting) await this.#compact();
      if (checkpoint % Math.ceil(checkpoints / REPORTS) === 0) this.#report(checkpoint * stepMs);
    }
    console.log(
      `longest turn of the event loop during a rewrite: ${this.#longestMs.toFixed(1)} ms`,
    );
    await this.#parts.dataDir.close(this.#parts.chain.head);
  }

  #step(stepMs: number): void {
    const { dataDir, chain } = this.#parts;
    this.#clock.jump(stepMs);
    const nowMs = this.#clock.now();
    chain.oraclePrices.update(pricesBody(nowMs), nowMs);
    chain.checkpoint(nowMs);
    for (let bet = 0; bet < BETS_PER_CHECKPOINT; bet++) {
      if (bet % 10 === 0) this.#deposit(nowMs);
      this.#open(nowMs);
    }
    dataDir.flush(chain.head);
  }

  #deposit(atMs: number): void {
    const { dataDir, chain } = this.#parts;
    const number = this.#made;
    const record = {
      ...{ kind: "transaction" as const, atMs },
      tx: {
        ...{ type: "Deposit" as const, timestamp: atMs, from: relayer.address },
        ...{ user: user.address, amount: 10_000_000n },
        ...{ externalTxHash: hashOf(number + 1), signature: SIGNATURE },
      },
      receipt: {
        ...{ txHash: hashOf(2 ** 50 + number), status: "committed" as const },
        blockNumber: chain.head.number + 1,
      },
    };
    dataDir.journal.append([record]);
    dataDir.state.applyTransaction(record);
  }

  /** Opens a thesis of one slot, which the next checkpoint settles. */
  #open(atMs: number): void {
    const { dataDir, chain } = this.#parts;
    this.#made += 1;
    const record = {
      ...{ kind: "transaction" as const, atMs, quoteHash: hashOf(2 ** 51 + this.#made) },
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
    };
    dataDir.journal.append([record]);
    dataDir.state.applyTransaction(record);
  }

  /** As `Compaction` does it, but at once. */
  async #compact(): Promise<void> {
    const { journal, archive } = this.#parts.dataDir;
    while (archive.dropBefore(this.#clock.now() - RETAIN_MS) > 0);
    if (journal.bytes < Math.max(REWRITE_BYTES_MIN, 2 * this.#rewrittenBytes)) return;
    let isRewriting = true;
    let turnMs = performance.now();
    const measure = () => {
      if (!isRewriting) return;
      this.#longestMs = Math.max(this.#longestMs, performance.now() - turnMs);
      turnMs = performance.now();
      setImmediate(measure);
    };
    setImmediate(measure);
    await this.#parts.dataDir.rewrite(this.#clock.now() - KEEP_MS, {
      sliceMs: 2,
      nextTurn: () => new Promise((resolve) => setImmediate(resolve)),
    });
    isRewriting = false;
    this.#rewrittenBytes = journal.bytes;
  }

  #report(elapsedMs: number): void {
    const { dataDir } = this.#parts;
    const archive = ["", "-wal"].map((end) => sizeOf(`${this.#path}/archive.sqlite${end}`));
    console.log(
      `day ${(elapsedMs / DAY_MS).toFixed(0)}: ${this.#made} bets, journal ${
        mb(dataDir.journal.bytes)
      }, ` +
        `archive ${mb(archive.reduce((sum, size) => sum + size, 0))}, ` +
        `memory ${mb(Deno.memoryUsage().rss)}`,
    );
  }
}

function sizeOf(path: string): number {
  try {
    return Deno.statSync(path).size;
  } catch {
    return 0;
  }
}

function mb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

const [first = "600000", second] = Deno.args;
if (first === "open" && second !== undefined) {
  const startMs = performance.now();
  const { dataDir } = openChain(second, new FakeClock(Date.now()));
  const { rss } = Deno.memoryUsage();
  console.log(
    `start: ${Math.round(performance.now() - startMs)} ms, memory ${mb(rss)}, ` +
      `${dataDir.state.ledger.theses.length} theses in memory`,
  );
  await dataDir.close();
} else {
  const path = await Deno.makeTempDir();
  await new Month(path, Number(first), second !== "never").run();
  const script = new URL(import.meta.url).pathname;
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", script, "open", path],
    stderr: "inherit",
  }).output();
  console.log(new TextDecoder().decode(stdout).trim());
  await Deno.remove(path, { recursive: true });
}
