/** States of services with problems, and what the view says of them. */
import { MetricsHistory, parseMetrics } from "../../../../services/console/page/data/metrics.ts";
import type {
  ServiceName,
  ServiceState,
} from "../../../../services/console/page/data/service_watch.ts";
import { findingsOf } from "../../../../services/console/page/operator/problems.ts";

/** A healthy service whose figures were read every 10 s. */
export function stateOf(
  name: ServiceName,
  texts: string[],
  more: Partial<ServiceState> = {},
): ServiceState {
  const history = texts.reduce(
    (history, text, index) => history.with(1 + index * 10_000, parseMetrics(text)),
    new MetricsHistory(),
  );
  const healthy = { isHealthy: true, isReady: true, reason: "", health: "healthy", complaints: [] };
  return {
    name,
    url: `http://${name}`,
    presence: "answers",
    history,
    ...healthy,
    hasMissed: false,
    ...more,
  };
}

/** A forecast that is off, of this many windows. */
export const calibration = (windows: number) => {
  const labels = 'market="A/B",horizon_seconds="1"';
  return `solver_calibration_difference{${labels},predicted="0.5"} -0.08\n` +
    `solver_calibration_error{${labels},predicted="0.5"} 0.01\n` +
    `solver_calibration_windows{${labels}} ${windows}`;
};

/** Makes a node seem alive where its blocks are not tested. */
export const ALIVE = ["node_block_number 1", "node_block_number 2"] as const;

/** The services with a problem, each with the cause in brackets, in the order of the list. */
export const listOf = (...states: ServiceState[]) =>
  findingsOf(states).map(({ service, cause }) => cause ? `${service} (${cause})` : service)
    .join(", ");

export const nodeWith = (...figures: string[]) =>
  stateOf("node", ALIVE.map((text) => [text, ...figures].join("\n")));
export const MISSING = nodeWith('node_price_slots_needed{market="A/B"} 3');
export const FULL_DISK = nodeWith("node_storage_writable 0");
/** A warning that counts events of 10 minutes. */
export const SKIPPED = ALIVE.map((text, index) =>
  `${text}\nnode_checkpoints_missed_total ${139 * index}`
);

export const being = (name: ServiceName, presence: ServiceState["presence"]) =>
  stateOf(name, [], { presence });
export const gone = (name: ServiceName) => being(name, "gone");
export const unready = (name: ServiceName) => stateOf(name, [], { isReady: false });
export const UNREADY = unready("solver");
