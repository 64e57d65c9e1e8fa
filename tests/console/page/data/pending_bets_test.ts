import assert from "node:assert/strict";
import type { Offer } from "../../../../lib/client/mod.ts";
import { PendingBets } from "../../../../services/console/page/data/pending_bets.ts";
import { hashOf, memoryStore, offerOf, OTHER, SIGNATURE, USER } from "../../support.ts";

Deno.test("PendingBets: skips a stored entry of another form, and keeps the others", () => {
  const store = memoryStore();
  const pending = new PendingBets(store, 1337);
  pending.remove("0x1"); // learns nothing, writes nothing
  assert.equal(store.texts.size, 0);
  pending.add({ offer: offerOf(1), signature: SIGNATURE });
  const [stored = ""] = store.texts.values();
  const texts = [`1${SIGNATURE}`, `${SIGNATURE}1`].map((text) =>
    stored.replace(`"${SIGNATURE}"}]`, `"${text}"}]`)
  );
  for (const text of ["no JSON", "{}", '[{"quote":1}]', ...texts]) {
    store.setItem("rangemaker.pending-bets.1337", text);
    assert.deepEqual(pending.readBets(USER), [], text);
  }
  store.setItem("rangemaker.pending-bets.1337", stored.replace("[", '[{"quote":1},'));
  pending.add({ offer: offerOf(2), signature: SIGNATURE });
  assert.deepEqual(pending.readBets(USER).map(({ offer }) => offer), [offerOf(1), offerOf(2)]);
});

Deno.test("PendingBets: reports only changes of bets in other tabs, until it is aborted", () => {
  const tabs = new EventTarget();
  const end = new AbortController();
  let changes = 0;
  new PendingBets(memoryStore(), 1337, tabs).onOtherTab(() => changes += 1, end.signal);
  const write = (key: string) => tabs.dispatchEvent(Object.assign(new Event("storage"), { key }));
  write("rangemaker.drafts");
  assert.equal(changes, 0);
  write("rangemaker.pending-bets.1337");
  assert.equal(changes, 1);
  end.abort();
  write("rangemaker.pending-bets.1337");
  assert.equal(changes, 1);
});

Deno.test("PendingBets: each user has only its own bets, on each chain, and none is dropped", () => {
  const betOf = (user: Offer["quote"]["user"], n: number) => {
    return { offer: offerOf(n, { user }), signature: SIGNATURE };
  };
  const store = memoryStore();
  const bets = [...Array(15).fill(USER), ...Array(7).fill(OTHER)].map(betOf);
  for (const bet of bets) new PendingBets(store, 1337).add(bet);
  const reloaded = new PendingBets(store, 1337);
  assert.deepEqual(reloaded.readBets(USER), bets.slice(0, 15));
  assert.deepEqual(reloaded.readBets(OTHER), bets.slice(15));
  assert.deepEqual(new PendingBets(store, 1).readBets(USER), [], "those of another chain");
  reloaded.remove(hashOf(3));
  assert.deepEqual(reloaded.readBets(USER), [...bets.slice(0, 3), ...bets.slice(4, 15)]);
});
