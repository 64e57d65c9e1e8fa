import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { PageModel } from "../data/page_model.ts";
import { Fact } from "../fact.tsx";
import { formatAmount, formatRange, formatTime } from "../format.ts";
import { useNow } from "../use_now.ts";
import type { BetSlip, Stage } from "./bet_slip.ts";
import { durationText } from "./input.ts";
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
        <Fact label={`${symbol} stays in`}>{formatRange(quote)}</Fact>
        <Fact label="From">
          {formatTime(quote.startTime)} for {durationText(quote.endTime - quote.startTime)}
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
      <NextStep model={model} slip={slip} stage={stage}>
        Bet {formatAmount(quote.betAmount)}, get <strong>{formatAmount(quote.payout)}</strong>
        {least < quote.payout && ` (at least ${formatAmount(least)})`}
        {odds.chance !== undefined && `, chance ${odds.chance}`}
      </NextStep>
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
  const { status, breach } = thesis === undefined ? {} : model.withBreach(thesis);
  // Under a thumb, the page may be scrolled to its fields: the box is what is watched now.
  useEffect(() => {
    if (!matchMedia("(pointer: coarse)").matches) return;
    document.querySelector(".chart")?.scrollIntoView({ block: "nearest" });
  }, []);
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
          It pays {formatAmount(difference < 0n ? -difference : difference)} USDC{" "}
          {difference < 0n ? "less" : "more"} than the{" "}
          {replaces === undefined ? "estimate" : "quote before"} of {formatAmount(seen.payout)}{" "}
          USDC.
        </p>
      )}
      {moved !== "" && <p class="note moved">{moved}</p>}
    </>
  );
}

/** The next step: its button, what is to be known of it, and the way back. */
interface Step {
  text: string;
  note?: string;
  isFailure?: boolean;
  /** What the button does; without it, the button waits. */
  onPress?: () => void;
  /** Of the button that goes back to the box. */
  back?: string;
}

function stepOf({ model, slip, stage }: QuotePanelProps, nowMs: number): Step {
  const user = model.session.user.value;
  const bets = user?.portfolio.bets.unresolved.value ?? [];
  const { quote, quoteHash } = stage.offer;
  const { state, remainingMs } = quoteLife(quote, nowMs);
  const checking = "Outcome unknown, checking …";
  if (stage.name === "sending") {
    const own = bets.find(({ offer }) => offer.quoteHash === quoteHash);
    if (!own?.isChecking) return { text: "Placing the bet …" };
    const note =
      "The maker has not answered. The same signed bet is sent again: it is placed once, or not.";
    return { text: checking, note };
  }
  if (stage.name === "signing") {
    const note = stage.isAgain
      ? "The price moved, within what you accept: one more signature."
      : "";
    if (user?.isDevelopmentKey) return { text: "Signing …", note };
    return { text: "Sign in your wallet …", note, back: "Cancel" };
  }
  if (bets.length > 0) return { text: checking, note: "Another signed bet is on its way." };
  const back = "Change the box";
  if (state === "valid" && model.feed.isOffline.value) {
    return { text: "You are offline", note: "Nothing can be placed now.", back };
  }
  if (state !== "valid") {
    return {
      text: "Ask for a new quote",
      note: state === "expired"
        ? "The quote has expired. The window of a new one starts later."
        : "The window of the box is over before it was placed.",
      isFailure: true,
      onPress: () => void slip.quote(),
      back,
    };
  }
  return {
    text: "Sign and place the bet",
    note: `Sign within ${Math.ceil(remainingMs / 1000)} s. ${windowText(quote, nowMs)}`,
    onPress: () => void slip.place(),
    back,
  };
}

/** The next step. What is signed is repeated above its button: on a phone, the facts are out of sight. */
function NextStep({ children, ...props }: QuotePanelProps & { children: ComponentChildren }) {
  const nowMs = useNow(props.model.serverClock, 250);
  const { text, note, isFailure, onPress, back } = stepOf(props, nowMs);
  const hasTerms = onPress !== undefined && !isFailure;
  return (
    <>
      <div class="action-bar">
        {hasTerms && <p class="bar-payout bar-terms" id="terms">{children}</p>}
        <button
          type="button"
          class="primary wide"
          data-next
          // One button for all steps, never disabled, so that none takes the focus away.
          aria-disabled={onPress === undefined}
          aria-describedby={hasTerms ? "terms bar-note" : "bar-note"}
          onClick={onPress}
        >
          {text}
        </button>
        <p class={isFailure ? "failure bar-note" : "note bar-note"} id="bar-note">{note}</p>
      </div>
      {back && (
        <button type="button" class="quiet wide" onClick={() => props.slip.back()}>{back}</button>
      )}
    </>
  );
}
