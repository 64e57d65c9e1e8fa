import assert from "node:assert/strict";
import { callerAddress } from "../../../lib/http/caller_address.ts";
import {
  AddressCounts,
  ByteBudget,
  CallerBytes,
  LARGE_SHARE,
} from "../../../services/proxy/shared/limits.ts";

const REMOTE = "192.0.2.1";

function from(header: string | undefined, remote = REMOTE) {
  const headers = new Headers(header === undefined ? {} : { "x-forwarded-for": header });
  return callerAddress(headers, remote, true);
}

Deno.test("AddressCounts: each address has its limit, and so has the peer that forwards addresses", () => {
  const counts = new AddressCounts(2, 4);
  const behind = (n: number) => from(`198.51.100.${n}`);
  const direct = from(undefined);
  assert.deepEqual([1, 1, 1].map((n) => counts.tryAdd(behind(n))), [true, true, false]);
  assert.deepEqual([2, 3].map((n) => counts.tryAdd(behind(n))), [true, false], "the peer's limit");
  // The peer's own requests are counted by its address, like those of any caller.
  assert.deepEqual([1, 2, 3].map(() => counts.tryAdd(direct)), [true, true, false]);
  assert(counts.tryAdd(from(undefined, "192.0.2.2")), "another peer has its own");
  counts.remove(behind(1));
  assert(counts.canAdd(behind(3)));
  assert(counts.tryAdd(behind(3)));
  assert(!counts.canAdd(behind(4)));
  assert.equal(counts.addresses, 5);
  counts.remove(behind(2));
  assert.equal(counts.addresses, 4, "one that has nothing is forgotten");
});

Deno.test("AddressCounts: a few addresses behind a peer cannot use up all its places", () => {
  const counts = new AddressCounts(256, 1_024);
  const behind = (n: number) => from(`198.51.100.${n}`);
  const taken = [1, 2, 3, 4, 5].map((n) => {
    let taken = 0;
    while (counts.tryAdd(behind(n))) taken += 1;
    return taken;
  });
  assert.deepEqual(taken, [256, 256, 205, 102, 51]);
  assert(counts.tryAdd(behind(6)));
});

Deno.test("AddressCounts: behind a peer, an address gets no more in one large request than in many small ones", () => {
  const counts = new AddressCounts(256, 12);
  const [greedy, other] = [from("198.51.100.1"), from("198.51.100.2")];
  assert.deepEqual([10, 6, 5].map((number) => counts.tryAdd(greedy, number)), [false, false, true]);
  assert.deepEqual([4, 3].map((number) => counts.tryAdd(other, number)), [false, true]);
});

Deno.test("AddressCounts: an IPv6 /56 has twice the limit of a /64, a /48 four times", () => {
  for (const direct of [true, false]) {
    const counts = new AddressCounts(2, 1_000);
    const add = (...networks: string[]) =>
      networks.map((network) => {
        const text = `2001:db8:${network}::1`;
        return counts.tryAdd(direct ? from(undefined, text) : from(text));
      });
    assert.deepEqual(add("0:0", "0:0", "0:0"), [true, true, false], "a /64");
    assert.deepEqual(add("0:1", "0:2", "0:ff"), [true, true, false], "a /56");
    assert.deepEqual(add("0:100", "0:100", "0:1ff", "0:1ff"), [true, true, true, true]);
    assert.deepEqual(add("0:200"), [false], "a /48");
    assert.deepEqual(add("1:200"), [true], "another one");
    assert.equal(counts.addresses, 6);
    counts.remove(from(direct ? undefined : "2001:db8::1", direct ? "2001:db8::1" : REMOTE));
    assert.deepEqual(add("0:1", "0:200"), [true, false]);
  }
});

Deno.test("AddressCounts: the load of an address is the highest of its networks", () => {
  const counts = new AddressCounts(100, 100);
  const at = (network: string) => from(undefined, `2001:db8:0:${network}::1`);
  assert.deepEqual([counts.loadOf(at("0")), counts.loadOf(at("0"), 1)], [0, 1]);
  for (let n = 0; n < 6; n += 1) counts.add(at(n.toString(16)));
  assert.equal(counts.loadOf(at("0")), 3, "half of 6 in its /56");
  for (let n = 0; n < 10; n += 1) counts.add(at(`${n}00`));
  assert.equal(counts.loadOf(at("0")), 4, "a quarter of 16 in its /48");
  assert.equal(counts.loadOf(at("f00"), 1), 17 / 4);
  assert.equal(counts.loadOf(from(undefined, "192.0.2.9"), 1), 1);
});

Deno.test("CallerBytes: an address has half of the memory, and a peer that forwards addresses nine tenths", () => {
  const budget = new ByteBudget(1_000 / LARGE_SHARE);
  const messages = new CallerBytes(budget);
  const direct = from(undefined);
  assert.deepEqual([400, 101, 100].map((n) => messages.tryAdd(direct, n)), [true, false, true]);
  assert.equal(budget.used, 500);
  messages.remove(direct, 500);
  messages.remove(direct, 0);
  const behind = (n: number) => from(`198.51.100.${n}`);
  const taken = [1, 2, 3].map((n) => {
    let taken = 0;
    while (messages.tryAdd(behind(n), 10)) taken += 10;
    return taken;
  });
  assert.deepEqual(taken, [450, 220, 110]);
  assert(messages.fits(direct, 200), "the rest is for others");
  assert(!messages.fits(direct, 300), "but no more than there is");
  messages.add(behind(4), 120);
  assert(!messages.fitsAnswer(behind(5), 10), "not even a first answer");
  assert(messages.fitsAnswer(direct, 100));
});
