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
import { betOf, SUGGESTED_START_MS } from "./draft.ts";
import { leastPayout } from "./odds.ts";
import { quoteLife } from "./quote_life.ts";
import type { SlipVoiceOptions } from "./slip_voice.ts";
import type { QuotedStage, Stage } from "./stage.ts";

export const NOT_PLACED = new RangemakerError(
  "NOT_PLACED",
  "The bet was not placed: nothing was taken.",
);

export interface SigningOptions extends Pick<SlipVoiceOptions, "serverClock"> {
  user: User;
  symbol: string;
  /** From a new quote to the start of its window, if that of the first quote has begun. */
  startsInMs: number | undefined;
  /** By how much less than first signed, in percent, the bet may pay. */
  tolerancePercent: number;
  /** Whether the user may still sign. */
  maySign(): boolean;
}

/**
 * Signs and sends a quote. If the price moves meanwhile, signs the next quote, within the user's
 * tolerance.
 *
 * @returns The stages after the first request for a signature. The last one is `placed`, or
 *   `quoted` if the user has to decide again. Nothing more is signed or sent once they are no longer
 *   read.
 * @throws Why the bet was not placed.
 */
export async function* signingStages(
  stage: QuotedStage,
  { user, symbol, startsInMs, tolerancePercent, serverClock, maySign }: SigningOptions,
): AsyncGenerator<Stage, void> {
  const first = stage.offer;
  for (let signedAgain = 0;; signedAgain++) {
    const { offer } = stage;
    const signature = await sign(user, offer);
    // The wallet's prompt may have been open for long: a late quote is not sent.
    if (quoteLife(offer.quote, serverClock.now()).state !== "valid") return yield stage;
    yield { name: "sending", offer };
    const outcome = await user.portfolio.bets.send({ offer, signature });
    void user.portfolio.refresh();
    if (outcome.name === "placed") {
      const isFirst = offer.quote.payout === first.quote.payout;
      return yield { ...outcome, offer, ...(!isFirst && { signedFirst: first }) };
    }
    if (outcome.name === "expired") throw NOT_PLACED;
    if (!hasPriceMoved(outcome.reason)) throw outcome.reason;
    yield { name: "signing", offer, isAgain: true };
    const bet = betToSignAgain(symbol, offer.quote, startsInMs, serverClock.now());
    const next = await user.client.quote(bet);
    stage = { ...stage, offer: next, replaces: first, refusals: signedAgain + 1 };
    const quotes = { first: first.quote, refused: offer.quote, next: next.quote };
    if (!isSignedAgain(quotes, tolerancePercent, signedAgain) || !maySign()) return yield stage;
    yield { name: "signing", offer: next, isAgain: true };
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

/**
 * How often a bet is signed again if its payout keeps moving: fewer times if it now pays less than
 * the user agreed to, and less than the refused quote.
 */
const SIGNED_AGAIN_MAX = { less: 3, more: 10 };

/** Quotes of one bet, in their order: the user agreed to the first one. */
type Quotes = Record<"first" | "refused" | "next", Quote>;

/**
 * Whether the next quote is signed without asking.
 *
 * @param times How often it was signed again already.
 */
function isSignedAgain(
  { first, refused, next }: Quotes,
  tolerancePercent: number,
  times: number,
): boolean {
  return next.startTime === first.startTime &&
    next.payout >= leastPayout(first, tolerancePercent) &&
    times <
      SIGNED_AGAIN_MAX[
        next.payout > refused.payout || next.payout > first.payout ? "more" : "less"
      ];
}

/** The bet of a refused quote. If its window has begun, it starts as the fields say. */
function betToSignAgain(
  symbol: string,
  quote: Quote,
  startsInMs: number | undefined,
  nowMs: number,
): Bet {
  const { lowerPrice, upperPrice, startTime, endTime, betAmount } = quote;
  const aheadMs = startTime - nowMs;
  const times = {
    startsInMs: aheadMs > 0 ? aheadMs : startsInMs ?? SUGGESTED_START_MS,
    durationMs: endTime - startTime,
  };
  return betOf(symbol, { lowerPrice, upperPrice, ...times }, betAmount, nowMs);
}
