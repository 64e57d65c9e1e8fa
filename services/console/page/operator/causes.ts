/** Tells causes from consequences: which service, or which other problem, explains a problem. */
import { PROBLEMS } from "../../../../lib/problems/mod.ts";
import { RECENT_MS } from "../data/metrics.ts";
import { isSilent, type ServiceName, type ServiceState } from "../data/service_watch.ts";
import { counted, durationText } from "../parts/format.ts";
import { type Finding, isAbsence, isAlarm, isCritical } from "./finding.ts";

interface Service {
  /** The services that it needs, directly or indirectly. */
  needs: readonly ServiceName[];
  effect: string;
}

const NO_PRICES = "no fresh prices, so no new bets; bets that end wait for a backfill";

/** The services, in the order in which prices and bets flow. */
export const SERVICES: Readonly<Record<ServiceName, Service>> = {
  exchanges: { needs: [], effect: NO_PRICES },
  oracle: { needs: ["exchanges"], effect: NO_PRICES },
  node: { needs: ["exchanges", "oracle"], effect: "no bets, no settlements and no deposits" },
  proxy: {
    needs: ["exchanges", "oracle", "node"],
    effect: "pages show no prices, and nobody can bet",
  },
  bridge: { needs: ["node"], effect: "no deposits" },
  solver: {
    needs: ["exchanges", "oracle", "node", "proxy"],
    effect: "no quotes, so no new bets; open bets do not need it",
  },
};

/** Problems that a backfill fixes: prices that open bets, or bets that have ended, lack. */
export const PRICES_MISSING = "NodePricesMissing";
const NEEDS_BACKFILL = "NodeNeedsBackfill";

/** These problems last until an operator fills in the prices. */
const TO_BACKFILL: ReadonlySet<string> = new Set([PRICES_MISSING, NEEDS_BACKFILL]);

/**
 * Critical problems of a service that may be healthy and ready: they explain nothing but
 * themselves.
 */
export const NOT_IN_HEALTH: ReadonlySet<string> = new Set([
  ...TO_BACKFILL,
  "BridgeRefusesDeposits",
  "BridgeDepositsFail",
  "ProxyUpstreamErrors",
  "SolverExecutionsFail",
  "SolverExposureFull",
]);

const NEED_NO_PRICES: ReadonlySet<ServiceName> = new Set(["proxy", "bridge"]);

/** Problems that no other one explains. */
const ROOT_CAUSES = new Set(
  PROBLEMS.filter(({ isRootCause }) => isRootCause).map(({ name }) => name),
);

/** For this long after a service is back, figures still contain the outage. */
export const BACK_MS = RECENT_MS + 5_000;

/**
 * A finding with its likely cause: another problem of its service; a service that its own service
 * needs and that does not answer, or answers, but does not work; and only then an absence that is
 * over, of its own service or one that it needs. Nothing explains that a service itself is away.
 * Missing prices stay missing when a service is back.
 *
 * @param before The findings so far: of the services before it in {@link SERVICES}, and of its own
 *   those that explain others.
 */
export function withCause(
  finding: Finding,
  services: readonly ServiceState[],
  before: readonly Finding[],
): Finding {
  if (ROOT_CAUSES.has(finding.chapter) || isAbsence(finding)) return finding;
  const causes = [presentCause(finding, services, before), pastCause(finding, services)];
  // What has been counted over minutes may contain an absence that is over.
  if (finding.alertWindowMs !== undefined) causes.reverse();
  return causes.find((found) => found !== undefined) ?? finding;
}

/** The finding with a cause that lasts; undefined if there is none. */
function presentCause(
  finding: Finding,
  services: readonly ServiceState[],
  before: readonly Finding[],
): Finding | undefined {
  const { service, chapter, explainedBy } = finding;
  const isExplained = before.some((other) =>
    other.service === service && other.chapter === explainedBy && isAlarm(other)
  );
  if (isExplained) {
    return { ...finding, cause: service, causeKind: "failing" };
  }
  const silent = services.find((other) => isNeeded(finding, other.name) && isSilent(other));
  if (silent !== undefined) return { ...finding, cause: silent.name, causeKind: "silent" };
  const failing = TO_BACKFILL.has(chapter) ? undefined : failureIn(before, service);
  return failing && { ...finding, cause: failing, causeKind: "failing" };
}

