/** Problems of the services in words. */
import {
  beyondBound,
  fillPlaceholders,
  isBeyond,
  type Problem,
  PROBLEM_GROUPS,
  PROBLEMS,
  type Sample,
} from "../../../../lib/problems/mod.ts";
import type { Providers } from "../data/providers.ts";
import type { ServiceName, ServiceState } from "../data/service_watch.ts";
import { formatValue } from "./figures.ts";

/** Something that an operator has to look at. */
export interface Finding {
  service: ServiceName;
  severity: Problem["severity"];
  /** What is wrong, in a few words. */
  text: string;
  /** What users notice. */
  effect?: string;
  /** The service's own words. */
  details: readonly string[];
  firstStep: string;
  /** To be copied and run. */
  commands?: readonly string[];
  /** When it began, if the services say so. */
  sinceMs?: number;
  /** It was there when the page began to look at the service. */
  mayBeOlder: boolean;
  /** How long its alert waits; undefined if it has none. */
  afterS?: number;
  /** Heading of the chapter in docs/operating.md. */
  chapter: string;
  /** A service that is or was away and that this one needs, or itself: the likely cause. */
  cause?: ServiceName;
  /** How far it is beyond its bound, for all markets or exchanges together. */
  extent?: number;
}

/** Names a problem, as long as it lasts. */
export const keyOf = ({ service, chapter }: Finding) => `${service} ${chapter}`;

/** What users cannot do while a service is away. */
export const EFFECTS: Readonly<Record<ServiceName, string>> = {
  exchanges: "no fresh prices, so no new bets; bets that end wait for a backfill",
  oracle: "no fresh prices, so no new bets; bets that end wait for a backfill",
  node: "no bets, no settlements and no deposits",
  proxy: "pages show no prices, and nobody can bet",
  bridge: "no deposits",
  solver: "no quotes, so no new bets; open bets need only the node",
};

/** What each service needs, directly or not. */
const NEEDS: Readonly<Record<ServiceName, readonly ServiceName[]>> = {
  exchanges: [],
  oracle: ["exchanges"],
  node: ["exchanges", "oracle"],
  proxy: ["exchanges", "oracle", "node"],
  bridge: ["node"],
  solver: ["exchanges", "oracle", "node", "proxy"],
};

/** Prices have to be filled in: before bets end, and before those are settled that have ended. */
export const [PRICES_MISSING, NEEDS_BACKFILL] = ["NodePricesMissing", "NodeNeedsBackfill"] as const;

/** What stays after its cause has ended, until somebody does something. */
const LASTING: ReadonlySet<string> = new Set([PRICES_MISSING, NEEDS_BACKFILL]);

/** Rates are known this long after the first look at a service: what is wrong then may be older. */
const FIRST_LOOK_MS = 15_000;

const [SERVICE_DOWN] = PROBLEM_GROUPS.services;

/**
 * Services that are away, and everything that is beyond its bound: causes before what may follow from
 * them, critical ones first.
 */
export function findingsOf(
  services: readonly ServiceState[],
  providers?: Providers,
): Finding[] {
  const firsts = new Set(processesOf(services).map(([first]) => first));
  const findings = services.flatMap((state) => [
    ...healthOf(state),
    ...PROBLEMS.filter((problem) => state.isUp && (firsts.has(state) || !isOfProcess(problem)))
      .flatMap((problem) => measuredOf(problem, state, providers)),
  ]);
  const away = services.filter(({ isUp, isBack }) => isUp === false || isBack);
  const wasAway = new Set(services.flatMap(({ name, wasAway }) => wasAway ? name : []));
  // Without another service one works badly, but answers.
  const isAway = ({ chapter }: Finding) => chapter === SERVICE_DOWN?.name;
  const rank = (finding: Finding) =>
    (finding.cause === undefined ? 0 : 3) +
    (isAway(finding) ? 0 : finding.severity === "critical" ? 1 : 2);
  return findings.map((finding) => {
    const cause = away.find(({ name, isBack }) =>
      !isAway(finding) && NEEDS[finding.service].includes(name) &&
      !(isBack && LASTING.has(finding.chapter))
    )?.name ?? (finding.severity === "warning" && wasAway.has(finding.service)
      ? finding.service // such as checkpoints that it skipped meanwhile
      : undefined);
    return cause === undefined ? finding : { ...finding, cause };
  }).sort((a, b) => rank(a) - rank(b));
}

/** The worst value of a figure; undefined without values. */
export function worstOf({ op }: Problem["bound"], samples: readonly Sample[]): number | undefined {
  const values = samples.map(({ value }) => value);
  if (values.length === 0) return undefined;
  return op === ">" ? Math.max(...values) : Math.min(...values);
}

/** A figure is shown from this share of its bound on. */
const NEAR_SHARE = 0.75;

/** Whether a figure is beyond its bound, or on the way to it. */
export function isNear(value: number, { bound: { op, limit } }: Problem): boolean {
  if (isBeyond(value, { op, limit })) return true;
  if (op === "==") return false;
  return op === ">" ? limit > 0 && value > NEAR_SHARE * limit : value < limit / NEAR_SHARE;
}

