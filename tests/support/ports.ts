import { ListenError } from "../../lib/http/listener.ts";
import { eventually } from "./eventually.ts";

/**
 * A port that is free, for what cannot listen on port 0 or comes back where it was. It is below
 * those that the system gives to listeners on port 0 and to outgoing connections: nobody takes it in
 * the meantime, while hundreds of other tests run.
 */
export function freePort(): number {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 12_000);
    try {
      Deno.listen({ hostname: "127.0.0.1", port }).close();
      return port;
    } catch (thrown) {
      if (!(thrown instanceof Deno.errors.AddrInUse)) throw thrown;
    }
  }
}

/**
 * Starts something on a free port. A program that another thread is just starting has the socket that
 * looked for the port too, until it runs: then the next port is taken.
 */
export function onFreePort<T>(start: (port: number) => T): T {
  for (;;) {
    try {
      return start(freePort());
    } catch (thrown) {
      if (!(thrown instanceof Deno.errors.AddrInUse)) throw thrown;
    }
  }
}

/**
 * Starts something on the port where it was before. A program that another thread is just starting
 * has the old listener too, until it runs.
 */
export function startAgain<T>(start: () => Promise<T>): Promise<T> {
  return eventually("the port is free again", () =>
    start().catch((thrown) => {
      if (thrown instanceof ListenError) return undefined;
      throw thrown;
    }));
}
