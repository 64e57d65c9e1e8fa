import { messageOf } from "../errors.ts";
import { redactUrls } from "../redact.ts";

/** Collects what a service lacks, one sentence per problem. */
export class ReadinessChecks {
  /** Problems by check, in the order in which the checks began. */
  readonly #problems: (string | undefined)[] = [];

  /** Problems found so far; a problem that several checks found counts once. */
  get problems(): string[] {
    return [...new Set(this.#problems)].filter((problem) => problem !== undefined);
  }

  /**
   * Runs a check. Never throws: a failure is a problem.
   *
   * @param check Returns the problem, or undefined if there is none.
   * @returns Whether the check passed.
   */
  async passes(
    check: () => string | undefined | Promise<string | undefined>,
  ): Promise<boolean> {
    const index = this.#problems.push(undefined) - 1;
    let problem: string | undefined;
    try {
      problem = await check();
    } catch (thrown) {
      problem = messageOf(thrown);
    }
    this.#problems[index] = problem;
    return problem === undefined;
  }
}

/** The problem with a node's chain, or undefined. @throws {NetworkError} If no answer comes. */
export async function chainProblem(
  node: { readonly url: string; chainId(): Promise<number> },
  expected: number,
): Promise<string | undefined> {
  const actual = await node.chainId();
  if (actual === expected) return undefined;
  // The answer is public, and a URL may contain a password or a provider's key.
  return `Core node at ${redactUrls(node.url)} has chain id ${actual}: expected ${expected}`;
}
