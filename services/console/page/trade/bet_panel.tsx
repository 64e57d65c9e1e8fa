import { type Estimate, formatPrice } from "@rangemaker/client";
import { explain } from "../data/explain.ts";
import type { PageModel } from "../data/page_model.ts";
import { Fact } from "../fact.tsx";
import { formatAmount } from "../format.ts";
import type { BetSlip } from "./bet_slip.ts";
import { type DraftFields, parseFields, repeatedDraft, suggestedDraft } from "./draft.ts";
import { type Obstacle, obstacleOf } from "./next_step.ts";
import { linkTo } from "./box_link.ts";
import { oddsOf } from "./odds.ts";
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
      <h2>{isFirst ? "3. Draw your box" : "Your box"}</h2>
      {"offer" in stage
        ? <QuotePanel model={model} slip={slip} stage={stage} />
        : <DraftPanel model={model} slip={slip} />}
    </section>
  );
}

/** The fields; without a unit of their own, they are in the market's quote token or in words. */
const FIELDS: readonly { name: keyof DraftFields; label: string; unit?: string }[] = [
  { name: "lower", label: "Stays above" },
  { name: "upper", label: "Stays below" },
  { name: "startsIn", label: "Starts in", unit: "" },
  { name: "lasts", label: "Lasts", unit: "" },
];

function DraftPanel({ model, slip }: BetPanelProps) {
  const fields = slip.fields.value;
  const parsed = parseFields(fields);
  const isEmpty = fields.lower === "" && fields.upper === "";
  const errors = "errors" in parsed && !isEmpty ? parsed.errors : {};
  const submit = (event: Event) => {
    event.preventDefault();
    if (obstacleNow(model, slip) === undefined) void slip.quote();
  };
  const token = slip.symbol.value.split("/")[1];
  return (
    <form onSubmit={submit} noValidate>
      {isEmpty && (
        <p class="note">
          Draw on the chart to the right of “now”: from when to when, and between which prices. If
          the price stays inside the whole time, you get the payout. If it leaves once, you lose
          what you bet.
        </p>
      )}
      <div class="fields">
        {FIELDS.map(({ name, label, unit = token }) => (
          <Field key={name} {...{ slip, name, label, unit }} error={errors[name]} />
        ))}
      </div>
      <DraftButtons model={model} slip={slip} isEmpty={isEmpty} />
      {"draft" in parsed && <EstimateCard model={model} slip={slip} />}
      <Failure slip={slip} />
      <Stakes model={model} slip={slip} />
      <div class="action-bar">
        <Field slip={slip} name="amount" label="You bet" unit="USDC" error={errors.amount} />
        <QuoteButton model={model} slip={slip} />
      </div>
    </form>
  );
}

interface FieldProps {
  slip: BetSlip;
  name: keyof DraftFields;
  label: string;
  unit: string | undefined;
  error: string | undefined;
}

function Field({ slip, name, label, unit, error }: FieldProps) {
  return (
    <label class={`field field-${name}`}>
      {label}
      <span class="input">
        <input
          name={name}
          inputMode={name === "startsIn" || name === "lasts" ? "text" : "decimal"}
          autocomplete="off"
          value={slip.fields.value[name]}
          aria-invalid={error !== undefined}
          aria-describedby={error && `error-${name}`}
          onInput={(event) => slip.edit({ [name]: event.currentTarget.value })}
        />
        <span class="unit">{unit}</span>
      </span>
      {error && <span class="failure" id={`error-${name}`}>{error}</span>}
    </label>
  );
}

/** Stakes behind a button, USDC; the last one is the whole balance. */
const STAKES = [10, 50, 100] as const;

