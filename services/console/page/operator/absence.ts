/** What an operator reads of a service that does not answer. */
import { fillPlaceholders, SERVICE_DOWN } from "../../../../lib/problems/mod.ts";
import type { ServiceName, ServiceState } from "../data/service_watch.ts";
import type { Finding } from "./finding.ts";

/** What users cannot do while a service is away. */
export const EFFECTS: Readonly<Record<ServiceName, string>> = {
  exchanges: "no fresh prices, so no new bets; bets that end wait for a backfill",
  oracle: "no fresh prices, so no new bets; bets that end wait for a backfill",
  node: "no bets, no settlements and no deposits",
  proxy: "pages show no prices, and nobody can bet",
  bridge: "no deposits",
  solver: "no quotes, so no new bets; open bets do not need it",
};

/** Starts a service in a terminal, as in docs/operating.md. */
export const START_LINES: Readonly<Record<ServiceName, string>> = {
  exchanges: "deno task -q exchanges --cors-origins http://127.0.0.1:8600",
  oracle: "deno task -q oracle --cors-origins http://127.0.0.1:8600 " +
    "--provider-url binance=ws://localhost:8560/binance/stream " +
    "--provider-url coinbase=ws://localhost:8560/coinbase " +
    "--provider-url kraken=ws://localhost:8560/kraken/v2 " +
    "--provider-url okx=ws://localhost:8560/okx/ws/v5/public",
  node: "deno task -q node --cors-origins http://127.0.0.1:8600",
  proxy: "deno task -q proxy",
  bridge: "BRIDGE_PRIVATE_KEY=0x… deno task -q bridge --port 3001",
  solver: "SOLVER_PRIVATE_KEY=0x… deno task -q solver --pricing barrier",
};

/** Simulated exchanges lose their trades when they end, and backfills read them. */
const EXCHANGES_STEPS = {
  ended: "Start it again. It has lost its trades, so backfills of the time before need a price.",
  hangs: "If it was only stopped, continue it: when it ends it loses its trades, which " +
    "backfills read. If it has ended, start it again.",
};

/** Whether a service is away. Usually no dependency explains that: services still answer. */
export const isAway = ({ chapter }: Pick<Finding, "chapter">) => chapter === SERVICE_DOWN.name;

/** The finding for a service that is away, or late. */
export function absenceOf(state: ServiceState): Finding {
  const { name: service, isUp, isForbidden, isRefused, reason } = state;
  const { name: chapter, message, firstStep, afterS } = SERVICE_DOWN;
  const effect = EFFECTS[service];
  if (isUp !== false) {
    const text = "It has not answered the last request yet";
    const step = "Wait a few seconds: it is being asked again.";
    const found = { service, severity: "warning", text, details: [], afterS, chapter } as const;
    return { ...found, effect, firstStep: step, mayBeOlder: false };
  }
  const since = state.lastAnswerMs && { sinceMs: state.lastAnswerMs };
  const mayBeOlder = since === undefined;
  const found = { service, severity: "critical", afterS, chapter, mayBeOlder, ...since } as const;
  if (isForbidden) {
    const text = "It answers, but does not allow this page to read it";
    const effect = "nothing for users, but this page cannot see what is wrong with it";
    const start = `Start it with --cors-origins ${globalThis.location?.origin}.`;
    return { ...found, text, effect, details: [], firstStep: start };
  }
  const pid = isRefused ? undefined : state.history.latest.sum("process_id");
  const exchangesStep = isRefused ? EXCHANGES_STEPS.ended : EXCHANGES_STEPS.hangs;
  return {
    ...found,
    text: message,
    effect,
    details: [reason],
    firstStep: service === "exchanges" ? exchangesStep : firstStep,
    commandsByWay: commandsOf(state),
    ...(pid && { pid }),
  };
}

/** The commands that make a service answer again. A process that is gone cannot be continued or killed. */
function commandsOf({ name, isRefused, history }: ServiceState): Record<string, string> {
  const pid = history.latest.sum("process_id") ?? `$(pgrep -nf 'main.ts ${name}')`;
  const commands = Object.entries(SERVICE_DOWN.commandsByWay)
    .filter(([, command]) => !isRefused || !command.includes("{pid}"))
    .map(([way, command]) => [
      way,
      fillPlaceholders(command, (placeholder) => placeholder === "pid" ? String(pid) : name),
    ]);
  const start = isRefused
    ? { [`${TERMINAL}, with the options that it had`]: START_LINES[name] }
    : {};
  return { ...Object.fromEntries(commands), ...start };
}

const TERMINAL = "From a terminal";

/** The way in which a service is run, without what is wrong with it. */
export const wayOf = (label: string) => label.split(",")[0] ?? label;

/** The commands for the way in which an operator runs services, and all others; all if that is unknown. */
export function commandsFor(
  commandsByWay: Readonly<Record<string, string>>,
  own: string | undefined,
): { own: [label: string, command: string][]; others: [label: string, command: string][] } {
  const { true: known = [], false: others = [] } = Object.groupBy(
    Object.entries(commandsByWay),
    ([label]) => `${wayOf(label) === own}` as const,
  );
  return known.length === 0 ? { own: others, others: [] } : { own: known, others };
}
