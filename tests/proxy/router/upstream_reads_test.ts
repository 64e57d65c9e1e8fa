/** Reads over the socket that the hub uses, with a node that the test plays. */
import assert from "node:assert/strict";
import { Registry } from "prom-client";
import { ProxyError } from "../../../services/proxy/router/failures.ts";
import { ProxyMetrics } from "../../../services/proxy/metrics.ts";
import {
  OPEN_READS_MAX,
  ReadLostError,
  UpstreamReads,
} from "../../../services/proxy/router/upstream_reads.ts";
import { answerUnder } from "../../../services/proxy/router/envelope.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const TIMEOUT_MS = 1_000;
const OPEN_MAX = OPEN_READS_MAX;

function scene() {
  const clock = new FakeClock();
  const sent: string[] = [];
  const upstream = {
    connected: true,
    send: (text: string) => sent.push(text) > 0,
    drop: () => assert.fail("Not dropped"),
  };
  const registry = new Registry();
  const metrics = new ProxyMetrics(registry);
  const reads = new UpstreamReads({ upstream, clock, timeoutMs: TIMEOUT_MS, metrics });
  const ask = (method: string) => reads.ask(`,"method":"${method}"}`);
  return { clock, sent, upstream, reads, ask, registry };
}

Deno.test("UpstreamReads: answers come in any order and spelling", async () => {
  const { sent, reads, ask } = scene();
  const replies = ["a", "b", "c"].map(ask);
  assert.deepEqual(sent.map((text) => JSON.parse(text).id), ["read 1", "read 2", "read 3"]);
  assert(reads.answered('{"jsonrpc":"2.0","id":"read 2","result":1.0}'));
  assert(reads.answered('{ "result":[ {"id":1} ], "id" : "read 1" }'));
  assert(reads.answered('{"jsonrpc":"2.0","id":"read 3"}'));
  assert.deepEqual((await Promise.all(replies)).map((answer) => answerUnder(answer, "7.0")), [
    '{ "result":[ {"id":1} ], "id" : 7.0 }',
    '{"jsonrpc":"2.0","id":7.0,"result":1.0}',
    '{"jsonrpc":"2.0","id":7.0}',
  ]);
});

Deno.test("UpstreamReads: the hub's frames are none of its answers; one that is late is nobody's", async () => {
  const { clock, reads, ask } = scene();
  const late = assert.rejects(ask("1"), (thrown) => {
    assert(thrown instanceof ProxyError);
    assert.deepEqual([thrown.status, thrown.rpcCode], [504, -32002]);
    return true;
  });
  for (
    const frame of ['{"id":1}', '{"jsonrpc":"2.0","id":1,"result":"read 1"}', '{"method":"a"}']
  ) {
    assert.equal(reads.answered(frame), false, frame);
  }
  clock.advance(TIMEOUT_MS);
  await late;
  assert.equal(reads.answered('{"jsonrpc":"2.0","id":"read 1","result":1}'), true);
});

Deno.test("UpstreamReads: usable for 64 reads at once, while the socket is open", async () => {
  for (const end of ["answered", "late", "lost"]) {
    const { clock, upstream, reads, ask } = scene();
    const open = Promise.allSettled(Array.from({ length: OPEN_MAX }, (_, n) => {
      assert(reads.usable);
      return ask(String(n));
    }));
    assert.equal(reads.usable, false);
    if (end === "answered") reads.answered('{"jsonrpc":"2.0","id":"read 7","result":1}');
    if (end === "late") clock.advance(TIMEOUT_MS);
    else reads.lost("gone");
    const failures = (await open).filter(({ status }) => status === "rejected");
    assert.equal(failures.length, end === "answered" ? OPEN_MAX - 1 : OPEN_MAX);
    assert(reads.usable, end);
    upstream.connected = false;
    assert.equal(reads.usable, false);
    assert.equal(clock.pending, 0);
  }
});

Deno.test("UpstreamReads: where the socket is lost, a read says so, for it to go another way", async () => {
  const { reads, ask } = scene();
  const lost = assert.rejects(ask("1"), ReadLostError);
  reads.lost("gone");
  await lost;
});

Deno.test("UpstreamReads: each read is observed as one of the read node, and counted if it failed", async () => {
  const { clock, reads, ask, registry } = scene();
  const [answered, late, lost] = ["1", "2", "3"].map(ask);
  reads.answered('{"jsonrpc":"2.0","id":"read 1","result":1}');
  await answered;
  clock.advance(TIMEOUT_MS);
  await Promise.allSettled([late, lost]);
  const gone = ask("4");
  reads.lost("gone");
  await assert.rejects(gone);
  const text = await registry.metrics();
  assert(text.includes('proxy_upstream_latency_seconds_count{target="read"} 4'));
  assert(text.includes('proxy_upstream_errors_total{target="read"} 3'));
});

Deno.test("UpstreamReads: without an open read, no frame is one of its answers unless it is written so", () => {
  const { reads } = scene();
  assert.equal(reads.answered('{"id":"read 1","jsonrpc":"2.0"}'), false);
  assert.equal(reads.answered('{"jsonrpc":"2.0","id":"read 1"}'), true, "one that is late");
  assert.equal(reads.answered('{"jsonrpc":"2.0","id":"read x","result":1}'), false);
});
