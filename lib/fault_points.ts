/**
 * Places where a test can freeze a process and kill it, to check the recovery at the next start. They
 * are not listed anywhere: every call of a wrapped port has one before and one after it, so new code
 * that uses the store or the network gets its own.
 */
import { z } from "zod";
import type { OptionSpec } from "./cli/options.ts";

/** Value of the option that prints every place passed and freezes nowhere. */
const TRACE = "trace";

/** Printed to standard error before each place passed. */
export const FAULT_POINT_LINE = "Fault point ";

/** Called with every place passed. */
export type FaultPoints = (place: string) => void;

/** The option of a service that has fault points. */
export const faultPointOption = {
  flags: "--fault-point <place>",
  description: 'for tests of recovery: freeze at "<port>.<method>:<before|after>", or "trace"',
  schema: z.string().min(1).optional(),
} satisfies OptionSpec;

/**
 * Fault points by that option: at the place named, the thread freezes and only a signal ends the
 * process. Undefined if no place is named.
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
 * Puts a fault point before and after every call of a port's methods.
 *
 * @param name First part of the places: `store` gives `store.insert:before`.
 * @returns The port itself if there are no fault points.
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
