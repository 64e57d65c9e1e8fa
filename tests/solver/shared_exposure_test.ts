/** Solvers on one database share one exposure and all balances, whichever of them dies, and when. */
import assert from "node:assert/strict";
import { z } from "zod";
import type { RandomSource } from "../../lib/random.ts";
import type { RunningService } from "../../lib/http/service.ts";
import { openIntentStore } from "../../lib/intents/open_store.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { hashQuote } from "../../lib/protocol/hashes.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import { toWire } from "../../lib/json.ts";
import { isUnsettled, type Thesis } from "../../lib/protocol/thesis.ts";
import { kill, startServiceProcess } from "../support/killed_process.ts";
import { post } from "../support/http_answers.ts";
import { eventually } from "../support/eventually.ts";
import { FakeNode } from "../support/fake_node.ts";
import { DATABASE_KINDS } from "../support/postgres.ts";
import { withSeed } from "../support/random.ts";
import {
  CHAIN_ID,
  executeBody,
  solver,
  SOLVER_BALANCE,
  startTestSolver,
  termsAt,
  thesisOf,
  untilComplete,
  user,
  USER_BALANCE,
} from "./support.ts";
import { reservedIntents } from "../support/intents.ts";

const BOUND = 20_000_000n;
const BET = 10_000_000n;
const RISK_MAX = 5_000_000n;

/** A node that remembers the theses of the solver and reports them. */
class LedgerNode implements AsyncDisposable {
  readonly node = FakeNode.start();
  readonly theses: Thesis[] = [];

  constructor() {
    const { node } = this;
    node.credited.set(solver.address, SOLVER_BALANCE);
    node.credited.set(user.address, USER_BALANCE);
    node.methods.set("core_getTheses", (param) => {
      const { status } = z.object({ status: z.string() }).parse(param);
      const found = this.theses.filter((thesis) => thesis.status === status);
      return { theses: found.map((thesis) => toWire(thesis)), nextCursor: null };
    });
    node.methods.set("core_getThesis", (param) => {
      const thesis = this.theses.find(({ id }) => id === param);
      return thesis === undefined ? null : toWire(thesis);
    });
    node.behaviour = (apply, tx) => {
      const receipt = apply();
      if (tx.type !== "RfqSubmit" || receipt.thesisId === undefined) return receipt;
      if (this.theses.some(({ id }) => id === receipt.thesisId)) return receipt;
      const { solverSignature: _by, userSignature: _too, ...terms } = tx;
      const quoteHash = hashQuote({ ...terms, solver: solver.address }, CHAIN_ID);
      const { betAmount, payout } = tx;
      const thesis = thesisOf(receipt.thesisId, { quoteHash, betAmount, payout });
      this.theses.push(thesis);
      this.credit(user.address, -betAmount);
      this.credit(solver.address, betAmount - payout);
      this.#report(thesis);
      return receipt;
    };
  }

  get atRisk(): bigint {
    return this.theses.filter(({ status }) => isUnsettled(status))
      .reduce((sum, { payout, betAmount }) => sum + payout - betAmount, 0n);
  }

  credit(address: Address, amount: bigint): void {
    const { credited } = this.node;
    credited.set(address, (credited.get(address) ?? 0n) + amount);
  }

  /** @param isHeard False if the feed loses the notification. */
  settle(index: number, isHeard: boolean): void {
    const thesis = { ...this.theses[index]!, status: "lost" as const };
    this.theses[index] = thesis;
    if (isHeard) this.#report(thesis);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.node.stop();
  }

  #report(thesis: Thesis): void {
    this.node.feed.publish("theses", toWire(thesis));
  }
}

let lastLower = 1_600_000_000n;

/** A body of `POST /execute` that both sides have signed, with this much at risk. */
function executionOf(risk: bigint) {
  const prices = { lowerPrice: lastLower += 1n, upperPrice: 1_700_000_000n };
  return executeBody(termsAt(Date.now(), { ...prices, betAmount: BET, payout: BET + risk }));
}

function randomExecution(random: RandomSource) {
  return executionOf(BigInt(1 + Math.floor(random() * Number(RISK_MAX))));
}

/** Resolves when nothing is pending. @returns The keys of the reservations. */
async function untilQuiet(database: string): Promise<string[]> {
  await using store = await openIntentStore(database, "solver");
  await eventually("the end of all executions", async () => await store.countUnfinished() === 0);
  return (await reservedIntents(store)).map(({ key }) => key).sort();
}

/** Starts a solver in this process. */
async function startOne(ledger: LedgerNode, database: string): Promise<RunningService> {
  const running = await startTestSolver(ledger.node, {
    database,
    maxExposure: BOUND,
    hedgeDelayMs: 2,
  });
  await untilComplete(running.url);
  return running;
}

