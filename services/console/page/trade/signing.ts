/** Signs a bet; again if its price moves meanwhile, within the user's tolerance. */
import {
  type Bet,
  hasPriceMoved,
  isRangemakerError,
  type Offer,
  type Quote,
  RangemakerError,
} from "@rangemaker/client";
import type { User } from "../data/session.ts";
import { betOf } from "./draft.ts";
import { leadMs, signableMs } from "./quote_life.ts";
import type { SlipVoiceOptions } from "./slip_voice.ts";
import type { QuotedStage, Stage } from "./stage.ts";

export const NOT_PLACED = new RangemakerError(
  "NOT_PLACED",
  "The bet was not placed: nothing was taken.",
);

/** How often a bet is signed again if its payout keeps moving. */
const SIGNED_AGAIN_MAX = 3;

/** The same if the next quote pays more than the first or the refused one. */
const SIGNED_FOR_MORE_MAX = 10;

export interface SigningOptions extends Pick<SlipVoiceOptions, "serverClock"> {
  user: User;
  symbol: string;
  /** The least payout that the user has agreed to. */
  least: bigint;
  /** Whether the user may still sign. */
  maySign(): boolean;
}

/**
 * Signs and sends a quote. If the price moves meanwhile, signs the next quote, within the user's
 * tolerance and while the window has not begun. Otherwise the user decides about a quote for a
 * later window, with as much time to read it as the first one had.
 *
 * @returns The stages after the first request for a signature. The last one is `placed`, or
 *   `quoted` if the user has to decide again. Nothing more is signed or sent once they are no
 * longer
 *   read.
 * @throws Why the bet was not placed.
 */
export async function* signingStages(
  stage: QuotedStage,
  { user, symbol, least, serverClock, maySign }: SigningOptions,
): AsyncGenerator<Stage, void> {
  const first = stage.offer;
  for (let signedAgain = 0;; signedAgain++) {
    const { offer } = stage;
    const signature = await sign(user, offer);
    // The wallet's prompt may have been open for long: a late quote is not sent.
    if (signableMs(offer.quote, serverClock.now()) === 0) return yield stage;
    yield { name: "sending", offer, least };
    const outcome = await user.portfolio.bets.send({ offer, signature });
    void user.portfolio.refresh();
    if (outcome.name === "placed") {
      const isFirst = offer.quote.payout === first.quote.payout;
      return yield { ...outcome, offer, ...(!isFirst && { signedFirst: first }) };
    }
    if (outcome.name === "expired") throw NOT_PLACED;
    if (!hasPriceMoved(outcome.reason)) throw outcome.reason;
    const aheadMs = offer.quote.startTime - serverClock.now();
    yield { name: "signing", offer, least, isAgain: aheadMs > 0 };
    const quoteIn = (startsInMs: number, nowMs = serverClock.now()) =>
      user.client.quote(betStarting(startsInMs, symbol, offer.quote, nowMs));
    const next = aheadMs > 0 ? await quoteIn(aheadMs) : undefined;
    const before = { payout: first.quote.payout, isQuote: true };
    const payout = next?.quote.payout ?? 0n;
    const isMore = payout > offer.quote.payout || payout > first.quote.payout;
    const isTriedAgain = signedAgain < (isMore ? SIGNED_FOR_MORE_MAX : SIGNED_AGAIN_MAX);
    if (next === undefined || payout < least || !isTriedAgain || !maySign()) {
      const later = await quoteIn(Math.max(0, leadMs(first.quote)));
      return yield { ...stage, offer: later, before, isRefused: true };
    }
    stage = { ...stage, offer: next, before, isRefused: true };
    yield { name: "signing", offer: next, least, isAgain: true };
  }
}

async function sign(user: User, offer: Offer) {
  try {
    return await user.client.sign(offer);
  } catch (thrown) {
    // Not every wallet reports that it changed its chain.
    if (isRangemakerError(thrown, "WRONG_CHAIN")) {
      user.walletChainId.value = Number(thrown.details.actual);
    }
    throw thrown;
  }
}

/** Asks for a quote. @param before What the user saw last of the bet. */
export async function* quoteStages(
  user: User,
  bet: Bet,
  before: QuotedStage["before"],
): AsyncGenerator<Stage, void> {
  const offer = await user.client.quote(bet);
  yield { name: "quoted", offer, before, isRefused: false };
}

/** The bet of a quote, with another start of its window. */
function betStarting(startsInMs: number, symbol: string, quote: Quote, nowMs: number): Bet {
  const { lowerPrice, upperPrice, startTime, endTime, betAmount } = quote;
  const draft = { lowerPrice, upperPrice, startsInMs, durationMs: endTime - startTime };
  return betOf(symbol, draft, betAmount, nowMs);
}
