/** Runs checks side by side, and prints their results. */
import type { Clock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import { NetworkError } from "../../net/http_request.ts";
import { redact } from "../../redact.ts";
import { type CheckOutcome, failure, type Level, type ServiceCheck, warning } from "./check.ts";

export interface CheckResult extends CheckOutcome {
  service: string;
  subject: string;
  tookMs: number;
}

interface RunnerOptions {
  clock: Clock;
  /** A check that takes longer counts as failed. */
  deadlineMs: number;
  /** Called with every result, in the order of the checks. */
  onResult(result: CheckResult): void;
  /** Called with the unfinished checks, whenever one has finished. */
  onWaiting(checks: readonly ServiceCheck[]): void;
}

/** Runs the blocking checks one by one, then all others at the same time. */
export async function runChecks(
  checks: readonly ServiceCheck[],
  options: RunnerOptions,
): Promise<CheckResult[]> {
  const waiting = new Set(checks);
  const claims = new Map<string, ServiceCheck>();
  options.onWaiting(checks);
  const run = async (check: ServiceCheck) => {
    const result = await runOne(check, claims, options);
    waiting.delete(check);
    options.onWaiting([...waiting]);
    return result;
  };
  const first = new Map<ServiceCheck, CheckResult>();
  for (const check of checks) if (check.blocksEventLoop) first.set(check, await run(check));
  const running = checks.map((check) => first.get(check) ?? run(check));
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
  const { level, text, remedy } = claimConflict(check, claims) ??
    await runInTime(check, deadlineMs, clock);
  return {
    service,
    subject,
    level,
    text: redact(text),
    ...(remedy !== undefined && { remedy: redact(remedy) }),
    tookMs: clock.now() - startedAtMs,
  };
}

/** Claims a check's resource. @returns A failure if an earlier check has claimed it. */
function claimConflict(
  check: ServiceCheck,
  claims: Map<string, ServiceCheck>,
): CheckOutcome | undefined {
  if (check.exclusiveResource === undefined) return undefined;
  const first = claims.get(check.exclusiveResource);
  if (first === undefined) {
    claims.set(check.exclusiveResource, check);
    return undefined;
  }
  const text = `${check.exclusiveResource} is also configured for ${first.service}`;
  if (first.service === check.service) {
    return failure(text, `Change ${first.subject} or ${check.subject}`);
  }
  // The two services may run on different machines.
  return warning(text, "Change one of them if both are to run on this machine");
}

async function runInTime(
  check: ServiceCheck,
  deadlineMs: number,
  clock: Clock,
): Promise<CheckOutcome> {
  const late = Promise.withResolvers<CheckOutcome>();
  const cancel = check.blocksEventLoop ? () => {} : clock.after(deadlineMs, () => {
    late.resolve(failure(`Not finished within ${deadlineMs} ms`, "Find out why it takes so long"));
  });
  try {
    return await Promise.race([check.run(), late.promise]);
  } catch (thrown) {
    return failure(messageOf(thrown), remedyFor(thrown));
  } finally {
    cancel();
  }
}

/** What helps against an error that a check does not explain itself. */
function remedyFor(thrown: unknown): string {
  if (thrown instanceof Deno.errors.NotCapable) {
    return "Grant the permissions that the permissions check lists";
  }
  if (thrown instanceof NetworkError) return "Start that service, or correct its URL";
  return "Fix the problem in the message";
}

const COLORS: Readonly<Record<Level, number>> = { ok: 32, warn: 33, fail: 31 };

/**
 * A result as lines: the outcome, and how to fix it.
 *
 * @param widths Of the columns before the text.
 */
export function resultLines(
  result: CheckResult,
  widths: Record<"service" | "subject", number>,
  color: boolean,
): string[] {
  const { level, service, subject, text, remedy, tookMs } = result;
  const word = level.padEnd(4);
  const shown = color ? `\x1b[${COLORS[level]}m${word}\x1b[0m` : word;
  const where = `${service.padEnd(widths.service)}  ${subject.padEnd(widths.subject)}`;
  const line = `${shown}  ${where}  ${text} (${Math.round(tookMs)} ms)`;
  return remedy === undefined ? [line] : [line, `      fix: ${remedy}`];
}

/** The number of results of each level: `7 checks: 6 ok, 1 warning`. */
export function resultSummary(results: readonly CheckResult[]): string {
  const { ok, warn, fail } = countLevels(results);
  const counts = [
    `${ok} ok`,
    ...(warn > 0 ? [`${warn} warning${warn === 1 ? "" : "s"}`] : []),
    ...(fail > 0 ? [`${fail} failed`] : []),
  ];
  return `${results.length} checks: ${counts.join(", ")}`;
}

export function resultsAsJson(results: readonly CheckResult[]): string {
  const counts = countLevels(results);
  return JSON.stringify({ ok: counts.fail === 0, counts, checks: results }, null, 2);
}

function countLevels(results: readonly CheckResult[]): Record<Level, number> {
  const counts = { ok: 0, warn: 0, fail: 0 };
  for (const { level } of results) counts[level] += 1;
  return counts;
}
