import assert from "node:assert/strict";
import { secp256k1 } from "@noble/curves/secp256k1";
import fc from "fast-check";
import { Signer } from "../../lib/protocol/signature.ts";
import { assertFailure, post } from "../support/http_answers.ts";
import { signedRequest, withBridge } from "./support.ts";

type Body = ReturnType<typeof signedRequest>;

const stranger = new Signer(`0x${"22".repeat(32)}`);

/** The other signature over the same digest by the same key: the same r, the other s and v. */
function highS(signature: string): string {
  const s = secp256k1.CURVE.n - BigInt(`0x${signature.slice(66, 130)}`);
  const v = signature.endsWith("1b") ? "1c" : "1b";
  return `${signature.slice(0, 66)}${s.toString(16).padStart(64, "0")}${v}`;
}

function withV(signature: string, v: number): string {
  return signature.slice(0, 130) + v.toString(16).padStart(2, "0");
}

/** A way to forge a request: what it does to a good one, and what the refusal has to say. */
interface Forgery {
  name: string;
  forge(body: Body): unknown;
  error: RegExp;
}

const forgeries: Forgery[] = [
  {
    name: "high s",
    forge: (body) => ({ ...body, signature: highS(body.signature) }),
    error: /high s/,
  },
  {
    name: "v 0 or 1",
    forge: (body) => ({
      ...body,
      signature: withV(body.signature, Number.parseInt(body.signature.slice(-2), 16) - 27),
    }),
    error: /has v [01]: expected 27 or 28/,
  },
  {
    name: "64 bytes",
    forge: (body) => ({ ...body, signature: body.signature.slice(0, 130) }),
    error: /has 64 bytes: expected 65/,
  },
  {
    name: "another chain",
    forge: (body) => ({ ...signedAgain(body, { chainId: 1 }) }),
    error: /is for chain \d+: expected chain 1337/,
  },
  {
    name: "another signer",
    forge: (body) => ({ ...signedAgain(body, { signer: stranger }) }),
    error: /is by another key: .* recovered 0x1563915e194D8CfBA1943570603F7606A3115508/,
  },
  {
    name: "another user",
    forge: (body) => ({ ...body, user: stranger.address }),
    error: /is by another key/,
  },
  {
    name: "another amount",
    forge: (body) => ({ ...body, amount: `${body.amount}0` }),
    error: /is by another key/,
  },
  {
    name: "another nonce",
    forge: (body) => ({ ...body, nonce: `${BigInt(body.nonce) + 1n}` }),
    error: /is by another key/,
  },
  {
    name: "another deadline",
    forge: (body) => ({ ...body, deadline: body.deadline + 1 }),
    error: /is by another key/,
  },
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

for (const { name, forge, error } of forgeries) {
  Deno.test(`Bridge: fuzz, ${name}: refused with 401, no credit, and no nonce burnt`, () =>
    withBridge(async ({ url }, node) => {
      let turn = 0n;
      await fc.assert(
        fc.asyncProperty(terms, async (given) => {
          // No two runs share a nonce.
          const good = signedRequest({ ...given, nonce: (given.nonce << 16n) + (turn += 1n) });
          const sentBefore = node.received.length;
          await assertFailure(post(`${url}/deposit`, forge(good)), 401, error);
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

Deno.test("Bridge: fuzz, any JSON value and any text is 400 in the envelope, never 500", () =>
  withBridge(async ({ url }, node) => {
    const good = signedRequest({ deadline: Date.now() + 3_600_000 });
    const field = fc.constantFrom("user", "amount", "nonce", "deadline", "signature");
    const bodies = fc.oneof(
      fc.json(),
      fc.string({ unit: "binary" }),
      fc.tuple(field, fc.oneof(fc.jsonValue(), fc.nat().map(String)))
        // A field replaced by the value that it has leaves the request as good as it was.
        .filter(([name, value]) => value !== good[name])
        .map(([name, value]) => JSON.stringify({ ...good, [name]: value })),
    );
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        const { status, body: answer } = await post(`${url}/deposit`, body);
        assert.ok(status === 400 || status === 401, `${status} ${answer.error}`);
        assert.equal(answer.success, false);
      }),
      { numRuns: 200, examples: [[JSON.stringify({ ...good, nonce: "2" })]] },
    );
    assert.equal(node.received.length, 0);
    assert.equal((await post(`${url}/deposit`, good)).status, 200);
  }));
