import assert from "node:assert/strict";
import { createPublicClient, http } from "viem";
import { afterInput } from "../../../lib/clock.ts";
import { listen } from "../../../lib/http/listener.ts";
import { toWire } from "../../../lib/json.ts";
import { callerGroups, createNodeApi } from "../../../services/node/rpc/api.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { handshake, type RpcMessage, RpcSocket, WEBSOCKET_KEY } from "../../support/rpc_socket.ts";
import { actors, deposit, rfqSubmit } from "../support/actors.ts";
import { withNode } from "../support/running_node.ts";
import { withLogs } from "../../support/recorded_logs.ts";

const { solver, user } = actors;

async function post(url: string, body: string): Promise<[status: number, body: RpcMessage]> {
  const response = await fetch(url, { method: "POST", body });
  const text = await response.text();
  return [response.status, text === "" ? {} : JSON.parse(text)];
}

async function call(url: string, method: string, params: unknown = []): Promise<RpcMessage> {
  const [, answer] = await post(url, JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
  return answer;
}

function test(title: string, run: Parameters<typeof withNode>[0]): void {
  Deno.test(`Node: ${title}`, () => withNode(run));
}

test("the read port serves the same state, and refuses write methods", async ({ node, client }) => {
  const tx = toWire(deposit({ timestamp: Date.now() }));
  for (const method of ["core_sendTransaction", "core_settleThesis"]) {
    const { error } = await call(node.readUrl, method, [tx]);
    assert.equal(error?.code, -32601);
  }
  await using socket = await RpcSocket.open(node.readWsUrl);
  assert.equal((await socket.call("core_sendTransaction", [tx])).error?.code, -32601);
  const transactions = await socket.subscribe("transactions");
  const receipt = await client.sendTransaction(deposit({ timestamp: Date.now() }));
  await socket.waitFor(({ params }) => params?.subscription === transactions);
  assert.deepEqual(socket.notifications(transactions), [{ ...receipt }]);
  const seen = await call(node.readUrl, "core_getTransaction", [receipt.txHash]);
  assert.deepEqual(seen.result, receipt);
  const simulated = await call(node.readUrl, "core_simulateTransaction", [tx]);
  assert.equal(Object(simulated.result).error.code, "DEPOSIT_ALREADY_PROCESSED");
});

Deno.test("Node: a body of unknown length is read in usual pieces, and refused byte by byte or over 1 MiB", async () => {
  let chars = 0;
  const handle = (text: string) => {
    chars = text.length;
    return Promise.resolve({ text: undefined, isMalformed: false });
  };
  const app = createNodeApi({ handle }, false);
  const send = async (pieces: number, bytes: number) => {
    const piece = new Uint8Array(bytes).fill(0x20);
    const body = ReadableStream.from(new Array(pieces).fill(piece));
    return (await app.request("/", { method: "POST", body })).status;
  };
  assert.deepEqual([await send(700, 1_460), chars], [204, 1_022_000]);
  for (const [pieces, bytes] of [[1_000, 1], [17, 65_536]] as const) {
    assert.equal(await send(pieces, bytes), 413);
  }
  await new Promise<void>(afterInput); // the last turn has ended
});

Deno.test("Node: a body that does not arrive within 5 s is refused with 408, whether its length is known or not", async () => {
  for (const length of [undefined, "9"]) {
    const clock = new FakeClock();
    const app = createNodeApi(
      { handle: () => assert.fail("It is not complete") },
      false,
      [],
      clock,
    );
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode('{"a":')),
    });
    const headers: HeadersInit = length === undefined ? {} : { "content-length": length };
    const answer = Promise.resolve(app.request("/", { method: "POST", body, headers }));
    await clock.untilScheduled();
    clock.advance(5_000);
    assert.equal((await answer).status, 408);
    assert.equal(clock.pending, 0);
  }
});

Deno.test("Node: pages of other origins call nothing, over HTTP and WebSocket", async () => {
  const statusOf = async (url: string, headers: Record<string, string>) => {
    const body = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';
    const post = await fetch(url, { method: "POST", body, headers });
    await post.body?.cancel();
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const [connection, answer] = await handshake(url, WEBSOCKET_KEY, ...lines);
    connection.close();
    return [post.status, Number(answer.split(" ")[1])];
  };
  await withNode(async ({ node }) => {
    assert.deepEqual(await statusOf(node.url, {}), [200, 101]);
    assert.deepEqual(await statusOf(node.url, { origin: "http://evil.example" }), [403, 403]);
    assert.deepEqual(await statusOf(node.url, { origin: "null" }), [403, 403]);
  });
  await withNode(async ({ node }) => {
    assert.deepEqual(await statusOf(node.url, { origin: "http://own.example" }), [200, 101]);
    assert.deepEqual(await statusOf(node.url, { origin: "http://evil.example" }), [403, 403]);
  }, { corsOrigins: ["http://own.example"] });
});

