import type { PageModel } from "../data/page_model.ts";
import { Fact } from "../fact.tsx";
import { formatAmount } from "../format.ts";
import type { BetSlip } from "./bet_slip.ts";
import { type DraftFields, type ParsedFields, parseFields, suggestedDraft } from "./draft.ts";
import { explain } from "./explain.ts";
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
  return (
    <section class="card" aria-label="Your bet">
      <h2>{isFirst ? "3. Draw your box" : "Your box"}</h2>
      {"offer" in stage
        ? <QuotePanel model={model} slip={slip} stage={stage} />
        : <DraftPanel model={model} slip={slip} />}
    </section>
  );
}

/** The fields; without a unit of their own, they are in the market's quote token. */
const FIELDS: readonly { name: keyof DraftFields; label: string; unit?: string }[] = [
  { name: "lower", label: "Stays above" },
  { name: "upper", label: "Stays below" },
  { name: "startsIn", label: "Starts in", unit: "s" },
  { name: "lasts", label: "Lasts", unit: "s" },
  { name: "amount", label: "You bet", unit: "USDC" },
];

function DraftPanel({ model, slip }: BetPanelProps) {
  const fields = slip.fields.value;
  const parsed = parseFields(fields);
  const isEmpty = fields.lower === "" && fields.upper === "";
  const errors = "errors" in parsed && !isEmpty ? parsed.errors : {};
  const submit = (event: Event) => {
    event.preventDefault();
    void slip.quote();
  };
  return (
    <form onSubmit={submit} noValidate>
      {isEmpty && (
        <p class="note">
          Drag on the chart to the right of “now”: from when to when, and between which prices. Or
          fill in the fields. If the price stays inside the whole time, you get the payout. If it
          leaves once, you lose what you bet.
        </p>
      )}
      <div class="fields">
        {FIELDS.map(({ name, label, unit }) => (
          <label key={name} class={`field field-${name}`}>
            {label}
            <span class="input">
              <input
                name={name}
                inputMode="decimal"
                autocomplete="off"
                value={fields[name]}
                aria-invalid={errors[name] !== undefined}
                aria-describedby={errors[name] && `error-${name}`}
                onInput={(event) => slip.edit({ [name]: event.currentTarget.value })}
              />
              <span class="unit">{unit ?? slip.symbol.value.split("/")[1]}</span>
            </span>
            {errors[name] && <span class="failure" id={`error-${name}`}>{errors[name]}</span>}
          </label>
        ))}
      </div>
      <div class="row">
        <SuggestButton model={model} slip={slip} />
        {!isEmpty && (
          <button type="button" class="quiet" onClick={() => slip.clear()}>
            Clear
          </button>
        )}
      </div>
      {"draft" in parsed && <EstimateCard slip={slip} />}
      <QuoteButton slip={slip} missing={missingOf(model, parsed, isEmpty)} />
      <Failure model={model} slip={slip} />
    </form>
  );
}

/** Draws a box around the price. A part of its own, since the price changes all the time. */
function SuggestButton({ model, slip }: BetPanelProps) {
  const price = model.feed.latest.value[slip.symbol.value]?.price;
  return (
    <button
      type="button"
      disabled={price === undefined}
      onClick={() => {
        if (price === undefined) return;
        const move = model.feed.seriesOf(slip.symbol.value).secondMove();
        slip.draw(suggestedDraft(price, move));
      }}
    >
      Suggest a box
    </button>
  );
}

/** The payout of the box while it is drawn. */
function EstimateCard({ slip }: { slip: BetSlip }) {
  const state = slip.estimator.state.value;
  if (state === undefined) return <p class="estimate note">Estimating …</p>;
  if ("failure" in state) {
    return <p class="estimate failure">No estimate: {explain(state.failure).text}</p>;
  }
  const { payout, multiplier, probability } = state.estimate;
  return (
    <div class="estimate">
      <dl class="facts">
        <Fact label="Pays if it stays" isBig>{formatAmount(payout)} USDC</Fact>
        <Fact label="Times your bet">× {multiplier}</Fact>
        {probability !== undefined && (
          <Fact label="Chance, by the maker">{(probability * 100).toFixed(1)} %</Fact>
        )}
      </dl>
      <p class="note">
        {probability === undefined
          ? "This maker prices at random, for tests: its payout says nothing about the chance."
          : "The maker's model sees the price, how much it moves, and how long the box lasts."}
      </p>
    </div>
  );
}

/** What has to be done before a quote is asked for; undefined if nothing. */
function missingOf(model: PageModel, parsed: ParsedFields, isEmpty: boolean): string | undefined {
  const user = model.session.user.value;
  if (user === undefined) return "Open an account first.";
  const balance = user.portfolio.account.value?.balance;
  if (balance === 0n) return "Take money to bet with first.";
  if (model.nodeChainId.value !== model.config.chainId) {
    return "The node does not have the chain that this page is for.";
  }
  if (isEmpty) return "Draw a box or fill in the fields first.";
  if ("errors" in parsed) return "Correct the fields above first.";
  if (balance !== undefined && parsed.betAmount > balance) {
    return `Your balance is ${formatAmount(balance)} USDC: bet less, or add money to your account.`;
  }
  return undefined;
}

function QuoteButton({ slip, missing }: { slip: BetSlip; missing: string | undefined }) {
  const isQuoting = slip.stage.value.name === "quoting";
  return (
    <>
      <button
        type="submit"
        class="primary wide"
        disabled={missing !== undefined || isQuoting}
      >
        {isQuoting ? "Asking the maker …" : "Get a firm quote"}
      </button>
      {missing !== undefined && <p class="note">{missing}</p>}
    </>
  );
}

function Failure({ model, slip }: BetPanelProps) {
  const stage = slip.stage.value;
  const failure = stage.name === "draft" ? stage.failure : undefined;
  const user = model.session.user.value;
  const switchChain = () => {
    user?.client.switchChain().then(
      () => model.announce("The wallet is on the right chain now."),
      (thrown) => model.announce(explain(thrown).text),
    );
  };
  return (
    <div role="alert">
      {failure && <p class="failure" data-code={failure.code}>{failure.text}</p>}
      {failure?.code === "WRONG_CHAIN" && (
        <button type="button" onClick={switchChain}>
          Switch the wallet to chain {model.config.chainId}
        </button>
      )}
    </div>
  );
}
