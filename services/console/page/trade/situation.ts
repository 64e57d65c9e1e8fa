import { explain } from "../data/explain.ts";
import { formatQuotePrice, toNumber } from "../parts/format.ts";
import type { TradeModel } from "./bet_slip.ts";

/** Whether the newest price is out of date. */
export function isOld({ feed }: TradeModel, symbol: string): boolean {
  const state = feed.stateOf(symbol);
  return state === "stale" || state === "away";
}

/** The newest price of a market as text. */
export function priceText({ feed }: TradeModel, symbol: string): string {
  const price = feed.latest.value[symbol]?.price;
  return price === undefined ? "–" : formatQuotePrice(toNumber(price));
}

/** Switches the wallet to the chain of the bets. */
export function switchChain({ session, config, announce }: TradeModel): void {
  const user = session.user.value;
  user?.client.switchChain().then(
    () => {
      user.walletChainId.value = config.chainId;
      announce("The wallet is on the right chain now.");
    },
    (thrown) => announce(explain(thrown).text),
  );
}
