import assert from "node:assert/strict";
import { offerFromJson, offerToJson, QuoteError } from "../../../lib/client/mod.ts";
import { requireGenuine } from "../../../lib/client/offer.ts";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";
import { hashQuote } from "../../../lib/protocol/hashes.ts";
import type { Quote, UnsignedQuote } from "../../../lib/protocol/quote.ts";
import { LocalSigner } from "../../../lib/protocol/signature.ts";
import { solver, terms } from "./fake_services.ts";

const CHAIN_ID = 1337;

function signed(terms: UnsignedQuote, signer: LocalSigner = solver): Quote {
  return { ...terms, signature: signer.sign(hashQuote(terms, CHAIN_ID)) };
}

function check(quote: Quote) {
  const offer = { quote, quoteHash: hashQuote(quote, CHAIN_ID) };
  requireGenuine(offer, CHAIN_ID, solver.address);
  return offer;
}

function refuses(code: string) {
  return (thrown: unknown) => thrown instanceof QuoteError && thrown.code === code;
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
