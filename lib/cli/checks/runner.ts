import type { Clock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import { redact } from "../../redact.ts";
import { type Check, fail, type Finding, warn } from "./check.ts";

/** A check of a service. */
export interface ServiceCheck extends Check {
  service: string;
}

/** A check that has been made. */
export interface CheckResult extends Finding {
  service: string;
  subject: string;
  /** How long it took. */
  tookMs: number;
}

/** How checks are made. */
export interface RunnerOptions {
  clock: Clock;
  /** After so long, a check that has not ended by itself counts as failed. */
  deadlineMs: number;
  /** Told of every result, in the order of the checks. */
  onResult(result: CheckResult): void;
  /** Told of the checks that have not ended, each time one has. */
  onWaiting(checks: readonly ServiceCheck[]): void;
}

/** Makes all checks side by side. */
export async function runChecks(
  checks: readonly ServiceCheck[],
  options: RunnerOptions,
): Promise<CheckResult[]> {
  const waiting = new Set(checks);
  const claims = new Map<string, ServiceCheck>();
  options.onWaiting(checks);
  const running = checks.map(async (check) => {
    const result = await runOne(check, claims, options);
    waiting.delete(check);
    options.onWaiting([...waiting]);
    return result;
  });
  const results: CheckResult[] = [];
  for (const each of running) {
    const result = await each;
    results.push(result);
    options.onResult(result);
    options.onWaiting([...waiting]);
  }
  return results;
}

async function runOne(
  check: ServiceCheck,
  claims: Map<string, ServiceCheck>,
  { clock, deadlineMs }: RunnerOptions,
): Promise<CheckResult> {
  const { service, subject } = check;
  const startedAtMs = clock.now();
  const finding = claimedFinding(check, claims) ?? await inTime(check, deadlineMs, clock);
  const { level, text, remedy } = finding;
  return {
    service,
    subject,
    level,
    text: redact(text),
    ...(remedy !== undefined && { remedy: redact(remedy) }),
    tookMs: clock.now() - startedAtMs,
  };
}

/** What is to be said where an earlier check has claimed the same; else the claim is now this one's. */
function claimedFinding(
  check: ServiceCheck,
  claims: Map<string, ServiceCheck>,
): Finding | undefined {
  if (check.claims === undefined) return undefined;
  const first = claims.get(check.claims);
  if (first === undefined) {
    claims.set(check.claims, check);
    return undefined;
  }
  const text = `${check.claims} is also what ${first.service} is told to take`;
  if (first.service === check.service) {
    return fail(text, `Tell it otherwise for ${first.subject} or for ${check.subject}`);
  }
  // They may be on different machines.
  return warn(text, "Tell one of them otherwise if both are to run on this machine");
}

async function inTime(check: Check, deadlineMs: number, clock: Clock): Promise<Finding> {
  const late = Promise.withResolvers<Finding>();
  const cancel = clock.after(deadlineMs, () => {
    late.resolve(fail(`Not done within ${deadlineMs} ms`, "Look why it takes so long"));
  });
  try {
    return await Promise.race([check.run(), late.promise]);
  } catch (thrown) {
    return failureOf(thrown);
  } finally {
    cancel();
  }
}

function failureOf(thrown: unknown): Finding {
  if (thrown instanceof Deno.errors.NotCapable) {
    return fail(messageOf(thrown), "Grant what the check of permissions names");
  }
  return fail(messageOf(thrown), "Mend what the message names");
}
