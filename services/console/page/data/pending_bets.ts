/** Bets that were signed, kept in the browser until the chain shows them: a reload must not lose one. */
import { z } from "zod";
import type { Offer } from "../../../../lib/client/mod.ts";
import { quoteSchema, quoteToWire } from "../../../../lib/protocol/quote.ts";
import { type Address, hash32Schema, signatureSchema } from "../../../../lib/protocol/scalars.ts";
import type { TextStore } from "./wallets.ts";

/** A bet on its way, with what is needed to send it again. */
export interface PendingBet {
  offer: Offer;
  signature: `0x${string}`;
}

const PLACE = "rangemaker.pending-bets";

/** Bets on their way: one user has very few. */
const PENDING_MAX = 20;

const pendingSchema = z.array(z.object({
  quote: quoteSchema,
  quoteHash: hash32Schema,
  signature: signatureSchema,
}));

/** The signed bets whose outcome this browser does not know yet. */
export class PendingBets {
  readonly #store: TextStore;

  constructor(store: TextStore) {
    this.#store = store;
  }

  /** Those of one user. */
  of(user: Address): PendingBet[] {
    return this.#read().filter(({ offer }) => offer.quote.user === user);
  }

  add(bet: PendingBet): void {
    this.#write([...this.#read(), bet].slice(-PENDING_MAX));
  }

  /** The chain has it, or will never take it. */
  remove(quoteHash: string): void {
    const all = this.#read();
    const others = all.filter(({ offer }) => offer.quoteHash !== quoteHash);
    if (others.length < all.length) this.#write(others);
  }

  #read(): PendingBet[] {
    const parsed = pendingSchema.safeParse(parseJson(this.#store.getItem(PLACE) ?? "[]"));
    return (parsed.data ?? []).map(({ quote, quoteHash, signature }) => ({
      offer: { quote, quoteHash },
      signature,
    }));
  }

  #write(bets: readonly PendingBet[]): void {
    const texts = bets.map(({ offer, signature }) => ({
      quote: quoteToWire(offer.quote),
      quoteHash: offer.quoteHash,
      signature,
    }));
    this.#store.setItem(PLACE, JSON.stringify(texts));
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // somebody else's: it fits no schema
  }
}
