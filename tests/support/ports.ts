import { tmpdir } from "node:os";
import { ListenError } from "../../lib/http/listener.ts";
import { readStat } from "../../lib/files.ts";
import { eventually } from "./eventually.ts";

/** A file for each reserved port of this machine, which all other tests avoid. */
const PORTS_TAKEN = `${tmpdir()}/rangemaker-test-ports`;

/** No test needs its ports for longer. */
const TAKEN_FOR_MS = 3_600_000;

/** Above 10080, which `fetch` blocks. */
const FIRST_PORT = 10_100;

/**
 * A port for a program that cannot listen on port 0, or that restarts on its old port; no other
 * test gets it in the next hour. It is below the ports that the system assigns by itself.
 */
export function freePort(): number {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * 11_000);
    if (isTaken(port)) continue;
    try {
      Deno.listen({ hostname: "127.0.0.1", port }).close();
      return port;
    } catch (thrown) {
      if (!(thrown instanceof Deno.errors.AddrInUse)) throw thrown;
    }
  }
}

function isTaken(port: number): boolean {
  const path = `${PORTS_TAKEN}/${port}`;
  Deno.mkdirSync(PORTS_TAKEN, { recursive: true });
  const takenAtMs = readStat(path)?.mtime?.getTime() ?? Date.now();
  try {
    if (Date.now() - takenAtMs > TAKEN_FOR_MS) Deno.removeSync(path);
    Deno.openSync(path, { write: true, createNew: true }).close();
    return false;
  } catch (thrown) {
    const { AlreadyExists, NotFound } = Deno.errors;
    if (thrown instanceof AlreadyExists || thrown instanceof NotFound) return true; // another was first
    throw thrown;
  }
}

/**
 * Starts something on a free port. A program that another thread is just starting inherits the
 * socket that looked for the port, until it runs: in that case the next port is used.
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
 * Starts something on its old port. A program that another thread is just starting inherits the old
 * listener, until it runs.
 */
export function startAgain<T>(start: () => Promise<T>): Promise<T> {
  return eventually("the port is free again", () =>
    start().catch((thrown) => {
      if (thrown instanceof ListenError) return undefined;
      throw thrown;
    }));
}
