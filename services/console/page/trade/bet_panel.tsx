import { useComputed } from "@preact/signals";
import { formatUnits, type Thesis } from "@rangemaker/client";
import type { PageModel } from "../data/page_model.ts";
import { Fact } from "../fact.tsx";
import { formatAmount } from "../format.ts";
import type { BetSlip } from "./bet_slip.ts";
import {
  describeDraft,
  type Draft,
  type DraftFields,
  LABELS,
  movedDraft,
  repeatedDraft,
  suggestedDraft,
} from "./draft.ts";
import { linkTo } from "./box_link.ts";
import { oddsOf } from "./odds.ts";
import { obstacleNow, QuoteButton } from "./quote_button.tsx";
import { QuotePanel } from "./quote_panel.tsx";

interface BetPanelProps {
  model: PageModel;
  slip: BetSlip;
}

/** The bet that is being made: the box in fields, what it pays, and the way to place it. */
export function BetPanel({ model, slip }: BetPanelProps) {
  const stage = slip.stage.value;
  const portfolio = model.session.user.value?.portfolio;
  const hasMoney = (portfolio?.account.value?.balance ?? 0n) > 0n;
  const isFirst = stage.name === "draft" && hasMoney && portfolio?.theses.value.length === 0;
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape" && "offer" in stage) slip.back();
    // A key held since the quote was asked for signs nothing.
    if (event.key === "Enter" && event.repeat) event.preventDefault();
  };
  return (
    <section class="card" aria-label="Your bet" onKeyDown={onKeyDown}>
      <div class="row">
        <h2>{isFirst ? "3. Draw your box" : "Your box"}</h2>
        {stage.name === "draft" && !slip.isEmpty && <BoxButtons model={model} slip={slip} />}
      </div>
      {"offer" in stage
        ? <QuotePanel model={model} slip={slip} stage={stage} />
        : <DraftPanel model={model} slip={slip} />}
    </section>
  );
}

/** The fields; without a unit of their own, they are in the market's quote token or in words. */
const FIELDS: readonly { name: keyof DraftFields; unit?: string }[] = [
  { name: "lower" },
  { name: "upper" },
  { name: "startsIn", unit: "" },
  { name: "lasts", unit: "" },
];

function DraftPanel({ model, slip }: BetPanelProps) {
  const parsed = slip.parsed.value;
  const { isEmpty } = slip;
  const errors = "errors" in parsed && !isEmpty ? parsed.errors : {};
  const token = slip.symbol.value.split("/")[1];
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        askQuote(model, slip);
      }}
    >
      {isEmpty && (
        <p class="note">
          Draw on the chart to the right of “now”: from when to when, and between which prices. If
          the price stays inside the whole time, you get the payout. If it leaves once, you lose
          what you bet.
        </p>
      )}
      <div class="fields">
        {FIELDS.map(({ name, unit = token }) => (
          <Field key={name} {...{ model, slip, name, unit }} error={errors[name]} />
        ))}
      </div>
      <DraftButtons model={model} slip={slip} isEmpty={isEmpty} />
      {!("errors" in parsed) && <EstimateCard model={model} slip={slip} />}
      <Tolerance slip={slip} />
      <Stakes model={model} slip={slip} />
      <div class="action-bar">
        <Field {...{ model, slip, name: "amount", unit: "USDC" }} error={errors.amount} />
        <QuoteButton model={model} slip={slip} />
      </div>
    </form>
  );
}

interface FieldProps extends BetPanelProps {
  name: keyof DraftFields;
  unit: string | undefined;
  error: string | undefined;
}

/** The error is a description of the field, and no part of its name: it is read once. */
function Field({ model, slip, name, unit, error }: FieldProps) {
  const label = LABELS[name];
  return (
    <div class={`field field-${name}`}>
      <label for={`field-${name}`}>{label}</label>
      <span class="input">
        <input
          id={`field-${name}`}
          name={name}
          inputMode={name === "startsIn" || name === "lasts" ? "text" : "decimal"}
          autocomplete="off"
          value={slip.fields.value[name]}
          aria-invalid={error !== undefined}
          aria-describedby={error && `error-${name}`}
          onInput={(event) => slip.edit({ [name]: event.currentTarget.value })}
          onBlur={() => error && model.announce(`${label}: ${error}`, { isSpoken: true })}
        />
        <span class="unit">{unit}</span>
      </span>
      {error && <span class="failure" id={`error-${name}`}>{error}</span>}
    </div>
  );
}

/** Stakes behind a button, USDC; the last one is the whole balance. */
const STAKES = [10, 50, 100] as const;

function Stakes({ model, slip }: BetPanelProps) {
  const balance = model.session.user.value?.portfolio.account.value?.balance ?? 0n;
  const most = formatUnits(balance);
  return (
    <div class="choice stakes" role="group" aria-label="Amounts">
      {STAKES.map((amount) => (
        <button
          key={amount}
          type="button"
          onClick={() => slip.edit({ amount: String(amount) })}
        >
          {amount}
        </button>
      ))}
      {balance > 0n && (
        <button type="button" onClick={() => slip.edit({ amount: most })}>All</button>
      )}
    </div>
  );
}

