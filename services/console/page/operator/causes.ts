/** Tells causes from consequences: which service, or which other problem, explains a problem. */
import { PROBLEMS } from "../../../../lib/problems/mod.ts";
import { RECENT_MS } from "../data/metrics.ts";
import { isSilent, isUp, type ServiceName, type ServiceState } from "../data/service_watch.ts";
import { type Finding, isAbsence, isAlarm, isCritical, type StartedFinding } from "./finding.ts";

interface Service {
  /** The services that it needs, directly or indirectly. */
  needs: readonly ServiceName[];
  /** What users cannot do while it is away. */
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
export const NEEDS_BACKFILL = "NodeNeedsBackfill";

/** These problems last until an operator runs the backfill commands that the view shows. */
export const TO_BACKFILL: ReadonlySet<string> = new Set([PRICES_MISSING, NEEDS_BACKFILL]);

/** Critical problems of a service that may be healthy and ready: they explain nothing but themselves. */
export const BESIDE_HEALTH: ReadonlySet<string> = new Set([
  ...TO_BACKFILL,
  "BridgeRefusesDeposits",
  "BridgeDepositsFail",
  "ProxyUpstreamErrors",
  "SolverExecutionsFail",
  "SolverExposureFull",
]);

/** Services that work without prices. */
const NEED_NO_PRICES: ReadonlySet<ServiceName> = new Set(["proxy", "bridge"]);

/** Problems that no other one explains. */
const ROOT_CAUSES = new Set(
  PROBLEMS.filter(({ isRootCause }) => isRootCause).map(({ name }) => name),
);

/** For this long after a service is back, figures still contain the outage. */
export const BACK_MS = RECENT_MS + 5_000;

interface Context {
  services: readonly ServiceState[];
  /** The other findings of its service and of those that it needs. */
  before: readonly Finding[];
  /** Problems that have just ended: figures still contain them. */
  ended: readonly Finding[];
}

/** A finding with its likely cause, if there is one. */
export const withCause = (finding: Finding, context: Context): Finding =>
  withFailure(withOutage(finding, context.services), context);

/**
 * A finding with its likely cause: another problem of its service, or a service that its own service
 * needs and that answers, but does not work or did not until just now.
 */
function withFailure(finding: Finding, { before, ended }: Context): Finding {
  const { service, chapter, cause, follows } = finding;
  if (cause !== undefined || !hasCauses(finding)) return finding;
  const isExplained = before.some((other) =>
    other.service === service && other.chapter === follows && isAlarm(other)
  );
  if (isExplained) return { ...finding, cause: service, causeFails: true };
  if (TO_BACKFILL.has(chapter)) return finding;
  const failureIn = (problems: readonly Finding[]) =>
    SERVICES[service].needs.find((name) =>
      problems.some((other) => other.service === name && isFailureFor(service, other))
    );
  const present = failureIn(before);
  if (present !== undefined) return { ...finding, cause: present, causeFails: true };
  const past = failureIn(ended);
  return past === undefined ? finding : { ...finding, severity: "warning", cause: past };
}

/** Whether a service cannot work with this problem of one that it needs. */
function isFailureFor(service: ServiceName, problem: Finding): boolean {
  if (!isAlarm(problem) || isAbsence(problem) || BESIDE_HEALTH.has(problem.chapter)) {
    return false;
  }
  const isOfPrices = problem.chapter === "NodePricesStale" ||
    ["exchanges", "oracle"].includes(problem.service);
  return !isOfPrices || !NEED_NO_PRICES.has(service);
}

/**
 * A finding with its likely cause: a service that its own service needs and that does not answer,
 * or did not while the figure was measured; or its own service, after an absence. Figures are of
 * the last 20 s, and warnings that count events of the window of their alert. Missing prices stay
 * missing when a service is back. Nothing explains that a service itself is away.
 */
function withOutage(finding: Finding, services: readonly ServiceState[]): Finding {
  const { service, chapter, countedMs } = finding;
  const own = services.find(({ name }) => name === service);
  if (own === undefined || !hasCauses(finding)) return finding;
  const measuredMs = Math.max(BACK_MS, isCritical(finding) ? 0 : countedMs ?? 0);
  const wasAway = ({ history, lastAwayMs }: ServiceState) =>
    !TO_BACKFILL.has(chapter) && history.latestMs - lastAwayMs <= measuredMs;
  if (wasAway(own)) {
    const firstStep = countedMs === undefined
      ? `${STEP_AFTER_START} ${finding.firstStep}`
      : STEP_AFTER_ABSENCE;
    return { ...finding, severity: "warning", cause: service, firstStep };
  }
  const cause = services.find((other) =>
    SERVICES[service].needs.includes(other.name) && (isSilent(other) || wasAway(other))
  );
  if (cause === undefined) return finding;
  // What is left of an outage that is over ends by itself.
  const severity = isSilent(cause) ? finding.severity : "warning";
  return { ...finding, severity, cause: cause.name };
}

/** Whether a service that its own service needs could be its cause. */
const hasCauses = (finding: Pick<Finding, "chapter">) =>
  !ROOT_CAUSES.has(finding.chapter) && !isAbsence(finding);

/**
 * Whether a problem is known to have a cause or none: until each service that its own service needs
 * has answered since it began, one of them may be the cause.
 */
export const isJudged = (
  { service, chapter, cause, sinceMs }: Pick<
    StartedFinding,
    "service" | "chapter" | "cause" | "sinceMs"
  >,
  services: readonly ServiceState[],
): boolean =>
  cause !== undefined || !hasCauses({ chapter }) ||
  services.every((other) =>
    !SERVICES[service].needs.includes(other.name) || !isUp(other) ||
    (other.lastAnswerMs ?? 0) > sinceMs
  );

/** Before the step for a problem that a start may have, and a wrong option, too. */
const STEP_AFTER_START = "Wait 20 s, as it has just started. If this stays:";

/** Only time ends what has been counted while the service was away. */
const STEP_AFTER_ABSENCE = "Nothing, unless it grows: it is of the time that the service was away.";
