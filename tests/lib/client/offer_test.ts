import assert from "node:assert/strict";
import { offerFromJson, offerToJson, QuoteError } from "../../../lib/client/mod.ts";
import { requireGenuine, requireRequested } from "../../../lib/client/offer.ts";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";
import { hashQuote } from "../../../lib/protocol/hashes.ts";
import type { Quote, UnsignedQuote } from "../../../lib/protocol/quote.ts";
import { LocalSigner } from "../../../lib/protocol/signature.ts";
import { solver, terms } from "./fake_services.ts";

const CHAIN_ID = 1337;

function signed(terms: UnsignedQuote, signer: LocalSigner = solver): Quote {
  return { ...terms, signature: signer.sign(hashQuote(terms, CHAIN_ID)) };
}

function check(quote: Quote, overrides: { claimedHash?: `0x${string}`; chainId?: number } = {}) {
  const { solver: _, payout: __, ...request } = terms;
  requireRequested(quote, request);
  const { chainId = CHAIN_ID, claimedHash = hashQuote(quote, CHAIN_ID) } = overrides;
  const offer = { quote, quoteHash: claimedHash };
  requireGenuine(offer, chainId, solver.address);
  return offer;
}

function refuses(code: string, field?: string) {
  return (thrown: unknown) => {
    return thrown instanceof QuoteError && thrown.code === code && thrown.details.field === field;
  };
}

const CHANGES: Partial<UnsignedQuote>[] = [
  { user: DEV_ACCOUNTS.relayer.address },
  { base: terms.quote },
  { quote: terms.base },
  { lowerPrice: terms.lowerPrice + 1n },
  { upperPrice: terms.upperPrice + 1n },
  { betAmount: terms.betAmount + 1n },
  { startTime: terms.startTime - 1 },
  { endTime: terms.endTime + 1 },
  { deadline: terms.deadline + 1 },
];

for (const change of CHANGES) {
  const [field] = Object.keys(change);
  Deno.test(`requireRequested: a quote with another ${field} is refused, though the solver signed it`, () => {
    assert.throws(
      () => check(signed({ ...terms, ...change })),
      refuses("QUOTE_TERMS_MISMATCH", field),
    );
  });
}

Deno.test("requireGenuine: refuses a signature by another key, an invalid signature and another solver", () => {
  const stranger = new LocalSigner(DEV_ACCOUNTS.admin.privateKey);
  const quotes = [
    signed(terms, stranger),
    { ...signed(terms), signature: "0x1234" as const },
    signed({ ...terms, solver: stranger.address }),
  ];
  for (const quote of quotes) {
    assert.throws(() => check(quote), refuses("QUOTE_SIGNER_MISMATCH"));
  }
  assert.throws(() => check({ ...signed(terms), signature: "0x1234" }), /signed by nobody/);
});

Deno.test("offerFromJson: restores a stored offer, and refuses anything else", () => {
  const offer = check(signed(terms));
  const stored = JSON.stringify(offerToJson(offer));
  assert.deepEqual(offerFromJson(JSON.parse(stored)), offer);
  const damaged = { ...offerToJson(offer), quoteHash: "0x12" };
  assert.throws(() => offerFromJson(damaged), (thrown) => {
    return refuses("INVALID_OFFER")(thrown) && /quoteHash: Expected a hash/.test(String(thrown));
  });
});
