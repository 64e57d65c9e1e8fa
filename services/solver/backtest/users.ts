import { SLOT_MS } from "../../../lib/protocol/constants.ts";
import type { Maker, Trial, TrialExecution } from "./maker.ts";

export interface UserPlan {
  /** How much earlier than the maker the user `earlier` sees prices, ms; 0 for no such user. */
  leadMs: number;
  /** How long the user `patient` keeps a quote, ms; 0 for no such user. */
  waitMs: number;
}

/** How often the user `patient` looks at the price while waiting. */
const PRICE_CHECKS = 30;

/** The user `patient` executes once the margin, by that user's own model, has fallen to this. */
const WAIT_FOR_MARGIN = 0.01;

/** Users by their names in reports. */
export const USERS = {
  everyone: "bets on everything",
  informed: "knows the rival's model",
  earlier: "sees prices earlier",
  patient: "waits for the best moment",
} as const;

/** A maker, and the model that its users know. */
export interface QuotedMaker {
  index: number;
  maker: Maker;
  rival: { maker: Maker; index: number };
}

/** Accepts a quote, which the maker executes now, or holds and rechecks. */
function accept(
  trial: Trial,
  { index, maker }: QuotedMaker,
  ratio: number,
  acceptedAtMs: number,
): TrialExecution {
  const { box, kind, quotedAtMs, quotes } = trial;
  const execution: TrialExecution = { maker: index, isExecuted: false, probability: undefined };
  const execute = (nowMs: number) => {
    const quote = nowMs === quotedAtMs ? quotes[index] : maker.quote(box, kind, nowMs);
    Object.assign(execution, { isExecuted: true, probability: quote?.probability });
  };
  const holdMs = maker.holdMs?.(box, ratio) ?? 0;
  if (holdMs === 0) execute(acceptedAtMs);
  else {
    const recheck = (nowMs: number) => {
      if (maker.passesRecheck?.(box, ratio) ?? true) execute(nowMs);
      return undefined;
    };
    trial.pendingDecisions.push({ dueMs: acceptedAtMs + holdMs, decide: recheck });
  }
  return execution;
}

/** Lets the users of a maker decide on a fresh quote; some decide later. */
export function planBets(
  trial: Trial,
  quoted: QuotedMaker,
  { leadMs, waitMs }: UserPlan,
): void {
  const { index, rival, maker } = quoted;
  const ratio = trial.quotes[index]?.ratio;
  if (ratio === undefined) return;
  const execution = accept(trial, quoted, ratio, trial.quotedAtMs);
  const bet = (user: string) => trial.bets.push({ user, execution });
  bet(USERS.everyone);
  if (informed(trial.quotes[rival.index]?.probability, ratio)) bet(USERS.informed);
  const probability = (nowMs: number) =>
    trial.box.endMs <= nowMs ? 1 : rival.maker.quote(trial.box, trial.kind, nowMs)?.probability;
  if (leadMs > 0) {
    // The maker quoted by its own price; the user decides by a newer one.
    const decideAhead = (nowMs: number) => {
      if (informed(probability(nowMs), ratio)) bet(USERS.earlier);
      return undefined;
    };
    trial.pendingDecisions.push({ dueMs: trial.quotedAtMs + leadMs, decide: decideAhead });
  }
  if (waitMs > 0) {
    const checkEveryMs = Math.ceil(waitMs / PRICE_CHECKS / SLOT_MS) * SLOT_MS;
    const decideOrWait = (nowMs: number) => {
      if (nowMs > trial.quotedAtMs + waitMs || nowMs >= trial.box.endMs) return undefined;
      const worth = (probability(nowMs) ?? 0) * ratio;
      if (worth < 1 - WAIT_FOR_MARGIN || !maker.accepts(trial.box, trial.kind, ratio, nowMs)) {
        return nowMs + checkEveryMs;
      }
      trial.bets.push({ user: USERS.patient, execution: accept(trial, quoted, ratio, nowMs) });
      return undefined;
    };
    trial.pendingDecisions.push({ dueMs: trial.quotedAtMs + checkEveryMs, decide: decideOrWait });
  }
}

/** Whether a bet pays more than it costs on average. */
function informed(probability: number | undefined, ratio: number): boolean {
  return probability !== undefined && probability * ratio > 1;
}
