/** The router between two nodes that a test plays: their requests, and the callers' answers. */
import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { monotonicClock } from "../../../lib/clock.ts";
import { ByteBudget } from "../../../services/proxy/shared/limits.ts";
import { answerLost, ProxyError } from "../../../services/proxy/shared/failures.ts";
import type { PostOptions } from "../../../services/proxy/node/http_pool.ts";
import type { CallAnswer, NodeReply } from "../../../services/proxy/shared/envelopes.ts";
import { Turns } from "../../../lib/timing/turns.ts";
import type { RouterOptions } from "../../../services/proxy/calls/router.ts";
import type { Read } from "../../../services/proxy/node/read_pool.ts";
import { eventually } from "../../support/eventually.ts";
import { address } from "../hub/hub_scene.ts";
import { call, readNodesOf, routerTo } from "../support.ts";

interface Posted {
  target: "read" | "write";
  text: string;
  options: PostOptions;
  answer: PromiseWithResolvers<NodeReply>;
}

function scene(overrides: Partial<RouterOptions> = {}) {
  const posted: Posted[] = [];
  const budget = new ByteBudget(Infinity);
  const node = (target: "read" | "write") => ({
    post(text: string, options: PostOptions) {
      assert.equal(options.forwardedFor, "x");
      const answer = Promise.withResolvers<NodeReply>();
      posted.push({ target, text, options, answer });
      return answer.promise;
    },
  });
  const nodes = { read: node("read"), write: node("write") };
  const router = routerTo(nodes, { budget, ...overrides });
  const askText = (text: string, subscribe?: () => Promise<void>) =>
    router.answer(text, address("x"), subscribe);
  const ask = (message: unknown, subscribe?: () => Promise<void>) =>
    askText(JSON.stringify(message), subscribe);
  return { posted, ask, askText, budget };
}

/** Answers a request like a node that accepts every method. */
function echo({ text, answer }: Posted, status = 200): void {
  const value: { id?: number } | { id?: number }[] = JSON.parse(text);
  const result = ({ id }: { id?: number }) => ({ jsonrpc: "2.0", id, result: text.length });
  const body = Array.isArray(value) ? value.map(result) : result(value);
  answer.resolve({ status, body: JSON.stringify(body) });
}

const notification = (method: string) => ({ jsonrpc: "2.0", method });

Deno.test("Router: a read, and a batch of reads, are sent with the blocks that they name", async () => {
  const logs = (id: number, block: string) => call(id, "eth_getLogs", [{ toBlock: block }]);
  const messages: [message: unknown, blocks: number[]][] = [
    [call(1, "eth_chainId"), []],
    [logs(1, "0x65"), [0x65]],
    [[call(1, "eth_chainId")], []],
    [[logs(1, "0x64"), logs(2, "0x65"), call(3, "eth_chainId"), logs(4, "latest")], [0x64, 0x65]],
  ];
  for (const [message, blocks] of messages) {
    const { posted, ask } = scene();
    const asked = ask(message);
    const [sent] = posted;
    assert.deepEqual(sent?.options.blocks ?? [], blocks, JSON.stringify(message));
    echo(sent ?? assert.fail());
    await asked;
  }
});

Deno.test("Router: only plain reads, alone or in a batch of such reads, may be sent twice", () => {
  const messages: [message: unknown, isPlain: boolean][] = [
    [call(1, "eth_chainId"), true],
    [call(1, "eth_newFilter"), false],
    [call(1, "core_sendTransaction"), false],
    [notification("eth_chainId"), false],
    [[call(1, "eth_chainId"), call(2, "eth_call")], true],
    [[call(1, "core_sendTransaction")], false],
    [[call(1, "eth_newFilter"), call(2, "eth_chainId")], false],
    [[call(1, "evm_mine"), call(2, "core_sendTransaction")], false],
  ];
  for (const [message, wanted] of messages) {
    const { posted, ask } = scene();
    void ask(message);
    assert(posted.length > 0);
    for (const post of posted) {
      assert.equal(post.options.isPlain ?? false, wanted, JSON.stringify(message));
    }
  }
});

