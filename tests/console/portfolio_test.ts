import assert from "node:assert/strict";
import {
  type Account,
  NetworkError,
  type Offer,
  RangemakerClient,
  RangemakerError,
  type Thesis,
  WatchError,
} from "../../lib/client/mod.ts";
import { PendingBets } from "../../services/console/page/data/pending_bets.ts";
import { Portfolio } from "../../services/console/page/data/portfolio.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { memoryStore } from "./memory_store.ts";

const USER = "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A";
const SOLVER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const SIGNATURE = `0x${"1a".repeat(64)}1b` as const;
const HASH = `0x${"ab".repeat(32)}` as const;

const terms = {
  user: USER,
  solver: SOLVER,
  thesisType: "box",
  base: SOLVER,
  quote: SOLVER,
  lowerPrice: 1n,
  upperPrice: 2n,
  betAmount: 10n,
  payout: 25n,
  startTime: 0,
  endTime: 1_000,
} as const;

const offer: Offer = {
  quote: { ...terms, deadline: 5_000, signature: SIGNATURE },
  quoteHash: HASH,
};

const thesisOf = (id: number, status: Thesis["status"]): Thesis => ({
  ...terms,
  id,
  status,
  createdAt: 0,
  quoteHash: HASH,
  txHash: HASH,
});

/** A client whose chain nobody reaches, except for what the test answers. */
class FakeClient extends RangemakerClient {
  executed: Offer[] = [];
  onThesis: ((thesis: Thesis) => void) | undefined;
  failure: Error | undefined;

  constructor() {
    super({ urls: { solver: "", bridge: "", proxy: "http://127.0.0.1:1", proxyWs: "" } });
  }

  override account(): Promise<Account> {
    return Promise.resolve({ address: USER, balance: 7n, locked: 0n, permissions: [] });
  }

  override watch(
    ...[handlers]: Parameters<RangemakerClient["watch"]>
  ): ReturnType<RangemakerClient["watch"]> {
    this.onThesis = (thesis) => handlers?.onThesis?.(thesis);
    return Promise.reject(new WatchError("NOT_CONNECTED", "no"));
  }

  override execute(offer: Offer): ReturnType<RangemakerClient["execute"]> {
    this.executed.push(offer);
    if (this.failure !== undefined) return Promise.reject(this.failure);
    return Promise.resolve({ thesisId: 1, txHash: HASH });
  }
}

function scene(failure?: Error) {
  const pending = new PendingBets(memoryStore());
  pending.add({ offer, signature: SIGNATURE });
  const client = new FakeClient();
  client.failure = failure;
  const settled: number[] = [];
  const portfolio = new Portfolio({
    client,
    user: USER,
    pending,
    clock: new FakeClock(),
    onSettled: ({ id }) => settled.push(id),
  });
  portfolio.start();
  return { pending, client, portfolio, settled };
}

const settle = () => new Promise((resolve) => setTimeout(resolve));

Deno.test("Portfolio: a bet whose answer was lost is sent again at the start, as it was", async () => {
  const { client, pending, portfolio } = scene();
  await settle();
  assert.deepEqual(client.executed, [offer]);
  assert.deepEqual(pending.of(USER), []);
  portfolio.close();
});

Deno.test("Portfolio: it is kept while nobody answers, and forgotten when it is refused", async () => {
  const away = scene(new NetworkError("SERVICE_UNREACHABLE", "away"));
  await settle();
  assert.equal(away.pending.of(USER).length, 1);
  away.portfolio.close();
  const refused = scene(new RangemakerError("DEADLINE_PASSED", "late"));
  await settle();
  assert.deepEqual(refused.pending.of(USER), []);
  refused.portfolio.close();
});

Deno.test("Portfolio: outcomes of bets that were open are news, those of the past are not", async () => {
  const { client, portfolio, settled } = scene();
  await settle();
  client.onThesis?.(thesisOf(1, "won"));
  client.onThesis?.(thesisOf(2, "open"));
  client.onThesis?.(thesisOf(2, "lost"));
  assert.deepEqual(settled, [2]);
  assert.deepEqual(portfolio.theses.value.map(({ id }) => id), [2, 1], "newest first");
  assert.match(portfolio.problem.value ?? "", /no/, "the watch has failed");
  portfolio.close();
  client.onThesis?.(thesisOf(3, "open"));
  assert.equal(portfolio.theses.value.length, 2, "after the end nothing changes");
});
