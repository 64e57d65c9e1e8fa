/**
 * Loaded before all tests. A test that hangs fails after a minute, unless it has a `timeout`. An error
 * that nothing catches fails the test that runs: Deno would end the isolate, and report the tests of
 * all its other files as failed. Programs that tests start collect no coverage: it costs each of them
 * time, and the thresholds hold without it.
 */
import { runInThisContext } from "node:vm";

const TIMEOUT_MS = 60_000;

type Run = (...args: unknown[]) => unknown;

/** Errors of the test that runs which nothing caught; undefined if none runs. */
let uncaught: Set<unknown> | undefined;

for (const type of ["error", "unhandledrejection"] as const) {
  addEventListener(type, (event: ErrorEvent | PromiseRejectionEvent) => {
    if (uncaught === undefined) return;
    const error: unknown = "reason" in event ? event.reason : event.error;
    const errors = uncaught.add(error);
    event.preventDefault();
    // Called by a test that expects the error: its listener comes after this one.
    event.preventDefault = () => void errors.delete(error);
  });
}

/** A test that fails if there is an error that nothing caught until it ended. */
function noticing(test: Run): Run {
  const run: Run = async (...args) => {
    const errors = uncaught = new Set();
    try {
      await test(...args);
      await new Promise(setImmediate); // a promise that was rejected at its end is reported then
    } catch (thrown) {
      errors.add(thrown);
    }
    uncaught = undefined;
    const [error] = errors;
    if (errors.size > 1) throw new AggregateError(errors, "Several errors");
    if (errors.size > 0) throw error;
  };
  return Object.defineProperty(run, "name", { value: test.name });
}

/** The arguments of `Deno.test`, with a timeout among the options. */
function limited(args: readonly unknown[]): unknown[] {
  const options = { timeout: TIMEOUT_MS };
  const [first, second, ...rest] = args.map((arg) =>
    typeof arg === "function" ? noticing(arg as Run) : arg
  );
  if (typeof first === "object") {
    const { fn, ...others } = first as { fn?: Run };
    return [{ ...options, ...others, ...(fn && { fn: noticing(fn) }) }, second, ...rest];
  }
  if (typeof first === "function") return [options, first];
  if (typeof second === "object") return [first, { ...options, ...second }, ...rest];
  return [first, options, second];
}

// Deno reports as the place of a test the first caller of `Deno.test` that is not a `node:` script.
const wrap: (test: typeof Deno.test, change: typeof limited) => typeof Deno.test = runInThisContext(
  `(test, change) => new Proxy(test, {
    apply: (_, self, args) => test(...change(args)),
    get: (_, key) => key === "each"
      ? (cases) => (...args) => test.each(cases)(...change(args))
      : test[key],
  })`,
  { filename: "node:preload" },
);
Object.assign(Deno, { test: wrap(Deno.test, limited) });

Deno.env.delete("DENO_COVERAGE_DIR");
