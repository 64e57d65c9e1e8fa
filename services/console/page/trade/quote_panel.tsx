import type { ComponentChildren } from "preact";
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
import { leastPayout, oddsOf, probabilityAt } from "./odds.ts";
import { movedText, quoteLife, windowText } from "./quote_life.ts";

type QuoteStage = Extract<Stage, { offer: unknown }>;

interface QuotePanelProps {
  model: PageModel;
  slip: BetSlip;
  stage: QuoteStage;
}

/** A firm quote: what it says, how long it lives, and the button that signs it. */
export function QuotePanel({ model, slip, stage }: QuotePanelProps) {
  const { quote } = stage.offer;
  const symbol = slip.symbol.value;
  if (stage.name === "placed") {
    return (
      <>
        <PlacedBet model={model} stage={stage} />
        <div class="action-bar">
          <button type="button" class="primary wide" data-next onClick={() => slip.back()}>
            Make another bet
          </button>
        </div>
      </>
    );
  }
  const estimated = stage.name === "quoted" ? stage.estimated : undefined;
  const probability = estimated && probabilityAt(quote.payout, estimated);
  const odds = oddsOf({ ...quote, probability }, model.maker.value?.config.maxPayoutRatio);
  const least = leastPayout(quote, slip.tolerancePercent.value);
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
        {least < quote.payout && (
          <Fact label="At least, if the price moves">{formatAmount(least)} USDC</Fact>
        )}
        {odds.chance !== undefined && <Fact label="Maker's chance">{odds.chance}</Fact>}
        <Fact label="Break-even chance">{odds.breakEven}</Fact>
      </dl>
      {odds.warning !== undefined && <p class="note">{odds.warning}</p>}
      <Changes stage={stage} />
      <Signing model={model} slip={slip} stage={stage}>
        Bet {formatAmount(quote.betAmount)}, get <strong>{formatAmount(quote.payout)}</strong>
        {least < quote.payout && ` (at least ${formatAmount(least)})`}
        {odds.chance !== undefined && `, chance ${odds.chance}`}
      </Signing>
    </>
  );
}

interface PlacedBetProps {
  model: PageModel;
  stage: Extract<Stage, { name: "placed" }>;
}

/** The bet that was just placed, until it is settled and after it. */
function PlacedBet({ model, stage: { thesisId, offer: { quote } } }: PlacedBetProps) {
  const symbol = model.markets.find(quote.base, quote.quote)?.symbol ?? "the price";
  const theses = model.session.user.value?.portfolio.theses.value ?? [];
  const thesis = theses.find(({ id }) => id === thesisId);
  const { status, breach } = thesis === undefined ? {} : model.seen(thesis);
  if (status === "won") {
    return (
      <p class="placed">
        <strong class="won">✓ Bet {thesisId} won.</strong> {symbol} stayed in the box:{" "}
        {formatAmount(quote.payout)} USDC were paid out.
      </p>
    );
  }
  if (status === "lost" || breach !== undefined) {
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
      USDC if {symbol} stays in the box. Its outcome is announced.
    </p>
  );
}

/** A payout under a cent more or less is the same. */
const CENT = 10_000n;

/** What differs from what the user has seen before, said before anything is signed. */
function Changes({ stage }: { stage: QuoteStage }) {
  if (stage.name !== "quoted") return null;
  const { estimated, replaces, offer: { quote } } = stage;
  const seen = replaces?.quote ?? estimated;
  const difference = seen && quote.payout - seen.payout;
  const moved = replaces === undefined ? "" : movedText(quote, replaces.quote);
  return (
    <>
      {seen && difference && (difference <= -CENT || difference >= CENT) && (
        <p class="note changed">
          It pays {formatGain(difference)} USDC compared with the{" "}
          {replaces === undefined ? "estimate" : "quote before"}, {formatAmount(seen.payout)} USDC.
        </p>
      )}
      {moved !== "" && <p class="note moved">{moved}</p>}
    </>
  );
}

/** The button for the next step, and how long it can be pressed; the terms are on a phone. */
function Signing(
  { model, slip, stage, children }: QuotePanelProps & { children: ComponentChildren },
) {
  const nowMs = useNow(() => model.serverClock.now(), 250);
  const { state, remainingMs } = quoteLife(stage.offer.quote, nowMs);
  const bets = model.session.user.value?.portfolio.bets.unresolved.value ?? [];
  const own = bets.find(({ offer }) => offer.quoteHash === stage.offer.quoteHash);
  // All branches have one shape, so that the button is the same one and keeps the focus.
  if (stage.name === "sending") {
    return (
      <>
        <Action
          text={own?.isChecking ? "Outcome unknown, checking …" : "Placing the bet …"}
          note={own?.isChecking
            ? "The maker has not answered. The same signed bet is sent again: it is placed once, or not."
            : ""}
        />
      </>
    );
  }
  const change = (text: string) => (
    <button
      type="button"
      class="quiet wide"
      onClick={() => slip.back()}
    >
      {text}
    </button>
  );
  if (stage.name === "signing") {
    const isHere = model.session.user.value?.isDevelopmentKey === true;
    return (
      <>
        <Action
          text={isHere ? "Signing …" : "Sign in your wallet …"}
          note={stage.isAgain ? "The price moved, within what you accept: one more signature." : ""}
        />
        {!isHere && change("Cancel")}
      </>
    );
  }
  if (bets.length > 0) {
    return (
      <>
        <Action text="Outcome unknown, checking …" note="Another signed bet is on its way." />
      </>
    );
  }
  if (state !== "valid") {
    return (
      <>
        <Action
          text="Ask for a new quote"
          note={state === "expired"
            ? "The quote has expired. The window of a new one starts later."
            : "The window of the box is over before it was placed."}
          isFailure
          onPress={() => void slip.quote()}
        />
        {change("Change the box")}
      </>
    );
  }
  return (
    <>
      <Action
        text="Sign and place the bet"
        note={`Sign within ${Math.ceil(remainingMs / 1000)} s. ${
          windowText(stage.offer.quote, nowMs)
        }`}
        terms={children}
        onPress={() => void slip.place()}
      />
      {change("Change the box")}
    </>
  );
}

interface ActionProps {
  text: string;
  note?: string;
  isFailure?: boolean;
  /** What is signed: on a phone, the facts are out of sight. */
  terms?: ComponentChildren;
  /** Without it, the button waits. */
  onPress?: () => void;
}

function Action({ text, note, isFailure = false, terms, onPress }: ActionProps) {
  return (
    <div class="action-bar">
      {terms !== undefined && <p class="bar-payout bar-terms" id="terms">{terms}</p>}
      <button
        type="button"
        class="primary wide"
        data-next
        // One button for all steps, never disabled, so that none takes the focus away.
        aria-disabled={onPress === undefined}
        aria-describedby={terms === undefined ? "bar-note" : "terms bar-note"}
        onClick={onPress}
      >
        {text}
      </button>
      <p class={isFailure ? "failure bar-note" : "note bar-note"} id="bar-note">{note}</p>
    </div>
  );
}
