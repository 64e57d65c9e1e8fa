import assert from "node:assert/strict";
import { signal } from "@preact/signals";
import { MARKETS } from "../../../../lib/client/mod.ts";
import { listen } from "../../../../lib/http/listener.ts";
import { Session, walletNameOf } from "../../../../services/console/page/data/session.ts";
import type { InjectedWallet } from "../../../../services/console/page/data/wallets.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { nextTurn } from "../../../support/eventually.ts";
import { memoryStore } from "../../support.ts";

const URL = "http://127.0.0.1:1";

/** A session of a page, on a development chain by default. */
function sessionOf({
  isDevelopmentChain = true,
  store = memoryStore(),
  injected = signal<readonly InjectedWallet[]>([]),
  tabs = new EventTarget(),
  solver = URL,
} = {}) {
  const said: string[] = [];
  const urls = { solver, bridge: URL, proxy: URL, proxyWs: "ws://127.0.0.1:1" };
  const session = new Session({
    config: { version: "1", urls, chainId: 1337, markets: [...MARKETS], isDevelopmentChain },
    clock: new FakeClock(),
    serverClock: new FakeClock(),
    store,
    tabs,
    injected,
    announce: (text) => said.push(text),
  });
  return { session, store, said };
}

Deno.test("Session: makes no key unless the chain is marked as a development chain", () => {
  const { session, store } = sessionOf({ isDevelopmentChain: false });
  assert.throws(() => session.useDevelopmentKey(), /for development chains only/);
  assert.equal(store.texts.size, 0);
});

Deno.test("Session: a stored development key is not used on another kind of chain", () => {
  const { session, store } = sessionOf({ isDevelopmentChain: false });
  store.setItem("rangemaker.development-key.1337", `0x${"11".repeat(32)}`);
  session.restore();
  assert.equal(session.user.value, undefined);
});

const LEFT = "You have left the account.";

const TEST_KEY = "Test key in this browser";

const usedBy = ({ user }: Session) => walletNameOf(user.value ?? assert.fail());

/** A browser wallet that counts prompts and listeners, and emits the test's events. */
function walletOf(accounts: string[], chainId = 1337) {
  const listeners = new Map<string, Set<(news: unknown) => void>>();
  const of = (event: string) => {
    const found = listeners.get(event) ?? new Set();
    listeners.set(event, found);
    return found;
  };
  const calls: string[] = [];
  const provider = {
    request({ method }: { method: string }) {
      calls.push(method);
      if (/^eth_(requestA|a)ccounts$/.test(method)) return Promise.resolve(accounts);
      if (method === "eth_chainId") return Promise.resolve(`0x${chainId.toString(16)}`);
      return Promise.reject(new Error(`No method ${method}`));
    },
    on: (event: string, listener: () => void) => of(event).add(listener),
    removeListener: (event: string, listener: () => void) => of(event).delete(listener),
  };
  const emit = (event: string, news: unknown) => [...of(event)].forEach((tell) => tell(news));
  const prompts = () => calls.filter((method) => method === "eth_requestAccounts").length;
  return { wallet: { id: "org.fox", name: "Fox", provider }, emit, of, calls, prompts };
}

const ALICE = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const BOB = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";

// Requests to services that are away end after the tests, by their own timeouts.
Deno.test.sanitizer({ ops: false, resources: false });

Deno.test("Session: deadlines are in the node's time, whatever the device's clock says", async () => {
  const asked = Promise.withResolvers<{ deadline: number }>();
  await using solver = listen("127.0.0.1", 0, async (request) => {
    asked.resolve(await request.json());
    return new Response(null, { status: 503 });
  });
  const { session } = sessionOf({ solver: solver.url });
  session.useDevelopmentKey();
  const { client } = session.user.value ?? assert.fail();
  const bet = { symbol: "BTC/USDT", lowerPrice: 1n, upperPrice: 2n, betAmount: 1n };
  const nowMs = new FakeClock().now();
  await assert.rejects(client.estimate({ ...bet, startTime: nowMs, endTime: nowMs + 1_000 }));
  assert.equal((await asked.promise).deadline, nowMs + 60_000);
  session.leave();
});

Deno.test("Session: the development key is made once, and restored after a reload", () => {
  const { session, store } = sessionOf();
  assert.equal(session.hasKey, false);
  session.useDevelopmentKey();
  const address = session.user.value?.address;
  assert.deepEqual([session.hasKey, usedBy(session)], [true, TEST_KEY]);
  const reloaded = sessionOf({ store }).session;
  reloaded.restore();
  assert.equal(reloaded.user.value?.address, address);
  const { portfolio } = reloaded.user.value ?? assert.fail();
  reloaded.restart();
  assert.notEqual(reloaded.user.value?.portfolio, portfolio, "read again");
  reloaded.leave();
  reloaded.restart();
  assert.equal(reloaded.user.value, undefined);
});

