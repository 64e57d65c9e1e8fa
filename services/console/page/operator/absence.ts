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

/** The finding for a service that is away, or late. */
export function absenceOf(state: ServiceState): Finding {
  const { name: service, presence, lastAnswerMs: sinceMs, reason } = state;
  const { name: chapter, message: text } = SERVICE_DOWN;
  const effect = EFFECTS[service];
  const since = sinceMs === undefined ? {} : { sinceMs };
  const found = { service, severity: "critical", chapter, effect, ...since } as const;
  if (presence === "overdue") {
    const text = "It has not answered the last request yet";
    const firstStep = "Wait a few seconds: it is being asked again.";
    return { ...found, severity: "warning", text, details: [], firstStep };
  }
  if (presence === "forbidden") {
    const text = "It answers, but does not allow this page to read it";
    const effect = "nothing for users, but this page cannot see what is wrong with it";
    const firstStep = `Start it with --cors-origins ${globalThis.location?.origin}.`;
    return { ...found, text, effect, details: [], firstStep };
  }
  const pid = presence === "gone" ? undefined : state.history.latest.sum("process_id");
  return {
    ...found,
    text,
    details: [reason],
    firstStep: firstStepOf(state),
    commandsByWay: commandsOf(state, pid),
    ...(pid && { pid }),
  };
}

/** Simulated exchanges lose their trades when they end, and backfills read them. */
function firstStepOf({ name, presence }: ServiceState): string {
  if (name !== "exchanges") return SERVICE_DOWN.firstStep;
  if (presence === "gone") return "Start it again.";
  return "If it was only stopped, continue it: when it ends it loses its trades, which backfills " +
    "read. If it has ended, start it again.";
}

/** Lists the processes of a service, as in the runbook: a pattern may fit those of another stack. */
const PS = "ps -eo pid,stat,pcpu,etime,args | grep '[m]ain.ts {service}'";

/** The commands that make a service answer again. A process that is gone cannot be continued or killed. */
function commandsOf(
  { name, presence }: ServiceState,
  pid: number | undefined,
): Record<string, string> {
  const search = { "From a terminal, to find its process (then see the runbook)": PS };
  const commands = {
    ...SERVICE_DOWN.commandsByWay,
    ...(!pid && presence !== "gone" && search),
  };
  return Object.fromEntries(
    Object.entries(commands)
      .filter(([, command]) => pid || !command.includes("{pid}"))
      .map(([way, command]) => [
        way,
        fillPlaceholders(command, (placeholder) => placeholder === "pid" ? String(pid) : name),
      ]),
  );
}
