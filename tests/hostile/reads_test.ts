/** Callers who make their reads fail, so that equal reads of others would fail too. */
import assert from "node:assert/strict";
import { once } from "node:events";
// @ts-types="@types/ws"
import { WebSocket as WsClient } from "ws";
import { systemClock, waitMs, withinMs } from "../../lib/clock.ts";
import {
  OPEN_READ_LIMITS,
  OVERFLOW_READS_MAX,
  TICK_INTERVAL_MS,
} from "../../services/proxy/read_socket/read_socket.ts";
import { eventually } from "../support/eventually.ts";
import { echoAnswer, type Received } from "../proxy/echo_node.ts";
import {
  call,
  connectReads,
  post,
  postUnread,
  type SceneOptions,
  withProxy,
} from "../proxy/support.ts";
import { readSeries } from "../support/http_answers.ts";

/** More than the slots of the socket and the reads that overflow to HTTP. */
const FORGED = 700;

const READ = call(1, "core_getAccount", ["shared"]);

/** A node that refuses long headers and messages, and answers when the test allows it. */
function strictNode(): { options: SceneOptions; release: () => void; forwarded: string[] } {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const forwarded: string[] = [];
  const answer = async (text: string, { forwardedFor }: Received) => {
    forwarded.push(forwardedFor ?? "");
    await promise;
    if ((forwardedFor ?? "").length > 16_384) return new Response("{}", { status: 431 });
    if (text.length > 1_048_576) return new Response("{}", { status: 413 });
    return Response.json({ jsonrpc: "2.0", id: JSON.parse(text).id, result: "fine" });
  };
  return { options: { read: { answer } }, release, forwarded };
}

const attacks: Record<string, (url: string) => Promise<Response>> = {
  "an X-Forwarded-For of 65 KB": (url) =>
    post(url, READ, { "x-forwarded-for": "198.51.100.1, ".repeat(4_600) + "198.51.100.2" }),
  "an X-Forwarded-For of 15 KB without a comma": (url) =>
    post(url, READ, { "x-forwarded-for": "x".repeat(15_000) }),
  "an id of 1.1 MB": (url) => post(url, { ...READ, id: "x".repeat(1_100_000) }),
};
for (const [name, attack] of Object.entries(attacks)) {
  Deno.test(`Hostile: a read with ${name} does not fail an equal read of another caller`, () => {
    const { options, release, forwarded } = strictNode();
    return withProxy(async ({ url, read }) => {
      const attacked = attack(url).then((response) => response.text(), () => "");
      await read.until(() => read.requests.length === 1);
      const honest = Array.from({ length: 20 }, (_, id) => post(url, { ...READ, id }));
      const calls = 'proxy_rpc_methods_total{method="core_getAccount"}';
      await eventually("all are in the proxy", async () => {
        return await readSeries(url, calls) === 21;
      });
      release();
      for (const [id, response] of (await Promise.all(honest)).entries()) {
        assert.equal(response.status, 200);
        assert.deepEqual(await response.json(), { jsonrpc: "2.0", id, result: "fine" });
      }
      await attacked;
      assert(forwarded.every((value) => value.length <= 1_024), "the header is bounded");
      assert(forwarded.every((value) => value.endsWith("127.0.0.1")), "and ends as it should");
    }, options);
  });
}

Deno.test("Hostile: unread HTTP answers count as memory until their caller disconnects", () => {
  const MIB = 1024 * 1024;
  // More than the system's own buffers for a connection.
  const result = "x".repeat(32 * MIB);
  const answer = (text: string) => {
    const { id, method } = JSON.parse(text);
    const value = method === "core_getPriceHistory" ? result : 1;
    return Response.json({ jsonrpc: "2.0", id, result: value });
  };
  return withProxy(async ({ url }) => {
    const deaf = await postUnread(url, JSON.stringify(call(1, "core_getPriceHistory")));
    await eventually("its answer waits", async () => {
      return await readSeries(url, "proxy_buffered_bytes") > 32 * MIB;
    });
    const large = await post(url, call(2, "core_getPriceHistory"));
    assert.deepEqual([large.status, (await large.json()).error.code], [429, -32005]);
    const small = await post(url, call(3, "core_getAccount"));
    assert.deepEqual([small.status, (await small.json()).result], [200, 1]);
    assert.equal(await readSeries(url, 'proxy_refusals_total{limit="buffered_bytes"}'), 1);
    deaf.close();
    await eventually("its memory is free", async () => {
      return await readSeries(url, "proxy_buffered_bytes") === 0;
    });
    const again = await post(url, call(4, "core_getPriceHistory"));
    assert.equal((await again.json()).result.length, 32 * MIB);
  }, { read: { answer }, proxy: { maxBufferedBytes: 64 * MIB } });
});