Deno.test("Session: the wallet's account and chain are followed without a prompt, with one listener each", async () => {
  const { session, said } = sessionOf({ isDevelopmentChain: false });
  const { wallet, emit, of, prompts } = walletOf([ALICE.toLowerCase()], 5);
  const { user } = session;
  for (let times = 0; times < 3; times++) await session.connect(wallet);
  await nextTurn();
  assert.deepEqual([user.value?.address, usedBy(session)], [ALICE, "Fox"]);
  assert.equal(user.value?.walletChainId.value, 5);
  emit("chainChanged", "0x539");
  assert.equal(user.value?.walletChainId.value, 1337);
  for (const event of ["accountsChanged", "chainChanged", "disconnect"]) {
    assert.equal(of(event).size, 1, event);
  }
  const before = user.value;
  emit("accountsChanged", [ALICE.toLowerCase()]);
  emit("disconnect", { code: 1013 });
  assert.equal(user.value, before, "the same account, and a wallet that reconnects by itself");
  emit("accountsChanged", [BOB.toLowerCase()]);
  assert.equal(user.value?.address, BOB, "at once, so that the last event counts");
  emit("accountsChanged", []);
  assert.equal(user.value, undefined);
  assert.equal(of("accountsChanged").size, 0);
  await session.connect(wallet);
  emit("disconnect", { code: 4900 });
  assert.equal(user.value, undefined);
  assert.equal(prompts(), 4, "one for each press on Connect");
  const gone = "Fox no longer shares your account. Connect it to see your bets again.";
  assert.deepEqual(said, ["Fox uses another account now: 0x3C44…93BC.", gone, gone]);
});

Deno.test("Session: a wallet is restored after a reload without a prompt, until the user disconnects", async () => {
  const store = memoryStore();
  const accounts = [ALICE];
  const { wallet, prompts, calls } = walletOf(accounts);
  const first = sessionOf({ store }).session;
  await first.connect(wallet);
  const reload = async (meanwhile?: (session: Session) => void) => {
    const injected = signal<readonly InjectedWallet[]>([]);
    const { session } = sessionOf({ store, injected });
    session.restore();
    injected.value = [{ ...wallet, id: "org.other" }];
    await nextTurn();
    assert.equal(session.user.value, undefined, "its wallet has not announced itself");
    meanwhile?.(session);
    injected.value = [...injected.value, wallet];
    await nextTurn();
    return session;
  };
  const second = await reload();
  assert.deepEqual([second.user.value?.address, prompts()], [ALICE, 1]);
  accounts.length = 0;
  assert.equal((await reload()).user.value, undefined, "it shares no account any more");
  accounts.push(ALICE);
  const left = await reload((session) => session.leave());
  assert.equal(left.user.value, undefined, "its user left meanwhile");
  await second.connect(wallet);
  const other = await reload((session) => session.useDevelopmentKey());
  assert.equal(usedBy(other), TEST_KEY, "its user chose a key meanwhile");
  await second.connect(wallet);
  second.leave();
  assert.equal(calls.at(-1), "wallet_revokePermissions");
  assert.equal((await reload()).user.value, undefined);
});

Deno.test("Session: a development key that the user left is not restored after a reload", () => {
  const { session, store, said } = sessionOf();
  session.useDevelopmentKey();
  session.leave();
  assert.deepEqual(said, [LEFT]);
  const reloaded = sessionOf({ store }).session;
  reloaded.restore();
  assert.deepEqual([reloaded.user.value, reloaded.hasKey], [undefined, true]);
});

Deno.test("Session: in a full store no key is made, but one from before opens, and a wallet connects", async () => {
  const full = () => {
    throw new DOMException("full", "QuotaExceededError");
  };
  const { session, store } = sessionOf();
  const { setItem } = store;
  store.setItem = full;
  assert.throws(() => session.useDevelopmentKey(), { name: "QuotaExceededError" });
  assert.deepEqual([session.hasKey, session.user.value], [false, undefined]);
  store.setItem = setItem;
  session.useDevelopmentKey();
  session.leave();
  store.setItem = full;
  session.useDevelopmentKey();
  assert.equal(usedBy(session), TEST_KEY);
  await session.connect(walletOf([ALICE]).wallet);
  assert.equal(session.user.value?.address, ALICE);
  session.leave();
  assert.equal(session.user.value, undefined);
});

Deno.test("Session: opening or leaving an account in one tab does the same in the others", () => {
  const store = memoryStore();
  const tabs = new EventTarget();
  const first = sessionOf({ store }).session;
  const other = sessionOf({ store, tabs });
  const stored = (key: string) => tabs.dispatchEvent(Object.assign(new Event("storage"), { key }));
  first.useDevelopmentKey();
  stored("rangemaker.account");
  const { value: user } = other.session.user;
  stored("rangemaker.account");
  assert.equal(other.session.user.value, user, "it is kept");
  first.leave();
  stored("rangemaker.drafts");
  assert.notEqual(other.session.user.value, undefined);
  for (const when of ["left", "said once"]) {
    stored("rangemaker.account");
    assert.deepEqual([other.session.user.value, other.said], [undefined, [LEFT]], when);
  }
});
