import assert from "node:assert/strict";
import { MARKETS } from "../../lib/client/mod.ts";
import { signal } from "@preact/signals";
import { Session } from "../../services/console/page/data/session.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { memoryStore } from "./memory_store.ts";

const URL = "http://127.0.0.1:1";

function sessionOf(isDevelopmentChain: boolean, store = memoryStore()) {
  const urls = { solver: URL, bridge: URL, proxy: URL, proxyWs: "ws://127.0.0.1:1" };
  const session = new Session({
    config: { version: "1", urls, chainId: 1337, markets: [...MARKETS], isDevelopmentChain },
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

/** A wallet of the browser whose user may choose another account. */
function walletOf(accounts: string[]) {
  let changed = () => {};
  const provider = {
    request: ({ method }: { method: string }) =>
      method === "eth_requestAccounts" || method === "eth_accounts"
        ? Promise.resolve(accounts)
        : Promise.reject(new Error(`No method ${method}`)),
    on: (_event: string, listener: () => void) => changed = listener,
  };
  return { wallet: { id: "1", name: "Fox", provider }, change: () => changed() };
}

const ALICE = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const BOB = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";

// Requests to services that are away end after the tests, by their own timeouts.
const options = { sanitizeOps: false, sanitizeResources: false };

Deno.test(
  "Session: a key of this browser is made once, survives a reload and stays after leaving",
  options,
  () => {
    const { session, store } = sessionOf(true);
    assert.equal(session.hasKey, false);
    session.useDevelopmentKey();
    const address = session.user.value?.address;
    assert.deepEqual([session.hasKey, session.user.value?.isDevelopmentKey], [true, true]);
    session.leave();
    assert.equal(session.user.value, undefined);
    const reloaded = sessionOf(true, store).session;
    reloaded.restore();
    assert.equal(reloaded.user.value?.address, address);
    const { portfolio } = reloaded.user.value ?? assert.fail();
    reloaded.restart();
    assert.notEqual(reloaded.user.value?.portfolio, portfolio, "read anew");
    reloaded.leave();
    reloaded.restart();
    assert.equal(reloaded.user.value, undefined);
  },
);

Deno.test(
  "Session: a wallet signs for the account that its user chooses, and leaves without one",
  options,
  async () => {
    const { session } = sessionOf(false);
    const accounts = [ALICE];
    const { wallet, change } = walletOf(accounts);
    await session.connect(wallet);
    const { user } = session;
    assert.deepEqual(
      [user.value?.address, user.value?.walletName, user.value?.isDevelopmentKey],
      [ALICE, "Fox", false],
    );
    accounts[0] = BOB;
    change();
    while (user.value?.address !== BOB) await Promise.resolve();
    accounts.length = 0;
    change();
    while (user.value !== undefined) await Promise.resolve();
  },
);
