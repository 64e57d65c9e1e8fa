/** What `rangemaker doctor` is made of: one thing that a service is told to use, and how to try it. */
import type { Clock } from "../../clock.ts";
import type { OptionsOf, OptionSpec, OptionTable } from "../options.ts";

/** All is well; it will work, but somebody should look; it will not work. */
export type Level = "ok" | "warn" | "fail";

/** What came of a check. */
export interface Finding {
  level: Level;
  /** What was tried, and what was found: one line. */
  text: string;
  /** What mends it, where something is to be mended: one line. */
  remedy?: string;
}

/** One thing to try. */
export interface Check {
  /** What it is about, in a word or two. */
  subject: string;
  /** What only one service can have, such as an address to listen on. */
  claims?: string;
  /** Tries it, and changes nothing. What it throws is a failure. */
  run(): Promise<Finding>;
}

/** What checks work with. */
export interface CheckContext {
  clock: Clock;
  /** How long each may take. */
  timeoutMs: number;
}

/** What a service brings for the doctor: its option table, and what to try for options. */
export interface ServiceChecks<T extends OptionTable> {
  options: T;
  /** @param options Those that are as they must be: what the others are needed for is left out. */
  checks(options: Partial<OptionsOf<T>>, context: CheckContext): Check[];
}

/** A finding where all is well. */
export function ok(text: string): Finding {
  return { level: "ok", text };
}

/** A finding that somebody should look at. */
export function warn(text: string, remedy: string): Finding {
  return { level: "warn", text, remedy };
}

/** A finding that keeps the service from working. */
export function fail(text: string, remedy: string): Finding {
  return { level: "fail", text, remedy };
}

/** How an option is given: `--port`, or `--rpc-url or KAIZEN_RPC_URL`. */
export function optionLabel({ flags, env }: OptionSpec): string {
  const flag = /--[\w-]+/.exec(flags)?.[0] ?? flags;
  return env === undefined ? flag : `${flag} or ${env}`;
}
