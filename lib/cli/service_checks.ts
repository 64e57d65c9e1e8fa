/** Types of `rangemaker doctor`: a check tries one thing that a service is configured to use. */
import type { Clock } from "../clock.ts";
import type { RunningService } from "../http/service.ts";
import type { Address } from "../protocol/scalars.ts";
import type { OptionsOf, OptionTable } from "./options.ts";
import type { RequiredPermissions } from "./permissions.ts";

export interface CheckOutcome {
  /** `warn`: it works, but needs attention. `fail`: the service will not work. */
  level: "ok" | "warn" | "fail";
  text: string;
  remedy?: string;
}

export interface Check {
  /** The thing that is checked, in a word or two. */
  subject: string;
  /** What helps if the check throws. */
  remedy: string;
  /** Runs the check and changes nothing. Any error is a failure. */
  run(): CheckOutcome | Promise<CheckOutcome>;
}

export interface CheckContext {
  clock: Clock;
  timeoutMs: number;
  /** The account of the service's key; undefined for a service without one. */
  address: Address | undefined;
}

/** A service, and its additions to the checks that its option kinds imply. */
export interface ServiceChecks<T extends OptionTable = OptionTable> {
  service: string;
  options: T;
  /** Opens the service's key; undefined if it needs none. Any error is a failure. */
  openSigner?(options: OptionsOf<T>): Promise<{ address: Address }>;
  /** Permissions that no single option implies. */
  permissions?(options: OptionsOf<T>): RequiredPermissions;
  /** Checks that no option kind implies. */
  customChecks?(options: OptionsOf<T>, context: CheckContext): Check[];
  /** Starts the service; undefined if it is none. */
  start?(options: OptionsOf<T>): Promise<RunningService>;
}

export function passed(text: string): CheckOutcome {
  return { level: "ok", text };
}

export function warning(text: string, remedy: string): CheckOutcome {
  return { level: "warn", text, remedy };
}

export function failure(text: string, remedy: string): CheckOutcome {
  return { level: "fail", text, remedy };
}
