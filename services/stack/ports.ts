/** The ports of a stack. If some are taken, finds the programs that use them. */
import { messageOf, RangemakerError } from "../../lib/errors.ts";
import { describePortOwner, ListenError, requireFreePort } from "../../lib/http/listener.ts";
import { options as consoleOptions } from "../console/options.ts";
import { options as exchangesOptions } from "../exchanges/options.ts";
import { options as nodeOptions } from "../node/options.ts";
import { options as oracleOptions } from "../oracle/options.ts";
import { options as proxyOptions } from "../proxy/options.ts";
import { options as solverOptions } from "../solver/options.ts";

/** Ports of a stack; 0 chooses a free one. */
export interface StackPorts {
  /** If undefined, no console is started. */
  console?: number;
  exchanges: number;
  oracle: number;
  node: number;
  nodeRead: number;
  proxy: number;
  bridge: number;
  solver: number;
}

/** The ports of the services' own options; the bridge moves: its own is the solver's too. */
const DEFAULT_PORTS: Required<StackPorts> = {
  console: Number(consoleOptions.port.default),
  exchanges: Number(exchangesOptions.port.default),
  oracle: Number(oracleOptions.port.default),
  node: Number(nodeOptions.port.default),
  nodeRead: Number(nodeOptions.readPort.default),
  proxy: Number(proxyOptions.port.default),
  bridge: 3001,
  solver: Number(solverOptions.port.default),
};

/** The name of a service in logs, by its key. */
const nameOf = (key: string) => key === "nodeRead" ? "read-node" : key;

/** The largest offset that keeps every port below 65536. */
export const PORT_OFFSET_MAX = 65_535 - Math.max(...Object.values(DEFAULT_PORTS));

/** The default ports, each increased by the offset. */
export function portsAt(offset: number): Required<StackPorts> {
  const moved = Object.entries(DEFAULT_PORTS)
    .map(([key, port]): [string, number] => [key, port + offset]);
  return Object.fromEntries(moved) as Required<StackPorts>; // the keys are unchanged
}

/** Free ports only, and no console: for tests and the demo, beside other programs. */
export const FREE_PORTS: StackPorts = {
  exchanges: 0,
  oracle: 0,
  node: 0,
  nodeRead: 0,
  proxy: 0,
  bridge: 0,
  solver: 0,
};

/** Error code of a stack that cannot listen on its ports. */
const STACK_PORTS = "STACK_PORTS";

/**
 * Checks that all ports are free.
 *
 * @throws {RangemakerError} If ports are taken; the message names each service, and the program
 *   that uses its port.
 */
export async function requireFreePorts(host: string, ports: Partial<StackPorts>): Promise<void> {
  const busy = Object.entries(ports).filter(([, port]) => port !== 0 && isBusy(host, port));
  if (busy.length === 0) return;
  const owners = await Promise.all(busy.map(([, port]) => describePortOwner(host, port)));
  const taken = busy.map(([key, port], index) => `${port} of ${nameOf(key)} by ${owners[index]}`);
  throw new RangemakerError(
    STACK_PORTS,
    `Ports are taken: ${taken.join(", ")}: stop what listens there, or move this stack to other ` +
      "ports with --port-offset, such as --port-offset 100",
  );
}

function isBusy(host: string, port: number): boolean {
  try {
    requireFreePort(host, port);
    return false;
  } catch (thrown) {
    if (!(thrown instanceof ListenError)) throw thrown;
    if (thrown.isTaken) return true;
    const reason = thrown.cause instanceof Deno.errors.NotCapable
      ? "the stack may listen on 127.0.0.1, localhost, ::1, or with 0.0.0.0 and :: on every interface"
      : messageOf(thrown.cause);
    throw new RangemakerError(STACK_PORTS, `Cannot listen on --host ${host}: ${reason}`);
  }
}