Deno.test("Router: an answer reports whether it came from a read node, the write node, both, or the proxy", async () => {
  const [read, write] = [call(1, "eth_chainId"), call(2, "core_sendTransaction")];
  const rows: [message: unknown, target: string, status: number][] = [
    [read, "read", 200],
    [write, "write", 200],
    [[read], "read", 200],
    [[write], "write", 200],
    [[read, write], "mixed", 200],
    [[write, read, 7], "mixed", 200],
    [[7], "proxy", 200],
    [7, "proxy", 400],
    [[], "proxy", 400],
    [notification("eth_chainId"), "read", 204],
    [[notification("eth_chainId"), notification("core_sendTransaction")], "mixed", 204],
  ];
  for (const [message, target, status] of rows) {
    const { posted, ask } = scene();
    const answer = ask(message);
    for (const post of posted) echo(post);
    const { target: who, status: what } = await answer;
    assert.deepEqual([who, what], [target, status], JSON.stringify(message));
  }
});

Deno.test("Router: notifications get no answer, even if the node fails", async () => {
  const away = answerLost("read", "away");
  {
    const { posted, ask } = scene();
    const answers = [ask(notification("eth_chainId")), ask([notification("eth_chainId")])];
    for (const { answer } of posted) answer.reject(away);
    for (const answer of answers) {
      const { status, body } = await answer;
      assert.deepEqual([status, body], [204, null]);
    }
  }
  {
    const { posted, ask } = scene();
    const answer = ask([notification("eth_chainId"), call(1, "eth_call")]);
    posted[0]?.answer.resolve({ status: 200, body: '{"id":null,"error":{"code":1}}' });
    assert.deepEqual(JSON.parse(String((await answer).body)), [
      { jsonrpc: "2.0", id: 1, error: { code: 1 } },
    ]);
  }
  const subscribe = () => Promise.resolve();
  for (const message of [notification("eth_subscribe"), [notification("eth_subscribe")]]) {
    assert.equal((await scene().ask(message, subscribe)).body, null);
  }
});

Deno.test("Router: when a node fails, each of its calls in a batch gets the error under its own id", async () => {
  const { posted, ask } = scene();
  const [read, other] = [call(1, "eth_call"), call(3, "eth_chainId")];
  const answer = ask([read, notification("eth_call"), call(2, "core_sendTransaction"), other]);
  posted[0]?.answer.reject(answerLost("read", "away"));
  echo(posted[1] ?? assert.fail());
  const all: { id: number; error?: { code: number } }[] = JSON.parse(String((await answer).body));
  assert.deepEqual(all.map(({ id, error }) => [id, error?.code]), [
    [1, -32002],
    [2, undefined],
    [3, -32002],
  ]);
});

const change = call(2, "core_sendTransaction");
const plainRead = call(3, "eth_chainId");
const changes: [name: string, message: unknown][] = [
  ["a change", change],
  ["a batch with a change", [change]],
  ["a batch with a call that may change something", [plainRead, call(4, "evm_mine")]],
];
for (const [name, message] of changes) {
  for (const outcome of ["answered", "lost"]) {
    Deno.test(`Router: after ${name} was ${outcome}, a read does not share an earlier one`, async () => {
      const { posted, ask } = scene();
      void ask(call(1, "core_getAccount", ["a"]));
      const changed = ask(message);
      for (const post of posted.slice(1)) {
        if (outcome === "answered") echo(post);
        else post.answer.reject(answerLost(post.target, "away"));
      }
      await changed;
      const before = posted.length;
      void ask(call(5, "core_getAccount", ["a"]));
      assert.equal(posted.length, before + 1);
    });
  }
}

Deno.test("Router: after a batch of plain reads, a read still shares an earlier one", async () => {
  const { posted, ask } = scene();
  void ask(call(1, "core_getAccount", ["a"]));
  const batch = ask([plainRead]);
  echo(posted[1] ?? assert.fail());
  await batch;
  void ask(call(5, "core_getAccount", ["a"]));
  assert.equal(posted.length, 2);
});

