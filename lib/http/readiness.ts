import type { Handler } from "hono";
import type { z } from "zod";
import { messageOf, type RangemakerError } from "../errors.ts";
import type { Account } from "../protocol/account.ts";
import { redactUrls } from "../redact.ts";
import { documentedHandler, type Operation } from "./openapi.ts";

/** `GET /ready` of a service. @param body What {@link runReadinessChecks} returns for its checks. */
export function readyOperation(summary: string, body: z.core.$ZodType): Operation {
  return {
    id: "ready",
    tag: "service",
    summary,
    answers: {
      200: { description: "Ready", body },
      503: { description: "Not ready", body },
    },
  };
}

/** Answers 200 if a service is ready, otherwise 503. */
export function readyHandler(
  operation: Operation,
  check: () => Promise<{ ready: boolean }>,
): Handler {
  return documentedHandler(operation, async (c) => {
    const readiness = await check();
    return c.json(readiness, readiness.ready ? 200 : 503);
  });
}

/** Looks for one thing that a service needs. Returns the problem if it is missing, or throws. */
type ProblemFinder = () => string | undefined | void | Promise<string | undefined | void>;

/**
 * Runs all checks at once. Never throws: a failure is a problem.
 *
 * @returns Whether each check passed, and one sentence per problem. A problem found by several
 *   checks is listed once.
 */
export async function runReadinessChecks<Name extends string>(
  checks: Record<Name, ProblemFinder>,
): Promise<Record<Name, boolean> & { ready: boolean; problems: string[] }> {
  const names = Object.keys(checks) as Name[]; // the keys of this very record
  const found = await Promise.all(names.map(async (name) => {
    try {
      return await checks[name]();
    } catch (thrown) {
      return messageOf(thrown);
    }
  }));
  const passed = Object.fromEntries(names.map((name, index) => [name, found[index] === undefined]));
  const problems = [...new Set(found)].filter((problem) => problem !== undefined);
  // One entry for each name.
  return { ready: problems.length === 0, ...passed as Record<Name, boolean>, problems };
}

/** The problem of a service's health, if it concerns the given part. */
export async function findHealthProblem(
  findProblem: () => Promise<RangemakerError | undefined>,
  part: "store" | "node",
): Promise<string | undefined> {
  const found = await findProblem();
  const isOfStore = found?.code.startsWith("STORE_") ?? false;
  return isOfStore === (part === "store") ? found?.message : undefined;
}

/** The problem of a node that cannot write to its disk, as it says with every account. */
export function storageProblem(
  { url }: { readonly url: string },
  { frozen = false }: Pick<Account, "frozen">,
): string | undefined {
  if (!frozen) return undefined;
  return `Core node at ${redactUrls(url)} can store nothing: its disk is full or broken`;
}

/** The problem of a node that accepts only reads. @throws {NetworkError} If no answer comes. */
export async function findWriteProblem(
  node: { readonly url: string; acceptsTransactions(): Promise<boolean> },
): Promise<string | undefined> {
  if (await node.acceptsTransactions()) return undefined;
  const url = redactUrls(node.url);
  return `Core node at ${url} accepts no transactions: it is a read port, or no core node`;
}
