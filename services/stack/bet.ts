/** One complete bet, played by a user who has only the URLs and a new key. */
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import {
  type Account,
  type Bet,
  isOutcomeUnknown,
  isRangemakerError,
  isUnsettled,
  type Offer,
  type PlacedBet,
  type Quote,
  RangemakerClient,
  type Thesis,
  type ThesisWatch,
} from "../../lib/client/mod.ts";
import type { ShowProgress } from "../../lib/cli/terminal.ts";
import { type Clock, waitMs } from "../../lib/clock.ts";
import { RangemakerError } from "../../lib/errors.ts";
import { callJson } from "../../lib/net/call_json.ts";
import { formatUnits, oraclePricesSchema, usdcText } from "../../lib/protocol/price.ts";
import { chainIdOption } from "../../lib/cli/shared_options.ts";
import { drawWhile, rangeLine } from "./range_line.ts";
import type { StackUrls } from "./stack.ts";

interface BetResult {
  thesis: Thesis;
  user: Account;
  solver: Account;
}

type EstimatedOffer = Offer & { estimatedPayout: bigint };

const SYMBOL = "ETH/USDT";
/** USDC with 6 decimals. */
const DEPOSIT = 1_000_000_000n;
/** USDC with 6 decimals. */
const BET = 100_000_000n;
/** Time that the price has to stay in the range for the user to win, in ms. */
const WINDOW_MS = 3_000;
/** From the quote to the start of the window: time to sign and to execute. */
const LEAD_MS = 1_000;
/** Each new quote leaves so much more time: a busy machine needs longer. */
const LEAD_STEP_MS = 500;
const LEAD_MAX_MS = 5_000;
/** The widest range that is tried reaches this part of the price, half a percent, to each side. */
const WIDEST_DIVISOR = 200n;
const NARROWEST_DIVISOR = 21_000n;
/** Tenths of the bet that the range should pay. */
const PAYOUT_TENTHS = 11n;
const STEP_TIMEOUT_MS = 10_000;
/** How long bets are tried: on a busy machine, the price may move away from many quotes. */
const EXECUTE_TIMEOUT_MS = 30_000;
/** How long prices may take to reach the oracle, and then the node. */
const PRICES_TIMEOUT_MS = 20_000;
const PRICE_POLL_MS = 25;
const BET_STEPS = 6;

/**
 * Plays one bet through the public client, which checks hash and signatures. This checks balances.
 *
 * @param report Receives one line per step, with its duration.
 * @param progress Shows the step that is being played, and the price while the bet runs.
 * @throws {RangemakerError} On the first check that fails.
 */
export async function playBet(
  urls: StackUrls,
  clock: Clock,
  report: (line: string) => void,
  progress: ShowProgress = () => {},
): Promise<BetResult> {
  const wallet = privateKeyToAccount(generatePrivateKey());
  const client = new RangemakerClient({
    urls,
    chainId: Number(chainIdOption.default),
    wallet,
    clock,
  });
  let count = 0;
  const step = async <T>(name: string, play: () => Promise<T>, outcome: (result: T) => string) => {
    const startedAtMs = performance.now();
    count += 1;
    progress(`${count}/${BET_STEPS} ${name} …`);
    const result = await play();
    const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(2).padStart(5);
    report(`${count}/${BET_STEPS} ${name.padEnd(9)} ${seconds} s  ${outcome(result)}`);
    return result;
  };

  await step("prices", () => waitForPrices(urls, client, clock), (found) => {
    return `${SYMBOL} ${formatUnits(found.price)} from ${found.sources.join(", ")}`;
  });
  const before = await step("deposit", () => deposit(client), ({ balance }) => {
    return `${usdcText(balance)} for ${wallet.address}`;
  });
  const watch = await step(
    "subscribe",
    () => client.watch(),
    () => `theses of the user at ${urls.proxyWs}`,
  );
  try {
    const first = await step("quote", () => askForQuote(client, clock), describeOffer);
    const solverBefore = await client.account(first.quote.solver);
    const { thesisId, offer } = await step(
      "execute",
      () => executeOne(client, clock, first),
      ({ thesisId, offer }) => {
        const newer = offer === first ? "" : `, at a newer quote: ${describeOffer(offer)}`;
        return `hash and signatures checked, thesis ${thesisId} committed${newer}`;
      },
    );
    return await step("settle", async () => {
      const settlement = waitForSettlement(watch, thesisId, offer);
      const thesis = await drawWhile(settlement, clock, progress, async () => {
        const { price } = (await client.prices())[SYMBOL] ?? {};
        const line = price === undefined ? "" : rangeLine(price, offer.quote, clock.now());
        return `${BET_STEPS}/${BET_STEPS} settle … ${line}`;
      });
      return { thesis, ...await checkBalances(client, thesis, before, solverBefore) };
    }, describeResult);
  } finally {
    watch.close();
  }
}

