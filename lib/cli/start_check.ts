/** Starts a service for seconds and asks whether it can work: `--check`, and the doctor. */
import { z } from "zod";
import { type Clock, waitMs } from "../clock.ts";
import type { RunningService } from "../http/service.ts";
import { IN_MEMORY } from "../database/database_url.ts";
import { tryParseJson } from "../json.ts";
import { request } from "../net/http_request.ts";
import * as kinds from "./option_kinds.ts";
import type { OptionSpec, OptionTable } from "./options.ts";

/** The option of every service that starts it for a check only. */
export const checkOption = {
  flags: "--check",
  kind: kinds.flag,
  description: "start on free ports, store nothing, print what keeps it from being ready, and end",
  default: "false",
} satisfies OptionSpec;

/** How long a service may take to be ready. */
export const READY_TIMEOUT_MS = 10_000;

/** Timeout of its answer: longer than it waits for its node. */
const ANSWER_TIMEOUT_MS = 12_000;

/** Time between two questions until the service is ready. */
const POLL_MS = 50;

/**
 * A service that is ready and asks a node, or lacks what does not come by waiting, is asked again
 * after this time: a busy node may have answered late once. It is longer than answers are cached, and
 * long enough for a new block, which shows whether its clock agrees with the node's.
 */
const CONFIRM_AFTER_MS = 1_100;

/** Options, by role, with which a start touches nothing and only this machine can call. */
const HARMLESS: Partial<Record<NonNullable<kinds.OptionKind["role"]>, unknown>> = {
  host: "127.0.0.1",
  port: 0,
  database: IN_MEMORY,
  dataDir: IN_MEMORY,
};

/** An answer of `/ready`. `feed` and `prices` come in the background, from a node that answers. */
const readySchema = z.object({
  problems: z.array(z.string()),
  node: z.boolean().optional(),
  feed: z.boolean().default(true),
  prices: z.boolean().default(true),
});

interface StartCheck<T> {
  table: OptionTable;
  /** Valid values of all options. */
  options: T;
  start(options: T): Promise<RunningService>;
  clock: Clock;
  timeoutMs: number;
}

/**
 * Starts a service with {@link harmlessOptions}, and stops it once it is ready, time is up, or what
 * it lacks does not come by waiting, such as a permission.
 *
 * @returns One sentence per problem; none if the service is ready.
 * @throws What the start throws.
 */
export async function checkStart<T extends object>(
  { table, options, start, clock, timeoutMs }: StartCheck<T>,
): Promise<string[]> {
  const deadlineMs = clock.now() + timeoutMs;
  await using service = await start(harmlessOptions(table, options));
  /** What the last answer lacked, if that may be final: it counts once a second answer confirms it. */
  let seen: string | undefined;
  while (true) {
    const { problems, mayChange } = await readReadiness(service.url);
    const isReady = problems.length === 0;
    if (isReady && !mayChange || clock.now() >= deadlineMs) return problems;
    const isFinal = isReady || !mayChange;
    if (isFinal && seen === problems.join()) return problems;
    seen = isFinal ? problems.join() : undefined;
    await waitMs(clock, isFinal ? CONFIRM_AFTER_MS : POLL_MS);
  }
}

/** Options with free ports and without a store, so that nothing of a running service is touched. */
function harmlessOptions<T extends object>(table: OptionTable, options: T): T {
  const set = Object.entries(options).filter(([, value]) => value !== undefined);
  const values = set.map(([key, value]) => {
    const role = table[key]?.kind.role;
    return [key, role !== undefined && role in HARMLESS ? HARMLESS[role] : value];
  });
  return { ...options, ...Object.fromEntries(values) };
}

interface Readiness {
  /** What a running service lacks, one sentence per problem. */
  problems: string[];
  /** Whether a later answer may differ. */
  mayChange: boolean;
}

/** @throws {NetworkError} If the service does not answer. */
async function readReadiness(url: string): Promise<Readiness> {
  const bounds = { timeoutMs: ANSWER_TIMEOUT_MS };
  const ready = await request(`${url}/ready`, bounds);
  const { status, text } = ready.status === 404 ? await request(`${url}/health`, bounds) : ready;
  const { data } = z.safeParse(readySchema, tryParseJson(text));
  if (status === 200) return { problems: [], mayChange: data?.node !== undefined };
  if (data === undefined) return { problems: [text], mayChange: true };
  const { problems, node, feed, prices } = data;
  return { problems, mayChange: node !== false && !(feed && prices) };
}
