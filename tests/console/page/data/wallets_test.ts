import assert from "node:assert/strict";
import {
  createDevelopmentKey,
  followWallet,
  readChainId,
  revokeAccounts,
  sharedAccounts,
  storedDevelopmentKey,
  watchInjectedWallets,
} from "../../../../services/console/page/data/wallets.ts";
import { memoryStore, USER } from "../../support.ts";

const provider = { request: () => Promise.resolve(null) };

/** A page with or without `window.ethereum`. */
function pageWith(ethereum?: unknown) {
  return Object.assign(new EventTarget(), { ethereum });
}

function announcement(uuid: string, name: unknown, rdns?: string, from: unknown = provider): Event {
  const detail = { info: { uuid, name, rdns }, provider: from };
  return new CustomEvent("eip6963:announceProvider", { detail });
}

Deno.test("watchInjectedWallets: each announced wallet is listed once, with its newest name", () => {
  const page = pageWith();
  let requests = 0;
  page.addEventListener("eip6963:requestProvider", () => requests += 1);
  const wallets = watchInjectedWallets(page);
  assert.equal(requests, 1);
  page.dispatchEvent(announcement("1", "One"));
  page.dispatchEvent(announcement("2", "Two"));
  page.dispatchEvent(announcement("1", "One again"));
  page.dispatchEvent(announcement("3", 42));
  page.dispatchEvent(announcement("4", "Four", "org.four"));
  page.dispatchEvent(new Event("eip6963:announceProvider"));
  for (const none of [null, "", {}, { request: "no function" }]) {
    page.dispatchEvent(announcement("5", "None", undefined, none));
  }
  assert.deepEqual(wallets.value.map(({ name }) => name), ["Two", "One again", "Four"]);
  assert.deepEqual(wallets.value.map(({ id }) => id), ["2", "1", "org.four"]);
});

Deno.test("watchInjectedWallets: window.ethereum is listed until a wallet announces itself", () => {
  const page = pageWith(provider);
  const wallets = watchInjectedWallets(page);
  assert.deepEqual(wallets.value.map(({ name }) => name), ["Browser wallet"]);
  page.dispatchEvent(announcement("1", "One"));
  assert.deepEqual(wallets.value.map(({ name }) => name), ["One"]);
  assert.deepEqual(watchInjectedWallets(pageWith("no wallet")).value, []);
});

Deno.test("sharedAccounts, readChainId: ask without a prompt, and ignore an invalid answer", async () => {
  const asked: unknown[] = [];
  const saying = (answer: unknown) => ({
    request(call: { method: string; params?: unknown }) {
      asked.push(call);
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
  });
  assert.deepEqual(await sharedAccounts(saying([USER])), [USER]);
  for (const wrong of [new Error("locked"), "me", [USER, 5], [`${USER}0`], [`0${USER}`]]) {
    assert.deepEqual(await sharedAccounts(saying(wrong)), []);
  }
  assert.equal(await readChainId(saying("0x539")), 1337);
  for (const wrong of [new Error("locked"), "me", "0x0", 1.5, null]) {
    assert.equal(await readChainId(saying(wrong)), undefined);
  }
  const throwing = { request: () => assert.fail("at once, as no promise") };
  assert.deepEqual([await sharedAccounts(throwing), await readChainId(throwing)], [[], undefined]);
  revokeAccounts(throwing);
  revokeAccounts(saying(new Error("not supported")));
  assert.deepEqual([asked[0], asked[6], asked.at(-1)], [
    { method: "eth_accounts" },
    { method: "eth_chainId" },
    { method: "wallet_revokePermissions", params: [{ eth_accounts: {} }] },
  ]);
});

Deno.test("followWallet: a disconnect means no accounts; a wallet without events is not followed", () => {
  const following = new AbortController();
  const { signal } = following;
  const listeners = new Map<string, (news: unknown) => void>();
  const on = (event: string, listener: (news: unknown) => void) => listeners.set(event, listener);
  const events: unknown[] = [];
  const handlers = {
    onAccounts: (accounts: readonly string[]) => events.push(accounts),
    onChain: (chainId: number) => events.push(chainId),
  };
  followWallet(provider, handlers, signal);
  const withoutRemoval = { ...provider, on };
  followWallet(withoutRemoval, handlers, signal);
  for (const reason of [undefined, null, "gone", { code: 4900 }, { code: 1013 }]) {
    listeners.get("disconnect")?.(reason);
  }
  assert.deepEqual(events, [[], [], [], []]);
  listeners.get("chainChanged")?.("what");
  assert.equal(events.at(-1), 0);
  const fail = () => assert.fail("events are not supported");
  const throwing = { ...provider, on: fail, removeListener: fail };
  followWallet(throwing, handlers, signal);
  following.abort();
  listeners.get("accountsChanged")?.([USER]);
  assert.equal(events.at(-1), 0, "a wallet that removes no listener is followed no longer either");
});

Deno.test("storedDevelopmentKey: the same key again in this browser, none for another chain", () => {
  const store = memoryStore();
  assert.equal(storedDevelopmentKey(store, 1337), undefined);
  const key = createDevelopmentKey(store, 1337);
  assert.equal(storedDevelopmentKey(store, 1337), key);
  assert.equal(storedDevelopmentKey(store, 1), undefined);
  store.setItem("rangemaker.development-key.1", "broken");
  assert.equal(storedDevelopmentKey(store, 1), undefined);
});
