/** The boxes on the chart: the user's bets, and the box that is being drawn. */
import type { Quote, Thesis } from "@rangemaker/client";
import { formatAmount, formatGain, toNumber } from "../format.ts";
import type { Draft } from "./draft.ts";

/** How a box looks: by state, never by colour alone. */
export type BoxKind = "draft" | "quoted" | "open" | "waiting" | "won" | "lost";

/** A box on the chart: prices as numbers, times in Unix milliseconds. */
export interface ChartBox {
  kind: BoxKind;
  low: number;
  high: number;
  fromMs: number;
  toMs: number;
  label: string;
  /** Where the price left it. */
  breach?: { time: number; price: number };
}

/** Signs that stand before the words of a box. */
const SIGNS = { won: "✓", lost: "✕", open: "●", waiting: "…" } as const;

const KINDS = { open: "open", needs_backfill: "waiting", won: "won", lost: "lost" } as const;

/** The box of a bet. */
export function boxOfThesis(thesis: Thesis): ChartBox {
  const { status, betAmount, payout, breach } = thesis;
  const kind = KINDS[status];
  const text = status === "won"
    ? `won ${formatGain(payout - betAmount)}`
    : status === "lost"
    ? `lost ${formatGain(-betAmount)}`
    : status === "open"
    ? `pays ${formatAmount(payout)}`
    : "waits for prices";
  return {
    kind,
    ...sidesOf(thesis),
    fromMs: thesis.startTime,
    toMs: thesis.endTime,
    label: `${SIGNS[kind]} ${text}`,
    ...(breach && { breach: { time: breach.time, price: toNumber(breach.price) } }),
  };
}

/** The box that is being made: it stays ahead of now. */
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
    label: `pays ${formatAmount(quote.payout)}`,
  };
}

function sidesOf({ lowerPrice, upperPrice }: { lowerPrice: bigint; upperPrice: bigint }) {
  return { low: toNumber(lowerPrice), high: toNumber(upperPrice) };
}