/** Waits until the oracle's price has two sources and the node has pulled it. */
export async function waitForPrices(
  urls: Pick<StackUrls, "oracle">,
  client: RangemakerClient,
  clock: Clock,
): Promise<{ price: bigint; sources: string[] }> {
  const deadlineMs = clock.now() + PRICES_TIMEOUT_MS;
  for (;;) {
    const { prices } = await callJson(`${urls.oracle}/prices`, oraclePricesSchema);
    const sources = prices[SYMBOL]?.sources ?? [];
    const pulled = (await client.prices())[SYMBOL];
    if (sources.length >= 2 && pulled?.state === "fresh") return { price: pulled.price, sources };
    assert(
      clock.now() < deadlineMs,
      `${SYMBOL} has ${sources.length} sources and is ${pulled?.state ?? "unknown"} on the node ` +
        `after ${PRICES_TIMEOUT_MS} ms: expected 2 and fresh`,
    );
    await waitMs(clock, PRICE_POLL_MS);
  }
}

/** Waits, within a limit, for the solver's prices for a first quote. @returns What is missing. */
export async function waitForQuotes(urls: StackUrls, clock: Clock): Promise<string | undefined> {
  const client = new RangemakerClient({ urls, chainId: Number(chainIdOption.default), clock });
  const deadlineMs = clock.now() + STEP_TIMEOUT_MS;
  for (;;) {
    const startTime = clock.now();
    const endTime = startTime + WINDOW_MS;
    const range = { lowerPrice: 1n, upperPrice: 2n }; // any: prices are looked for first
    const bet = { symbol: SYMBOL, ...range, betAmount: BET, startTime, endTime };
    const answer: unknown = await client.estimate(bet).catch((refusal) => refusal);
    const isEarly = isRangemakerError(answer) && answer.retry === "later";
    if (!isEarly) return undefined;
    if (clock.now() >= deadlineMs) return answer.message;
    await waitMs(clock, PRICE_POLL_MS);
  }
}

async function deposit(client: RangemakerClient): Promise<Account> {
  await client.deposit(DEPOSIT);
  const account = await client.account();
  assert(account.balance === DEPOSIT, `Balance is ${account.balance} after depositing ${DEPOSIT}`);
  return account;
}

/** Gets a quote for a range around the present price; waits until the solver can price it. */
async function askForQuote(
  client: RangemakerClient,
  clock: Clock,
  leadMs = LEAD_MS,
): Promise<EstimatedOffer> {
  const deadlineMs = clock.now() + STEP_TIMEOUT_MS;
  for (;;) {
    try {
      const { bet, payout } = await chooseBet(client, clock, leadMs);
      return { ...await client.quote(bet), estimatedPayout: payout };
    } catch (thrown) {
      const mayChange = isRangemakerError(thrown, "PAYOUT_TOO_LOW") || mayRetry(thrown);
      if (!mayChange || clock.now() >= deadlineMs) throw thrown;
    }
    await waitMs(clock, PRICE_POLL_MS);
  }
}

/**
 * Finds the widest range that pays well. It asks for estimates of ever narrower ranges, which pay
 * more. If none pays well, it returns the narrowest range that the solver prices.
 */
