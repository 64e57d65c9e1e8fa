/** Finds problems of the services. */
import {
  beyondBound,
  fillPlaceholders,
  type Problem,
  PROBLEMS,
  SERVICE_DOWN,
} from "../../../../lib/problems/mod.ts";
import { worstOf } from "../data/metrics.ts";
import { isUp, type ServiceState } from "../data/service_watch.ts";
import { durationText } from "../parts/format.ts";
import { PRICES_MISSING, SERVICES, withCause } from "./causes.ts";
import { countedFor, formatValue, isProcessProblem, isWarmingUp } from "./figures.ts";
import { type Finding, isAbsence, isCritical } from "./finding.ts";

/** Chapter for a service that says that it is unhealthy, or not ready. */
const HEALTH = "Health and readiness";

/**
 * Services that are away, and figures that exceed their bounds. Causes come before consequences;
 * among both, missing prices of open bets come first, then services that are away, then other
 * critical problems.
 *
 * @param services In the order of {@link SERVICES}.
 */
export function findingsOf(services: readonly ServiceState[]): Finding[] {
  // Before each has answered or is away, a consequence could not be told from its cause.
  if (services.some(({ presence }) => presence === "unknown")) return [];
  const firsts = new Set(processesOf(services).map(([first]) => first));
  const found: Finding[] = [];
  for (const state of services) {
    const own = findingsOfService(state, firsts.has(state))
      .toSorted((a, b) =>
        Number(a.problem?.follows !== undefined) - Number(b.problem?.follows !== undefined)
      );
    for (const finding of own) found.push(withCause(finding, services, found));
  }
  return found.sort((a, b) => rankOf(a) - rankOf(b));
}

/** The lower, the more urgent. */
function rankOf(finding: Finding): number {
  const first = finding.cause === undefined ? 0 : 4; // consequences come after all causes
  if (finding.chapter === PRICES_MISSING) return first;
  if (isAbsence(finding)) return first + 1;
  return first + (isCritical(finding) ? 2 : 3);
}

/** The problems of one service, from its health and its figures. */
function findingsOfService(state: ServiceState, isFirstOfProcess: boolean): Finding[] {
  const beyond = PROBLEMS.filter((problem) =>
    isUp(state) && (isFirstOfProcess || !isProcessProblem(problem)) &&
    !isWarmingUp(problem, state.history) && beyondBound(problem, state.history).length > 0
  );
  const hasCriticalTwin = (problem: Problem) =>
    !isCritical(problem) &&
    beyond.some((other) => other.measure === problem.measure && isCritical(other));
  const measured = beyond.filter((problem) => !hasCriticalTwin(problem))
    .map((problem) => measuredOf(problem, state));
  const health = healthOf(state);
  if (health === undefined) return measured;
  const reason = measured.find((finding) =>
    isCritical(finding) && !finding.problem?.isBesideHealth
  );
  if (health.chapter !== HEALTH || reason === undefined) return [health, ...measured];
  // A figure that explains the bad health is more informative.
  const explained = { ...reason, details: [...reason.details, ...health.details] };
  return measured.map((finding) => finding === reason ? explained : finding);
}

function measuredOf(problem: Problem, { name: service, history }: ServiceState): Finding {
  const { severity, message, bound, name: chapter, firstStep, breakdown } = problem;
  const effect = problem.effect ?? (isCritical(problem) ? SERVICES[service].effect : undefined);
  const samples = beyondBound(problem, history);
  const worst = formatValue(worstOf(bound, samples) ?? NaN, problem);
  const isLeast = problem.unit !== "share" && countedFor(problem, history) !== undefined;
  // One line for all markets or sources that it concerns.
  const text = fillPlaceholders(message, (name) => {
    if (name === "value") return (isLeast ? "at least " : "") + worst;
    return [...new Set(samples.map(({ labels }) => labels[name] ?? ""))].join(", ");
  }).replace(/^at least/, "At least");
  const span = durationText(history.over(breakdown?.counter?.windowMs ?? 0).spanMs);
  const details = breakdown?.read(history).filter(({ value }) => value > 0)
    .map(({ labels, value }) => `${Object.values(labels).join(" ")}: ${value} in the last ${span}`);
  return {
    service,
    severity,
    text,
    details: details ?? [],
    firstStep: fillPlaceholders(firstStep, (name) => samples[0]?.labels[name] ?? ""),
    chapter,
    problem,
    ...(effect && { effect }),
  };
}

/** The services that answer, grouped by process. */
export function processesOf(services: readonly ServiceState[]): readonly ServiceState[][] {
  const groups = Map.groupBy(
    services.filter(isUp),
    ({ url, history }) => `${new URL(url).hostname} ${history.latest.startedAtMs}`,
  );
  return [...groups.values()];
}

/** The finding from a service's own health answer, or from its absence. */
function healthOf(state: ServiceState): Finding | undefined {
  const { name: service, presence, isHealthy, isReady, health, complaints } = state;
  if (presence !== "answers") return absenceOf(state);
  if (isHealthy && isReady !== false) return undefined;
  const details = complaints.filter((text) => text !== "");
  const named = details.length > 0 ? "here or in its log" : "in its log";
  return {
    service,
    severity: "critical",
    chapter: HEALTH,
    effect: SERVICES[service].effect,
    text: isHealthy ? "It is not ready" : `Its health is ${health || "bad"}`,
    details,
    firstStep: `Fix what it reports ${named}; it then recovers by itself.`,
  };
}

/** Simulated exchanges lose their trades when they exit, and backfills need them. */
const EXCHANGES_STEP =
  "If it is suspended, resume it: a restart loses its trades, which backfills need. If it has " +
  "exited, start it again.";

function absenceOf({ name: service, presence, reason }: ServiceState): Finding {
  const found: Finding = {
    service,
    severity: "critical",
    chapter: SERVICE_DOWN.name,
    details: [],
    text: SERVICE_DOWN.message,
    effect: SERVICES[service].effect,
    firstStep: service === "exchanges" ? EXCHANGES_STEP : SERVICE_DOWN.firstStep,
  };
  if (presence === "forbidden") {
    const text = "It answers, but does not allow this page to read it";
    const effect = "nothing for users, but this page cannot see what is wrong with it";
    const firstStep = `Add ${globalThis.location?.origin} to its --cors-origins, and restart it.`;
    return { ...found, severity: "warning", text, effect, firstStep };
  }
  return { ...found, details: [reason] };
}
