/**
 * Strangers that fill the node's queues through proxies, while a relayer calls the node directly.
 * `tests/node/rpc/serial_queue_test.ts` checks without a socket that callers take turns.
 */
import assert from "node:assert/strict";
import { CoreClient } from "../../lib/net/core_client.ts";
import { toWire } from "../../lib/json.ts";
import { actors, deposit, hashOf } from "../node/support/actors.ts";
import { withNode } from "../node/support/running_node.ts";
import { startTestProxy } from "../proxy/support.ts";
import { AddressedClient } from "./honest_client.ts";

const PROXIES = 2;
/** Of each proxy, each with an address of its own. */
const STRANGERS = 3;
/** Unanswered calls of a stranger at any time: what one WebSocket of the proxy may have. */
const CALLS = 225;
const WAITING = PROXIES * STRANGERS * CALLS;
const DEPOSITS = 5;
/**
 * The most answers that strangers may get during half of the deposits: about 450 if callers take
 * turns, since answers travel in bundles, but all waiting ones if the queue is first come, first
 * served.
 */
const ANSWERS_BEFORE_MAX = WAITING * 2 / 3;
/** Nothing ends because the machine is busy: only the order of the answers counts. */
const TIMEOUT_MS = 600_000;

/** A transaction that costs the node a check of its signature, and is refused. */
function badTransaction(number: number): unknown {
  const fields = { timestamp: Date.now(), user: actors.user.address, amount: BigInt(number) };
  const { signature } = deposit({ ...fields, externalTxHash: hashOf(1) });
  return toWire({ ...deposit({ ...fields, externalTxHash: hashOf(2) }), signature });
}

const name = "Hostile: deposits overtake the writes of strangers that fill the node's queue";
Deno.test(name, { timeout: 180_000 }, () =>
  withNode(async ({ node }) => {
    await using stack = new AsyncDisposableStack();
    const tx = badTransaction(1);
    let isOver = false;
    let answered = 0;
    const strangers: Promise<void>[] = [];
    const isFull = Promise.withResolvers<void>();
    const flood = async (client: AddressedClient) => {
      while (!isOver) {
        await client.call("core_sendTransaction", [tx]);
        answered += 1;
        if (answered >= WAITING) isFull.resolve(); // all have been sent
      }
    };
    for (let index = 0; index < PROXIES; index++) {
      const proxy = await startTestProxy({
        readNodeUrl: node.readUrl,
        writeNodeUrl: node.url,
        upstreamTimeoutMs: TIMEOUT_MS,
      });
      stack.defer(() => proxy.stop());
      for (let stranger = 0; stranger < STRANGERS; stranger++) {
        const address = `198.51.100.${index * STRANGERS + stranger}`;
        const client = await AddressedClient.open(proxy.wsUrl, address) ?? assert.fail();
        for (let calls = 0; calls < CALLS; calls++) strangers.push(flood(client));
      }
    }
    await isFull.promise;
    const relayer = new CoreClient({ url: node.url, timeoutMs: TIMEOUT_MS });
    const answersBefore: number[] = [];
    for (let number = 1; number <= DEPOSITS; number++) {
      const answeredThen = answered;
      const fields = { user: actors.user.address, amount: 1n, externalTxHash: hashOf(number) };
      const { status } = await relayer.sendTransaction(
        deposit({ timestamp: Date.now(), ...fields }),
      );
      assert.equal(status, "committed");
      answersBefore.push(answered - answeredThen);
    }
    isOver = true;
    await Promise.all(strangers);
    const median = answersBefore.toSorted((a, b) => a - b)[(DEPOSITS - 1) / 2]!; // it is odd
    assert(median <= ANSWERS_BEFORE_MAX, `${answersBefore} answers of ${WAITING} came first`);
  }));
