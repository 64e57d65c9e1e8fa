import { useComputed } from "@preact/signals";
import type { PageModel } from "../data/page_model.ts";
import { formatQuotePrice, toNumber } from "../format.ts";
import type { BetSlip } from "./bet_slip.ts";
import { describeDraft } from "./draft.ts";

/** Buttons that choose the market, with its price. */
export function MarketChoice({ model, slip }: { model: PageModel; slip: BetSlip }) {
  return (
    <div class="markets" role="group" aria-label="Market">
      {model.markets.symbols.map((symbol) => (
        <button
          key={symbol}
          type="button"
          class={isOld(model, symbol) ? "old" : undefined}
          aria-pressed={slip.symbol.value === symbol}
          onClick={() => {
            slip.choose(symbol);
            const box = slip.draft === undefined ? "no box yet." : describeDraft(slip.draft);
            model.announce(`${symbol} at ${priceText(model, symbol)}: ${box}`, { isSpoken: true });
          }}
        >
          <span>{symbol}</span>
          <LivePrice model={model} symbol={symbol} />
          {isOld(model, symbol) && <span class="spoken">old</span>}
        </button>
      ))}
    </div>
  );
}

/** Whether the newest price is out of date. */
export function isOld({ stateOf }: PageModel, symbol: string): boolean {
  const state = stateOf(symbol);
  return state === "stale" || state === "away" || state === "offline";
}

/**
 * A price that changes ten times a second; only its text is updated. It is not part of its button's
 * name, which would otherwise change as often.
 */
function LivePrice({ model, symbol }: { model: PageModel; symbol: string }) {
  const text = useComputed(() => priceText(model, symbol));
  return <strong data-price={symbol} aria-hidden>{text}</strong>;
}

/** The newest price of a market as text. */
export function priceText({ feed }: PageModel, symbol: string): string {
  const price = feed.latest.value[symbol]?.price;
  return price === undefined ? "–" : formatQuotePrice(toNumber(price));
}
