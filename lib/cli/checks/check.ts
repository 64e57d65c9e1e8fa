/** Types of `rangemaker doctor`: a check tries one thing that a service is configured to use. */
import type { Clock } from "../../clock.ts";
import type { RunningService } from "../../http/service.ts";
import type { Address } from "../../protocol/scalars.ts";
import type { OptionsOf, OptionSpec, OptionTable } from "../options.ts";
import type { RequiredPermissions } from "../permissions.ts";

/** `warn`: it works, but needs attention. `fail`: the service will not work. */
export type Level = "ok" | "warn" | "fail";

export interface CheckOutcome {
  level: Level;
  text: string;
  remedy?: string;
}

export interface Check {
  /** The thing that is checked, in a word or two. */
  subject: string;
  /** A resource that only one service can use, such as an address to listen on. */
  exclusiveResource?: string;
  /**
   * The check blocks the event loop, as opening a keystore does. It runs first, without a deadline.
   */
  blocksEventLoop?: boolean;
  /** Runs the check and changes nothing. Any error is a failure. */
  run(): CheckOutcome | Promise<CheckOutcome>;
}

export interface ServiceCheck extends Check {
  service: string;
}

export interface CheckContext {
  clock: Clock;
  timeoutMs: number;
  /** The service should be running: a free port is a failure. */
  mustRun: boolean;
  /** The key that the service signs with. @throws {RangemakerError} If there is none. */
  signer(): Promise<{ address: Address }>;
}

/** A service's additions to the checks that its option kinds imply. */
export interface ServiceChecks<T extends OptionTable = OptionTable> {
  service: string;
  options: T;
  /** Starts the service; undefined if it is none. */
  start?(options: OptionsOf<T>): Promise<RunningService>;
  /** Checks the database that an option names. */
  checkStore?(database: string, option: OptionSpec, context: CheckContext): Promise<CheckOutcome>;
  /** Opens the signer, if the key option is not its only source. */
  openSigner?(values: Partial<OptionsOf<T>>): Promise<{ address: Address }>;
  /** Permissions that no single option implies. */
  permissions?(values: Partial<OptionsOf<T>>): RequiredPermissions;
  /** Checks that no option kind implies; without wrong options, as a start. */
  customChecks?(options: OptionsOf<T>, context: CheckContext): Check[];
}

export function passed(text: string): CheckOutcome {
  return { level: "ok", text };
}

/** It works, but needs attention. */
export function warning(text: string, remedy: string): CheckOutcome {
  return { level: "warn", text, remedy };
}

/** The service will not work. */
export function failure(text: string, remedy: string): CheckOutcome {
  return { level: "fail", text, remedy };
}