function withMembers(count: number): string {
  const members = Array.from({ length: count }, (_, n) => `"${n}z":1`);
  return `{"jsonrpc":"2.0","id":1,"method":"core_getAccount","params":{${members}}}`;
}

function withDigits(count: number): string {
  return `{"jsonrpc":"2.0","id":1,"method":"core_getAccount","params":[[${Array(count).fill(1)}]]}`;
}

test("a message with 5,000 values, or 131,072 list elements, is refused under its id, and the node keeps working", async ({ node }) => {
  const bodies: [body: string, status: number, code: number][] = [
    [withMembers(4_900), 200, -32602],
    [withMembers(5_000), 400, -32005],
    [withDigits(100_000), 200, -32602],
    [withDigits(200_000), 400, -32005],
  ];
  for (const [body, status, code] of bodies) {
    const [seenStatus, { id, error }] = await post(node.url, body);
    assert.deepEqual([seenStatus, id, error?.code], [status, 1, code], body.slice(0, 100));
  }
  assert.equal((await call(node.url, "eth_chainId")).result, "0x539");
});

const UNFINISHED_BODIES = {
  "of a known length": "Content-Length: 100\r\n\r\n[",
  chunked: "Transfer-Encoding: chunked\r\n\r\n1\r\n[\r\n",
};

for (const [kind, rest] of Object.entries(UNFINISHED_BODIES)) {
  Deno.test(`createNodeApi: a caller that disconnects within a body ${kind} is not logged as a fault of the node`, () =>
    withLogs("debug", async (records) => {
      const app = createNodeApi({ handle: () => assert.fail("its body is not whole") }, false);
      const started = Promise.withResolvers<void>();
      const answered = Promise.withResolvers<Response>();
      await using listener = listen("127.0.0.1", 0, async (request) => {
        started.resolve();
        const answer = await app.fetch(request);
        answered.resolve(answer);
        return answer;
      });
      const { port } = new URL(listener.url);
      const caller = await Deno.connect({ hostname: "127.0.0.1", port: Number(port) });
      const head = `POST / HTTP/1.1\r\nHost: localhost\r\n${rest}`;
      await caller.write(new TextEncoder().encode(head));
      await started.promise;
      caller.close();
      assert.equal((await answered.promise).status, 400);
      assert.deepEqual(records.map(({ level }) => level), []);
      await new Promise<void>(afterInput); // on a busy machine, a turn of the bodies ends later
    }));
}

test("a batch is answered in order, each call separately", async ({ node }) => {
  const batch = [
    { jsonrpc: "2.0", id: "a", method: "eth_chainId" },
    { jsonrpc: "2.0", method: "net_version" },
    7,
    { jsonrpc: "2.0", id: null, method: "nothing" },
    { jsonrpc: "2.0", id: 2, method: "net_version", params: [] },
  ];
  const [status, answers] = await post(node.url, JSON.stringify(batch));
  assert.equal(status, 200);
  assert.ok(Array.isArray(answers));
  const brief = answers.map(({ id, result, error }) => [id, result ?? error?.code]);
  assert.deepEqual(brief, [["a", "0x539"], [null, -32600], [null, -32601], [2, "1337"]]);
  const silent = await post(node.url, JSON.stringify([batch[1]]));
  assert.deepEqual(silent, [204, {}]);
});

test("a request without an id is executed without an answer", async ({ node, client }) => {
  await using socket = await RpcSocket.open(node.wsUrl);
  socket.send('{"jsonrpc":"2.0","method":"net_version"}');
  const params = [toWire(deposit({ timestamp: Date.now() }))];
  socket.send(JSON.stringify({ jsonrpc: "2.0", method: "core_sendTransaction", params }));
  assert.equal((await socket.call("eth_chainId")).result, "0x539");
  assert.equal(socket.messages.length, 1);
  assert.equal((await client.getAccount(user.address)).balance, 5_000_000n);
});

test("a binary frame is read as text, and broken frames are answered", async ({ node }) => {
  await using socket = await RpcSocket.open(node.wsUrl);
  socket.send(new TextEncoder().encode('{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'));
  await socket.waitFor(({ result }) => result === "0x539");
  socket.send("}{");
  await socket.waitFor(({ error }) => error?.code === -32700);
});

test("a frame that is too long gets an error under its id, and the socket stays open", async ({ node }) => {
  await using socket = await RpcSocket.open(node.wsUrl);
  const padding = "x".repeat(1_048_576);
  const cases: [start: string, id: unknown][] = [
    ['{"jsonrpc":"2.0","id":7,"method":"core_getThesis","params":', 7],
    ["}{", null],
  ];
  for (const [index, [start, expected]] of cases.entries()) {
    socket.send(`${start}"${padding}"}`);
    await socket.waitFor(() => socket.messages.length === index + 1);
    const { id, error } = socket.messages[index]!;
    assert.deepEqual([id, error?.code], [expected, -32005], start);
    assert.match(error?.message ?? "", /1048576 characters: received 1048[0-9]{3}/);
  }
  assert.equal((await socket.call("eth_chainId")).result, "0x539");
});