Deno.test("Router: equal pending reads share a result, later ones do not", async () => {
  const { posted, ask } = scene();
  const shared = [1, 2, 3].map((id) => ask(call(id, "core_getAccount", ["a"])));
  assert.equal(posted.length, 1);
  const [post = assert.fail()] = posted;
  echo(post);
  for (const [index, { status, body }] of (await Promise.all(shared)).entries()) {
    const { id, result } = JSON.parse(String(body));
    assert.deepEqual([status, id, result], [200, index + 1, post.text.length]);
  }
  void ask(call(4, "core_getAccount", ["a"]));
  assert.equal(posted.length, 2);
});

function reply({ text, answer }: Posted, members: string): void {
  answer.resolve({ status: 200, body: `{"id":${JSON.parse(text).id},${members}}` });
}

const refusals: [name: string, answer: (post: Posted) => void, status: number][] = [
  ["a status other than 200", (post) => echo(post, 429), 429],
  ["an error", (post) => reply(post, '"error":{}'), 200],
  ["a result and an error", (post) => reply(post, '"result":null,"error":{}'), 200],
  ["neither a result nor an error", (post) => reply(post, '"x":1'), 200],
  ["an answer under the id of another call", ({ text, answer }) => {
    answer.resolve({ status: 200, body: `{"id":${JSON.parse(text).id + 1},"result":1}` });
  }, 502],
  ["no JSON", ({ answer }) => answer.resolve({ status: 200, body: "<html>" }), 502],
  ["no answer", ({ answer }) => answer.reject(new ProxyError(502, -32002, "away")), 502],
];
for (const [name, refuse, status] of refusals) {
  Deno.test(`Router: if a read gets ${name}, each equal read is sent separately`, async () => {
    const { posted, ask } = scene();
    const [first, ...others] = [1, 2, 3].map((id) => ask(call(id, "core_getAccount", ["a"])));
    assert.equal(posted.length, 1);
    refuse(posted[0] ?? assert.fail());
    assert.equal((await first)?.status, status);
    await eventually("the others are sent", () => posted.length === 3);
    for (const post of posted.slice(1)) echo(post);
    for (const [index, answer] of others.entries()) {
      assert.equal(JSON.parse(String((await answer).body)).id, index + 2);
    }
  });
}

Deno.test("Router: the end of an old read does not remove a newer shared read", async () => {
  const { posted, ask } = scene();
  const first = ask(call(1, "core_getAccount", ["a"]));
  const changed = ask(change);
  echo(posted[1] ?? assert.fail());
  await changed;
  void ask(call(3, "core_getAccount", ["a"]));
  assert.equal(posted.length, 3);
  echo(posted[0] ?? assert.fail());
  await first;
  void ask(call(4, "core_getAccount", ["a"]));
  assert.equal(posted.length, 3);
});

Deno.test("Router: a reply with a result or an error is an answer, others are 502", async () => {
  for (const body of [' \n{"error":1}', '{"a":1}', "[1]", "no {", ""]) {
    const { posted, ask } = scene();
    const answer = ask(call(1, "eth_newFilter"));
    posted[0]?.answer.resolve({ status: 200, body });
    assert.equal((await answer).status, body.includes("error") ? 200 : 502, body);
  }
});

Deno.test("Router: the node's answer to a change is passed on unchanged, under its caller's id", async () => {
  const { posted, ask } = scene();
  const answer = ask(change);
  const error = '"error":{"code":-32010,"message":"no","data":{"a":[1]}}}';
  posted[0]?.answer.resolve({ status: 429, body: `{"jsonrpc":"2.0","id":0,${error}` });
  assert.deepEqual(await answer, {
    status: 429,
    body: `{"jsonrpc":"2.0","id":${change.id},${error}`,
    target: "write",
  });
});

