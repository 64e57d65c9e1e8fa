/** Finds problems of the services, and the services that cause them. */
import {
  beyondBound,
  fillPlaceholders,
  type Problem,
  PROBLEMS,
} from "../../../../lib/problems/mod.ts";
import { RECENT_MS } from "../data/metrics.ts";
import { type ServiceName, type ServiceState, WITH_READY } from "../data/service_watch.ts";
import { durationText, formatDuration } from "../format.ts";
import { absenceOf, EFFECTS } from "./absence.ts";
import {
  countedFor,
  formatValue,
  isProcessProblem,
  isWarmingUp,
  shorterThan,
  worstOf,
} from "./figures.ts";
import { type Finding, isAway, isCritical } from "./finding.ts";
import type { Repair } from "./repairs.ts";

/** The services that each service needs, directly or indirectly. */
const DEPENDENCIES: Readonly<Record<ServiceName, readonly ServiceName[]>> = {
  exchanges: [],
  oracle: ["exchanges"],
  node: ["exchanges", "oracle"],
  proxy: ["exchanges", "oracle", "node"],
  bridge: ["node"],
  solver: ["exchanges", "oracle", "node", "proxy"],
};

/** Problems that a backfill fixes: prices that open bets, or bets that have ended, lack. */
export const PRICES_MISSING = "NodePricesMissing";
export const NEEDS_BACKFILL = "NodeNeedsBackfill";

/** These problems last until an operator runs the backfill commands that the view shows. */
export const TO_BACKFILL: ReadonlySet<string> = new Set([PRICES_MISSING, NEEDS_BACKFILL]);

/** Problems that no other one explains. */
const ROOT_CAUSES = new Set(
  PROBLEMS.filter(({ isRootCause }) => isRootCause).map(({ name }) => name),
);

/** For this long after a service is back, its rates still contain the outage. */
const BACK_MS = RECENT_MS + 5_000;

/**
 * Services that waited for another one answer within this time after it last did not: pages behind
 * others ask every 6 s.
 */
const WAIT_MS = 10_000;

/** Rates are known this long after a service's first poll. Problems found before may be older. */
const FIRST_LOOK_MS = 15_000;

/** Chapter for a service that says that it is unhealthy, or not ready. */
export const HEALTH = "Health and readiness";

/**
 * Services that are away, and figures that exceed their bounds. Causes come before consequences;
 * among both, missing prices of open bets come first, then services that are away, then other
 * critical problems.
 */
export function findingsOf(services: readonly ServiceState[]): Finding[] {
  // Before each has answered or is overdue, a consequence could not be told from its cause.
  if (services.some(({ isUp, isSilent }) => isUp === undefined && !isSilent)) return [];
  const firsts = new Set(processesOf(services).map(([first]) => first));
  const findings = services.flatMap((state) =>
    ownOf(state, firsts.has(state))
      .map((finding) => {
        const atMs = isAway(finding) ? state.checkedMs : state.history.latestMs;
        return { ...finding, atMs };
      })
  );
  return findings.map((finding) => {
    if (ROOT_CAUSES.has(finding.chapter)) return finding;
    const own = services.find(({ name }) => name === finding.service);
    // Its figures include events that it missed while it was away.
    const { countedMs = own?.history.spanMs ?? 0 } = finding;
    const wasAway = own !== undefined && own.awayAgoMs <= countedMs;
    const cause = services.find((other) => explains(other, finding, services));
    const isOwn = wasAway && own.awayAgoMs < (cause?.awayAgoMs ?? Infinity) && !cause?.isSilent;
    if (cause !== undefined && !isOwn) return { ...finding, cause: cause.name };
    return isCritical(finding) || !wasAway ? finding : withCause(finding, finding.service);
  }).sort((a, b) => rankOf(a) - rankOf(b));
}

