/** Problems of the services in words, by the bounds of docs/monitoring/alerts.yml. */
import type { Providers } from "../data/providers.ts";
import type { ServiceName, ServiceState } from "../data/service_watch.ts";
import { formatAge, formatShare } from "./figures.ts";

/** Something that an operator has to look at. */
export interface Problem {
  service: ServiceName;
  /** It costs money or users now; others will, if nobody looks at them today. */
  isCritical: boolean;
  text: string;
  /** Heading of the chapter in docs/operating.md that says what to do. */
  chapter: string;
}

/** Where a service's health is explained that no alert covers. */
const HEALTH_CHAPTER = "Health and readiness";

/** Refusals of signed bets that are the solver's own fault or its surroundings'. */
const OWN_REFUSALS =
  /^(BALANCE_TOO_LOW|EXPOSURE_TOO_LARGE|EXPOSURE_UNKNOWN|PRICE_STALE|STORE_.*|NODE_.*|OUTCOME_UNKNOWN|INTERNAL_ERROR)$/;

/** Refusals of quotes that have no prices. */
const WITHOUT_PRICES = /^(PRICE|VOLATILITY|HISTORY)_UNAVAILABLE$/;

/** Counters say little before they were watched for this long. */
const WATCHED_MIN_MS = 10_000;

