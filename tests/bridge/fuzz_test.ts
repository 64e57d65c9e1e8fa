import assert from "node:assert/strict";
import fc from "fast-check";
import { Signer } from "../../lib/protocol/signature.ts";
import { assertFailure, post } from "../support/http_answers.ts";
import { signedRequest, withBridge } from "./support.ts";

type Body = ReturnType<typeof signedRequest>;

const stranger = new Signer(`0x${"22".repeat(32)}`);

/** Ways to forge a request: what each does to a good one, and what the refusal has to say. */
const forgeries: [name: string, forge: (body: Body) => unknown, words: RegExp][] = [
  ["another chain", (body) => signedAgain(body, { chainId: 1 }), /is for chain \d+/],
  ["another signer", (body) => signedAgain(body, { signer: stranger }), /recovered 0x1563915e19/],
  ["another user", (body) => ({ ...body, user: stranger.address }), /is by another key/],
  ["another amount", (body) => ({ ...body, amount: `${body.amount}0` }), /is by another key/],
  [
    "another nonce",
    (body) => ({ ...body, nonce: `${BigInt(body.nonce) + 1n}` }),
    /is by another key/,
  ],
  ["another deadline", (body) => ({ ...body, deadline: body.deadline + 1 }), /is by another key/],
];

function signedAgain(body: Body, options: Parameters<typeof signedRequest>[1]): Body {
  const { user, amount, nonce, deadline } = body;
  return signedRequest(
    { user, amount: BigInt(amount), nonce: BigInt(nonce), deadline },
    options,
  );
}

const terms = fc.record({
  amount: fc.bigInt(1n, 10n ** 18n),
  nonce: fc.bigInt(0n, 2n ** 200n),
  deadline: fc.integer({ min: 60_000, max: 3_600_000 }).map((lifeMs) => Date.now() + lifeMs),
});

for (const [name, forge, words] of forgeries) {
  Deno.test(`Bridge: fuzz, ${name}: refused with 401, no credit, and no nonce burnt`, () =>
    withBridge(async ({ url }, node) => {
      let turn = 0n;
      await fc.assert(
        fc.asyncProperty(terms, async (given) => {
          // No two runs share a nonce.
          const good = signedRequest({ ...given, nonce: (given.nonce << 16n) + (turn += 1n) });
          const sentBefore = node.received.length;
          await assertFailure(post(`${url}/deposit`, forge(good)), 401, words);
          assert.equal(node.received.length, sentBefore);
          assert.equal((await post(`${url}/deposit`, good)).status, 200);
        }),
        { numRuns: 12 },
      );
    }));
}

Deno.test("Bridge: fuzz, a flipped bit of the signature never credits", () =>
  withBridge(async ({ url }, node) => {
    const good = signedRequest({ deadline: Date.now() + 3_600_000 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 65 * 8 - 1 }), async (bit) => {
        const bytes = Uint8Array.fromHex(good.signature.slice(2));
        const at = bit >> 3;
        bytes[at] = (bytes[at] ?? 0) ^ (1 << (bit & 7));
        const signature = `0x${bytes.toHex()}`;
        await assertFailure(post(`${url}/deposit`, { ...good, signature }), 401, "");
      }),
      { numRuns: 80 },
    );
    assert.equal(node.received.length, 0);
    assert.equal((await post(`${url}/deposit`, good)).status, 200);
  }));