test("core_getTheses filters by each field of its query, in pages by cursor", async ({ client }) => {
  await client.sendTransaction(deposit({ timestamp: Date.now() }));
  for (let opened = 0; opened < 5; opened++) {
    const fields = { timestamp: Date.now(), upperPrice: 4_000_000_000n + BigInt(opened) };
    await client.sendTransaction(rfqSubmit({ ...fields, betAmount: 10_000n, payout: 10_001n }));
  }
  const first = await client.getTheses({ user: user.address, limit: 3 });
  const second = await client.getTheses({
    user: user.address,
    limit: 3,
    cursor: first.nextCursor!,
  });
  assert.deepEqual([first, second].map(({ theses }) => theses.map(({ id }) => id)), [
    [1, 2, 3],
    [4, 5],
  ]);
  assert.equal(second.nextCursor, null);
  assert.deepEqual((await client.getTheses({ status: "lost" })).theses, []);
  assert.deepEqual((await client.getTheses({ solver: user.address })).theses, []);
  assert.deepEqual((await client.getTheses({ user: solver.address })).theses, []);
  assert.equal((await client.getTheses({})).theses.length, 5);
});

test("metrics count checkpoints, pulls, transactions and calls", async ({ node, client }) => {
  await client.sendTransaction(deposit({ timestamp: Date.now() }));
  await call(node.url, "a-name-that-must-not-become-a-label");
  await call(node.url, "core_settleThesis", [1]);
  const text = await (await fetch(`${node.url}/metrics`)).text();
  const lines = [
    /^node_block_number [1-9]/m,
    /^node_oracle_pulls_total\{outcome="ok"\} [1-9]/m,
    /^node_transactions_total\{type="Deposit",status="committed"\} 1$/m,
    /^node_rpc_calls_total\{method="core_sendTransaction",outcome="ok"\} 1$/m,
    /^node_rpc_calls_total\{method="unknown",outcome="error"\} 1$/m,
    /^node_rpc_calls_total\{method="core_settleThesis",outcome="error"\} 1$/m,
    /^node_checkpoint_lateness_seconds_count [1-9]/m,
  ];
  for (const line of lines) assert.match(text, line);
  assert.ok(!text.includes("a-name-that-must-not"));
});

test("viem reads blocks by number and tag; another number is refused", async ({ node }) => {
  const overHttp = createPublicClient({ transport: http(node.url) });
  const block = await overHttp.getBlock();
  const parent = await overHttp.getBlock({ blockNumber: block.number - 1n });
  assert.equal(parent.hash, block.parentHash);
  assert.equal((await overHttp.getBlock({ blockTag: "earliest" })).number, 0n);
  assert.ok(Math.abs(Number(block.timestamp) - Date.now() / 1000) < 5);
  assert.equal((await call(node.url, "eth_getBlockByNumber", ["0xFFFF"])).result, null);
  assert.equal((await call(node.url, "eth_getBlockByNumber", ["0X0"])).error?.code, -32602);
});

Deno.test("Node: on shutdown, sockets are closed with 1012 so that clients reconnect", async () => {
  let closed: Promise<CloseEvent> | undefined;
  await withNode(async ({ node }) => {
    closed = (await RpcSocket.open(node.wsUrl)).closed;
  });
  assert.equal((await closed)?.code, 1012);
});

const PROXY = "192.0.2.2";
const VIA_PROXY = `via ${PROXY}`;

Deno.test("callerGroups: returns the peer or, behind a proxy, the proxy and the last two addresses", () => {
  const rows: [header: string | null, path: string[]][] = [
    [null, [PROXY]],
    ["198.51.100.1", [VIA_PROXY, `198.51.100.1 ${VIA_PROXY}`]],
    // A load balancer in front of the proxy reports its client; the client's own header is ignored.
    ["forged, 198.51.100.1, 192.0.2.3", [
      VIA_PROXY,
      `192.0.2.3 ${VIA_PROXY}`,
      `198.51.100.1 192.0.2.3 ${VIA_PROXY}`,
    ]],
    ["2001:db8::1:2:3:4", [VIA_PROXY, `2001:db8:0:0::/64 ${VIA_PROXY}`]],
    ["", [VIA_PROXY, `unknown ${VIA_PROXY}`]],
    ["x".repeat(5_000), [VIA_PROXY, `unknown ${VIA_PROXY}`]],
    [`${"x".repeat(5_000)}, 198.51.100.1`, [
      VIA_PROXY,
      `198.51.100.1 ${VIA_PROXY}`,
      `unknown 198.51.100.1 ${VIA_PROXY}`,
    ]],
  ];
  for (const [header, path] of rows) {
    assert.deepEqual(callerGroups(header, PROXY), path, header ?? "no header");
  }
});
