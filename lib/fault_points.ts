/**
 * Places where a test can stop a process dead, to see what the next start makes of it. The places are
 * not written down anywhere: every call of a watched port has one before and one after it, so a new
 * statement that touches the store or the network brings its own.
 */
import { z } from "zod";
import type { OptionSpec } from "./cli/options.ts";

/** Value of the option that names every place passed, and stops nowhere. */
const TRACE = "trace";

/** What a process that passes a place prints to standard error, followed by the place. */
export const FAULT_POINT_LINE = "Fault point ";

/** Told of every place passed. */
export type FaultPoints = (place: string) => void;

/** The option of a service that has fault points. */
export const faultPointOption = {
  flags: "--fault-point <place>",
  description: 'for tests of recovery: freeze at "<port>.<method>:<before|after>", or "trace"',
  schema: z.string().min(1).optional(),
} satisfies OptionSpec;

/**
 * Fault points by that option: at the place named, the thread stops for good and only a signal ends
 * the process. Undefined where no place is named.
 */
export function faultPointsAt(place: string | undefined): FaultPoints | undefined {
  if (place === undefined) return undefined;
  return (passed) => {
    if (place !== TRACE && place !== passed) return;
    console.error(`${FAULT_POINT_LINE}${passed}`);
    if (place === passed) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  };
}

/**
 * Puts a place before and after every call of a port's methods.
 *
 * @param name First part of the places: `store` gives `store.insert:before`.
 * @returns The port itself where there are no fault points.
 */
export function withFaultPoints<T extends object>(name: string, port: T, faults?: FaultPoints): T {
  if (faults === undefined) return port;
  return new Proxy(port, {
    get(target, property) {
      const member = Reflect.get(target, property, target);
      if (typeof member !== "function") return member;
      const place = `${name}.${String(property)}`;
      return (...args: unknown[]) => {
        faults(`${place}:before`);
        const result: unknown = Reflect.apply(member, target, args);
        if (!(result instanceof Promise)) {
          faults(`${place}:after`);
          return result;
        }
        return result.finally(() => faults(`${place}:after`));
      };
    },
  });
}
