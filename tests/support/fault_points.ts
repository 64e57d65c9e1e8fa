/**
 * Points at which a test ends a process, to see how the next start recovers: one before and one
 * after every method call on a store, node client or hedge.
 */

/** Called at every point passed; `store.insert:before` is one. */
export type FaultPoints = (point: string) => void;

/** Puts a fault point before and after every method call of an object. */
export function withFaultPoints<T extends object>(name: string, port: T, faults: FaultPoints): T {
  return new Proxy(port, {
    get(target, property) {
      const member = Reflect.get(target, property, target);
      if (typeof member !== "function") return member;
      return (...args: unknown[]) =>
        callBetween(`${name}.${String(property)}`, faults, () => member.apply(target, args));
    },
  });
}

/** Puts a fault point before and after every public method call of all objects of some classes. */
export function addFaultPoints(
  name: string,
  classes: readonly { readonly prototype: object }[],
  faults: FaultPoints,
): void {
  for (const { prototype } of classes) {
    for (const [method, property] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      const { value } = property;
      if (typeof value !== "function" || INTERNAL.has(method)) continue;
      Object.defineProperty(prototype, method, {
        ...property,
        value(...args: unknown[]) {
          return callBetween(`${name}.${method}`, faults, () => value.apply(this, args));
        },
      });
    }
  }
}

/** The methods of these classes that only the classes themselves call. */
const INTERNAL: ReadonlySet<string> = new Set(["constructor", "ask", "call"]);

function callBetween(point: string, faults: FaultPoints, call: () => unknown): unknown {
  faults(`${point}:before`);
  const result = call();
  if (result instanceof Promise) return result.finally(() => faults(`${point}:after`));
  faults(`${point}:after`);
  return result;
}
