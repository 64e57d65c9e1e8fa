/** Signs a bet; again if its price moves meanwhile, within the user's tolerance. */
import {
  type Clock,
  hasPriceMoved,
  isRangemakerError,
  type Offer,
  type Quote,
} from "@rangemaker/client";
import type { User } from "../data/session.ts";
import { betFromDraft, QUOTE_LIFE_MS } from "./draft.ts";
import { ADVICE, isWithinTolerance } from "../data/odds.ts";
import { signableMs } from "./quote_life.ts";
import type { QuotedStage, Stage } from "./stage.ts";

/** How often a bet is signed again at most. Normally, its window begins before that. */
const SIGNED_AGAIN_MAX = 30;

const NOT_PLACED_PREFIX = "Not placed, nothing taken: ";
const ODDS_TOO_FAST =
  `${NOT_PLACED_PREFIX}the odds changed faster than your bet got through. ${ADVICE}`;
const NO_ANSWER = `${NOT_PLACED_PREFIX}no answer came before its window began.`;

/** Why a quote does not replace the first one. Each change is a share of the first payout. */
function beyondText(quote: Quote, first: Quote, tolerancePercent: number): string {
  const share = Math.abs(Number(quote.payout) / Number(first.payout) - 1);
  const percent = Math.ceil(1_000 * share) / 10; // above the tolerance, also rounded
  const why = quote.payout < quote.betAmount
    ? "it would now pay less than you bet."
    : `the payout changed by ${percent} %, and you accept ${tolerancePercent} %.`;
  const isBetter = quote.payout > first.payout;
  const advice = isBetter ? "A better payout means a smaller chance, so you sign again." : ADVICE;
  return `${NOT_PLACED_PREFIX}${why} ${advice}`;
}

interface SigningOptions {
  user: User;
  symbol: string;
  serverClock: Pick<Clock, "now">;
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
  const { lowerPrice, upperPrice, startTime, endTime, deadline, betAmount } = first.quote;
  const before = { payout: first.quote.payout, isQuote: true };
  const box = { lowerPrice, upperPrice, durationMs: endTime - startTime };
  const quoteIn = (startsInMs: number, nowMs = serverClock.now()) =>
    user.client.quote(betFromDraft(symbol, { ...box, startsInMs }, betAmount, nowMs));
  /** A quote for as long a time ahead as the first one had, about which the user decides. */
  const laterStage = async (refusal: string): Promise<QuotedStage> => {
    const firstStartsInMs = startTime - (deadline - QUOTE_LIFE_MS);
    return { ...stage, offer: await quoteIn(Math.max(0, firstStartsInMs)), before, refusal };
  };
  let current = stage;
  for (let signedAgain = 0;; signedAgain++) {
    const { offer } = current;
    const signature = await sign(user, offer);
    // The wallet's prompt may have been open for long: a late quote is not sent, nor a second bet.
    if (signableMs(offer.quote, serverClock.now()) === 0 || !maySign()) return yield current;
    yield { name: "sending", offer, first };
    const outcome = await user.portfolio.bets.send({ offer, signature });
    if (outcome.name === "placed") {
      const isFirst = offer.quote.payout === first.quote.payout;
      return yield { ...outcome, offer, ...(!isFirst && { signedFirst: first }) };
    }
    if (!hasPriceMoved(outcome.reason)) throw outcome.reason;
    const nowMs = serverClock.now(); // one time, or the window would move with each quote
    const aheadMs = offer.quote.startTime - nowMs;
    const isAgain = aheadMs > 0 && signedAgain < SIGNED_AGAIN_MAX;
    yield { name: "signing", offer, first, isAgain };
    const next = isAgain ? await quoteIn(aheadMs, nowMs) : undefined;
    const { isChecking } = user.portfolio.bets.resolved.peek()?.bet ?? {};
    const refusal = isChecking ? NO_ANSWER : ODDS_TOO_FAST;
    if (next && isWithinTolerance(next.quote, first.quote, tolerancePercent) && maySign()) {
      current = { ...stage, offer: next, before, refusal };
      yield { name: "signing", offer: next, first, isAgain };
      continue;
    }
    const beyond = next && beyondText(next.quote, first.quote, tolerancePercent);
    return yield await laterStage(beyond ?? refusal);
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