Deno.test("Router: answers to batches that take long are split one per turn, and count as memory until then", async () => {
  let nowMs = 0;
  // Each reading takes 5 ms.
  const turns = new Turns({ ...monotonicClock, now: () => nowMs += 5 });
  const { posted, ask, budget } = scene({ turns });
  const batches = Array.from({ length: 5 }, (_, id) => ask([call(id, "eth_getLogs", [id])]));
  await eventually("all batches are sent", () => posted.length === batches.length);
  const result = "x".repeat(100_000);
  for (const { text, answer } of posted) {
    const [{ id }]: [{ id: number }] = JSON.parse(text);
    answer.resolve({ status: 200, body: JSON.stringify([{ jsonrpc: "2.0", id, result }]) });
  }
  let [answered, inTurn, mostInTurn, waitingBytes] = [0, 0, 0, 0];
  for (const batch of batches) {
    void batch.then(() => {
      answered += 1;
      mostInTurn = Math.max(mostInTurn, inTurn += 1);
    });
  }
  while (answered < batches.length) {
    inTurn = 0;
    await new Promise<void>((resolve) => setImmediate(resolve));
    waitingBytes = Math.max(waitingBytes, budget.used);
  }
  assert.equal(mostInTurn, 1);
  assert(waitingBytes >= 4 * result.length, `${waitingBytes} bytes counted`);
  assert.equal(budget.used, 0);
});

Deno.test("Router: other callers are served while long batches wait to be read", async () => {
  const { posted, ask } = scene({ maxBatch: 1_000, turns: new Turns(monotonicClock) });
  await using server = Deno.serve({ port: 0, onListen() {} }, () => new Response("served"));
  const calls = Array.from({ length: 1_000 }, (_, id) => call(id, "eth_getLogs", [{ id }]));
  const batches = Array.from({ length: 60 }, () => ask(calls));
  const served = await fetch(`http://127.0.0.1:${server.addr.port}`);
  assert.equal(await served.text(), "served");
  assert(posted.length < batches.length, "all of them were read before");
  await eventually("all batches are sent", () => posted.length === batches.length);
  posted.forEach((post) => echo(post));
  for (const { status } of await Promise.all(batches)) assert.equal(status, 200);
});

Deno.test("Router: other callers are served while many short batches are read", async () => {
  const { askText } = scene({ maxBatch: 1_000, turns: new Turns(monotonicClock) });
  await using server = Deno.serve({ port: 0, onListen() {} }, () => new Response("served"));
  const invalid = `[${Array(1_000).fill("1").join(",")}]`;
  let answered = 0;
  const batches = Array.from({ length: 100 }, async () => {
    await askText(invalid);
    answered += 1;
  });
  const served = await fetch(`http://127.0.0.1:${server.addr.port}`);
  assert.equal(await served.text(), "served");
  assert(answered < batches.length, "all of them were read before");
  await Promise.all(batches);
});

Deno.test("Router: a small answer to a batch does not wait for a turn", async () => {
  const { posted, ask } = scene();
  const answer = ask([call(1, "eth_chainId")]);
  let isTurnOver = false;
  setImmediate(() => isTurnOver = true);
  for (const post of posted) echo(post);
  assert.equal((await answer).status, 200);
  assert.equal(isTurnOver, false);
});

/** Three nodes: the first one leads, and only the second one has block 9. */
function severalNodes() {
  const nodes = readNodesOf("a b c");
  for (const [index, node] of nodes.all.entries()) {
    nodes.onHead(node, { number: index === 1 ? 9 : 5, timestampS: 0 });
  }
  return nodes;
}

