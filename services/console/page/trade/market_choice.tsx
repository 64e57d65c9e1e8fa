import { useComputed, useSignal } from "@preact/signals";
import type { PageModel } from "../data/page_model.ts";
import type { BetSlip } from "./bet_slip.ts";
import { describeDraft } from "./draft.ts";
import { isOld, priceText } from "./price_label.ts";

/** Buttons that choose the market, with its price. */
export function MarketChoice({ model, slip }: { model: PageModel; slip: BetSlip }) {
  return (
    <div class="markets" role="group" aria-label="Market">
      {model.markets.symbols.map((symbol) => (
        <MarketButton
          key={symbol}
          model={model}
          slip={slip}
          symbol={symbol}
          isChosen={symbol === slip.symbol.value}
        />
      ))}
    </div>
  );
}

interface MarketButtonProps {
  model: PageModel;
  slip: BetSlip;
  symbol: string;
  isChosen: boolean;
}

/**
 * A price changes ten times a second; only its text is updated. Screen readers would read each
 * change of the focused button's name, so that keeps the price of the moment when it got the focus.
 */
function MarketButton({ model, slip, symbol, isChosen }: MarketButtonProps) {
  const price = useComputed(() => priceText(model, symbol));
  const name = useSignal<string | undefined>(undefined);
  const old = isOld(model, symbol) ? "old" : undefined;
  return (
    <button
      type="button"
      class={old}
      aria-pressed={isChosen}
      aria-label={name}
      onFocus={() => name.value = `${symbol} ${price.value} ${old ?? ""}`.trim()}
      onBlur={() => name.value = undefined}
      onClick={() => {
        slip.choose(symbol);
        const box = slip.draft === undefined ? "no box yet." : describeDraft(slip.draft);
        model.announce(`${symbol} at ${price.value}: ${box}`, { isSpoken: true });
      }}
    >
      <span>{symbol}</span>
      <strong data-price={symbol}>{price}</strong>
      {old && <span class="spoken">{old}</span>}
    </button>
  );
}
