/** Decides when to log a problem that lasts: once when it begins or changes, and once when it ends. */
export class OnceLog {
  #logged: string | undefined;

  /** Whether to log this problem: it is not the one that was logged last. */
  begins(problem = ""): boolean {
    const isNew = problem !== this.#logged;
    this.#logged = problem;
    return isNew;
  }

  /** Whether to log that all is well again: a problem was logged before. */
  ends(): boolean {
    const wasLogged = this.#logged !== undefined;
    this.#logged = undefined;
    return wasLogged;
  }
}
