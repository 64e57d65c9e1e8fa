/** The boxes on the chart: the user's bets, and the box that is being drawn. */
import type { Quote, Thesis } from "@rangemaker/client";
import { gainOf, openOf } from "../data/outcome.ts";
import type { Point } from "../data/price_series.ts";
import {
  countdownText,
  decimalsOf,
  formatCents,
  formatGain,
  formatTime,
  toNumber,
} from "../parts/format.ts";
import type { Draft } from "./draft.ts";

/** The look of a box, by its state. States never differ by colour alone. */
export type BoxKind = "draft" | "quoted" | "open" | "waiting" | "won" | "lost";

/** A box on the chart: prices as numbers, times in Unix milliseconds. */
export interface ChartBox {
  kind: BoxKind;
  low: number;
  high: number;
  fromMs: number;
  toMs: number;
  label: string;
  /** Set if the box is that of a bet. */
  thesisId?: number;
  /** Where the price left it. */
  breach?: Point;
}

/** Normally, a bet is settled within this time after its end. After that, it waits for prices. */
const SETTLING_MS = 2_000;

const NOT_KNOWN = "unknown until connected";

/** The sign before the state of a bet. */
export const SIGNS = { open: "●", waiting: "…", won: "✓", lost: "✕" } as const;

/** The state of a bet for its box and its row: the look, and a text to follow its sign. */
export function stateOfBet(
  thesis: Thesis,
  nowMs: number,
  isAway = false,
): { kind: keyof typeof SIGNS; text: string } {
  const { status, payout, breach, endTime } = thesis;
  const gain = formatGain(gainOf(thesis));
  if (status === "won") return { kind: "won", text: `won ${gain}` };
  if (status === "lost") return { kind: "lost", text: `lost ${gain}` };
  // The page has seen the breach before the node, which settles the bet in a moment.
  if (breach) return { kind: "lost", text: `left the box at ${formatTime(breach.time)}` };
  if (status === "needs_backfill" || nowMs >= endTime + SETTLING_MS) {
    const text = isAway && status === "open" ? NOT_KNOWN : "waits for prices";
    return { kind: "waiting", text };
  }
  return { kind: "open", text: `pays ${formatCents(payout)}` };
}

/** The open bet that ends next; undefined if there is none. */
export function nextToEnd(theses: readonly Thesis[], nowMs: number): Thesis | undefined {
  return openOf(theses).filter(({ endTime }) => endTime > nowMs)
    .sort((a, b) => a.endTime - b.endTime)[0];
}

/** The countdown of the only open bet; the number of several, and which one ends next. */
export function openBetsText(theses: readonly Thesis[], nowMs: number): string | undefined {
  const next = nextToEnd(theses, nowMs);
  if (next === undefined) return undefined;
  const { length } = openOf(theses);
  return length === 1
    ? countdownOf(next, nowMs)
    : `${length} open bets: bet ${next.id} ends next, in ${countdownText(next.endTime - nowMs)}`;
}

/** When an open bet starts or ends, and what it pays. */
export function countdownOf(bet: Thesis, nowMs: number): string {
  return `Bet ${bet.id}: ${runText(bet, nowMs)}, pays ${formatCents(bet.payout)} USDC`;
}

/** How long a placed bet still has, in full seconds. */
export function runText(
  { startTime, endTime }: Pick<Thesis, "startTime" | "endTime">,
  nowMs: number,
  isAway = false,
): string {
  if (nowMs < startTime) return `starts in ${countdownText(startTime - nowMs)}`;
  if (nowMs < endTime) return `${countdownText(endTime - nowMs)} left`;
  return isAway ? NOT_KNOWN : "being settled";
}

/** Describes where a price is in a box, for users who do not see the chart. */
export function whereabouts(
  { lowerPrice, upperPrice }: Pick<Thesis, "lowerPrice" | "upperPrice">,
  price: bigint,
): string {
  const [below, above] = [upperPrice - price, price - lowerPrice];
  const [distance, edge] = below < above
    ? [below, `${below < 0n ? "above" : "below"} the upper`]
    : [above, `${above < 0n ? "below" : "above"} the lower`];
  const text = toNumber(distance < 0n ? -distance : distance).toFixed(decimalsOf(toNumber(price)));
  return `${distance < 0n ? "outside" : "inside"}, ${text} ${edge} edge`;
}

/** The box of a bet. */
export function boxOfThesis(thesis: Thesis, nowMs: number, isAway = false): ChartBox {
  const { id, breach, startTime, endTime } = thesis;
  const { kind, text } = stateOfBet(thesis, nowMs, isAway);
  const isDecided = kind === "won" || kind === "lost";
  return {
    kind,
    ...sidesOf(thesis),
    fromMs: startTime,
    toMs: endTime,
    label: `${SIGNS[kind]} ${isDecided ? formatGain(gainOf(thesis)) : `${id} ${text}`}`,
    thesisId: id,
    ...(breach && { breach: { time: breach.time, price: toNumber(breach.price) } }),
  };
}

/** The box that the user is making. Its start moves with the present time. */
export function boxOfDraft(draft: Draft, nowMs: number, label: string): ChartBox {
  const fromMs = nowMs + draft.startsInMs;
  return { kind: "draft", ...sidesOf(draft), fromMs, toMs: fromMs + draft.durationMs, label };
}

/** The box of a quote, whose times are fixed. */
export function boxOfQuote(quote: Quote): ChartBox {
  return {
    kind: "quoted",
    ...sidesOf(quote),
    fromMs: quote.startTime,
    toMs: quote.endTime,
    label: `quote: pays ${formatCents(quote.payout)}`,
  };
}

function sidesOf({ lowerPrice, upperPrice }: { lowerPrice: bigint; upperPrice: bigint }) {
  return { low: toNumber(lowerPrice), high: toNumber(upperPrice) };
}

/** Whether a box is longer than the time shown. */
export const isLong = (box: ChartBox, spanMs: number) => endOf(box) - box.fromMs > spanMs;

/** A box ends where the price left it. */
export const endOf = ({ breach, toMs }: ChartBox) => breach?.time ?? toMs;

/** Boxes that look alike, painted together so that overlapping colours do not add up. */
export interface BoxGroup {
  kind: BoxKind;
  boxes: readonly ChartBox[];
}

/** Groups boxes by kind, in the order of painting: settled ones first, the user's draft last. */
export function groupsOf(boxes: readonly ChartBox[]): BoxGroup[] {
  return ORDER.map((kind) => ({ kind, boxes: boxes.filter((box) => box.kind === kind) }))
    .filter((group) => group.boxes.length > 0);
}

const ORDER: readonly BoxKind[] = ["lost", "won", "waiting", "open", "quoted", "draft"];

/** The topmost bet at a point of the chart, given as a time and a price. */
export function betAt(boxes: readonly ChartBox[], timeMs: number, price: number) {
  return boxes.findLast((box) =>
    box.thesisId !== undefined && timeMs >= box.fromMs && timeMs <= endOf(box) &&
    price >= box.low && price <= box.high
  )?.thesisId;
}
