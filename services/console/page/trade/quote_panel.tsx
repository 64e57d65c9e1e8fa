import { useEffect } from "preact/hooks";
import type { Thesis } from "@rangemaker/client";
import type { PageModel } from "../data/page_model.ts";
import { Fact } from "../fact.tsx";
import { formatAmount, formatRange, formatTime } from "../format.ts";
import { useNow } from "../use_now.ts";
import type { BetSlip } from "./bet_slip.ts";
import { durationText } from "./input.ts";
import { leastPayout, oddsOf, probabilityAt } from "./odds.ts";
import { isOutside, movedText, outsideText, quoteLife, windowText } from "./quote_life.ts";
import { chancesText } from "./slip_voice.ts";
import type { Stage } from "./stage.ts";

type QuoteStage = Extract<Stage, { offer: unknown }>;

interface QuotePanelProps {
  model: PageModel;
  slip: BetSlip;
  stage: QuoteStage;
  /** Draws the box of a bet again. */
  onRepeat(bet: Thesis): void;
}

/** A firm quote: what it says, how long it lives, and the button that signs it; then its bet. */
export function QuotePanel({ model, slip, stage, onRepeat }: QuotePanelProps) {
  if (stage.name !== "placed") return <FirmQuote model={model} slip={slip} stage={stage} />;
  const thesis = model.session.user.value?.portfolio.theses.value
    .find(({ id }) => id === stage.thesisId);
  return (
    <>
      <PlacedBet model={model} stage={stage} thesis={thesis} />
      <div class="action-bar">
        {thesis && <button type="button" onClick={() => onRepeat(thesis)}>Repeat</button>}
        <button type="button" class="primary wide" data-next onClick={() => slip.back()}>
          Make another bet
        </button>
      </div>
    </>
  );
}

type FirmStage = Exclude<QuoteStage, { name: "placed" }>;
type FirmQuoteProps = Omit<QuotePanelProps, "stage" | "onRepeat"> & { stage: FirmStage };

function FirmQuote({ model, slip, stage }: FirmQuoteProps) {
  const nowMs = useNow(model.serverClock, 250);
  const { quote } = stage.offer;
  const symbol = slip.symbol.value;
  const { text, note, isFailure, isWarning, onPress, back } = stepOf({ model, slip, stage }, nowMs);
  // What cannot be had any more is not shown.
  const isOver = isFailure === true;
  const hasTerms = onPress !== undefined && !isOver;
  const estimated = stage.name === "quoted" ? stage.estimated : undefined;
  const probability = estimated && probabilityAt(quote.payout, estimated);
  const odds = oddsOf({ ...quote, probability }, model.maker.value?.config.maxPayoutRatio);
  const least = leastPayout(quote, slip.tolerancePercent.value);
  const [bet, pays, atLeast] = [quote.betAmount, quote.payout, least].map(formatAmount);
  return (
    <>
      <dl class="facts">
        <Fact label={`${symbol} stays in`}>{formatRange(quote)}</Fact>
        <Fact label="From">
          {formatTime(quote.startTime)} for {durationText(quote.endTime - quote.startTime)}
        </Fact>
        <Fact label="You bet">{bet} USDC</Fact>
        {!isOver && (
          <>
            <Fact label="You get if it stays" isBig>
              <span data-payout={quote.payout.toString()}>{pays} USDC</span>
            </Fact>
            {least < quote.payout && (
              <Fact label="At least, if the price moves">{atLeast} USDC</Fact>
            )}
            {odds.chance !== undefined && <Fact label="Maker’s chance">{odds.chance}</Fact>}
            <Fact label="Break-even chance">{odds.breakEven}</Fact>
          </>
        )}
      </dl>
      {odds.warning !== undefined && !isOver && <p class="note">{odds.warning}</p>}
      {!isOver && <Changes stage={stage} />}
      <div class="action-bar">
        {hasTerms && (
          <p class="bar-payout bar-terms" id="terms">
            Bet {bet}, get <strong>{pays}</strong>
            {least < quote.payout && ` (at least ${atLeast})`}
            {chancesText(odds)}
          </p>
        )}
        {back && <button type="button" onClick={() => slip.back()}>{back}</button>}
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
        <p
          class={`bar-note ${isFailure ? "failure" : isWarning ? "warned" : "note"}`}
          id="bar-note"
        >
          {note}
        </p>
      </div>
    </>
  );
}

interface PlacedBetProps {
  model: PageModel;
  stage: Extract<Stage, { name: "placed" }>;
  /** Undefined until the node has told it. */
  thesis: Thesis | undefined;
}

/** The bet that was just placed, until it is settled and after it. */
function PlacedBet({ model, stage: { thesisId, offer: { quote } }, thesis }: PlacedBetProps) {
  const symbol = model.markets.find(quote.base, quote.quote)?.symbol ?? "the price";
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
      USDC if {symbol} stays in the box. How it ends is said here.
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
  /** The quote is over. */
  isFailure?: boolean;
  isWarning?: boolean;
  /** What the button does; without it, the button waits. */
  onPress?: () => void;
  /** Of the button that goes back to the box. */
  back?: string;
}

function stepOf({ model, slip, stage }: FirmQuoteProps, nowMs: number): Step {
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
  const price = model.feed.latest.value[slip.symbol.value]?.price;
  const isWarning = price !== undefined && isOutside(quote, price);
  const text = "Sign and place the bet";
  const within = `Sign within ${Math.ceil(remainingMs / 1000)} s. `;
  if (!isWarning) {
    return {
      text,
      note: within + windowText(quote, nowMs),
      onPress: () => void slip.place(),
      back,
    };
  }
  const note = outsideText(quote, nowMs);
  if (nowMs >= quote.startTime) return { text, note, isFailure: true, back };
  return { text, note: within + note, isWarning, onPress: () => void slip.place(), back };
}