/** Fills the bound until even the smallest bet is refused, then checks that nothing is lost of it. */
async function assertFull(ledger: LedgerNode, database: string, url: string): Promise<void> {
  const rest = BOUND - ledger.atRisk;
  assert.ok(rest >= 0n, `${-rest} above the bound`);
  if (rest > 0n) {
    const answer = await post(`${url}/execute`, executionOf(rest));
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
  }
  assert.equal(ledger.atRisk, BOUND, "the bound can be used to the last unit");
  const { body } = await post(`${url}/execute`, executionOf(1n));
  assert.equal(body.code, "EXPOSURE_TOO_LARGE", JSON.stringify(body));
  const open = ledger.theses.filter(({ status }) => isUnsettled(status));
  assert.deepEqual(await untilQuiet(database), open.map(({ quoteHash }) => quoteHash).sort());
}

for (const { name, ignore, withDatabase } of DATABASE_KINDS) {
  Deno.test({
    name: `Balance: two solvers on one ${name} together do not hedge more than a user owns`,
    ignore,
    fn: () =>
      withDatabase(async (database) => {
        await using ledger = new LedgerNode();
        const { node } = ledger;
        node.credited.set(user.address, 5n * BET / 2n);
        const overrides = { database, hedgeDelayMs: 20 };
        await using first = await startTestSolver(node, overrides);
        await using second = await startTestSolver(node, overrides);
        const solvers = [first, second];
        const execute = (n: number, body: object) => post(`${solvers[n % 2]!.url}/execute`, body);
        const bodies = Array.from({ length: 12 }, () => executionOf(1n));
        const answers = await Promise.all(bodies.map((body, n) => execute(n, body)));
        const refused = bodies.filter((_, n) => answers[n]?.status === 400);
        for (const { status, body } of answers) {
          if (status !== 200) assert.equal(body.code, "INSUFFICIENT_BALANCE");
        }
        // Each hedge ends in a transaction.
        assert.deepEqual([node.received.length, refused.length], [2, 10]);
        ledger.credit(user.address, BET / 2n);
        const again = await Promise.all(refused.map((body, n) => execute(n, body)));
        assert.equal(again.filter(({ status }) => status === 200).length, 1, "after a deposit");
        assert.equal(node.received.length, 3);
      }),
  });

  Deno.test({
    name: `Exposure: two solvers on one ${name} together fill --max-exposure and never exceed it`,
    ignore,
    fn: () =>
      withSeed((random) =>
        withDatabase(async (database) => {
          await using ledger = new LedgerNode();
          await using stack = new AsyncDisposableStack();
          const start = async () => stack.use(await startOne(ledger, database));
          const solvers = [await start(), await start()];
          for (let round = 0; round < 3; round++) {
            const answers = await Promise.all(
              Array.from(
                { length: 16 },
                (_, n) => post(`${solvers[n % 2]!.url}/execute`, randomExecution(random)),
              ),
            );
            assert.ok(ledger.atRisk <= BOUND, `${ledger.atRisk} is above the bound`);
            for (const { status, body } of answers) {
              if (status !== 200) assert.equal(body.code, "EXPOSURE_TOO_LARGE");
            }
            await assertFull(ledger, database, solvers[round % 2]!.url);
            // A settled bet frees its part of the limit, whichever solver was notified.
            ledger.theses.forEach(({ status }, index) => {
              if (isUnsettled(status)) ledger.settle(index, round === 0);
            });
            if (round === 1) {
              await solvers[0]!.stop();
              solvers[0] = await start();
              await ledger.node.feed.disconnect();
            }
            for (const { url } of solvers) await untilComplete(url);
          }
        })
      ),
  });

  Deno.test({
    name:
      `Exposure: after a solver is killed at random moments, the limit on one ${name} still applies`,
    ignore,
    fn: () =>
      withSeed((random) =>
        withDatabase(async (database) => {
          await using ledger = new LedgerNode();
          const { node } = ledger;
          await using survivor = await startOne(ledger, database);
          for (let death = 0; death < 3; death++) {
            const victim = await startServiceProcess({
              args: [
                ...["solver", "--port", "0", "--rpc-url", node.url, "--ws-url", node.wsUrl],
                ...["--hedge-delay-ms", "2", "--database", database],
                ...["--max-exposure", String(BOUND), "--rate-limit", "0"],
              ],
              env: { SOLVER_PRIVATE_KEY: DEV_ACCOUNTS.solver.privateKey },
            });
            await untilComplete(victim.url);
            const bodies = Array.from({ length: 16 }, () => randomExecution(random));
            const played = bodies.map((body, n) =>
              post(`${n % 2 === 0 ? victim.url : survivor.url}/execute`, body)
                .catch(() => undefined)
            );
            const delayMs = random() * 60;
            await new Promise((resolve) => setTimeout(resolve, delayMs));
            await kill(victim);
            await Promise.all(played);
            assert.ok(ledger.atRisk <= BOUND, `${ledger.atRisk} is above the bound`);
            // The survivor finishes the victim's executions, within the same limit.
            await untilQuiet(database);
            await assertFull(ledger, database, survivor.url);
            ledger.theses.forEach(({ status }, index) => {
              if (isUnsettled(status)) ledger.settle(index, true);
            });
            await eventually("room again", async () => {
              const held = await untilQuiet(database);
              return held.length === 0;
            });
          }
        })
      ),
  });
}