/** Figures that may soon have an alert, in words; those that have one are problems. */
export function nearTexts(services: readonly ServiceState[]): string[] {
  return services.filter(({ isUp }) => isUp).flatMap(({ name, history }) =>
    PROBLEMS.filter((problem) => !isOfProcess(problem)).flatMap((problem) => {
      const { title, bound, measure } = problem;
      const worst = worstOf(bound, measure.read(history));
      if (worst === undefined || isBeyond(worst, bound) || !isNear(worst, problem)) return [];
      return [`${name}: ${title} ${formatValue(worst, problem)} (${alertText(problem)})`];
    })
  );
}

/** The bound of an alert in words. */
export function alertText({ bound: { op, limit }, isFlag, unit }: Problem): string {
  const sign = { ">": "above ", "<": "below ", "==": isFlag ? "if " : "at " }[op];
  return `alert ${sign}${formatValue(limit, { isFlag, unit })}`;
}

function measuredOf(
  problem: Problem,
  { name: service, history }: ServiceState,
  providers: Providers | undefined,
): Finding[] {
  const { severity, message, bound, effect, firstStep, name: chapter, afterS = 0, parts } = problem;
  const samples = beyondBound(problem, history);
  const worst = worstOf(bound, samples);
  if (worst === undefined) return [];
  // One line, however many markets or exchanges it is about.
  const text = fillPlaceholders(message, (name) => {
    if (name === "value") return formatValue(worst, problem);
    const labels = samples.map(({ labels }) => labels[name] ?? "");
    const texts = name === "provider" ? labels.map((at) => exchangeOf(at, providers)) : labels;
    return [...new Set(texts)].join(", ");
  });
  const details = parts?.read(history).filter(({ value }) => value > 0)
    .map(({ labels, value }) => `${Object.values(labels).join(" ")}: ${value}`) ?? [];
  const extent = samples.reduce((sum, { value }) => sum + 1 + Math.abs(value - bound.limit), 0);
  const found = { service, severity, text, details, firstStep, afterS, chapter, extent };
  const mayBeOlder = history.spanMs < FIRST_LOOK_MS;
  return [{ ...found, ...(effect && { effect }), mayBeOlder }];
}

/** The services that answer, by the process that they run in. */
export function processesOf(services: readonly ServiceState[]): readonly ServiceState[][] {
  const groups = Map.groupBy(
    services.filter(({ isUp }) => isUp),
    ({ url, history }) =>
      `${new URL(url).hostname} ${history.latest.sum("process_start_time_seconds")}`,
  );
  return [...groups.values()];
}

/** Whether a problem is one of a process, and not of a service alone. */
export function isOfProcess(problem: Problem): boolean {
  return PROBLEM_GROUPS.services.includes(problem);
}

/** Says that all watched services work, and how to watch those that are not. */
export function noProblemText(watched: readonly ServiceName[]): string {
  const unwatched = (["oracle", "node"] as const).filter((name) => !watched.includes(name));
  if (unwatched.length === 0) return "✓ All services work.";
  const options = unwatched.map((name) => `--${name}-url`).join(" and ");
  return "✓ The services below work. This page does not watch the " +
    `${unwatched.join(" and the ")}: start the console with ${options}.`;
}

/** Where the console serves a chapter of the runbook. */
export function runbookOf(chapter: string): string {
  return `/runbook/${encodeURIComponent(chapter)}`;
}

/** What a service says of itself, and that it is away. */
function healthOf(state: ServiceState): Finding[] {
  const { name: service, isUp, isHealthy, isReady, health, complaints, reason } = state;
  const severity = "critical";
  if (isUp === undefined) return [];
  if (!isUp && SERVICE_DOWN !== undefined) {
    const { name: chapter, message, firstStep, afterS = 0 } = SERVICE_DOWN;
    const mayBeOlder = state.history.isEmpty;
    const found = { service, severity, afterS, chapter, mayBeOlder } as const;
    return [
      state.isForbidden
        ? {
          ...found,
          text: "It answers, but does not allow this page to read it",
          details: [],
          firstStep: `Start it with --cors-origins ${globalThis.location?.origin}.`,
        }
        : { ...found, text: message, effect: EFFECTS[service], details: [reason], firstStep },
    ];
  }
  if (isHealthy && isReady !== false) return [];
  const text = isHealthy
    ? "It is not ready"
    : service === "oracle"
    ? health === "degraded" ? "Some market has no price" : "No market has a price"
    : `Its health is ${health || "bad"}`;
  const details = complaints.filter((text) => text !== "");
  const firstStep = service === "oracle"
    ? "Look at “Price sources” below: which exchanges are not connected?"
    : details.length === 0
    ? "Read the end of its log."
    : "Fix what it names here: then it goes on by itself.";
  const chapter = "Health and readiness";
  const mayBeOlder = state.history.spanMs < FIRST_LOOK_MS;
  return [{ service, severity, text, details, firstStep, chapter, mayBeOlder }];
}

/** The exchange of a source, by its label. */
export function exchangeOf(provider: string, providers: Providers | undefined): string {
  return providers?.providers.find(({ name }) => name === provider)?.exchange ?? provider;
}
