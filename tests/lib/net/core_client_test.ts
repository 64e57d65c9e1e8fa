import assert from "node:assert/strict";
import { listen } from "../../../lib/http/listener.ts";
import { CoreClient, missingSpansOf } from "../../../lib/net/core_client.ts";
import {
  isNodeAway,
  NodeTimeoutError,
  NodeUnreachableError,
  readPages,
} from "../../../lib/net/core_reader.ts";
import { RpcError } from "../../../lib/protocol/jsonrpc.ts";

const NOBODY = "http://127.0.0.1:2";

/** A client of a node that answers every call in one way, and ends with it. */
function clientOf(
  answer: (call: { method: string; params: unknown[] }) => Response | Promise<Response>,
  timeoutMs = 30_000,
) {
  const node = listen("127.0.0.1", 0, async (request) => answer(await request.json()));
  const client = new CoreClient({ url: node.url, timeoutMs });
  return Object.assign(client, { [Symbol.asyncDispose]: () => node.stop() });
}

function result(value: unknown): Response {
  return Response.json({ jsonrpc: "2.0", id: 1, result: value });
}

function failure(code: number, message: string, data?: unknown): Response {
  return Response.json({ jsonrpc: "2.0", id: 1, error: { code, message, data } });
}

Deno.test("CoreClient: acceptsTransactions is false only if the node does not know the method", async () => {
  const answers = [
    { answer: failure(-32601, "no such method"), takes: false },
    { answer: failure(-32602, "no transaction"), takes: true },
    { answer: result(null), takes: true },
  ];
  for (const { answer, takes } of answers) {
    await using client = clientOf(({ method, params }) => {
      assert.deepEqual([method, params], ["core_sendTransaction", []]);
      return answer;
    });
    assert.equal(await client.acceptsTransactions(), takes);
  }
  const client = new CoreClient({ url: NOBODY });
  await assert.rejects(client.acceptsTransactions(), NodeUnreachableError);
});

Deno.test("CoreClient: the receipt of another transaction is an error that leaves the outcome open", async () => {
  const [asked, other] = ["aa", "bb"].map((byte) => byte.repeat(32));
  const hash = `0x${asked}` as const;
  const receipt = { txHash: `0x${other}`, status: "committed", blockNumber: 1 };
  await using client = clientOf(() => result(receipt));
  const calls = [
    client.getTransaction(hash),
    client.sendTransactionText("{}", hash),
    client.simulateTransactionText("{}", hash),
  ];
  for (const call of calls) {
    await assert.rejects(call, { rpcCode: -32603, message: /the receipt of 0xbb.* of 0xaa/ });
  }
});

Deno.test("isNodeAway: true for a call without an answer, false for an error answer", () => {
  for (const away of [new NodeTimeoutError("", "m", 1), new NodeUnreachableError("", "away")]) {
    assert(isNodeAway(away));
  }
  assert(!isNodeAway(new RpcError(-32603, "")));
});

Deno.test('RpcError: only "node is away" and a limit may be tried again later', () => {
  const codes = [-32002, -32003, -32005, -32010, -32602, -32603];
  assert.deepEqual(codes.filter((code) => new RpcError(code, "").retry === "later"), [
    -32002,
    -32005,
  ]);
});

Deno.test("CoreClient: an error of the node keeps its code, message and data", async () => {
  const [message, data] = ["lacks prices", { code: "NotEnded" }];
  await using client = clientOf(() => failure(-32010, message, data));
  const expected = { name: "RpcError", rpcCode: -32010, message, data };
  await assert.rejects(() => client.settleThesis(1), expected);
});

Deno.test("CoreClient: an answer of the wrong shape is an RpcError, whatever it is", async () => {
  const answers = [
    result({ address: "0x1" }),
    result(null),
    Response.json({ jsonrpc: "2.0", id: 1 }),
    Response.json([]),
    Response.json("text"),
  ];
  for (const answer of answers) {
    await using client = clientOf(() => answer);
    const account = client.getAccount("0x0000000000000000000000000000000000000001");
    await assert.rejects(account, { name: "RpcError", rpcCode: -32603 });
  }
  for (const quantity of ["0x", "0x5g", "10x5", "1337"]) {
    await using client = clientOf(() => result(quantity));
    await assert.rejects(client.getChainId(), { rpcCode: -32603, message: /eth_chainId/ });
  }
});

