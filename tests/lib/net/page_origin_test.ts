/** Errors in a page if a service may refuse its origin, which browsers do not report. */
import assert from "node:assert/strict";
import { CoreClient } from "../../../lib/net/core_client.ts";
import { NetworkError, originHint, request } from "../../../lib/net/http_request.ts";
import { ReconnectingSocket } from "../../../lib/net/reconnecting_socket.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { FakeSocket } from "../../support/fake_socket.ts";

const PAGE = "http://localhost:8000";
const URL_OF_OTHER = "http://127.0.0.1:1";
const HINT = `; if it is up, it may refuse this page (CORS): add ${PAGE} to its --cors-origins`;

async function onPage(test: () => unknown): Promise<void> {
  const original = Object.getOwnPropertyDescriptor(globalThis, "location");
  Object.defineProperty(globalThis, "location", { value: { origin: PAGE }, configurable: true });
  try {
    await test();
  } finally {
    if (original === undefined) Reflect.deleteProperty(globalThis, "location");
    else Object.defineProperty(globalThis, "location", original);
  }
}

async function failureOf(attempt: Promise<unknown>): Promise<string> {
  const thrown = await attempt.then(() => undefined, (thrown) => thrown);
  assert(thrown instanceof NetworkError, String(thrown));
  return thrown.message;
}

Deno.test("originHint: names the page's origin and the option, but only for a URL of another origin", () =>
  onPage(() => {
    for (const url of [URL_OF_OTHER, "ws://127.0.0.1:1/ws", `${PAGE}1/rpc`]) {
      assert.equal(originHint(url), HINT);
    }
    for (const url of [PAGE, `${PAGE}/rpc`, "/rpc"]) assert.equal(originHint(url), "");
  }));

Deno.test("request, CoreClient: in a page, the error of a missing answer names --cors-origins", async () => {
  const node = new CoreClient({ url: URL_OF_OTHER });
  await onPage(async () => {
    assert((await failureOf(request(URL_OF_OTHER))).endsWith(HINT));
    assert((await failureOf(node.getChainId())).endsWith(HINT));
  });
  assert.doesNotMatch(await failureOf(request(URL_OF_OTHER)), /cors/);
});

Deno.test("ReconnectingSocket: in a page, the reason why a socket did not open names --cors-origins", () =>
  onPage(() => {
    const reasons: string[] = [];
    const fake = new FakeSocket("");
    const socket = new ReconnectingSocket({
      url: "ws://127.0.0.1:1/ws",
      clock: new FakeClock(),
      backoff: { nextMs: () => 1_000, reset: () => {} },
      handlers: { onOpen() {}, onText() {}, onLost: (reason) => reasons.push(reason) },
      connect: () => fake,
    });
    socket.start();
    fake.onerror?.({}); // as browsers do: without a message
    assert.deepEqual(reasons, [`cannot be connected to${HINT}`]);
  }));
