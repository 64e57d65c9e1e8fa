/** Tells begin and end of a lasting problem from its repeats, so that each is logged once. */
export class ProblemTracker {
  #present: string | undefined;

  /** Whether this problem begins: it is not the present one. */
  begins(problem = ""): boolean {
    const isNew = problem !== this.#present;
    this.#present = problem;
    return isNew;
  }

  /** Whether a problem was present, which ends now. */
  ends(): boolean {
    const wasPresent = this.#present !== undefined;
    this.#present = undefined;
    return wasPresent;
  }
}