Deno.test("Router: with several read nodes, each call is sent to its node, alone or in a batch", async () => {
  const calls = [
    call(1, "eth_call", [{}, "0x9"]),
    call(2, "core_sendTransaction"),
    call(3, "eth_newFilter"),
    call(4, "eth_getFilterChanges", ["0x702"]),
    call(5, "eth_chainId"),
  ];
  const wanted = [["read", 1], ["write", undefined], ["read", 0], ["read", 2], ["read", 0]];
  const alone = scene({ readNodes: severalNodes() });
  const answers = calls.map((each) => alone.ask(each));
  assert.deepEqual(
    alone.posted.map(({ target, options }) => [target, options.node?.index]),
    wanted,
  );
  assert.deepEqual(JSON.parse(alone.posted[3]?.text ?? "").params, ["0x7"], "the node's own id");
  for (const post of alone.posted) reply(post, '"result":"0x1"');
  const results = (await Promise.all(answers)).map(({ body }) => JSON.parse(String(body)).result);
  assert.deepEqual(results, ["0x1", "0x1", "0x100", "0x1", "0x1"]);

  const { posted, ask } = scene({ readNodes: severalNodes() });
  const answer = ask([...calls, notification("eth_newFilter")]);
  assert.deepEqual(
    posted.map(({ target, options }) => [target, options.node?.index]),
    wanted.slice(0, 4),
  );
  for (const { text, answer } of posted) {
    const sent: { id?: number }[] = JSON.parse(text);
    const body = sent.flatMap(({ id }) => id === undefined ? [] : [{ id, result: "0x1" }]);
    answer.resolve({ status: 200, body: JSON.stringify(body) });
  }
  const all: { id: number; result: string }[] = JSON.parse(String((await answer).body));
  assert.deepEqual(all.map(({ id }) => id), [1, 2, 3, 4, 5]);
  assert.deepEqual(all.map(({ result }) => result), results);
});

Deno.test("Router: a read of a block that no node has, and of a filter whose node is gone, fails", async () => {
  const block = call(3, "eth_call", [{}, "0x9"]);
  const { id: _, ...silent } = block;
  const others = notification("eth_getLogs");
  const filters = ["0x1", "0x700"].map((id) => call(1, "eth_getFilterChanges", [id]));
  const rows: [message: unknown, status: number, errors: unknown[]][] = [
    [block, 503, [[3, -32002]]],
    [[block, others], 200, [[3, -32002]]],
    [silent, 204, [null]],
    [[silent], 204, [null]],
    ...filters.flatMap((filter): typeof rows => [
      [filter, 200, [[1, -32000]]],
      [[filter, others], 200, [[1, -32000]]],
    ]),
  ];
  for (const [message, status, errors] of rows) {
    const readNodes = severalNodes();
    readNodes.onDied(readNodes.all[1] ?? assert.fail(), "gone");
    const { posted, ask } = scene({ readNodes });
    const answering = ask(message);
    for (const { answer } of posted) answer.reject(answerLost("read", "away"));
    const { body, ...answered } = await answering;
    const answers = [JSON.parse(String(body))].flat();
    const got = answers.map((answer) => answer && [answer.id, answer.error?.code]);
    assert.deepEqual([answered.status, got], [status, errors], JSON.stringify(message));
  }
});

Deno.test("Router: with one read node, calls of filters and their failures pass unchanged", async () => {
  const created = call(1, "eth_newFilter");
  const used = call(2, "eth_getFilterChanges", ["filter 7"]);
  const { posted, ask } = scene();
  const answers = [ask(created), ask([created, used])];
  for (const [index, { text, answer }] of posted.entries()) {
    const sent: { id: number; params: unknown[] }[] = [JSON.parse(text)].flat();
    assert.deepEqual(
      sent.map(({ params }) => params),
      [created, used].slice(0, index + 1).map(({ params }) => params),
    );
    const body = sent.map(({ id }) => ({ id, result: "0x1" }));
    answer.resolve({ status: 200, body: JSON.stringify(index === 0 ? body[0] : body) });
  }
  const bodies = (await Promise.all(answers)).flatMap(({ body }) => JSON.parse(String(body)));
  assert.deepEqual(bodies.map(({ result }) => result), ["0x1", "0x1", "0x1"]);

  const away = scene();
  const failed = away.ask(used);
  away.posted[0]?.answer.reject(answerLost("read", "away"));
  const { status, body } = await failed;
  assert.deepEqual([status, JSON.parse(String(body)).error.code], [502, -32002]);
});

Deno.test("Router: an unexpected error is thrown", async () => {
  for (const message of [call(1, "eth_call"), [call(1, "eth_call")], call(1, "eth_newFilter")]) {
    const { posted, ask } = scene();
    const answer = assert.rejects(ask(message), TypeError);
    posted[0]?.answer.reject(new TypeError("a defect"));
    await answer;
  }
});