Deno.test("Hostile: a peer that forges an address for each slow read leaves turns to others", () => {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const answer = async (text: string) => {
    if (text.includes("eth_call")) await promise;
    return echoAnswer(text);
  };
  return withProxy(async (scene) => {
    const { url, read } = scene;
    await connectReads(scene);
    const slow = Array.from({ length: FORGED }, async (_, n) => {
      const from = { "x-forwarded-for": `198.51.${n >> 8}.${n & 255}` };
      await (await post(url, call(n, "eth_call", [n]), from)).text();
    });
    const calls = () => read.requests.filter(({ text }) => text.includes("eth_call")).length;
    const expected = Math.floor(0.9 * OPEN_READ_LIMITS.slots) +
      Math.floor(0.9 * OVERFLOW_READS_MAX.all);
    await eventually("its reads are at the node", () => calls() >= expected);
    await waitMs(systemClock, 2 * TICK_INTERVAL_MS); // more of them, if more may be open
    const honest = post(url, call(1, "core_getAccount"));
    const status = await withinMs(honest.then((response) => response.status), 5_000, "no answer");
    release();
    assert.equal(status, 200);
    await (await honest).text();
    await Promise.all(slow);
  }, { read: { answer } });
});

Deno.test("Hostile: unread HTTP answers of one caller leave memory to those of others", () => {
  const MIB = 1024 * 1024;
  const result = "x".repeat(32 * MIB); // more than the system's own buffers for a connection
  const answer = (text: string) =>
    Response.json({ jsonrpc: "2.0", id: JSON.parse(text).id, result });
  return withProxy(async ({ url }) => {
    using attackers = new DisposableStack();
    for (let n = 1; n <= 4; n += 1) {
      attackers.use(await postUnread(url, JSON.stringify(call(n, "core_getPriceHistory"))));
      await eventually("the node has answered", async () => {
        const answers = 'proxy_upstream_latency_seconds_count{target="read"}';
        return await readSeries(url, answers) >= n;
      });
    }
    const honest = await post(url, call(2, "core_getPriceHistory"));
    assert.deepEqual([honest.status, (await honest.json()).error], [200, undefined]);
  }, { read: { answer }, proxy: { maxBufferedBytes: 128 * MIB } });
});

for (const kind of ["bodies", "WebSocket messages"] as const) {
  Deno.test(`Hostile: large ${kind} of one caller leave memory to those of others`, () => {
    const MIB = 1024 * 1024;
    const { promise, resolve: release } = Promise.withResolvers<void>();
    const answer = async (text: string) => {
      if (text.includes("slow")) await promise;
      return Response.json({ jsonrpc: "2.0", id: JSON.parse(text).id, result: 1 });
    };
    return withProxy(async ({ url, wsUrl }) => {
      using attackers = new DisposableStack();
      const text = `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":["slow"]${
        " ".repeat(4 * MIB)
      }`;
      for (let n = 0; n < 20; n += 1) {
        if (kind === "bodies") {
          attackers.use(await postUnread(url, text, { bytes: text.length + 1 })); // one is missing
        } else {
          const client = new WsClient(wsUrl, { headers: { "x-forwarded-for": "198.51.100.1" } });
          await once(client, "open");
          attackers.defer(() => client.terminate());
          client.send(`${text}}`);
        }
      }
      await eventually("some are refused", async () => {
        return await readSeries(url, 'proxy_refusals_total{limit="buffered_bytes"}');
      });
      const padded = `${JSON.stringify(call(2, "core_getAccount"))}${" ".repeat(4 * MIB)}`;
      const honest = await post(url, padded);
      const { result } = await honest.json();
      release();
      assert.deepEqual([honest.status, result], [200, 1]);
    }, { read: { answer }, proxy: { maxBufferedBytes: 64 * MIB } });
  });
}
