import type { z } from "zod";
import { messageOf } from "../../errors.ts";
import type { OptionSpec } from "../options.ts";
import {
  type Check,
  type CheckContext,
  fail,
  type Finding,
  ok,
  optionLabel,
  warn,
} from "./check.ts";

/** Longest answer of a stranger that is shown. */
const ANSWER_TEXT_MAX = 60;

/** Where a service is told to listen. */
export interface PortTarget {
  host: string;
  port: number;
  /** The option of the port. */
  option: OptionSpec;
  /** What `GET /health` of the service itself answers, as far as tells it from others. */
  health: z.ZodType<{ status: string }>;
}

/** The words of services for being well. */
const WELL: ReadonlySet<string> = new Set(["ok", "healthy", "OK"]);

/** The port can be listened on, or it is the service itself that does already. */
export function portCheck(subject: string, target: PortTarget, context: CheckContext): Check {
  const { host, port, option } = target;
  const address = `${host}:${port}`;
  if (port === 0) {
    return { subject, run: () => Promise.resolve(ok(`${host} takes a free port`)) };
  }
  return {
    subject,
    claims: address,
    async run() {
      try {
        Deno.listen({ hostname: host, port }).close();
        return ok(`${address} is free`);
      } catch (thrown) {
        if (thrown instanceof Deno.errors.AddrInUse) return await whoListens(target, context);
        if (thrown instanceof Deno.errors.NotCapable) throw thrown;
        const remedy = thrown instanceof Deno.errors.PermissionDenied
          ? `Give a port from 1024 on with ${optionLabel(option)}`
          : "Give an address of this machine with --host or HOST";
        return fail(`${address} cannot be listened on: ${messageOf(thrown)}`, remedy);
      }
    },
  };
}

async function whoListens(target: PortTarget, { timeoutMs }: CheckContext): Promise<Finding> {
  const { host, port, option } = target;
  const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  const url = `http://${name.includes(":") ? `[${name}]` : name}:${port}/health`;
  const answer = await answerOf(url, timeoutMs);
  const status = typeof answer === "string" ? healthIn(answer, target.health) : undefined;
  if (status === undefined) {
    const told = typeof answer === "string"
      ? `answers /health with ${JSON.stringify(answer.slice(0, ANSWER_TEXT_MAX))}`
      : `does not answer /health: ${answer.reason}`;
    return fail(
      `${host}:${port} is taken by something that ${told}`,
      `Stop it (ss -ltnp shows what it is), or give another port with ${optionLabel(option)}`,
    );
  }
  const text = `${host}:${port} is taken by this service, which runs already: ${status}`;
  return WELL.has(status) ? ok(text) : warn(text, `See ${url} and its log for why it is ${status}`);
}

async function answerOf(url: string, timeoutMs: number): Promise<string | { reason: string }> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
    return await response.text();
  } catch (thrown) {
    return { reason: messageOf(thrown) };
  }
}

function healthIn(text: string, schema: PortTarget["health"]): string | undefined {
  try {
    const parsed = schema.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data.status : undefined;
  } catch {
    // No JSON: the proxy's is bare text, which its own schema knows.
    return schema.safeParse(text).data?.status;
  }
}