Deno.test("CoreClient: another service's answer is shown with its URL; a gateway's means that the node is away", async () => {
  const body = { success: false, error: "No route POST /", code: "NOT_FOUND" };
  await using other = clientOf(() => Response.json(body, { status: 404 }));
  await assert.rejects(other.getChainId(), {
    rpcCode: -32603,
    message: `Not a node or proxy: ${other.url} answered 404: ${JSON.stringify(body)}`,
  });
  await using odd = clientOf(() => Response.json(["x".repeat(1_000)]));
  const withKey = new CoreClient({ url: `${odd.url}/?key=secret` });
  const shown = /^Not a node or proxy: http:[^?]*\?… answered 200: \["x{298}$/;
  await assert.rejects(withKey.getChainId(), { message: shown });
  await using front = clientOf(() => Response.json(body, { status: 503 }));
  await assert.rejects(front.getChainId(), {
    code: "NODE_UNREACHABLE",
    message: `Core node at ${front.url} cannot be reached: a gateway in front of it answered 503`,
  });
});

Deno.test("CoreClient: a slow node is NODE_TIMEOUT, a missing one NODE_UNREACHABLE", async () => {
  const late = Promise.withResolvers<Response>();
  await using slow = clientOf(() => late.promise, 50);
  const timeout = { name: "NodeTimeoutError", code: "NODE_TIMEOUT" };
  await assert.rejects(() => slow.getPrices(), timeout);
  late.resolve(result({}));
  const missing = new CoreClient({ url: NOBODY });
  const away = { name: "NodeUnreachableError", code: "NODE_UNREACHABLE" };
  await assert.rejects(() => missing.getChainId(), away);
  await using page = clientOf(() => new Response("<html>"));
  await assert.rejects(() => page.getChainId(), NodeUnreachableError);
});

Deno.test("CoreClient: the genesis hash is that of the first block", async () => {
  const hash = `0x${"ab".repeat(32)}`;
  await using client = clientOf(({ method, params }) => {
    assert.deepEqual([method, params], ["eth_getBlockByNumber", ["0x0", false]]);
    return result({ hash });
  });
  assert.equal(await client.getGenesisHash(), hash);
});

Deno.test("CoreClient: the time of a block is in whole seconds only if the node has nothing finer", async () => {
  const ethereum = { number: "0x10", timestamp: "0x6553f100" };
  const answers = [
    { block: ethereum, timestampMs: 1_700_000_000_000 },
    { block: { ...ethereum, timestampMs: 1_700_000_000_900 }, timestampMs: 1_700_000_000_900 },
  ];
  for (const { block, timestampMs } of answers) {
    await using client = clientOf(() => result(block));
    assert.deepEqual(await client.getHead(), { number: 16, timestampMs });
  }
});

// A service records the number: one that it cannot read back would leave its database damaged.
Deno.test("CoreClient: a block whose number is beyond all safe integers is an RpcError", async () => {
  for (const number of ["0x20000000000000", "0x7fffffffffffffff", "0xffffffffffffffff"]) {
    await using client = clientOf(() => result({ number, timestamp: "0x6553f100" }));
    await assert.rejects(client.getHead(), { rpcCode: -32603, message: /has the wrong shape/ });
  }
});

Deno.test("CoreClient: new theses have no bounds only if the node does not report them", async () => {
  const answers = [
    { answer: result({ minBetAmount: "7", maxStartAheadMs: 9 }), expected: [7n, 9] },
    { answer: failure(-32601, "no such method"), expected: [0n, Infinity] },
  ];
  for (const { answer, expected } of answers) {
    await using client = clientOf(() => answer);
    assert.deepEqual(Object.values(await client.getLimits()), expected);
  }
  await using failing = clientOf(() => failure(-32603, "internal error"));
  await assert.rejects(failing.getLimits(), RpcError);
});

Deno.test("CoreClient: a chain allows reverts only if the node lists core_revert", async () => {
  const lists = [
    { names: ["core_faucet", "core_revert"], expected: true },
    { names: ["core_faucet"], expected: false },
  ];
  for (const { names, expected } of lists) {
    const methods = names.map((name) => ({ name }));
    await using client = clientOf(({ method, params }) => {
      assert.deepEqual([method, params], ["rpc.discover", []]);
      return result({ openrpc: "1.3.2", methods });
    });
    assert.equal(await client.allowsReverts(), expected);
  }
});

Deno.test("readPages: reads from the first to the last page, or to the given number of pages", async () => {
  const cursors: (string | undefined)[] = [];
  const read = (cursor?: string) => {
    cursors.push(cursor);
    const page = Number(cursor ?? 0);
    return Promise.resolve({ page, nextCursor: page === 3 ? null : String(page + 1) });
  };
  assert.deepEqual(await Array.fromAsync(readPages(read), ({ page }) => page), [0, 1, 2, 3]);
  assert.deepEqual(cursors.splice(0), [undefined, "1", "2", "3"]);
  assert.deepEqual(await Array.fromAsync(readPages(read, 2), ({ page }) => page), [0, 1]);
  assert.equal(cursors.length, 2);
});

Deno.test("missingSpansOf: reads the spans of NeedsBackfill, and nothing else", () => {
  const missing = [{ from: 100, to: 300 }];
  const lacking = new RpcError(-32010, "", { data: { code: "NeedsBackfill", missing } });
  assert.deepEqual(missingSpansOf(lacking), missing);
  const others = [
    new RpcError(-32010, "", { data: { code: "NotEnded", endTime: 5 } }),
    new RpcError(-32010, "", { data: { code: "NeedsBackfill", missing: [{ from: 1 }] } }),
    new RpcError(-32603, ""),
    new Error("NeedsBackfill"),
  ];
  for (const other of others) assert.equal(missingSpansOf(other), undefined);
});
