/** Types of `rangemaker doctor`: a check tries one thing that a service is configured to use. */
import type { z } from "zod";
import type { Clock } from "../../clock.ts";
import { RangemakerError } from "../../errors.ts";
import type { Address } from "../../protocol/scalars.ts";
import type { OptionsOf, OptionTable } from "../options.ts";

/** `warn`: it works, but needs attention. `fail`: the service will not work. */
export type Level = "ok" | "warn" | "fail";

export interface Finding {
  level: Level;
  text: string;
  remedy?: string;
}

export interface Check {
  /** The thing that is checked, in a word or two. */
  subject: string;
  /** A resource that only one service can use, such as an address to listen on. */
  claims?: string;
  /** It blocks the event loop, as a keystore does: it runs before all others, without a deadline. */
  blocksEventLoop?: boolean;
  /** Tries it and changes nothing. A throw is a failure, except a {@link BlockedError}. */
  run(): Finding | Promise<Finding>;
}

/** A check that tries a value. @returns Undefined without a value, such as that of an invalid option. */
export function optionalCheck<T>(
  subject: string,
  value: T | undefined,
  run: (value: T) => Finding | Promise<Finding>,
): Check | undefined {
  return value === undefined ? undefined : { subject, run: () => run(value) };
}

export interface ServiceCheck extends Check {
  service: string;
}

export interface CheckContext {
  clock: Clock;
  timeoutMs: number;
  /** The key that the service signs with. @throws {RangemakerError} If there is none. */
  signer(): Promise<{ address: Address }>;
}

/** A permission of a Deno process that services need. */
export type ProcessPermission = "net" | "read" | "write" | "env";

/** Required grants of a process: `host:port` for net, paths, and names of variables. */
export type RequiredPermissions = Partial<Record<ProcessPermission, readonly string[]>>;

/** Additions of a service to the checks that follow from the kinds of its options. */
export interface ServiceChecks<T extends OptionTable = OptionTable> {
  service: string;
  options: T;
  /** See {@link CommandText}. */
  settingsOfOtherServices?: readonly string[];
  /** The service's own `GET /health` answer. A service that listens has one. */
  health?: z.core.$ZodType<{ status: string }>;
  /** Fills in values that the service derives from other options. */
  resolve?(values: Partial<OptionsOf<T>>): Partial<OptionsOf<T>>;
  /** Opens the key, if it may come from elsewhere than the key option. */
  openSigner?(values: Partial<OptionsOf<T>>): Promise<{ address: Address }>;
  /** Permissions that follow from no single option. */
  permissions?(values: Partial<OptionsOf<T>>): RequiredPermissions;
  /** Checks that follow from no kind. An invalid option has no value. */
  customChecks?(values: Partial<OptionsOf<T>>, context: CheckContext): (Check | undefined)[];
}

/** A check cannot be made because of a problem that another check reports. */
export class BlockedError extends RangemakerError {
  /** @param fixFirst What to fix, such as `the node`. */
  constructor(reason: string, readonly fixFirst: string) {
    super("BLOCKED", reason);
  }
}

export function ok(text: string): Finding {
  return { level: "ok", text };
}

/** It works, but needs attention. */
export function warn(text: string, remedy: string): Finding {
  return { level: "warn", text, remedy };
}

/** The service will not work. */
export function fail(text: string, remedy: string): Finding {
  return { level: "fail", text, remedy };
}
