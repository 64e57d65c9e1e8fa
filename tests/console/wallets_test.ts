import assert from "node:assert/strict";
import { Wallet } from "ethers";
import {
  accountOf,
  makeDevelopmentKey,
  storedDevelopmentKey,
  watchInjectedWallets,
} from "../../services/console/page/data/wallets.ts";
import { memoryStore } from "./memory_store.ts";

const provider = { request: () => Promise.resolve(null) };

/** A page with or without `window.ethereum`. */
function pageWith(ethereum?: unknown) {
  return Object.assign(new EventTarget(), { ethereum });
}

function announcement(uuid: string, name: unknown, rdns?: string): Event {
  const detail = { info: { uuid, name, rdns }, provider };
  return new CustomEvent("eip6963:announceProvider", { detail });
}

Deno.test("Wallets: each that announces itself is listed once, by its newest name", () => {
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
  assert.deepEqual(wallets.value.map(({ name }) => name), ["Two", "One again", "Four"]);
  assert.deepEqual(wallets.value.map(({ id }) => id), ["2", "1", "org.four"]);
});

Deno.test("Wallets: window.ethereum counts until a wallet announces itself", () => {
  const page = pageWith(provider);
  const wallets = watchInjectedWallets(page);
  assert.deepEqual(wallets.value.map(({ name }) => name), ["Browser wallet"]);
  page.dispatchEvent(announcement("1", "One"));
  assert.deepEqual(wallets.value.map(({ name }) => name), ["One"]);
  assert.deepEqual(watchInjectedWallets(pageWith("no wallet")).value, []);
});

Deno.test("Development key: the same one again in this browser, another one on another chain", async () => {
  const store = memoryStore();
  assert.equal(storedDevelopmentKey(store, 1337), undefined);
  const key = makeDevelopmentKey(store, 1337);
  assert.equal(storedDevelopmentKey(store, 1337), key);
  assert.equal((await accountOf(key)).address, new Wallet(key).address);
  assert.equal(storedDevelopmentKey(store, 1), undefined);
  store.setItem("rangemaker.development-key.1", "broken");
  assert.equal(storedDevelopmentKey(store, 1), undefined);
});