/**
 * The finding with a cause that is over; undefined if there is none.
 *
 * A figure contains an outage for {@link BACK_MS} after its end, and a warning that counts events, for
 * the window of its alert. What is left of an outage ends by itself, so it is a warning.
 */
function pastCause(finding: Finding, services: readonly ServiceState[]): Finding | undefined {
  const { service, chapter, alertWindowMs } = finding;
  if (TO_BACKFILL.has(chapter)) return undefined;
  const measuredMs = Math.max(BACK_MS, isCritical(finding) ? 0 : alertWindowMs ?? 0);
  const wasAway = ({ history, lastAwayAtMs }: ServiceState) =>
    history.latestMs - lastAwayAtMs <= measuredMs;
  const warning = { ...finding, severity: "warning", causeKind: "was away" } as const;
  const own = services.find(({ name }) => name === service);
  if (own !== undefined && wasAway(own)) {
    const firstStep = alertWindowMs === undefined
      ? `${STEP_AFTER_START} ${finding.firstStep}`
      : STEP_AFTER_ABSENCE;
    return { ...warning, cause: service, firstStep };
  }
  const away = services.find((other) => isNeeded(finding, other.name) && wasAway(other));
  return away && { ...warning, cause: away.name };
}

const isNeeded = ({ service }: Finding, name: ServiceName) =>
  SERVICES[service].needs.includes(name);

/** The first service that another one needs and that has a problem with which that cannot work. */
const failureIn = (problems: readonly Finding[], service: ServiceName): ServiceName | undefined =>
  SERVICES[service].needs.find((name) =>
    problems.some((other) => other.service === name && isFailureFor(service, other))
  );

/** Whether a service cannot work with this problem of one that it needs. */
function isFailureFor(service: ServiceName, problem: Finding): boolean {
  if (!isAlarm(problem) || isAbsence(problem) || NOT_IN_HEALTH.has(problem.chapter)) {
    return false;
  }
  const isOfPrices = problem.chapter === "NodePricesStale" ||
    ["exchanges", "oracle"].includes(problem.service);
  return !isOfPrices || !NEED_NO_PRICES.has(service);
}

/**
 * Whether it is shown below its cause, when that is opened: not missing prices, which bets need
 * before they end, and not what a service lacks since its own start, which may never come.
 */
export const isFolded = (
  { service, chapter, cause, causeKind, alertWindowMs }: Finding,
) =>
  cause !== undefined && chapter !== PRICES_MISSING &&
  (cause !== service || causeKind !== "was away" || alertWindowMs !== undefined);

/** Such as `3 more problems (2 critical), probably because node does not answer`. */
export function followingText(
  findings: readonly Finding[],
  states: readonly ServiceState[],
): string {
  const following = findings.filter(isFolded);
  const more = following.length < findings.length ? "more " : "";
  const criticals = following.filter(({ severity }) => severity === "critical").length;
  const reasons = [...new Set(following.flatMap(({ cause }) => cause ?? []))].map((name) => {
    const state = states.find((state) => state.name === name);
    if (state === undefined || isSilent(state)) return `${name} does not answer`;
    const own = following.filter(({ cause }) => cause === name);
    if (own.some(({ causeKind }) => causeKind === "failing")) return `${name} does not work`;
    const counted = own.flatMap(({ alertWindowMs }) => alertWindowMs ?? []);
    const end = counted.length === 0 ? "a minute" : durationText(Math.max(...counted));
    return `${name} was away: this should end within ${end}`;
  });
  return counted(following.length, `${more}problem`) +
    (criticals > 0 ? ` (${criticals} critical)` : "") + `, probably because ${reasons.join("; ")}`;
}

/** Before the step for a problem that a start may have, and a wrong option, too. */
const STEP_AFTER_START = "It has just started: wait 20 s. If the problem remains:";

/** Only time ends what has been counted while the service was away. */
const STEP_AFTER_ABSENCE =
  "Nothing, unless the number grows: it was counted while the service was away.";
