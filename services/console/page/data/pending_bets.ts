/** Signed bets, stored in the browser until their outcome is known, to survive a reload. */
import * as z from "zod/mini";
import { type Address, type Hex, type Offer, offerFromJson, offerToJson } from "@rangemaker/client";
import { tryParseJson } from "../../../../lib/json.ts";
import { anySignatureSchema } from "../../../../lib/protocol/scalars.ts";
import type { TextStore } from "./wallets.ts";

/** A signed bet, with all that is needed to send it again. */
export interface PendingBet {
  offer: Offer;
  signature: Hex;
}

const entrySchema = z.looseObject({ signature: anySignatureSchema });

/** A stored bet; none if another program wrote the entry. */
function betsOf(entry: unknown): PendingBet[] {
  try {
    const { signature, ...offer } = entrySchema.parse(entry);
    return [{ offer: offerFromJson(offer), signature }];
  } catch {
    return [];
  }
}

/** The signed bets on a chain whose outcome this browser does not know yet. */
export class PendingBets {
  readonly #store: TextStore;
  readonly #key: string;
  readonly #tabs: EventTarget;

  /** @param tabs The window, whose `storage` events report writes of other tabs. */
  constructor(store: TextStore, chainId: number, tabs: EventTarget = new EventTarget()) {
    this.#store = store;
    this.#key = `rangemaker.pending-bets.${chainId}`; // another chain would not know them
    this.#tabs = tabs;
  }

  readBets(user: Address): PendingBet[] {
    return this.#read().filter(({ offer }) => offer.quote.user === user);
  }

  add(bet: PendingBet): void {
    this.#write([...this.#read(), bet]);
  }

  /** Removes a bet whose outcome is known. */
  remove(quoteHash: string): void {
    const all = this.#read();
    const others = all.filter(({ offer }) => offer.quoteHash !== quoteHash);
    if (others.length < all.length) this.#write(others);
  }

  /** Calls back when another tab has changed the bets. @param signal Ends the callbacks. */
  onOtherTab(changed: () => void, signal: AbortSignal): void {
    this.#tabs.addEventListener("storage", (event) => {
      if (Reflect.get(event, "key") === this.#key) changed();
    }, { signal });
  }

  #read(): PendingBet[] {
    const entries = tryParseJson(this.#store.getItem(this.#key) ?? "");
    return z.catch(z.array(z.unknown()), []).parse(entries).flatMap(betsOf);
  }

  #write(bets: readonly PendingBet[]): void {
    const texts = bets.map(({ offer, signature }) => ({ ...offerToJson(offer), signature }));
    this.#store.setItem(this.#key, JSON.stringify(texts));
  }
}