/** All problems: critical ones first. */
export function problemsOf(
  services: readonly ServiceState[],
  providers?: Providers,
): Problem[] {
  const problems = services.flatMap((state) => [
    ...generalProblems(state),
    ...(state.isUp ? RULES[state.name](state, providers) : []),
  ]);
  return problems.sort((a, b) => Number(b.isCritical) - Number(a.isCritical));
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

function generalProblems(state: ServiceState): Problem[] {
  const { name: service, isUp, isHealthy, isReady, health, complaints } = state;
  if (isUp === undefined) return [];
  if (!isUp) {
    const text = `${state.reason}. It is down, or it does not allow this page (--cors-origins).`;
    return [{ service, isCritical: true, text, chapter: "ServiceDown" }];
  }
  if (isHealthy && isReady !== false) return [];
  const what = isHealthy ? "It is not ready" : `Its health is ${health || "bad"}`;
  const why = complaints.filter((text) => text !== "").join("; ");
  const text = why === "" ? `${what}.` : `${what}: ${why}`;
  return [{ service, isCritical: true, text, chapter: HEALTH_CHAPTER }];
}

type Rules = (state: ServiceState, providers?: Providers) => Problem[];

const RULES: Readonly<Record<ServiceName, Rules>> = {
  exchanges: () => [],
  proxy({ history }) {
    const { say, problems } = collect("proxy");
    if (history.latest.sum("proxy_broadcast_upstream_connected") === 0) {
      say("ProxyUpstreamDisconnected", true, "No WebSocket to the read node: clients get no news.");
    }
    const reconnects = history.increase("proxy_broadcast_reconnects_total");
    if (reconnects > 5) {
      say("ProxyReconnecting", false, `It lost its read node ${reconnects} times in a minute.`);
    }
    const errors = history.increase("proxy_upstream_errors_total");
    if (errors > 6) say("ProxyUpstreamErrors", true, `Nodes left ${errors} requests unanswered.`);
    const lag = lagShare(history);
    if (lag > 0.01) {
      say("ProxyClientsLag", false, `Slow clients miss ${formatShare(lag)} of their messages.`);
    }
    return problems;
  },
  oracle({ history }, providers) {
    const { say, problems } = collect("oracle");
    for (const { labels: { pair = "" }, value } of history.latest.of("oracle_sources")) {
      const age = history.latest.sum("oracle_price_age_seconds", { pair });
      if (age === undefined) {
        say("OraclePairWithoutPrice", true, `${pair} has no price: ${value} sources are too few.`);
        continue;
      }
      if (age > 3) say("OraclePriceOld", true, `${pair} is ${formatAge(age * 1000)} old.`);
      if (value < 3) say("OracleFewSources", false, `${pair} has ${value} sources of four.`);
    }
    for (const { labels, value } of history.latest.of("oracle_source_deviation_ratio")) {
      if (Math.abs(value) <= 0.01) continue;
      const name = exchangeOf(labels.provider ?? "", providers);
      const text = `${name} lies ${formatShare(Math.abs(value))} off the median of ${labels.pair}.`;
      say("OracleSourceDeviates", false, text);
    }
    for (const { labels: { provider = "" } } of history.latest.of("oracle_prints_total")) {
      const isSilent = history.increase("oracle_prints_total", { provider }) === 0;
      if (!isSilent || history.spanMs < WATCHED_MIN_MS) continue;
      const seconds = Math.round(history.spanMs / 1000);
      const name = exchangeOf(provider, providers);
      say("OracleProviderSilent", false, `${name} has sent no price for ${seconds} s.`);
    }
    return problems;
  },
  node({ history }) {
    const { say, problems } = collect("node");
    const isStill = history.increase("node_block_number") === 0;
    if (isStill && history.spanMs >= WATCHED_MIN_MS) {
      say("NodeStopped", true, "It seals no blocks.");
    }
    const missed = history.increase("node_checkpoints_missed_total");
    if (missed > 10) say("NodeCheckpointsMissed", false, `${missed} checkpoints were skipped.`);
    const pulls = history.increase("node_oracle_pulls_total");
    const failed = pulls - history.increase("node_oracle_pulls_total", { outcome: "ok" }) -
      history.increase("node_oracle_late_answers_total");
    if (failed > 0.05 * pulls && history.spanMs >= WATCHED_MIN_MS) {
      say(
        "NodePullsFail",
        false,
        `${formatShare(failed / pulls)} of its oracle pulls bring no price.`,
      );
    }
    for (const { labels: { market = "" } } of history.latest.of("node_price_slots_missing_total")) {
      const slots = history.increase("node_price_slots_missing_total", { market });
      if (slots > 0) {
        say("NodePricesMissing", true, `${market} had no fresh price at ${slots} checkpoints.`);
      }
    }
    const stuck = history.increase("node_theses_settled_total", { status: "needs_backfill" });
    if (stuck > 0) say("NodeNeedsBackfill", true, "Theses cannot be settled: prices are missing.");
    if (history.latest.sum("node_storage_writable") === 0) {
      say("NodeStorageFailed", true, "It records nothing any more: no deposit, no bet.");
    }
    return problems;
  },
  bridge({ history }) {
    const { say, problems } = collect("bridge");
    const failed = history.increase("bridge_deposits_total", { outcome: "failed" });
    if (failed > 0) say("BridgeDepositsFail", true, `${failed} deposits failed for good.`);
    const retries = history.increase("bridge_retries_total");
    if (retries > 6) {
      say("BridgeRetrying", false, `It sent deposits ${retries} times without an answer.`);
    }
    return problems;
  },
  solver(state) {
    const { history } = state;
    const { say, problems } = collect("solver");
    if (history.latest.sum("solver_exposure_complete") === 0) {
      say("SolverExposureUnknown", false, "It does not know all its open theses.");
    }
    const balance = history.latest.sum("solver_balance_usdc");
    const locked = history.latest.sum("solver_locked_usdc") ?? 0;
    if (balance !== undefined && balance < 0.1 * (balance + locked)) {
      say("SolverBalanceLow", true, "Less than a tenth of its money is left for new bets.");
    }
    const refused = shareOf(state, "solver_execute_answers_total", OWN_REFUSALS);
    if (refused > 0.1) {
      say("SolverRefusesBets", true, `It cannot take ${formatShare(refused)} of the signed bets.`);
    }
    const failed = shareOf(state, "solver_executions_total", /^failed$/);
    if (failed > 0.1) {
      say("SolverExecutionsFail", true, `${formatShare(failed)} of its executions fail.`);
    }
    const unpriced = shareOf(state, "solver_quotes_total", WITHOUT_PRICES);
    if (unpriced > 0.1) {
      say("SolverWithoutPrices", true, `${formatShare(unpriced)} of the quotes have no price.`);
    }
    return problems;
  },
};

function collect(service: ServiceName) {
  const problems: Problem[] = [];
  const say = (chapter: string, isCritical: boolean, text: string) =>
    void problems.push({ service, isCritical, text, chapter });
  return { problems, say };
}

/** The share of messages that clients missed in the last minute, because they were too slow. */
export function lagShare(history: ServiceState["history"]): number {
  const of = (direction: string) => history.increase("proxy_ws_messages_total", { direction });
  const lagged = of("lagged");
  return lagged === 0 ? 0 : lagged / (lagged + of("downstream"));
}

/** The share of outcomes that fit, in the last minute. */
function shareOf({ history }: ServiceState, metric: string, fits: RegExp): number {
  const all = history.increase(metric);
  if (all === 0) return 0;
  const outcomes = new Set(history.latest.of(metric).map(({ labels }) => labels.outcome ?? ""));
  return [...outcomes].filter((outcome) => fits.test(outcome))
    .reduce((sum, outcome) => sum + history.increase(metric, { outcome }), 0) / all;
}

function exchangeOf(provider: string, providers: Providers | undefined): string {
  return providers?.providers.find(({ name }) => name === provider)?.exchange ?? provider;
}
