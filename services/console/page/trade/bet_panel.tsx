import type { PageModel } from "../data/page_model.ts";
import { exactDurationText } from "../parts/format.ts";
import type { BetSlip } from "./bet_slip.ts";
import { askQuote } from "./box_actions.ts";
import { linkTo } from "./box_link.ts";
import { amountText, type DraftFields, errorText, isUnreached, LABELS } from "./draft.ts";
import { tryParseDuration } from "./input.ts";
import { warningOf } from "../data/odds.ts";
import { leastOf, LiveQuote, Payout, PlacedBet, Terms } from "./quote_panel.tsx";

interface BetPanelProps {
  model: PageModel;
  slip: BetSlip;
}

/** The bet that the user is making: fields of its box, its payout, and the button to place it. */
export function BetPanel({ model, slip }: BetPanelProps) {
  const stage = slip.stage.value;
  const portfolio = model.session.user.value?.portfolio;
  const hasMoney = (portfolio?.account.value?.balance ?? 0n) > 0n;
  const isFirst = stage.name === "draft" && hasMoney && portfolio?.theses.value.length === 0;
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape" && "offer" in stage) slip.back();
    // A key that is held since a step presses nothing in the next one.
    if (event.key === "Enter" && event.repeat) event.preventDefault();
  };
  return (
    <section class="card" aria-label="Your box" onKeyDown={onKeyDown}>
      <div class="row">
        <h2>{isFirst && slip.isEmpty ? "3. Draw your box" : "Your box"}</h2>
        {stage.name === "draft" && !slip.isEmpty && <CopyLink model={model} slip={slip} />}
      </div>
      {stage.name === "placed"
        ? <PlacedBet model={model} slip={slip} stage={stage} />
        : "offer" in stage
        ? <LiveQuote model={model} slip={slip} stage={stage} />
        : <DraftPanel model={model} slip={slip} />}
    </section>
  );
}

function DraftPanel({ model, slip }: BetPanelProps) {
  const { isEmpty } = slip;
  const { errors } = slip.parsed.value;
  const stage = slip.stage.value;
  const isQuoting = stage.name === "quoting";
  const obstacle = slip.obstacle.value;
  const estimate = slip.estimate.value;
  const warning = estimate && warningOf(estimate, model.maker.info.value?.config.maxPayoutRatio);
  const { value: tolerancePercent } = slip.tolerancePercent;
  // The obstacle is also why there is no quote.
  const failed = stage.name === "draft" && (stage.isSigned || !obstacle?.text) && stage.failure;
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
        {(["lower", "upper", "startsIn", "lasts"] as const).map((name) => (
          <Field key={name} model={model} slip={slip} name={name} error={errors[name]} />
        ))}
      </div>
      <Tolerance slip={slip} />
      <div class="action-bar">
        <div class="bar-note note" id="bar-note">
          {failed && <p class="warned">{failed}</p>}
          {warning && <p class="warned">{warning}</p>}
          {/* A wrong field has its error below it. */}
          {obstacle?.text && !obstacle.field && <p>{obstacle.text}</p>}
        </div>
        {!isEmpty && <Terms offered={estimate} />}
        <div class="next">
          {!isEmpty && (
            <Payout offered={estimate} least={estimate && leastOf(estimate, tolerancePercent)} />
          )}
          <Field model={model} slip={slip} name="amount" error={errors.amount} />
          <Stakes model={model} slip={slip} />
          <button
            type="submit"
            class="primary wide"
            data-next
            // Not `disabled`, so that the keyboard reaches it and screen readers read the reason.
            aria-disabled={isQuoting || obstacle !== undefined && !obstacle.action}
            aria-describedby="bar-note"
          >
            {isQuoting ? "Asking the maker …" : obstacle?.button ?? "Get a quote"}
          </button>
        </div>
      </div>
    </form>
  );
}

interface FieldProps extends BetPanelProps {
  name: keyof DraftFields;
  error: string | undefined;
}

/**
 * A field of the bet, with its error below it. The error is the field's description, not part of
 * its name, so screen readers read it once.
 */
function Field({ model, slip, name, error }: FieldProps) {
  const isWrong = error !== undefined && !isUnreached(slip.fields.value, name);
  const errorId = `error-${name}`;
  const isDuration = name === "startsIn" || name === "lasts";
  const unit = name === "amount" ? "USDC" : slip.symbol.value.split("/")[1];
  // Writes a duration without units with them.
  const leave = () => {
    const isSaid = slip.obstacle.peek()?.field === name; // the slip says the first error
    if (isWrong && !isSaid) model.announce(errorText(name, error), { isSpoken: true });
    const ms = isDuration ? tryParseDuration(slip.fields.value[name]) : undefined;
    if (ms !== undefined && /^[\d.,:\s]+$/.test(slip.fields.value[name])) {
      slip.fields.value = { ...slip.fields.value, [name]: exactDurationText(ms) };
    }
  };
  return (
    <div class={`field field-${name}`}>
      <label for={`field-${name}`}>
        {LABELS[name]} {!isDuration && <span class="unit">({unit})</span>}
      </label>
      <input
        id={`field-${name}`}
        name={name}
        inputMode={isDuration ? "text" : "decimal"}
        autocomplete="off"
        value={slip.fields.value[name]}
        aria-invalid={isWrong}
        aria-describedby={isWrong ? errorId : undefined}
        onInput={(event) => slip.edit({ [name]: event.currentTarget.value })}
        onBlur={leave}
      />
      {isWrong && <span class="failure" id={errorId}>{error}</span>}
    </div>
  );
}

/** Stakes with a button, USDC. A last button is for the whole balance. */
const STAKES = ["10", "50", "100"];

function Stakes({ model, slip }: BetPanelProps) {
  const balance = model.session.user.value?.portfolio.account.value?.balance ?? 0n;
  const all = amountText(balance);
  return (
    <div class="choice stakes" role="group" aria-label="Amounts">
      {[...STAKES, ...(balance > 0n ? ["All"] : [])].map((stake) => (
        <button
          key={stake}
          type="button"
          aria-label={stake === "All" ? "Bet all of your balance" : `Bet ${stake} USDC`}
          onClick={() => stake === "All" ? slip.enterOnce(all) : slip.edit({ amount: stake })}
        >
          {stake}
        </button>
      ))}
    </div>
  );
}

function CopyLink({ model, slip }: BetPanelProps) {
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
  return <button type="button" class="quiet" onClick={copyLink}>Copy link</button>;
}

const TOLERANCES = [0, 2, 5, 10, 15, 20] as const;

function Tolerance({ slip }: { slip: BetSlip }) {
  return (
    <div class="note">
      <label>
        The payout may change by{" "}
        <select
          value={slip.tolerancePercent.value}
          onChange={({ currentTarget }) => slip.setTolerance(Number(currentTarget.value))}
        >
          {TOLERANCES.map((percent) => <option key={percent} value={percent}>{percent} %</option>)}
        </select>{" "}
        as you sign.
      </label>
      <p>Beyond that, up or down, you are asked again.</p>
    </div>
  );
}
