/** Tells the begin and the end of a lasting problem from its repeats, so that each is logged once. */
export class ProblemTracker {
  #present: string | undefined;

  get isPresent(): boolean {
    return this.#present !== undefined;
  }

  /** A problem is there. @returns Whether it has just begun: another one, or none, was there before. */
  begin(problem = ""): boolean {
    const isNew = problem !== this.#present;
    this.#present = problem;
    return isNew;
  }

  /** No problem is there. @returns Whether one was there before. */
  end(): boolean {
    const wasPresent = this.isPresent;
    this.#present = undefined;
    return wasPresent;
  }
}
