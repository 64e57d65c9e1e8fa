/** What the tests of the doctor share: its keys, and its report as data. */
import { z } from "zod";
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

/** A URL at which nothing listens. */
export function deadUrl(scheme: "http" | "ws" = "http"): string {
  return `${scheme}://127.0.0.1:${freePort()}`;
}

const reportSchema = z.object({
  ok: z.boolean(),
  counts: z.record(z.string(), z.number()),
  checks: z.array(z.strictObject({
    service: z.string(),
    subject: z.string(),
    level: z.enum(["ok", "warn", "fail"]),
    text: z.string(),
    remedy: z.string().optional(),
    tookMs: z.number(),
  })),
});

/** The JSON report of the doctor. */
interface Diagnosis extends z.output<typeof reportSchema> {
  code: number;
  /** The result of the check of a subject. */
  of(subject: string): z.output<typeof reportSchema>["checks"][number];
  /** Everything printed. */
  printed: string;
}

/** Runs the doctor in this process and records its output. */
export async function runDoctor(
  argv: readonly string[],
  env: Record<string, string> = {},
  context: Partial<CommandContext> = {},
): Promise<{ code: number; printed: string; errors: string }> {
  const recorded = recordedContext(env);
  const code = await run(argv, { ...recorded.context, ...context });
  return {
    code,
    printed: recorded.printed.join("\n"),
    errors: recorded.errors.join("\n"),
  };
}

/** Runs the doctor with a short timeout and parses its report. */
export async function diagnose(
  argv: readonly string[],
  env: Record<string, string> = {},
  timeoutMs = 500,
): Promise<Diagnosis> {
  const args = [...argv, "--json", "--timeout-ms", String(timeoutMs)];
  const { code, printed } = await runDoctor(args, env);
  const report = reportSchema.parse(JSON.parse(printed));
  const of = (subject: string) => {
    const found = report.checks.find((check) => check.subject === subject);
    if (found === undefined) throw new Error(`No check of ${subject}: ${printed}`);
    return found;
  };
  return { ...report, code, of, printed };
}
