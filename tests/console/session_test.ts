import assert from "node:assert/strict";
import { signal } from "@preact/signals";
import { Session } from "../../services/console/page/data/session.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { memoryStore } from "./memory_store.ts";

const URL = "http://127.0.0.1:1";

function sessionOf(isDevelopmentChain: boolean, store = memoryStore()) {
  const urls = { solver: URL, bridge: URL, proxy: URL, proxyWs: "ws://127.0.0.1:1" };
  const session = new Session({
    config: { version: "1", urls, chainId: 1337, isDevelopmentChain },
    clock: new FakeClock(),
    store,
    injected: signal([]),
    onSettled() {},
  });
  return { session, store };
}

Deno.test("Session: makes no key for a chain that is not marked as one for tests", () => {
  const { session, store } = sessionOf(false);
  assert.throws(() => session.useDevelopmentKey(), /for development chains only/);
  assert.equal(store.texts.size, 0);
});

Deno.test("Session: does not use a key of a development chain elsewhere", () => {
  const { session, store } = sessionOf(false);
  store.setItem("rangemaker.development-key.1337", `0x${"11".repeat(32)}`);
  session.restore();
  assert.equal(session.user.value, undefined);
});
