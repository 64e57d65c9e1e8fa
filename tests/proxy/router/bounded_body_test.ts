import assert from "node:assert/strict";
import { ProxyError } from "../../../services/proxy/router/failures.ts";
import { textWithin } from "../../../services/proxy/router/rpc_endpoint.ts";

const MAX_BYTES = 1_000;

/** A request whose body comes in chunks, with a length that is declared or not. */
function request(bytes: number, declared: boolean, onCancel = () => {}): Request {
  let left = bytes;
  const body = new ReadableStream({
    pull(controller) {
      const size = Math.min(left, 100);
      if (size === 0) return controller.close();
      left -= size;
      controller.enqueue(new Uint8Array(size).fill(0x78));
    },
    cancel: onCancel,
  }, { highWaterMark: 0 });
  const headers: HeadersInit = declared ? { "content-length": String(bytes) } : {};
  return new Request("http://x/", { method: "POST", body, headers });
}

Deno.test("Bounded body: as large as the limit it is read, a byte more is not, declared or in chunks", async () => {
  for (const declared of [true, false]) {
    for (const bytes of [0, 1, MAX_BYTES - 1, MAX_BYTES]) {
      assert.equal((await textWithin(request(bytes, declared), MAX_BYTES))?.length, bytes);
    }
    for (const bytes of [MAX_BYTES + 1, 10 * MAX_BYTES]) {
      assert.equal(await textWithin(request(bytes, declared), MAX_BYTES), undefined);
    }
  }
});

Deno.test("Bounded body: what is over the limit is not read to its end", async () => {
  let cancelled = false;
  const endless = request(Infinity, false, () => cancelled = true);
  assert.equal(await textWithin(endless, MAX_BYTES), undefined);
  assert(cancelled);
});

Deno.test("Bounded body: one that takes too long is refused with 408, and not read on", async () => {
  let cancelled = false;
  const body = new ReadableStream({ cancel: () => void (cancelled = true) });
  const stalled = new Request("http://x/", { method: "POST", body });
  await assert.rejects(
    textWithin(stalled, MAX_BYTES, 1),
    (thrown) => thrown instanceof ProxyError && thrown.status === 408 && thrown.rpcCode === -32005,
  );
  assert(cancelled);
});
