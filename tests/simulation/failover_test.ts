/**
 * Bridge and solver with both servers of a PostgreSQL pair in one URL: the primary dies under load,
 * the standby is promoted, and everything that was signed happens exactly once.
 */
import assert from "node:assert/strict";
import { signedRequest, startTestBridge } from "../bridge/support.ts";
import {
  askQuote,
  signQuote,
  solver as solverKey,
  SOLVER_BALANCE,
  startTestSolver,
  user,
  USER_BALANCE,
} from "../solver/support.ts";
import { eventually } from "../support/eventually.ts";
import { type Answer, post } from "../support/http_answers.ts";
import { FakeNode } from "../support/fake_node.ts";
import { NEEDS_POSTGRES_PROGRAMS, type Pair, withPair } from "../support/postgres_cluster.ts";

/** Clients of each service. */
const CLIENTS = 8;

/** Requests that each service answers before the primary dies, and after the promotion. */
const ANSWERED = 60;

/** How soon after the promotion both services have to work again. */
const BACK_WITHIN_MS = 10_000;

/** How long a client waits before it sends again. */
const RETRY_MS = 20;

/** One service under load: its clients send new requests until {@link end}. */
class Load {
  /** When each request was answered for good. */
  readonly answeredAtMs: number[] = [];
  readonly #clients: Promise<void>[];
  #isOver = false;

  /** @param send Sends the request with this number once. */
  constructor(send: (number: number) => Promise<Answer>, isDone: (answer: Answer) => boolean) {
    let next = 0;
    const client = async () => {
      while (!this.#isOver) {
        const number = next++;
        // A client that got no final answer sends the same request again, also after the end.
        for (let isOpen = true; isOpen;) {
          const answer = await send(number);
          isOpen = !isDone(answer);
          if (!isOpen) break;
          assert.ok([409, 503, 504].includes(answer.status), JSON.stringify(answer));
          await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
        }
        this.answeredAtMs.push(Date.now());
      }
    };
    this.#clients = Array.from({ length: CLIENTS }, client);
    // Thrown by `end`.
    for (const running of this.#clients) running.catch(() => this.#isOver = true);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get answered(): number {
    return this.answeredAtMs.length;
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#clients);
  }
}

async function failOver(pair: Pair, loads: readonly Load[]): Promise<number> {
  await eventually(
    "answers",
    () => loads.every(({ answered }) => answered >= ANSWERED),
  );
  await pair.primary.end("SIGKILL");
  await pair.promote();
  const promotedAtMs = Date.now();
  const backAtMs = await Promise.all(loads.map(async (load) => {
    const before = load.answered;
    await eventually("an answer", () => load.answered > before);
    const backMs = Date.now();
    await eventually("more answers", () => load.answered >= before + ANSWERED);
    return backMs;
  }));
  return Math.max(...backAtMs) - promotedAtMs;
}

Deno.test({
  name:
    `PostgreSQL failover under load: nothing is lost or doubled, and it continues within 10 s${NEEDS_POSTGRES_PROGRAMS}`,
  ignore: NEEDS_POSTGRES_PROGRAMS !== "",
  timeout: 180_000,
  fn: () =>
    withPair(["bridge", "solver"], async (pair) => {
      const node = FakeNode.start();
      node.credited.set(solverKey.address, SOLVER_BALANCE);
      node.credited.set(user.address, USER_BALANCE);
      node.methods.set("core_getTheses", () => ({ theses: [], nextCursor: null }));
      const bridge = await startTestBridge(node.url, { database: pair.url("bridge") });
      const solver = await startTestSolver(node, {
        database: pair.url("solver"),
        maxExposure: 10n ** 12n,
      });
      try {
        const requests: ReturnType<typeof signedRequest>[] = [];
        const deposits = new Load(
          (number) => {
            const nonce = BigInt(number);
            const request = requests[number] ??= signedRequest({ nonce, amount: nonce + 1n });
            return post(`${bridge.url}/deposit`, request);
          },
          ({ status, body }) =>
            status === 200 || status === 409 && / committed/.test(String(body.error)),
        );
        const signed = new Map<number, unknown>();
        const executions = new Load(
          async (number) => {
            if (!signed.has(number)) {
              const quote = await askQuote(solver.url, { lowerPrice: String(1e9 + number) });
              signed.set(number, { quote, userSignature: signQuote(quote) });
            }
            return await post(`${solver.url}/execute`, signed.get(number));
          },
          ({ status, body }) => status === 200 && Object(body.result).status === "committed",
        );
        const backAfterMs = await failOver(pair, [deposits, executions]);
        await Promise.all([deposits.end(), executions.end()]);
        assert.ok(backAfterMs < BACK_WITHIN_MS, `Back ${backAfterMs} ms after the promotion`);
        const total = requests.reduce((sum, { amount }) => sum + BigInt(amount), USER_BALANCE);
        assert.equal(node.credited.get(user.address), total);
        assert.equal(node.committed.length, requests.length + signed.size);
      } finally {
        await Promise.all([bridge.stop(), solver.stop()]);
        await node.stop();
      }
    }),
});