async function chooseBet(
  client: RangemakerClient,
  clock: Clock,
  leadMs: number,
): Promise<{ bet: Bet; payout: bigint }> {
  let found: { bet: Bet; payout: bigint } | undefined;
  let refused: unknown;
  for (let divisor = WIDEST_DIVISOR; divisor <= NARROWEST_DIVISOR; divisor = divisor * 4n / 3n) {
    const price = (await client.prices())[SYMBOL]?.price;
    assert(price !== undefined, `The node has no price of ${SYMBOL}`);
    const startTime = clock.now() + leadMs;
    const half = price / divisor;
    const bet = {
      symbol: SYMBOL,
      lowerPrice: price - half,
      upperPrice: price + half,
      betAmount: BET,
      startTime,
      endTime: startTime + WINDOW_MS,
    };
    try {
      found = { bet, payout: (await client.estimate(bet)).payout };
      if (10n * found.payout >= PAYOUT_TENTHS * BET) return found;
    } catch (thrown) {
      refused = thrown;
      if (!isRangemakerError(thrown, "PAYOUT_TOO_LOW")) break;
    }
  }
  if (found === undefined) throw refused;
  return found;
}

/** Executes an offer. If the price moves away from it, executes a newer offer instead. */
async function executeOne(
  client: RangemakerClient,
  clock: Clock,
  first: EstimatedOffer,
): Promise<PlacedBet & { offer: EstimatedOffer }> {
  const deadlineMs = clock.now() + EXECUTE_TIMEOUT_MS;
  let leadMs = LEAD_MS;
  for (let offer = first;;) {
    try {
      return { ...await client.execute(offer), offer };
    } catch (thrown) {
      if (!mayRetry(thrown) || clock.now() >= deadlineMs) throw thrown;
      if (isOutcomeUnknown(thrown)) await waitMs(clock, PRICE_POLL_MS);
      else {
        leadMs = Math.min(leadMs + LEAD_STEP_MS, LEAD_MAX_MS);
        offer = await askForQuote(client, clock, leadMs);
      }
    }
  }
}

function mayRetry(thrown: unknown): boolean {
  return isRangemakerError(thrown) && thrown.retry !== "never";
}

/** Checks that both the creation and the settlement of the thesis were reported. */
export async function waitForSettlement(
  watch: Pick<ThesisWatch, "until">,
  thesisId: number,
  { quote }: { quote: Pick<Quote, "payout"> },
): Promise<Thesis> {
  const created = await watch.until(({ id }) => id === thesisId, STEP_TIMEOUT_MS);
  assert(created.payout === quote.payout, `Thesis pays ${created.payout}, not ${quote.payout}`);
  const ended = await watch.until(
    ({ id, status }) => id === thesisId && status !== "open",
    STEP_TIMEOUT_MS,
  );
  assert(
    !isUnsettled(ended.status),
    `Thesis ${thesisId} has no outcome: this machine was too busy to record its prices; ` +
      "run the demo again",
  );
  return ended;
}

/** Checks that the balances match the outcome, and that both sides' sum has not changed. */
async function checkBalances(
  client: RangemakerClient,
  settled: Thesis,
  userBefore: Account,
  solverBefore: Account,
): Promise<{ user: Account; solver: Account }> {
  const user = await client.account();
  const solver = await client.account(solverBefore.address);
  const gain = settled.status === "won" ? settled.payout - settled.betAmount : -settled.betAmount;
  requireTotal("User", user, totalOf(userBefore) + gain);
  requireTotal("Solver", solver, totalOf(solverBefore) - gain);
  return { user, solver };
}

function totalOf(account: Account): bigint {
  return account.balance + account.locked;
}

function requireTotal(who: string, account: Account, expected: bigint): void {
  assert(totalOf(account) === expected, `${who} holds ${totalOf(account)}, not ${expected}`);
  assert(account.locked === 0n, `${who} still has ${account.locked} locked`);
}

/** @throws {RangemakerError} With `message` unless `condition` is true. */
function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new RangemakerError("BET_CHECK_FAILED", message);
}

function describeOffer({ quote, estimatedPayout }: EstimatedOffer): string {
  const seconds = (quote.endTime - quote.startTime) / 1000;
  return `${formatUnits(quote.betAmount)} pays ${formatUnits(quote.payout)} if the price stays ` +
    `in ${formatUnits(quote.lowerPrice)} to ${formatUnits(quote.upperPrice)} ` +
    `for ${seconds} s (estimated: ${formatUnits(estimatedPayout)})`;
}

function describeResult({ thesis, user, solver }: BetResult): string {
  const breach = thesis.breach && `, the price was ${formatUnits(thesis.breach.price)}`;
  return `thesis ${thesis.status}${breach ?? ""}; user has ${formatUnits(user.balance)}, ` +
    `solver ${formatUnits(solver.balance)}: the total is unchanged`;
}
