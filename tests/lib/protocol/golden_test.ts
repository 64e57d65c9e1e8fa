/**
 * Digests and signatures against committed vectors, which were made with ethers, and are made again
 * with it here: a second library finds errors of the one under test.
 */
import assert from "node:assert/strict";
import { TypedDataEncoder, verifyTypedData, Wallet } from "ethers";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";
import { externalHashOf, hashDepositRequest, hashQuote } from "../../../lib/protocol/hashes.ts";
import {
  DEPOSIT_ID_TYPE,
  DEPOSIT_REQUEST_TYPE,
  depositRequestSchema,
} from "../../../lib/protocol/deposit.ts";
import { QUOTE_TYPE, quoteSchema, type UnsignedQuote } from "../../../lib/protocol/quote.ts";
import type { Hex } from "../../../lib/protocol/scalars.ts";
import { LocalSigner, recoverSigner } from "../../../lib/protocol/signature.ts";
import {
  hashTransaction,
  TRANSACTION_TYPES,
  transactionSchema,
} from "../../../lib/protocol/transaction.ts";
import { type FlatType, signingDomain } from "../../../lib/protocol/typed_data.ts";
import vectors from "./golden_vectors.json" with { type: "json" };

type Vector = (typeof vectors)[number];

const ANY_SIGNATURE = `0x${"00".repeat(65)}`;

function digestOf({ kind, chainId, message }: Vector): Hex {
  if (kind === "quote") return hashQuote(termsOf(message), chainId);
  const signed = { ...message, signature: ANY_SIGNATURE };
  if (kind === "depositRequest") {
    return hashDepositRequest(depositRequestSchema.parse(signed), chainId);
  }
  return hashTransaction(transactionSchema.parse({ ...signed, type: kind }), chainId);
}

function termsOf(message: Vector["message"]): UnsignedQuote {
  const { base, quote, lowerPrice: lower, upperPrice: upper } = message;
  return quoteSchema.parse({
    ...message,
    signature: ANY_SIGNATURE,
    oraclePair: { base, quote },
    priceRange: { lower, upper },
  });
}

function typeOf(kind: string): FlatType {
  if (kind === "quote") return QUOTE_TYPE;
  if (kind === "depositRequest") return DEPOSIT_REQUEST_TYPE;
  return TRANSACTION_TYPES[kind as keyof typeof TRANSACTION_TYPES];
}

Deno.test("The external hash of a deposit is the digest that ethers computes, whatever its deadline", () => {
  const { primaryType, fields } = DEPOSIT_ID_TYPE;
  const id = { user: DEV_ACCOUNTS.relayer.address, amount: 25_000_000n, nonce: 2n ** 200n };
  assert.equal(
    externalHashOf(id, 1337),
    TypedDataEncoder.hash(signingDomain(1337), { [primaryType]: [...fields] }, id),
  );
});

for (const [index, vector] of vectors.entries()) {
  const name = `Golden vector ${index} (${vector.kind}, chain ${vector.chainId})`;
  const account = DEV_ACCOUNTS[vector.signer as keyof typeof DEV_ACCOUNTS];
  const type = typeOf(vector.kind);
  const ethersTypes = { [type.primaryType]: [...type.fields] };
  const domain = signingDomain(vector.chainId);

  Deno.test(`${name}: the type string is the one of the vector`, () => {
    const members = type.fields.map((field) => `${field.type} ${field.name}`).join(",");
    assert.equal(`${type.primaryType}(${members})`, vector.typeString);
  });

  Deno.test(`${name}: digest and signature are those of the vector`, () => {
    assert.equal(digestOf(vector), vector.digest);
    const signer = new LocalSigner(account.privateKey);
    assert.equal(signer.sign(vector.digest as Hex), vector.signature);
    assert.equal(recoverSigner(vector.digest as Hex, vector.signature as Hex), account.address);
  });

  Deno.test(`${name}: ethers computes and accepts the same digest and signature`, async () => {
    assert.equal(TypedDataEncoder.hash(domain, ethersTypes, vector.message), vector.digest);
    const wallet = new Wallet(account.privateKey);
    assert.equal(await wallet.signTypedData(domain, ethersTypes, vector.message), vector.signature);
    assert.equal(
      verifyTypedData(domain, ethersTypes, vector.message, vector.signature),
      account.address,
    );
  });
}
