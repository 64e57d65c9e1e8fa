/** Problems of the services in words. */
import {
  beyondBound,
  filledIn,
  type Problem,
  PROBLEM_GROUPS,
  PROBLEMS,
} from "../../../../lib/problems/mod.ts";
import type { Providers } from "../data/providers.ts";
import type { ServiceName, ServiceState } from "../data/service_watch.ts";
import { formatValue } from "./figures.ts";

/** Something that an operator has to look at. */
export interface Finding {
  service: ServiceName;
  severity: Problem["severity"];
  text: string;
  firstStep: string;
  /** Heading of the chapter in docs/operating.md. */
  chapter: string;
  /** A service that is or was away and that this one needs: the likely cause. */
  cause?: ServiceName;
}

/** What users cannot do while a service is away. */
export const EFFECTS: Readonly<Record<ServiceName, string>> = {
  exchanges: "no fresh prices, so no new bets; bets that end wait for a backfill",
  oracle: "no fresh prices, so no new bets; bets that end wait for a backfill",
  node: "no bets, no settlements and no deposits",
  proxy: "pages show no prices, and nobody can bet",
  bridge: "no deposits",
  solver: "no quotes, so no new bets; open bets are settled",
};

/** What each service needs, directly or not. */
const NEEDS: Readonly<Record<ServiceName, readonly ServiceName[]>> = {
  exchanges: [],
  oracle: ["exchanges"],
  node: ["exchanges", "oracle"],
  proxy: ["exchanges", "oracle", "node"],
  bridge: ["node"],
  solver: ["exchanges", "oracle", "node"],
};

const [SERVICE_DOWN] = PROBLEM_GROUPS.services;

/**
 * Everything that is beyond its bound, and services that are away: causes before what may follow from
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
  const away = services.filter(({ isUp, isBack }) => isUp === false || isBack)
    .map(({ name }) => name);
  const rank = ({ severity, cause }: Finding) =>
    (cause === undefined ? 0 : 2) + (severity === "critical" ? 0 : 1);
  return findings.map((finding) => {
    // Without another service one works badly, but answers.
    const isAway = finding.chapter === SERVICE_DOWN?.name;
    const cause = away.find((name) => !isAway && NEEDS[finding.service].includes(name));
    return cause === undefined ? finding : { ...finding, cause };
  }).sort((a, b) => rank(a) - rank(b));
}

function measuredOf(
  problem: Problem,
  { name: service, history }: ServiceState,
  providers: Providers | undefined,
): Finding[] {
  const { severity, message, bound, firstStep, name: chapter } = problem;
  const samples = beyondBound(problem, history);
  if (samples.length === 0) return [];
  const values = samples.map(({ value }) => value);
  const worst = bound.op === ">" ? Math.max(...values) : Math.min(...values);
  // One line, however many markets or exchanges it is about.
  const text = filledIn(message, (name) => {
    if (name === "value") return formatValue(worst, problem);
    const labels = samples.map(({ labels }) => labels[name] ?? "");
    const texts = name === "provider" ? labels.map((at) => exchangeOf(at, providers)) : labels;
    return [...new Set(texts)].join(", ");
  });
  return [{ service, severity, text, firstStep, chapter }];
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
  if (unwatched.length === 0) return "✓ Nothing: all services work.";
  const options = unwatched.map((name) => `--${name}-url`).join(" and ");
  return "✓ Nothing: the services below work. This page does not watch the " +
    `${unwatched.join(" and the ")}: start the console with ${options}.`;
}

/** The place of a chapter in the documents. */
export function anchorOf(chapter: string): string {
  return `docs/operating.md#${chapter.toLowerCase().replaceAll(" ", "-")}`;
}

/** What a service says of itself, and that it is away. */
function healthOf(state: ServiceState): Finding[] {
  const { name: service, isUp, isHealthy, isReady, health, complaints, reason } = state;
  const severity = "critical";
  if (isUp === undefined) return [];
  if (!isUp && SERVICE_DOWN !== undefined) {
    const { name: chapter, message } = SERVICE_DOWN;
    if (state.isForbidden) {
      const text = "It answers, but does not allow this page to read it";
      const firstStep = `Start it with --cors-origins ${globalThis.location?.origin}.`;
      return [{ service, severity, text, firstStep, chapter }];
    }
    const text = `${message} (${EFFECTS[service]}): ${reason}`;
    return [{ service, severity, text, firstStep: SERVICE_DOWN.firstStep, chapter }];
  }
  if (isHealthy && isReady !== false) return [];
  const what = isHealthy ? "It is not ready" : `Its health is ${health || "bad"}`;
  const why = complaints.filter((text) => text !== "").join("; ");
  const text = why === "" ? what : `${what}: ${why}`;
  const firstStep = "Do what its own words say.";
  return [{ service, severity, text, firstStep, chapter: "Health and readiness" }];
}

function exchangeOf(provider: string, providers: Providers | undefined): string {
  return providers?.providers.find(({ name }) => name === provider)?.exchange ?? provider;
}
