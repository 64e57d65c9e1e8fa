import { MARKETS } from "../../../lib/protocol/markets.ts";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";
import { hashQuote } from "../../../lib/protocol/hashes.ts";
import { LocalSigner } from "../../../lib/protocol/signature.ts";
import { FakeClock } from "../../support/fake_clock.ts";

export const clock = new FakeClock();
export const solver = new LocalSigner(DEV_ACCOUNTS.solver.privateKey);

/** A bet on ETH/USDT that begins in a second. */
export const bet = {
  symbol: "ETH/USDT",
  lowerPrice: 2_900_000_000n,
  upperPrice: 3_100_000_000n,
  betAmount: 1_000_000n,
  startTime: clock.now() + 1_000,
  endTime: clock.now() + 4_000,
};

const { symbol, ...plainBet } = bet;
const { base, quote } = MARKETS.find((market) => market.symbol === symbol)!; // of the specification

/** What a solver offers for {@link bet}. */
export const terms = {
  ...plainBet,
  solver: solver.address,
  user: DEV_ACCOUNTS.admin.address,
  thesisType: "box" as const,
  base,
  quote,
  payout: 1_070_000n,
  deadline: clock.now() + 60_000,
};

/** A signed offer of these terms on a chain. */
export function offerOn(chainId: number, signer: LocalSigner = solver) {
  const offered = { ...terms, solver: signer.address };
  const quoteHash = hashQuote(offered, chainId);
  return { quote: { ...offered, signature: signer.sign(quoteHash) }, quoteHash };
}
