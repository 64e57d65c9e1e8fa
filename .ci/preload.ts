/**
 * Loaded before all tests. A test that hangs fails after a minute, unless it has a `timeout`. Programs
 * that tests start collect no coverage: it costs each of them time, and the thresholds hold without it.
 */
import { runInThisContext } from "node:vm";

const TIMEOUT_MS = 60_000;

/** The arguments of `Deno.test`, with a timeout among the options. */
function limited(args: readonly unknown[]): unknown[] {
  const options = { timeout: TIMEOUT_MS };
  const [first, second, ...rest] = args;
  if (typeof first === "object") return [{ ...options, ...first }, second, ...rest];
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
