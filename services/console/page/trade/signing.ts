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
import { betOf, QUOTE_LIFE_MS } from "./draft.ts";
import { ADVICE, isNear } from "./odds.ts";
import { signableMs } from "./quote_life.ts";
import type { SlipVoiceOptions } from "./slip_voice.ts";
import type { QuotedStage, Stage } from "./stage.ts";

export const NOT_PLACED = new RangemakerError(
  "NOT_PLACED",
  "No answer came in time.",
);

/** How often a bet is signed again at most. Normally, its window begins before that. */
const SIGNED_AGAIN_MAX = 30;

const NOTHING = "Not placed, nothing taken: ";
const FASTER = `${NOTHING}the odds changed faster than your bet got through. ${ADVICE}`;
const BETTER = "A better payout means a smaller chance, so you sign again.";
const UNANSWERED = `${NOTHING}no answer came before its window began.`;

/** Why a quote does not replace the first one. Each change is a share of the first payout. */
function beyondText(quote: Quote, first: Quote, tolerancePercent: number): string {
  const share = Math.abs(Number(quote.payout) / Number(first.payout) - 1);
  const percent = Math.ceil(1_000 * share) / 10; // above the tolerance, also rounded
  const why = quote.payout < quote.betAmount
    ? "it would now pay less than you bet."
    : `the payout changed by ${percent} %, and you accept ${tolerancePercent} %.`;
  return `${NOTHING}${why} ${quote.payout > first.payout ? BETTER : ADVICE}`;
}

export interface SigningOptions extends Pick<SlipVoiceOptions, "serverClock"> {
  user: User;
  symbol: string;
  /** By how much a payout may differ from the first one, in percent. */
  tolerancePercent: number;
  /** Whether the user may still sign. */
  maySign(): boolean;
}

/**
 * Signs and sends a quote. If the odds change meanwhile, signs the next quote, within the user's
 * tolerance and until the window begins. Otherwise the user decides about a quote for a later
 * window, with as much time to read it as the first one had.
 *
 * @returns The stages after the first request for a signature. The last one is `placed`, or
 *   `quoted` if the user has to decide again. Nothing more is signed or sent once they are no
 *   longer read.
 * @throws Why the bet was not placed.
 */
export async function* signingStages(
  stage: QuotedStage,
  { user, symbol, tolerancePercent, serverClock, maySign }: SigningOptions,
): AsyncGenerator<Stage, void> {
  const first = stage.offer;
  for (let signedAgain = 0;; signedAgain++) {
    const { offer } = stage;
    const signature = await sign(user, offer);
    // The wallet's prompt may have been open for long: a late quote is not sent.
    if (signableMs(offer.quote, serverClock.now()) === 0) return yield stage;
    yield { name: "sending", offer, first };
    const outcome = await user.portfolio.bets.send({ offer, signature });
    void user.portfolio.refresh();
    if (outcome.name === "placed") {
      const isFirst = offer.quote.payout === first.quote.payout;
      return yield { ...outcome, offer, ...(!isFirst && { signedFirst: first }) };
    }
    if (outcome.name === "expired") throw NOT_PLACED;
    if (!hasPriceMoved(outcome.reason)) throw outcome.reason;
    const aheadMs = offer.quote.startTime - serverClock.now();
    const isTriedAgain = aheadMs > 0 && signedAgain < SIGNED_AGAIN_MAX;
    yield { name: "signing", offer, first, isAgain: isTriedAgain };
    const quoteIn = (startsInMs: number, nowMs = serverClock.now()) =>
      user.client.quote(betStarting(startsInMs, symbol, offer.quote, nowMs));
    const next = isTriedAgain ? await quoteIn(aheadMs) : undefined;
    const isAccepted = next && isNear(next.quote, first.quote, tolerancePercent) && maySign();
    const { isChecking } = user.portfolio.bets.resolved.peek()?.bet ?? {};
    const before = { payout: first.quote.payout, isQuote: true };
    const refusal = next && !isAccepted
      ? beyondText(next.quote, first.quote, tolerancePercent)
      : isChecking
      ? UNANSWERED
      : FASTER;
    if (!isAccepted) {
      const firstLeadMs = first.quote.startTime - (first.quote.deadline - QUOTE_LIFE_MS);
      const later = await quoteIn(Math.max(0, firstLeadMs));
      return yield { ...stage, offer: later, before, refusal };
    }
    stage = { ...stage, offer: next, before, refusal };
    yield { name: "signing", offer: next, first, isAgain: true };
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

/** The bet of a quote, with another start of its window. */
function betStarting(startsInMs: number, symbol: string, quote: Quote, nowMs: number): Bet {
  const { lowerPrice, upperPrice, startTime, endTime, betAmount } = quote;
  const draft = { lowerPrice, upperPrice, startsInMs, durationMs: endTime - startTime };
  return betOf(symbol, draft, betAmount, nowMs);
}