Deno.test("Router: plain reads are marked as such, with their node and whether their answer may be large", async () => {
  const asked: Read[] = [];
  const plainReads = {
    ask(read: Read): Promise<CallAnswer> {
      asked.push(read);
      return Promise.resolve({ status: 200, text: '{"id":1}', idSpan: { start: 6, end: 7 } });
    },
  };
  const readNodes = severalNodes();
  const { posted, ask } = scene({ plainReads, readNodes });
  const rows: [message: unknown, read?: { node: number; hasLargeAnswer: boolean }][] = [
    [call(1, "eth_chainId"), { node: 0, hasLargeAnswer: false }],
    [call(1, "eth_newFilter")],
    [call(1, "core_sendTransaction")],
    [call(1, "eth_call", [{}, "0x5"]), { node: 0, hasLargeAnswer: false }],
    [call(1, "eth_call", [{}, "0x9"]), { node: 1, hasLargeAnswer: false }],
    [call(1, "eth_getLogs"), { node: 0, hasLargeAnswer: true }],
    [call(1, "eth_getBlockByNumber", ["latest", false]), { node: 0, hasLargeAnswer: false }],
    [call(1, "eth_getBlockByNumber", ["latest", true]), { node: 0, hasLargeAnswer: true }],
    [[call(1, "eth_gasPrice")]],
    [notification("eth_gasPrice")],
  ];
  for (const [message, wanted] of rows) {
    const before = [asked.length, posted.length];
    const answer = ask(message);
    const sent = [asked.length - (before[0] ?? 0), posted.length - (before[1] ?? 0)];
    const isRead = wanted !== undefined;
    assert.deepEqual(sent, isRead ? [1, 0] : [0, 1], JSON.stringify(message).slice(0, 99));
    if (!isRead) continue;
    const { node, hasLargeAnswer } = asked.at(-1) ?? assert.fail();
    assert.deepEqual({ node: node.index, hasLargeAnswer }, wanted);
    assert.equal((await answer).body, '{"id":1}');
  }
  const { textAfterId: firstRest, caller } = asked[0] ?? assert.fail();
  assert.deepEqual(caller, address("x"));
  assert.equal(firstRest, ',"method":"eth_chainId","params":[]}');
});

Deno.test("Router: a node gets the parsed envelope and the caller's parameters, byte for byte", async () => {
  const params = '[ {"to":1.0, "To":"\\u0061"}, 12345678901234567890 ]';
  const rows: [sent: string, target: string, id: string | undefined][] = [
    [`{"jsonrpc":"2.0","id":7,"method":"eth_call","params":${params}}`, "read", "7"],
    [`{"params":${params},"id": 1.50 ,"jsonrpc":"2.0","method":"eth_c\\u0061ll"}`, "read", "1.50"],
    [
      `{"jsonrpc":"2.0","x":{"id":1},"id":"\\u0062","method":"eth_call","params":${params}}`,
      "read",
      '"\\u0062"',
    ],
    [
      `{"jsonrpc":"2.0","id":null,"method":"core_sendTransaction","params":${params}}`,
      "write",
      "null",
    ],
    [`{"jsonrpc":"2.0","method":"eth_newFilter","params":${params}}`, "read", undefined],
  ];
  for (const [message, target, id] of rows) {
    for (const isBatch of [false, true]) {
      const { posted, askText } = scene();
      const answer = askText(isBatch ? `[${message}]` : message);
      const [post = assert.fail()] = posted;
      const own = [JSON.parse(post.text)].flat()[0];
      const { method } = JSON.parse(message);
      const idPart = id === undefined ? "" : `,"id":${own.id}`;
      const text = `{"jsonrpc":"2.0"${idPart},"method":"${method}","params":${params}}`;
      assert.deepEqual([post.target, post.text], [target, isBatch ? `[${text}]` : text]);
      const body = `{"result": 1.0, "id":${own.id}}`;
      post.answer.resolve({ status: 200, body: isBatch ? `[ ${body} ]` : body });
      const wanted = id === undefined ? null : `{"result": 1.0, "id":${id}}`;
      const shown = (await answer).body;
      assert.equal(shown, isBatch && wanted !== null ? `[${wanted}]` : wanted);
    }
  }
});
