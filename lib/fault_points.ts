/**
 * Places where a test can freeze a process, to see how the next start recovers. There is no list of
 * places: every method call on a wrapped store, node client or hedge has one before and one after.
 */

/** Value of `--fault-point` that prints every place and stops at none. */
const TRACE = "trace";

/** Start of the line on standard error for each place passed; the place follows. */
export const FAULT_POINT_LINE = "Fault point ";

/** Called at every place passed. */
export type FaultPoints = (place: string) => void;

/**
 * Fault points for the value of `--fault-point`: at that place the thread blocks forever, and only a
 * signal ends the process. Undefined without a place.
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
 * Puts a place before and after every method call of an object.
 *
 * @param name First part of the places: `store` gives `store.insert:before`.
 * @returns The object itself if there are no fault points.
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
