/**
 * Strangers that fill the node's queues through proxies, beside a bridge that talks to the node. That
 * callers take turns is what `tests/node/rpc/serial_queue_test.ts` checks, without a clock.
 */
import assert from "node:assert/strict";
import { withDefaults } from "../../lib/cli/options.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { toWire } from "../../lib/protocol/wire.ts";
import { options as proxyOptions, startProxy } from "../../services/proxy/mod.ts";
import { signedRequest, startTestBridge } from "../bridge/support.ts";
import { actors, deposit, hashOf } from "../node/support/actors.ts";
import { withNode } from "../node/support/running_node.ts";
import { post } from "../proxy/support.ts";
import { AddressedClient } from "./honest_client.ts";

const PROXIES = 2;
/** Of each proxy, each with an address of its own. */
const STRANGERS = 3;
/** Unanswered calls of a stranger at any time: what one WebSocket of the proxy may have. */
const CALLS = 225;
const DEPOSITS = 5n;
/**
 * Answers that strangers get at most until a deposit is taken. Where callers take turns these are about
 * 2,000 on any machine; a busy one may answer so slowly meanwhile that the bridge gives up.
 */
const ANSWERS_MAX = 10_000;

/** A transaction that costs the node a check of its signature, and is refused. */
function badTransaction(number: number): unknown {
  const fields = { timestamp: Date.now(), user: actors.user.address, amount: BigInt(number) };
  const { signature } = deposit({ ...fields, externalTxHash: hashOf(1) });
  return toWire({ ...deposit({ ...fields, externalTxHash: hashOf(2) }), signature });
}

const name = "Hostile: deposits succeed while strangers fill the node's queue of writes";
const JSON_BODY = { "content-type": "application/json" };
Deno.test(name, { timeout: 180_000 }, () =>
  withNode(async ({ node }) => {
    await using stack = new AsyncDisposableStack();
    const keep = <T extends { stop(): Promise<void> }>(service: T): T => {
      stack.defer(() => service.stop());
      return service;
    };
    const bridge = keep(await startTestBridge(node.url));
    const tx = badTransaction(1);
    let isOver = false;
    let answered = 0;
    const strangers: Promise<void>[] = [];
    const flood = async (client: AddressedClient) => {
      while (!isOver) {
        await client.call("core_sendTransaction", [tx]);
        answered += 1;
      }
    };
    for (let index = 0; index < PROXIES; index++) {
      const proxy = keep(
        await startProxy(withDefaults(proxyOptions, {
          port: 0,
          readNodeUrl: node.readUrl,
          writeNodeUrl: node.url,
        })),
      );
      for (let stranger = 0; stranger < STRANGERS; stranger++) {
        const address = `198.51.100.${index * STRANGERS + stranger}`;
        const client = await AddressedClient.open(proxy.wsUrl, address) ?? assert.fail();
        for (let calls = 0; calls < CALLS; calls++) strangers.push(flood(client));
      }
    }
    for (let nonce = 1n; nonce <= DEPOSITS; nonce++) {
      const request = signedRequest({ nonce });
      const answeredBefore = answered;
      let answer = await post(`${bridge.url}/deposit`, request, JSON_BODY);
      while (answer.status === 503 && answered - answeredBefore < ANSWERS_MAX) {
        await answer.body?.cancel();
        answer = await post(`${bridge.url}/deposit`, request, JSON_BODY);
      }
      assert.deepEqual([answer.status, (await answer.json()).error], [200, undefined]);
    }
    isOver = true;
    await Promise.all(strangers);
  }, { relayers: [DEV_ACCOUNTS.relayer.address] }));
