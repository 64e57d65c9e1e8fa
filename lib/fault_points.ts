/**
 * Points at which a test can freeze a process, to see how the next start recovers. There is no list of
 * points: every method call on a wrapped store, node client or hedge has one before and one after.
 */

/** Value of `--fault-point` that prints every point and stops at none. */
const TRACE = "trace";

/** Start of the line on standard error for each point passed; the point follows. */
export const FAULT_POINT_LINE = "Fault point ";

/** Called at every point passed. */
export type FaultPoints = (point: string) => void;

/**
 * Fault points for the value of `--fault-point`: at that point the thread blocks forever, and only a
 * signal ends the process. Undefined without one.
 */
export function faultPointsAt(point: string | undefined): FaultPoints | undefined {
  if (point === undefined) return undefined;
  return (passed) => {
    if (point !== TRACE && point !== passed) return;
    console.error(`${FAULT_POINT_LINE}${passed}`);
    if (point === passed) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  };
}

/**
 * Puts a fault point before and after every method call of an object.
 *
 * @param name First part of the points: `store` gives `store.insert:before`.
 * @returns The object itself if there are no fault points.
 */
export function withFaultPoints<T extends object>(name: string, port: T, faults?: FaultPoints): T {
  if (faults === undefined) return port;
  return new Proxy(port, {
    get(target, property) {
      const member = Reflect.get(target, property, target);
      if (typeof member !== "function") return member;
      const point = `${name}.${String(property)}`;
      return (...args: unknown[]) => {
        faults(`${point}:before`);
        const result: unknown = Reflect.apply(member, target, args);
        if (!(result instanceof Promise)) {
          faults(`${point}:after`);
          return result;
        }
        return result.finally(() => faults(`${point}:after`));
      };
    },
  });
}