/** A finding with its cause. Only time ends what the absence of the service itself has caused. */
export function withCause(finding: Finding, cause: Finding["cause"]): Finding {
  const { cause: _, ...found } = finding;
  if (cause === undefined) return found;
  if (cause !== finding.service) return { ...found, cause };
  const firstStep = finding.countedMs === undefined
    ? "Nothing, unless it lasts for over a minute: it was away until just now."
    : "Nothing, unless the number grows: it counts the time that it was away, and its alert " +
      `fires until ${durationText(finding.countedMs)} after that.`;
  return { ...found, cause, firstStep };
}

/** Whether the absence of a service probably caused a finding of another one. */
function explains(
  { name, isUp, isSilent, awayAgoMs }: ServiceState,
  finding: Finding,
  services: readonly ServiceState[],
): boolean {
  if (!DEPENDENCIES[finding.service].includes(name)) return false;
  const countedMs = isCritical(finding) ? 0 : finding.countedMs ?? 0;
  if (!isSilent && awayAgoMs > Math.max(BACK_MS, countedMs)) return false;
  // Missing prices stay missing when the service is back.
  if (TO_BACKFILL.has(finding.chapter)) return !isUp || isSilent;
  if (!isAway(finding)) return true;
  const isWaiting = services.some((state) => state.name === finding.service && waits(state));
  return isWaiting && BLOCKING_SERVICES.has(name) && (isSilent || awayAgoMs <= WAIT_MS);
}

/** Services that others wait for, so that their own answers are late. */
const BLOCKING_SERVICES: ReadonlySet<ServiceName> = new Set(["node", "proxy"]);

/** Whether a service seems to wait for another one. */
const waits = ({ name, isLate }: ServiceState) => isLate && WITH_READY.has(name);

function rankOf(finding: Finding): number {
  const isUrgent = [finding.chapter === PRICES_MISSING, isAway(finding), isCritical(finding), true];
  return isUrgent.indexOf(true) + (finding.cause === undefined ? 0 : isUrgent.length);
}

/** The problems of one service, from its health and its figures. */
function ownOf(state: ServiceState, isFirstOfProcess: boolean): Finding[] {
  const beyond = PROBLEMS.filter((problem) =>
    state.isUp && (isFirstOfProcess || !isProcessProblem(problem)) &&
    !isWarmingUp(problem, state.history) && beyondBound(problem, state.history).length > 0
  );
  const hasCriticalTwin = (problem: Problem) =>
    !isCritical(problem) &&
    beyond.some((other) => other.measure === problem.measure && isCritical(other));
  const measured = beyond.filter((problem) => !hasCriticalTwin(problem))
    .map((problem) => measuredOf(problem, state));
  const health = healthOf(state);
  if (health === undefined) return measured;
  const reason = measured.find((one) => isCritical(one) && !TO_BACKFILL.has(one.chapter));
  if (!state.isUp || state.isHealthy || reason === undefined) return [health, ...measured];
  // A figure that explains the bad health is more informative.
  const explained = { ...reason, details: [...reason.details, ...health.details] };
  return measured.map((one) => one === reason ? explained : one);
}

/** The finding for a problem that a service has. */
function measuredOf(problem: Problem, { name: service, history }: ServiceState): Finding {
  const { severity, message, bound, name: chapter, afterS = 0 } = problem;
  const effect = typeof problem.effect === "function" ? problem.effect(history) : problem.effect;
  const samples = beyondBound(problem, history);
  const worst = worstOf(bound, samples) ?? NaN;
  const least = problem.unit === "share" || countedFor(problem, history) === undefined
    ? ""
    : message.startsWith("{")
    ? "At least "
    : "at least ";
  // One line for all markets or sources that it concerns.
  const text = fillPlaceholders(message, (name) => {
    if (name === "value") return least + formatValue(worst, problem);
    return [...new Set(samples.map(({ labels }) => labels[name] ?? ""))].join(", ");
  });
  const parts = problem.parts?.read(history).filter(({ value }) => value > 0)
    .map(({ labels, value }) => [Object.values(labels).join(" "), value] as const) ?? [];
  const span = formatDuration(history.over(problem.parts?.counter?.windowMs ?? 0).spanMs);
  const details = parts.map(([name, value]) => `${name}: ${value} in the last ${span}`);
  const firstStep = firstStepOf(problem, parts.map(([name]) => name));
  const extent = samples.reduce((sum, { value }) => sum + 1 + Math.abs(value - bound.limit), 0);
  const found = { service, severity, text, details, firstStep, afterS, chapter, extent };
  const countedMs = problem.measure.counter?.windowMs;
  return {
    ...found,
    ...(effect && { effect }),
    ...(countedMs && { countedMs }),
    mayBeOlder: isFirstLook(history),
  };
}

