/** What the tests of the doctor share: its keys, and its report as data. */
import assert from "node:assert/strict";
import type { CommandContext } from "../../lib/cli/command.ts";
import { LocalSigner } from "../../lib/protocol/signature.ts";
import { run } from "../../services/stack/doctor.ts";
import { recordedContext } from "../support/command_context.ts";
import { freePort } from "../support/ports.ts";

const keyOf = (digit: string) => `0x${digit.repeat(64)}` as const;
export const keys = { solver: keyOf("1"), relayer: keyOf("2"), admin: keyOf("3") };
export const solver = new LocalSigner(keys.solver).address;
export const relayer = new LocalSigner(keys.relayer).address;
export const admin = new LocalSigner(keys.admin).address;

export const bridgeKey = { BRIDGE_PRIVATE_KEY: keys.relayer };
export const solverKey = { SOLVER_PRIVATE_KEY: keys.solver };

export function deadUrl(scheme: "http" | "ws" = "http"): string {
  return `${scheme}://127.0.0.1:${freePort()}`;
}

interface Found {
  service: string;
  subject: string;
  level: string;
  text: string;
  remedy?: string;
}

export async function runDoctor(
  argv: readonly string[],
  env: Record<string, string> = {},
  more: Partial<CommandContext> = {},
) {
  const { context, printed, errors } = recordedContext(env);
  const code = await run(argv, { ...context, ...more });
  return { code, printed: printed.join("\n"), errors: errors.join("\n") };
}

/** Runs the doctor with a short timeout and parses its report. */
export async function diagnose(
  argv: readonly string[],
  env: Record<string, string> = {},
  timeoutMs = 500,
) {
  const args = [...argv, "--timeout-ms", String(timeoutMs)];
  const { code, printed } = await runDoctor(args, env);
  const checks = resultsIn(printed);
  const of = (subject: string) =>
    checks.find((check) => check.subject === subject) ??
      assert.fail(`No check of ${subject}: ${printed}`);
  return { code, checks, of, printed };
}

export function resultsIn(printed: string): Found[] {
  const results = printed.matchAll(
    /^(ok|warn|fail) +(\w+) +(\w.{10}) {2}(.*)$(?:\n {6}fix: (.*))?/gm,
  );
  return [...results].map(([, level = "", service = "", subject = "", text = "", remedy]) => ({
    service,
    subject: subject.trim(),
    level,
    text,
    ...(remedy !== undefined && { remedy }),
  }));
}
