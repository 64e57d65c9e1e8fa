import { z } from "zod";
import { messageOf, reasonOf } from "../../errors.ts";
import { reachableUrl } from "../../http/listener.ts";
import { tryParseJson } from "../../json.ts";
import { NetworkError, request } from "../../net/http_request.ts";
import { describeIssue } from "../../protocol/scalars.ts";
import { optionLabel, type OptionSpec } from "../options.ts";
import {
  type Check,
  type CheckContext,
  fail,
  type Finding,
  type Health,
  ok,
  warn,
} from "./check.ts";

/** Longest part of an unknown program's answer in a finding. */
const ANSWER_TEXT_MAX = 60;

/** Longest part of a service's own reason in a finding. */
const CAUSE_TEXT_MAX = 500;

/** An address that a service listens on. */
interface PortTarget {
  host: string;
  port: number;
  option: OptionSpec;
  /** The service's own `GET /health` answer. */
  health: z.core.$ZodType<Health>;
}

/** Why a service is not healthy: `error` of the node, `reason` of bridge and solver. */
const causeSchema = z.object({ error: z.string() }).transform(({ error }) => error)
  .or(z.object({ reason: z.string() }).transform(({ reason }) => reason));

const HEALTHY: ReadonlySet<string> = new Set(["ok", "healthy", "OK"]);

/** Checks that the port is free, or that the service itself is running on it. */
export function portCheck(subject: string, target: PortTarget, context: CheckContext): Check {
  const { host, port } = target;
  if (port === 0) return { subject, run: () => ok(`A free port of ${host}`) };
  return { subject, exclusiveResource: `${host}:${port}`, run: () => checkPort(target, context) };
}

function checkPort(target: PortTarget, context: CheckContext): Finding | Promise<Finding> {
  const { host, port, option } = target;
  try {
    Deno.listen({ hostname: host, port }).close();
    return ok(`${host}:${port} is free`);
  } catch (thrown) {
    if (thrown instanceof Deno.errors.AddrInUse) return identifyListener(target, context);
    if (thrown instanceof Deno.errors.NotCapable) throw thrown;
    const remedy = thrown instanceof Deno.errors.PermissionDenied
      ? `Use a port of 1024 or more: ${optionLabel(option)}`
      : "Use an address of this machine: --host or RANGEMAKER_HOST";
    return fail(`${host}:${port} cannot be listened on: ${messageOf(thrown)}`, remedy);
  }
}

async function identifyListener(
  target: PortTarget,
  { timeoutMs, signer }: CheckContext,
): Promise<Finding> {
  const { host, port, option } = target;
  const remedyOfPort = `Stop it (ss -ltnp shows it), or use another port: ${optionLabel(option)}`;
  const url = `${reachableUrl(host, port)}/health`;
  let answer: string;
  try {
    const { status: code, text: body } = await request(url, { timeoutMs });
    // The proxy answers with plain text.
    const value = tryParseJson(body) ?? body;
    const { status, account } = z.safeParse(target.health, value).data ?? {};
    if (status !== undefined) {
      // Without a key, it may be the same account; the check of the key fails.
      const own = account === undefined ? undefined : await signer().catch(() => undefined);
      if (own !== undefined && account?.toLowerCase() !== own.address.toLowerCase()) {
        const text = `${host}:${port} is used by another service of this kind, of ${account}`;
        return fail(text, remedyOfPort);
      }
      const text = `${host}:${port} is used by this service, which is running: ${status}`;
      if (HEALTHY.has(status)) return ok(text);
      const { data: cause } = causeSchema.safeParse(value);
      const remedy = cause === undefined
        ? `See ${url} and the log of the service`
        : `It answers: ${JSON.stringify(cause.slice(0, CAUSE_TEXT_MAX))}`;
      return (code === 200 ? warn : fail)(text, remedy);
    }
    answer = `answers /health with ${JSON.stringify(body.slice(0, ANSWER_TEXT_MAX))}`;
  } catch (thrown) {
    answer = `does not answer /health: ${reasonOf(thrown)}`;
  }
  return fail(
    `${host}:${port} is used by another program, which ${answer}`,
    remedyOfPort,
  );
}

/** A JSON answer, or the reason why there is none. */
type JsonAnswer<T> = { value: T; tookMs: number } | { problem: string };

/** `GET`s JSON and parses it by a schema. */
export async function getJson<S extends z.core.$ZodType>(
  url: string,
  schema: S,
  timeoutMs: number,
): Promise<JsonAnswer<z.output<S>>> {
  const startedMs = performance.now();
  try {
    const { status, text } = await request(url, { timeoutMs });
    const tookMs = performance.now() - startedMs;
    if (status !== 200) return { problem: `answers with status ${status}` };
    const parsed = z.safeParse(schema, JSON.parse(text));
    if (parsed.success) return { value: parsed.data, tookMs };
    return { problem: `unexpected answer: ${describeIssue(parsed.error)}` };
  } catch (thrown) {
    const cause = thrown instanceof NetworkError ? thrown.cause : thrown;
    if (cause instanceof Deno.errors.NotCapable) throw cause;
    return { problem: reasonOf(thrown) };
  }
}
