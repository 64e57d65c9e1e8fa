import type { PageModel } from "../data/page_model.ts";
import { Fact } from "../fact.tsx";
import {
  formatAmount,
  formatDuration,
  formatGain,
  formatQuotePrice,
  formatTime,
  toNumber,
} from "../format.ts";
import { useNow } from "../use_now.ts";
import type { BetSlip, Stage } from "./bet_slip.ts";
import { quoteLife } from "./quote_life.ts";

interface QuotePanelProps {
  model: PageModel;
  slip: BetSlip;
  stage: Extract<Stage, { offer: unknown }>;
}

/** A firm quote: what it says, how long it lives, and the button that signs it. */
export function QuotePanel({ model, slip, stage }: QuotePanelProps) {
  const { quote } = stage.offer;
  const symbol = slip.symbol.value;
  if (stage.name === "placed") {
    return (
      <>
        <PlacedBet model={model} symbol={symbol} stage={stage} />
        <button type="button" class="primary wide" onClick={() => slip.back()}>
          Make another bet
        </button>
      </>
    );
  }
  return (
    <>
      <dl class="facts">
        <Fact label={`${symbol} stays in`}>
          {formatQuotePrice(toNumber(quote.lowerPrice))} – {formatQuotePrice(
            toNumber(quote.upperPrice),
          )}
        </Fact>
        <Fact label="From">
          {formatTime(quote.startTime)} for {formatDuration(quote.endTime - quote.startTime)}
        </Fact>
        <Fact label="You bet">{formatAmount(quote.betAmount)} USDC</Fact>
        <Fact label="You get if it stays" isBig>
          <span data-payout={quote.payout.toString()}>{formatAmount(quote.payout)} USDC</span>
        </Fact>
      </dl>
      <Change stage={stage} />
      <Signing model={model} slip={slip} stage={stage} />
    </>
  );
}

interface PlacedBetProps {
  model: PageModel;
  symbol: string;
  stage: Extract<Stage, { name: "placed" }>;
}

/** The bet that was just placed, until it is settled and after it. */
function PlacedBet({ model, symbol, stage: { thesisId, offer: { quote } } }: PlacedBetProps) {
  const theses = model.session.user.value?.portfolio.theses.value ?? [];
  const status = theses.find(({ id }) => id === thesisId)?.status;
  if (status === "won") {
    return (
      <p class="placed">
        <strong class="won">✓ Bet {thesisId} won.</strong> {symbol} stayed in the box:{" "}
        {formatAmount(quote.payout)} USDC were paid out.
      </p>
    );
  }
  if (status === "lost") {
    return (
      <p class="placed">
        <strong class="lost">✕ Bet {thesisId} lost.</strong> {symbol} left the box: the{" "}
        {formatAmount(quote.betAmount)} USDC that you bet are gone.
      </p>
    );
  }
  return (
    <p class="placed">
      <strong class="open">● Bet {thesisId} is placed.</strong> It pays {formatAmount(quote.payout)}
      {" "}
      USDC if {symbol} stays in the box. Watch it on the chart.
    </p>
  );
}

/** Tells where the quote pays something else than the estimate said, before anything is signed. */
function Change({ stage }: { stage: QuotePanelProps["stage"] }) {
  if (stage.name !== "quoted" || stage.estimated === undefined) return null;
  const difference = stage.offer.quote.payout - stage.estimated.payout;
  if (difference > -10_000n && difference < 10_000n) return null; // under a cent
  return (
    <p class="note changed">
      The quote pays {formatGain(difference)} USDC compared with the estimate.
    </p>
  );
}

function Signing({ model, slip, stage }: QuotePanelProps) {
  const nowMs = useNow(() => model.serverClock.now(), 250);
  const { state, remainingMs } = quoteLife(stage.offer.quote, nowMs);
  if (stage.name === "signing" || stage.name === "sending") {
    const isHere = model.session.user.value?.isDevelopmentKey === true;
    const asks = isHere ? "Signing …" : "Sign in your wallet …";
    return (
      <>
        <button type="button" class="primary wide" disabled>
          {stage.name === "signing" ? asks : "Placing the bet …"}
        </button>
        {stage.name === "signing" && !isHere && (
          <button
            type="button"
            class="quiet wide"
            onClick={() => slip.back()}
          >
            Cancel
          </button>
        )}
      </>
    );
  }
  if (state !== "valid") {
    const text = state === "expired"
      ? "The quote has expired."
      : "The window of the box is over before it was placed.";
    return (
      <>
        <p class="failure" role="alert">{text}</p>
        <button type="button" class="primary wide" onClick={() => void slip.quote()}>
          Ask for a new quote
        </button>
        <button type="button" class="quiet wide" onClick={() => slip.back()}>Change the box</button>
      </>
    );
  }
  return (
    <>
      <button type="button" class="primary wide" onClick={() => void slip.place()}>
        Sign and place the bet
      </button>
      <p class="note" data-remaining>
        This quote can be signed for {Math.ceil(remainingMs / 1000)} s.
      </p>
      <button type="button" class="quiet wide" onClick={() => slip.back()}>Change the box</button>
    </>
  );
}
