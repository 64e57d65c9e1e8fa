/** Tells causes from consequences: which service, or which other problem, explains a problem. */
import type { ServiceName, ServiceState } from "../data/service_watch.ts";
import { counted } from "../parts/format.ts";
import { type Finding, isAbsence, isAlarm } from "./finding.ts";

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

/** Prices that open bets need are missing. */
export const PRICES_MISSING = "NodePricesMissing";

/** These problems last until an operator fills in the prices. */
const TO_BACKFILL: ReadonlySet<string> = new Set([PRICES_MISSING, "NodeNeedsBackfill"]);

const NEED_NO_PRICES: ReadonlySet<ServiceName> = new Set(["proxy", "bridge"]);

/**
 * The finding with its likely cause: another problem of its service, or a service that its own
 * service needs and that does not answer, or answers, but does not work. Nothing explains that a
 * service itself is away.
 *
 * @param before The findings so far: of the services before it in {@link SERVICES}, and of its own
 *   those that explain others.
 */
export function withCause(
  finding: Finding,
  services: readonly ServiceState[],
  before: readonly Finding[],
): Finding {
  if (finding.problem?.isRootCause || isAbsence(finding)) return finding;
  return { ...finding, cause: causeOf(finding, services, before) };
}

function causeOf(
  finding: Finding,
  services: readonly ServiceState[],
  before: readonly Finding[],
): ServiceName | undefined {
  const { service, chapter, problem } = finding;
  const isExplained = before.some((other) => other.chapter === problem?.follows && isAlarm(other));
  if (isExplained) return service;
  const silent = services.find((other) =>
    isNeeded(finding, other.name) && other.presence === "gone"
  );
  return silent?.name ?? (TO_BACKFILL.has(chapter) ? undefined : failureIn(before, service));
}

const isNeeded = ({ service }: Finding, name: ServiceName) =>
  SERVICES[service].needs.includes(name);

/** The first service that another one needs and that has a problem with which that cannot work. */
const failureIn = (problems: readonly Finding[], service: ServiceName): ServiceName | undefined =>
  SERVICES[service].needs.find((name) =>
    problems.some((other) => other.service === name && isFailureFor(service, other))
  );

/** Whether a service cannot work with this problem of one that it needs. */
function isFailureFor(service: ServiceName, finding: Finding): boolean {
  if (!isAlarm(finding) || isAbsence(finding) || finding.problem?.isBesideHealth) return false;
  const isOfPrices = finding.chapter === "NodePricesStale" ||
    ["exchanges", "oracle"].includes(finding.service);
  return !isOfPrices || !NEED_NO_PRICES.has(service);
}

/**
 * Whether it is shown below its cause, when that is opened: not missing prices, which bets need
 * before they end.
 */
export const isFolded = ({ chapter, cause }: Finding) =>
  cause !== undefined && chapter !== PRICES_MISSING;

/** Such as `3 problems, probably because of node`. */
export function followingText(following: readonly Finding[]): string {
  const causes = [...new Set(following.flatMap(({ cause }) => cause ?? []))];
  return `${counted(following.length, "problem")}, probably because of ${causes.join(", ")}`;
}