/** Boxes from a button. */
function DraftButtons({ model, slip, isEmpty }: BetPanelProps & { isEmpty: boolean }) {
  const symbol = slip.symbol.value;
  const market = model.markets.bySymbol(symbol);
  const hasPrice = useComputed(() => model.feed.latest.value[slip.symbol.value] !== undefined);
  const last = model.session.user.value?.portfolio.theses.value
    .find(({ base, quote }) => base === market?.base && quote === market?.quote);
  const repeat = (bet: Thesis) => {
    const price = model.feed.latest.peek()[symbol]?.price;
    if (price === undefined) return;
    slip.edit(repeatedDraft(bet, price));
    sayBox(model, slip, `Bet of ${slip.fields.value.amount} USDC`);
  };
  return (
    <div class="row">
      <button
        type="button"
        disabled={!hasPrice.value}
        data-next={isEmpty || undefined}
        onClick={() => placeBox(model, slip)}
      >
        Suggest a box
      </button>
      {last !== undefined && hasPrice.value && (
        <button type="button" onClick={() => repeat(last)}>Repeat last bet</button>
      )}
    </div>
  );
}

/** What can be done with a drawn box. */
function BoxButtons({ model, slip }: BetPanelProps) {
  const copyLink = () => {
    const link = linkTo(location.href, { symbol: slip.symbol.value, fields: slip.fields.value });
    const copy = async () => await navigator.clipboard.writeText(link);
    copy().then(
      () => model.announce("The link to this box was copied."),
      () => {
        history.replaceState(null, "", link);
        model.announce("The browser does not allow copying: the page’s address is the link now.");
      },
    );
  };
  return (
    <>
      <span class="spacer" />
      <button type="button" class="quiet" onClick={copyLink}>Copy link</button>
      <button type="button" class="quiet" onClick={() => clearBox(model, slip)}>Clear</button>
    </>
  );
}

/**
 * Draws a box around the price, and says where it is.
 *
 * @param moved A box that keeps its size; undefined for one that fits the market.
 */
export function placeBox(model: PageModel, slip: BetSlip, moved?: Draft): void {
  const { feed } = model;
  const symbol = slip.symbol.value;
  const price = feed.latest.value[symbol]?.price;
  if (price === undefined) return;
  const draft = moved === undefined
    ? suggestedDraft(price, feed.seriesOf(symbol).secondMove())
    : movedDraft(moved, price);
  slip.draw(draft);
  sayBox(model, slip, moved === undefined ? "Suggested box" : "Moved box");
}

/** Says where the box is now. */
export function sayBox({ announce }: PageModel, { draft }: BetSlip, name: string): void {
  if (draft !== undefined) announce(`${name}: ${describeDraft(draft)}`, { isSpoken: true });
}

/** Forgets the box, and says so. */
export function clearBox({ announce }: PageModel, slip: BetSlip): void {
  slip.clear();
  announce("The box was cleared.", { isSpoken: true });
}

/** Asks for a quote, or for what has to be done before it. */
export function askQuote(model: PageModel, slip: BetSlip): void {
  const obstacle = obstacleNow(model, slip);
  if (obstacle === undefined) return void slip.quote();
  if (obstacle.movesBox) return placeBox(model, slip, slip.draft);
  if (obstacle.field) document.getElementById(`field-${obstacle.field}`)?.focus();
  model.announce(obstacle.text || obstacle.button, { isSpoken: true });
}

/** What the box pays while it is drawn. What cannot be priced is said at the button. */
function EstimateCard({ model, slip }: BetPanelProps) {
  const state = slip.estimator.state.value;
  const isFresh = model.feed.stateOf(slip.symbol.value) === "fresh";
  if (state === undefined || "failure" in state || !isFresh) {
    return <p class="estimate note">{state === undefined ? "Estimating …" : "No payout now."}</p>;
  }
  const odds = oddsOf(state.estimate, undefined);
  return (
    <div class="estimate">
      <dl class="facts">
        <Fact label="Pays if it stays" isBig>{formatAmount(state.estimate.payout)} USDC</Fact>
        <Fact label="Times your bet">{odds.multiplier}</Fact>
        {odds.chance !== undefined && <Fact label="Maker's chance">{odds.chance}</Fact>}
        <Fact label="Break-even chance">{odds.breakEven}</Fact>
      </dl>
      {odds.chance === undefined && (
        <p class="note">
          This maker prices at random, for tests: its payout says nothing about the chance.
        </p>
      )}
    </div>
  );
}

/** Choices of {@link Tolerance}, in percent. */
const TOLERANCES = [0, 2, 5, 10] as const;

function Tolerance({ slip }: { slip: BetSlip }) {
  return (
    <label class="note tolerance">
      If the price moves, accept{" "}
      <select
        value={slip.tolerancePercent.value}
        onChange={({ currentTarget }) => slip.tolerate(Number(currentTarget.value))}
      >
        {TOLERANCES.map((percent) => <option key={percent} value={percent}>{percent} % less
        </option>)}
      </select>
    </label>
  );
}