/** The steps for the affected parts. */
function firstStepOf({ stepsByPart = {}, firstStep }: Problem, parts: readonly string[]): string {
  const known = parts.filter((part) => part in stepsByPart);
  const steps = known.map((part) => `\`${part}\`: ${stepsByPart[part]}.`);
  return [...steps, ...(known.length > 0 && known.length === parts.length ? [] : [firstStep])]
    .join(" ");
}

const isFirstLook = ({ spanMs }: ServiceState["history"]) => spanMs < FIRST_LOOK_MS;

/**
 * Whether a problem would be found if a service had it.
 *
 * @param record.lastMs When it was last seen, perhaps by another tab. Older answers prove nothing.
 * @param record.countedMs The window of its alert: events before a reload of this page still count.
 */
export function isVisible(
  { isUp, isSilent, history }: ServiceState,
  { chapter, lastMs, seenMs = 0, countedMs = 0 }: {
    chapter: string;
    lastMs: number;
    seenMs?: number;
    countedMs?: number | undefined;
  },
): boolean {
  const mayCount = history.latestMs - seenMs < countedMs &&
    shorterThan(countedMs, history) !== undefined;
  return isUp === true && !mayCount && !isSilent && history.latestMs > lastMs &&
    (isAway({ chapter }) || !isFirstLook(history));
}

/** The services that answer, grouped by process. */
export function processesOf(services: readonly ServiceState[]): readonly ServiceState[][] {
  const groups = Map.groupBy(
    services.filter(({ isUp }) => isUp),
    ({ url, history }) =>
      `${new URL(url).hostname} ${history.latest.sum("process_start_time_seconds")}`,
  );
  return [...groups.values()];
}

/**
 * A finding with the commands that were read for it, from the node through the proxy.
 *
 * @param openEndsMs Ends of the bets that were open when the node last answered.
 */
export function withRepair(
  finding: Finding,
  repairs: ReadonlyMap<string, Repair>,
  services: readonly ServiceState[],
  openEndsMs: readonly number[] = [],
): Finding {
  if (isAway(finding) && finding.service === "node") return { ...finding, deadlinesMs: openEndsMs };
  if (!TO_BACKFILL.has(finding.chapter)) return finding;
  const silent = services.find(({ name, isSilent }) =>
    isSilent && (name === "proxy" || name === "node")
  );
  const firstStep = silent === undefined
    ? "reading the gaps …"
    : `Start ${silent.name} first: the gaps, and the commands that fill them, are read from it.`;
  return { ...finding, ...(repairs.get(finding.chapter) ?? { firstStep }) };
}

/** The finding from a service's own health answer, or from its absence. */
function healthOf(state: ServiceState): Finding | undefined {
  const { name: service, isUp, isHealthy, isReady, health, complaints } = state;
  const severity = "critical";
  if (isUp === false || state.isSilent) return absenceOf(state);
  if (!isUp) return undefined;
  if (isHealthy && isReady !== false) return undefined;
  const text = isHealthy ? "It is not ready" : `Its health is ${health || "bad"}`;
  const details = complaints.filter((text) => text !== "");
  const named = details.length > 0 ? "here or in its log" : "in its log";
  const firstStep = `Fix what it names ${named}: then it goes on by itself.`;
  const chapter = HEALTH;
  const found = { service, severity, text, details, firstStep, chapter } as const;
  return { ...found, effect: EFFECTS[service], mayBeOlder: isFirstLook(state.history) };
}