function Stakes({ model, slip }: BetPanelProps) {
  const balance = model.session.user.value?.portfolio.account.value?.balance ?? 0n;
  const most = formatPrice(balance).replace(/\.?0+$/, "");
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

/** Boxes from a button. A part of its own, since the price changes all the time. */
function DraftButtons({ model, slip, isEmpty }: BetPanelProps & { isEmpty: boolean }) {
  const symbol = slip.symbol.value;
  const market = model.markets.bySymbol(symbol);
  const price = model.feed.latest.value[symbol]?.price;
  const last = model.session.user.value?.portfolio.theses.value
    .find(({ base, quote }) => base === market?.base && quote === market?.quote);
  const suggest = () => {
    if (price === undefined) return;
    slip.draw(suggestedDraft(price, model.feed.seriesOf(symbol).secondMove()));
  };
  const copyLink = () => {
    const link = linkTo(location.href, { symbol, fields: slip.fields.value });
    navigator.clipboard?.writeText(link).then(
      () => model.announce("The link to this box was copied."),
      () => model.announce(`The browser does not allow copying: ${link}`),
    );
  };
  return (
    <div class="row">
      <button
        type="button"
        disabled={price === undefined}
        data-next={isEmpty || undefined}
        onClick={suggest}
      >
        Suggest a box
      </button>
      {last !== undefined && price !== undefined && (
        <button
          type="button"
          onClick={() => slip.edit(repeatedDraft(last, price))}
        >
          Repeat last bet
        </button>
      )}
      {!isEmpty && (
        <>
          <button type="button" class="quiet" onClick={copyLink}>Copy link</button>
          <button type="button" class="quiet" onClick={() => slip.clear()}>Clear</button>
        </>
      )}
    </div>
  );
}

/** What the box pays while it is drawn. What cannot be priced is said at the button. */
function EstimateCard({ model, slip }: BetPanelProps) {
  const state = slip.estimator.state.value;
  if (state === undefined) return <p class="estimate note">Estimating …</p>;
  if ("failure" in state || model.feed.stateOf(slip.symbol.value) !== "fresh") return null;
  const odds = oddsOf(state.estimate, model.maker.value?.config.maxPayoutRatio);
  return (
    <div class="estimate">
      <dl class="facts">
        <Fact label="Pays if it stays" isBig>{formatAmount(state.estimate.payout)} USDC</Fact>
        <Fact label="Times your bet">{odds.multiplier}</Fact>
        {odds.chance !== undefined && <Fact label="Maker's chance">{odds.chance}</Fact>}
        <Fact label="Break-even chance">{odds.breakEven}</Fact>
      </dl>
      <p class="note">
        {odds.cap ?? (odds.chance === undefined
          ? "This maker prices at random, for tests: its payout says nothing about the chance."
          : "The maker's model sees the price, how much it moves, and how long the box lasts.")}
      </p>
    </div>
  );
}

/** What has to be done before a quote is asked for; undefined if nothing. */
function obstacleNow(model: PageModel, slip: BetSlip): Obstacle | undefined {
  const { session, config, nodeChainId, feed, maker } = model;
  const user = session.user.value;
  const fields = slip.fields.value;
  const symbol = slip.symbol.value;
  const estimate = slip.estimator.state.value;
  const [unresolved] = user?.portfolio.bets.unresolved.value ?? [];
  return obstacleOf({
    symbol,
    market: feed.stateOf(symbol),
    chainId: config.chainId,
    nodeChainId: nodeChainId.value,
    hasUser: user !== undefined,
    walletChainId: user?.walletChainId.value,
    balance: user?.portfolio.account.value?.balance,
    checkingUntilMs: unresolved?.offer.quote.deadline,
    isEmpty: fields.lower === "" && fields.upper === "",
    parsed: parseFields(fields),
    unpriceable: estimate && "failure" in estimate ? explain(estimate.failure) : undefined,
    limits: maker.value?.config,
  });
}

function QuoteButton({ model, slip }: BetPanelProps) {
  const isQuoting = slip.stage.value.name === "quoting";
  const obstacle = obstacleNow(model, slip);
  if (obstacle?.switchesChain) return <SwitchChain model={model} obstacle={obstacle} />;
  const state = slip.estimator.state.value;
  const estimate: Estimate | undefined = state && "estimate" in state ? state.estimate : undefined;
  return (
    <>
      {obstacle === undefined && estimate !== undefined && (
        <p class="bar-payout">
          pays <strong>{formatAmount(estimate.payout)}</strong>
        </p>
      )}
      <button
        type="submit"
        class="primary wide"
        data-next
        disabled={obstacle !== undefined || isQuoting}
        aria-describedby="obstacle"
      >
        {isQuoting ? "Asking the maker …" : obstacle?.button ?? "Get a firm quote"}
      </button>
      <p class="note bar-note" id="obstacle">{obstacle?.text}</p>
    </>
  );
}

/** Brings the wallet to the chain of the bets. */
export function SwitchChain({ model, obstacle }: { model: PageModel; obstacle: Obstacle }) {
  const user = model.session.user.value;
  const change = () => {
    user?.client.switchChain().then(
      () => {
        user.walletChainId.value = model.config.chainId;
        model.announce("The wallet is on the right chain now.");
      },
      (thrown) => model.announce(explain(thrown).text),
    );
  };
  return (
    <>
      <button type="button" class="primary wide" data-next onClick={change}>
        {obstacle.button}
      </button>
      <p class="note bar-note">{obstacle.text}</p>
    </>
  );
}

function Failure({ slip }: { slip: BetSlip }) {
  const stage = slip.stage.value;
  const failure = stage.name === "draft" ? stage.failure : undefined;
  return (
    <div role="alert">
      {failure && <p class="failure" data-code={failure.code}>{failure.text}</p>}
    </div>
  );
}
