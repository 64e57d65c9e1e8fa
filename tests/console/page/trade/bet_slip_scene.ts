/** A slip with a client that the test answers for, and everything else that a bet needs. */
import assert from "node:assert/strict";
import { signal } from "@preact/signals";
import {
  type Address,
  type Bet,
  type Estimate,
  ExecutionError,
  type Offer,
  type RangemakerClient,
} from "../../../../lib/client/mod.ts";
import { BetKeeper } from "../../../../services/console/page/data/bet_keeper.ts";
import type { PriceState } from "../../../../services/console/page/data/price_feed.ts";
import { PendingBets } from "../../../../services/console/page/data/pending_bets.ts";
import type { User } from "../../../../services/console/page/data/session.ts";
import { BetSlip } from "../../../../services/console/page/trade/bet_slip.ts";
import { speakStages } from "../../../../services/console/page/trade/slip_voice.ts";
import type { Stage } from "../../../../services/console/page/trade/stage.ts";
import { DraftStore } from "../../../../services/console/page/trade/draft_store.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { hashOf, memoryStore, offerOf, SIGNATURE, USER } from "../../support.ts";

type Client = Pick<RangemakerClient, "quote" | "sign" | "execute">;

export function quoteOf({ symbol: _, deadline = 0, ...terms }: Bet): Offer {
  return offerOf(7, { ...terms, deadline, payout: 12_000_000n });
}

/** A slip whose fields have {@link BET} at its start. */
export function scene(
  client: Partial<Client> = {},
  estimate: (bet: Bet) => Promise<Estimate> = () => new Promise(() => {}),
) {
  const clock = new FakeClock(1_000_000);
  const store = memoryStore();
  const pending = new PendingBets(store, 1337);
  const said: string[] = [];
  const removed: string[] = [];
  const chain = { isKnown: false };
  const market = signal<PriceState>("fresh");
  const answers: Client = {
    quote: (bet) => Promise.resolve(quoteOf(bet)),
    sign: () => Promise.resolve(SIGNATURE),
    execute: () => Promise.resolve({ thesisId: 7, txHash: hashOf(7) }),
    ...client,
  };
  const userOf = (address: Address): User => {
    const bets = new BetKeeper({
      client: answers,
      user: address,
      pending,
      clock,
      serverClock: clock,
      readTheses: () => Promise.resolve(chain.isKnown),
    });
    const account = signal({ balance: 1_000_000_000n, locked: 0n });
    const portfolio = { bets, account };
    // The slip uses these parts of a user alone.
    const walletChainId = signal(undefined);
    return { address, client: answers, portfolio, walletChainId } as unknown as User;
  };
  const user = signal<User | undefined>(userOf(USER));
  const model = {
    config: { chainId: 1337 },
    client: { estimate },
    session: { user },
    maker: { info: signal(undefined) },
    feed: { stateOf: () => market.value, latest: signal({}) },
    nodeChainId: signal(1337),
    serverClock: clock,
    announce(text: string, { isSpoken = false } = {}) {
      said.push(isSpoken ? `(${text})` : text);
      return () => removed.push(text);
    },
  };
  const open = () => new BetSlip("ETH/USDT", model, new DraftStore(store, clock));
  const slip = open();
  const speak = () => speakStages(model, slip);
  const hush = speak();
  const untouched = slip.fields.value;
  slip.edit({ lower: "2990", upper: "3010", startsIn: "8", lasts: "15", amount: "10" });
  return {
    clock,
    store,
    pending,
    said,
    removed,
    slip,
    open,
    user,
    userOf,
    chain,
    market,
    speak,
    hush,
    untouched,
  };
}

export const TOO_LATE =
  "(Too late: the window has begun. Nothing was placed or taken. Enter asks for a new quote.)";

/** The current stage, whose type earlier assertions do not narrow. */
export const stageOf = (slip: BetSlip): Stage => slip.stage.value;

/** The current stage, which has to have this name. */
export function inStage<Name extends Stage["name"]>(slip: BetSlip, name: Name) {
  const stage = stageOf(slip);
  assert.equal(stage.name, name);
  return stage as Extract<Stage, { name: Name }>; // it has
}

/** A solver that refuses the first signatures as the price moved; payouts of its quotes. */
export function moving(refusals: number, payouts: readonly bigint[]) {
  const quoted: Bet[] = [];
  const signed: Offer[] = [];
  const result = scene({
    quote(bet) {
      const payout = payouts[quoted.length] ?? payouts.at(-1) ?? 0n;
      quoted.push(bet);
      const offer = offerOf(quoted.length, { ...quoteOf(bet).quote, payout });
      return Promise.resolve({ ...offer, probability: 0.48 });
    },
    sign: (offer) => (signed.push(offer), Promise.resolve(SIGNATURE)),
    execute({ quote }) {
      const code = quote.payout < payouts[0]! ? "PRICE_MOVED" : "PRICE_IMPROVED";
      if (signed.length <= refusals) {
        return Promise.reject(new ExecutionError(code, "It moved", { retry: "new_quote" }));
      }
      return Promise.resolve({ thesisId: 7, txHash: hashOf(7) });
    },
  });
  return { ...result, quoted, signed };
}
