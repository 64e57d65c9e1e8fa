import type { Clock } from "../../lib/clock.ts";
import { CoreClient } from "../../lib/net/core_client.ts";
import type { Account } from "../../lib/protocol/account.ts";
import type { Thesis } from "../../lib/protocol/thesis.ts";
import type { ShowProgress } from "../../lib/cli/progress.ts";
import { ThesisFeed } from "../../lib/net/thesis_feed.ts";
import type { StackUrls } from "./stack.ts";
import {
  askForQuote,
  type BetContext,
  checkBalances,
  deposit,
  execute,
  subscribe,
  SYMBOL,
  waitForPrices,
  waitForSettlement,
} from "./steps.ts";
import { createWallet, formatUsdc } from "./user.ts";

/** What came of a bet. */
export interface BetResult {
  thesis: Thesis;
  /** Accounts after settlement. */
  user: Account;
  solver: Account;
}

const STEPS = 6;

/**
 * Plays one bet as a user who was given nothing but the URLs, checking every answer.
 *
 * @param report Receives one line a step, with the time it took.
 * @param progress Is shown the step that is being played.
 * @throws {RangemakerError} At the first thing that is not as it must be.
 */
export async function playBet(
  urls: StackUrls,
  clock: Clock,
  report: (line: string) => void,
  progress: ShowProgress = () => {},
): Promise<BetResult> {
  const node = new CoreClient({ url: urls.proxy });
  const context: BetContext = { urls, node, wallet: createWallet(), clock };
  const user = context.wallet.address;
  let count = 0;
  const step = async <T>(name: string, play: () => Promise<T>, tell: (outcome: T) => string) => {
    const startedMs = performance.now();
    count += 1;
    progress(`${count}/${STEPS} ${name} …`);
    const outcome = await play();
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(2).padStart(5);
    report(`${count}/${STEPS} ${name.padEnd(9)} ${seconds} s  ${tell(outcome)}`);
    return outcome;
  };

  const { price } = await step("prices", () => waitForPrices(context), ({ price, sources }) => {
    return `${SYMBOL} ${formatUsdc(price)} from ${sources.join(", ")}`;
  });
  const userBefore = await step("deposit", () => deposit(context), ({ balance }) => {
    return `${formatUsdc(balance)} USDC for ${user}`;
  });
  const feed = new ThesisFeed({ url: urls.proxyWs, node, user, clock, random: Math.random });
  try {
    await step("subscribe", () => subscribe(feed), () => `theses of the user at ${urls.proxyWs}`);
    const offer = await step("quote", () => askForQuote(context, price), tellOffer);
    const { thesisId, solverBefore } = await step(
      "execute",
      () => execute(context, offer),
      ({ thesisId }) => `hash and signatures checked, thesis ${thesisId} committed`,
    );
    return await step("settle", async () => {
      const thesis = await waitForSettlement(feed, thesisId, offer.quote);
      return { thesis, ...await checkBalances(context, thesis, userBefore, solverBefore) };
    }, tellResult);
  } finally {
    feed.close();
  }
}

function tellOffer(
  { quote, estimatedMultiplier }: Awaited<ReturnType<typeof askForQuote>>,
): string {
  const seconds = (quote.endTime - quote.startTime) / 1000;
  return `${formatUsdc(quote.betAmount)} pays ${formatUsdc(quote.payout)} if the price stays in ` +
    `${formatUsdc(quote.lowerPrice)} to ${formatUsdc(quote.upperPrice)} ` +
    `for ${seconds} s (estimate was ${estimatedMultiplier})`;
}

function tellResult({ thesis, user, solver }: BetResult): string {
  const breach = thesis.breach && `, the price was ${formatUsdc(thesis.breach.price)}`;
  return `thesis ${thesis.status}${breach ?? ""}; user has ${formatUsdc(user.balance)}, ` +
    `solver ${formatUsdc(solver.balance)}: nothing made or lost`;
}
