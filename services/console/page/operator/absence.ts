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

/** The chapter of docs/operating.md that starts each service in a terminal. */
export const START_CHAPTER = "Each service on its own";

/** Simulated exchanges lose their trades when they end, and backfills read them. */
const EXCHANGES_STEPS = {
  ended: "Start it again. It has lost its trades, so backfills of the time before need a price.",
  hangs: "If it was only stopped, continue it: when it ends it loses its trades, which " +
    "backfills read. If it has ended, start it again.",
};

/** The finding for a service that is away, or late. */
export function absenceOf(state: ServiceState): Finding {
  const { name: service, isUp, isForbidden, isRefused, reason } = state;
  const { name: chapter, message, firstStep, afterS } = SERVICE_DOWN;
  const effect = EFFECTS[service];
  if (isUp !== false) {
    const text = "It has not answered the last request yet";
    const step = "Wait a few seconds: it is being asked again.";
    const found = { service, severity: "warning", text, details: [], afterS, chapter } as const;
    return { ...found, effect, firstStep: step, mayBeOlder: true };
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
    commandsByWay: commandsOf(state, pid),
    ...(pid && { pid }),
  };
}

/** Lists the processes of a service, as in the runbook: a pattern may fit those of another stack. */
const PS = "ps -eo pid,stat,pcpu,etime,args | grep '[m]ain.ts {service}'";

/** The commands that make a service answer again. A process that is gone cannot be continued or killed. */
function commandsOf(
  { name, isRefused }: ServiceState,
  pid: number | undefined,
): Record<string, string> {
  const search = { "From a terminal, to find its process (then see the runbook)": PS };
  const commands = { ...SERVICE_DOWN.commandsByWay, ...(!pid && !isRefused && search) };
  return Object.fromEntries(
    Object.entries(commands)
      .filter(([, command]) => pid || !command.includes("{pid}"))
      .map(([way, command]) => [
        way,
        fillPlaceholders(command, (placeholder) => placeholder === "pid" ? String(pid) : name),
      ]),
  );
}
